//! `perf trace -s`: calls, errors and times of each system call, by thread.

use serde_json::{Map, Value, json};

use super::{ImportError, Imported, Line, Source, shortened};

/// Columns behind the name, in the order in which perf prints them; errors are there from 5.5 on.
const COLUMNS: [(&str, &str); 7] = [
    ("calls", "calls"),
    ("errors", "errors"),
    ("total", "total_ms"),
    ("min", "min_ms"),
    ("avg", "avg_ms"),
    ("max", "max_ms"),
    ("stddev", "stddev_pct"),
];

/// The fields of the columns, if this is a head.
fn head(text: &str) -> Option<Vec<&'static str>> {
    let mut words = text.split_whitespace().take(COLUMNS.len() + 2);
    (words.next() == Some("syscall")).then_some(())?;
    let columns: Option<Vec<_>> =
        words.map(|word| COLUMNS.iter().find(|(name, _)| *name == word).map(|(_, field)| *field)).collect();
    columns.filter(|columns| columns.starts_with(&["calls"]) && columns.ends_with(&["stddev_pct"]))
}

/// What stands above a table.
#[derive(Default)]
struct Above {
    group: Option<String>,
    /// `sleep (32370), 80 events, 93.0%`.
    thread: Map<String, Value>,
    threads: usize,
}

/// Reads the tables, `None` if there are none.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    source.lines.iter().any(|line| head(line.trimmed()).is_some()).then(|| read(source))
}

fn read(source: &Source<'_>) -> Result<Imported, ImportError> {
    let mut imported = Imported { format: "perf-trace-summary".to_owned(), ..Imported::default() };
    let mut above = Above::default();
    let mut columns: Option<Vec<&str>> = None;
    for line in &source.lines {
        let text = line.trimmed();
        if let Some(found) = head(text) {
            columns = Some(found);
            continue;
        }
        if text.is_empty() || text.starts_with("(msec)") || text.starts_with("---") {
            continue;
        }
        if let Some(fields) = &columns
            && let Some(values) = values(text, fields.len())
        {
            let row = row(fields, text, &values, &above).map_err(|message| source.damaged(*line, message))?;
            imported.warnings.extend(doubts(*line, &row));
            imported.rows.push(row);
            continue;
        }
        if columns.take().is_some() && text.split_whitespace().nth(1).is_some_and(is_number) {
            imported.warnings.push(format!(
                "line {}: {} is not a whole row; it is left out",
                line.number,
                shortened(text)
            ));
        }
        above.take(text);
    }
    if imported.rows.is_empty() {
        let line = source.lines.iter().copied().find(|line| head(line.trimmed()).is_some());
        let line = line.unwrap_or(Line { number: 1, text: "" });
        return Err(source.damaged(line, "recognised perf trace -s, which has no rows here"));
    }
    if above.threads == 1 {
        imported.scalars = above.thread;
    }
    Ok(imported)
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// The values behind the name, if there are `count` and the last is a percentage.
fn values(text: &str, count: usize) -> Option<Vec<&str>> {
    let values: Vec<&str> = text.split_whitespace().skip(1).take(count + 1).collect();
    let whole = values.len() == count && values.iter().all(|word| is_number(word));
    (whole && values.last().is_some_and(|word| word.ends_with('%'))).then_some(values)
}

fn row(fields: &[&str], text: &str, values: &[&str], above: &Above) -> Result<Map<String, Value>, String> {
    let mut row = Map::new();
    row.insert("group".to_owned(), json!(above.group));
    for key in ["comm", "pid"] {
        if let Some(value) = above.thread.get(key) {
            row.insert(key.to_owned(), value.clone());
        }
    }
    row.insert("syscall".to_owned(), json!(text.split_whitespace().next()));
    for (field, word) in fields.iter().zip(values) {
        let value = if matches!(*field, "calls" | "errors") {
            word.parse::<u64>().map(Value::from).map_err(|_| format!("{} is not a count", shortened(word)))?
        } else {
            let number = word.strip_suffix('%').filter(|_| field.ends_with("_pct")).unwrap_or(word);
            decimal(number).ok_or_else(|| format!("{} is not a time in ms", shortened(word)))?
        };
        row.insert((*field).to_owned(), value);
    }
    Ok(row)
}

/// Digits with a fraction: not `inf`, not `1e9`.
fn decimal(word: &str) -> Option<Value> {
    let plain = word.len() <= 24 && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    word.parse::<f64>().ok().filter(|_| plain).map(Value::from)
}

/// What cannot be right in `row`; half of the last printed digit is rounding.
fn doubts(line: Line<'_>, row: &Map<String, Value>) -> Vec<String> {
    const ROUNDING: f64 = 0.000_501;
    let field = |key: &str| row.get(key).and_then(Value::as_f64).unwrap_or(0.0);
    let (calls, total, average) = (field("calls"), field("total_ms"), field("avg_ms"));
    let mut doubts = Vec::new();
    if field("errors") > calls {
        doubts.push("more errors than calls");
    }
    if field("min_ms") > average || average > field("max_ms") {
        doubts.push("minimum, average and maximum are not in this order");
    }
    if (calls * average - total).abs() > (calls + 1.0) * ROUNDING + total * 1e-9 {
        doubts.push("calls times average is not the total, even with rounding");
    }
    doubts.into_iter().map(|doubt| format!("line {}: {doubt}", line.number)).collect()
}

impl Above {
    /// Takes a line that is not part of a table.
    fn take(&mut self, text: &str) {
        if let Some(thread) = thread(text) {
            self.thread = thread;
            self.threads += 1;
        } else if let Some(group) = group(text) {
            self.group = Some(group.to_owned());
        }
    }
}

/// `sleep (32370), 80 events, 93.0%`.
fn thread(text: &str) -> Option<Map<String, Value>> {
    let (name, rest) = text.rsplit_once("), ").and_then(|_| text.split_once("), "))?;
    let (comm, pid) = name.rsplit_once(" (")?;
    // Each row gets it; the kernel's have 15 bytes.
    (comm.len() <= 64).then_some(())?;
    let (events, percent) = rest.split_once(" events, ")?;
    Some(Map::from_iter([
        ("comm".to_owned(), json!(comm.trim())),
        ("pid".to_owned(), json!(pid.parse::<u64>().ok()?)),
        ("events".to_owned(), json!(events.trim().parse::<u64>().ok()?)),
        ("pct".to_owned(), decimal(percent.trim().strip_suffix('%')?)?),
    ]))
}

/// `- v5.8` and `Before:`, which people write above a table.
fn group(text: &str) -> Option<&str> {
    let bare = text.trim_start_matches(['-', '*', '=', ' ']);
    let title = bare.strip_suffix(':');
    let marked = bare.len() < text.len() || title.is_some();
    let group = title.unwrap_or(bare).trim();
    (marked && !group.is_empty() && group.len() <= 80 && group != "Summary of events").then_some(group)
}

#[cfg(test)]
mod tests {
    use super::super::{corpus, import};

    const HEAD: &str = "Before:\n syscall calls errors total min avg max stddev\n";

    #[test]
    fn the_published_tables_give_their_rows() {
        for id in ["81", "84"] {
            assert_eq!(corpus::imported(id).warnings, [""; 0]);
        }
    }

    #[test]
    fn older_tables_and_several_threads_are_read() {
        let table = |pid: u32| {
            format!(
                "> a b ({pid}), 5 events, 1.0%\r\n>\r\n> syscall calls total min avg max stddev\r\n> \
                 read 2 1.0 0.5 0.5 0.5 0.00%\r\n"
            )
        };
        let imported = import(&format!("{}{}", table(1), table(2)), "x").unwrap();
        assert_eq!((&imported.rows[1]["comm"], &imported.rows[1]["pid"]), (&"a b".into(), &2.into()));
        assert!(imported.scalars.is_empty() && !imported.rows[0].contains_key("errors"));
    }

    #[test]
    fn damage_is_told() {
        let error = |rows: &str| import(&format!("{HEAD}{rows}"), "x").unwrap_err().to_string();
        assert_eq!(error(""), "x:2: recognised perf trace -s, which has no rows here");
        assert_eq!(
            error("read 18446744073709551616 0 1 1 1 1 0.0%\n"),
            "x:3: 18446744073709551616 is not a count"
        );
        assert_eq!(error("read 1 0 1e9 1 1 1 0.0%\n"), "x:3: 1e9 is not a time in ms");
        let warnings = |rows: &str| import(&format!("{HEAD}{rows}"), "x").unwrap().warnings;
        let good = "read 1 0 1.0 1.0 1.0 1.0 0.0%\n";
        assert_eq!(
            warnings(&format!("{good}write 1 0 1.")),
            ["line 4: write 1 0 1. is not a whole row; it is left out"]
        );
        assert_eq!(warnings("read 1 2 1.0 1.0 1.0 1.0 0.0%\n"), ["line 3: more errors than calls"]);
        assert_eq!(warnings("read 1 0 9.0 1.0 1.0 0.5 0.0%\n").len(), 2);
    }
}
