//! Splats of the kernel log: lockups, stalls, hung tasks, warnings and bugs. Who, where, for how
//! long, and whether rstat is really on the stack: frames marked as unreliable do not count.

mod record;
mod splat;

use serde_json::{Map, Value, json};

use self::{
    record::Record,
    splat::{Splat, opens},
};
use super::{ImportError, Imported, Source};

/// Whether a symbol, with or without an offset, is a function of rstat: `__pfx_css_rstat_updated`
/// is the padding before one.
pub(super) fn is_rstat(symbol: &str) -> bool {
    let name = symbol.split(['+', ' ', '.']).next().unwrap_or("");
    !name.starts_with("__pfx_") && !name.starts_with("__cfi_") && name.split('_').any(|word| word == "rstat")
}

/// Reads the splats, `None` if there are none.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    const SIGNS: [&str; 6] = ["lockup", "LOCKUP", "blocked for more than", "WARNING: ", "BUG", "stall"];
    if !source.lines.iter().any(|line| SIGNS.iter().any(|sign| line.text.contains(sign))) {
        return None;
    }
    let records = record::records(source);
    records.iter().any(|record| opens(&record.text).is_some()).then(|| Ok(read(&records)))
}

fn read(records: &[Record]) -> Imported {
    let mut splats: Vec<Splat> = Vec::new();
    let mut open = false;
    let mut hold: Option<Map<String, Value>> = None;
    let mut warnings = Vec::new();
    for record in records {
        if let Some((kind, fields)) = opens(&record.text) {
            let mut splat = Splat::new(record.line, kind, record.time, fields);
            splat.fields.extend(hold.take().unwrap_or_default());
            splats.push(splat);
            open = true;
        } else if record.text.contains("[ cut here ]") || record.text.starts_with("---[ end trace") {
            open = false;
        } else if let Some(times) = hold_time(record, &mut warnings) {
            hold = Some(times);
        } else if let Some(splat) = splats.last_mut().filter(|_| open) {
            splat.detail(&record.text);
        }
    }
    let mut imported = Imported { format: "dmesg-splat".to_owned(), warnings, ..Imported::default() };
    for splat in &mut splats {
        splat.finish(&mut imported.warnings);
    }
    let shared = |key: &str| {
        let mut values = splats.iter().filter_map(|splat| splat.fields.get(key));
        let first = values.next()?;
        values.all(|value| value == first).then(|| first.clone())
    };
    for key in ["kernel", "arch", "irq_off_inferred"] {
        if let Some(value) = shared(key) {
            imported.scalars.insert(key.to_owned(), value);
        }
    }
    imported.rows = splats.into_iter().map(|splat| splat.fields).collect();
    imported.scalars.insert("events".to_owned(), json!(imported.rows));
    imported
}

/// A hand-made `stime 1, etime 2, htime 3` before a splat. The hold time is what counts: start
/// and end may be of two CPUs.
fn hold_time(record: &Record, warnings: &mut Vec<String>) -> Option<Map<String, Value>> {
    let number = |label: &str| splat::number_after(&record.text, label);
    let hold = number("htime ")?;
    let mut fields = Map::new();
    fields.insert("lock_hold_ns".to_owned(), json!(hold));
    if let (Some(start), Some(end)) = (number("stime "), number("etime ")) {
        fields.insert("stime".to_owned(), json!(start));
        fields.insert("etime".to_owned(), json!(end));
        if end.checked_sub(start) != Some(hold) {
            let difference = i128::from(end) - i128::from(start);
            warnings.push(format!(
                "line {}: etime - stime is {difference}, htime is {hold}; htime is taken",
                record.line
            ));
        }
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::super::{corpus, import};
    use super::*;

    #[test]
    fn the_samples_give_their_right_values() {
        let on_stack = |id: &str| -> Vec<Value> {
            corpus::imported(id).rows.iter().map(|row| row["rstat_on_stack"].clone()).collect()
        };
        assert_eq!(on_stack("86"), [json!(true), Value::Null]);
        assert_eq!(on_stack("87"), [json!(false)]);
        assert_eq!(on_stack("93"), [json!(false), json!(false)]);
        let rows = |id: &str| corpus::imported(id).rows.len();
        assert_eq!((rows("86"), rows("87"), rows("89"), rows("91"), rows("93")), (2, 1, 1, 1, 2));
        let warnings = corpus::imported("93").warnings;
        assert!(warnings[0].contains("etime - stime is -3144446, htime is 25889317166"), "{warnings:?}");
    }

    #[test]
    fn rstat_is_told_from_what_only_looks_like_it() {
        for symbol in ["cgroup_rstat_flush+0x4/0x7", "__cgroup_rstat_lock", "css_rstat_flush.part.0+0x1/0x2"]
        {
            assert!(is_rstat(symbol), "{symbol}");
        }
        for symbol in ["__pfx_css_rstat_updated+0x10/0x10", "usb_get_rstatus", "rwsem_rstatic", ""] {
            assert!(!is_rstat(symbol), "{symbol}");
        }
    }

    #[test]
    fn a_log_of_syslog_with_both_prefixes_is_read() {
        let text = "Jul  3 10:00:00 host kernel: [  10.000001] watchdog: BUG: soft lockup - CPU#7 stuck for 22s! [a b:5]\r\n\
                    Jul  3 10:00:00 host kernel: [  10.000002] Call Trace:\r\n\
                    Jul  3 10:00:00 host kernel: [  10.000003][    T5]  css_rstat_flush+0x1/0x2\r\n";
        let imported = import(text, "x").unwrap();
        let row = &imported.rows[0];
        assert_eq!((&row["cpu"], &row["stuck_s"], &row["comm"]), (&json!(7), &json!(22), &json!("a b")));
        assert_eq!(row["rstat_on_stack"], true);
        assert_eq!(row["time_s"], 10.000_001);
    }

    #[test]
    fn new_and_arm_formats_are_read_and_prose_is_not() {
        let text = "WARNING: kernel/cgroup/rstat.c:71 at css_rstat_updated+0x1/0x2, CPU#3: a/b/12\n\
                    CPU: 3 UID: 0 PID: 12 Comm: a/b Not tainted 7.0.0 #1\n\
                    pc : css_rstat_updated+0x1/0x2\nCall trace:\n foo+0x1/0x2 (P)\n";
        let row = &import(text, "x").unwrap().rows[0];
        assert_eq!(row["at"], "kernel/cgroup/rstat.c:71");
        assert_eq!((&row["cpu"], &row["pid"], &row["comm"]), (&json!(3), &json!(12), &json!("a/b")));
        assert_eq!(row["rstat_on_stack"], true);
        assert!(import("We saw a hard LOCKUP on cpu 4 and a WARNING: beware\n", "x").is_err());
        assert!(import("watchdog: hard LOCKUP on cpu 99999999999999999999999\n", "x").is_ok());
    }
}
