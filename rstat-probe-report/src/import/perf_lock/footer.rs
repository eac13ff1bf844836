//! What stands around the tables: `=== output for debug ===`, the time of a benchmark, headings.

use serde_json::{Map, Value};

use super::super::{Imported, Line};

/// What was read around the tables.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    /// The last heading, as `Before` of `Before:`.
    pub(super) heading: Option<String>,
    /// Within the list of reasons.
    reasons: bool,
    /// Lost and all events of the last footer.
    bad: Option<(u64, u64)>,
}

impl Surroundings {
    /// Takes `line` if it is one of these.
    pub(super) fn take(&mut self, line: Line<'_>, into: &mut Imported) -> bool {
        let text = line.text.trim();
        if text.starts_with("=== output for debug") {
            self.reasons = false;
        } else if let Some((bad, total)) = bad_line(text) {
            self.losses(line, bad, total, into);
        } else if let Some(rate) = text.strip_prefix("bad rate:") {
            self.rate(line, rate, into);
        } else if text.starts_with("histogram of failure reasons")
            || text.starts_with("histogram of events caused")
        {
            self.reasons = true;
        } else if self.reasons && take_reasons(text, &mut into.scalars) {
        } else if let Some(seconds) = total_time(text) {
            let key = match &self.heading {
                Some(heading) => format!("{}_total_time_s", heading.replace(char::is_whitespace, "_")),
                None => "total_time_s".to_owned(),
            };
            insert_new(&mut into.scalars, &key, Value::from(seconds));
        } else if let Some(heading) = heading(text) {
            self.reasons = false;
            self.heading = Some(heading.to_owned());
        } else {
            return false;
        }
        true
    }

    /// `# debug: total=13, bad=1, bad_task=0, ...`, from behind the colon.
    pub(super) fn take_csv(&mut self, line: Line<'_>, text: &str, into: &mut Imported) {
        let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '=');
        let pairs: Vec<(&str, u64)> = parts
            .filter_map(|part| part.split_once('=').and_then(|(key, n)| Some((key, n.parse().ok()?))))
            .collect();
        let value = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, n)| *n);
        if let (Some(bad), Some(total)) = (value("bad"), value("total")) {
            self.losses(line, bad, total, into);
        } else {
            into.warnings.push(format!("line {}: the debug line has no bad and total", line.number));
        }
        for (key, n) in &pairs {
            if let Some(reason) = key.strip_prefix("bad_") {
                insert_new(&mut into.scalars, &format!("fail_{reason}"), Value::from(*n));
            }
        }
    }

    fn losses(&mut self, line: Line<'_>, bad: u64, total: u64, into: &mut Imported) {
        self.bad = Some((bad, total));
        insert_new(&mut into.scalars, "bad", Value::from(bad));
        insert_new(&mut into.scalars, "bad_total", Value::from(total));
        if bad > total {
            into.warnings.push(format!("line {}: {bad} lost events of {total} in all", line.number));
        } else if bad > 0 {
            into.warnings.push(format!(
                "line {}: perf lost {bad} of {total} events ({:.2} %); counts and times are too low by an unknown part",
                line.number,
                percent(bad, total)
            ));
        }
    }

    fn rate(&mut self, line: Line<'_>, text: &str, into: &mut Imported) {
        let Ok(rate) = text.trim().trim_end_matches('%').trim_end().parse::<f64>() else {
            into.warnings.push(format!("line {}: the bad rate is not a number", line.number));
            return;
        };
        if !rate.is_finite() {
            return;
        }
        insert_new(&mut into.scalars, "bad_rate_pct", Value::from(rate));
        if let Some((bad, total)) = self.bad.take()
            && total > 0
            && (percent(bad, total) - rate).abs() > 0.011
        {
            into.warnings.push(format!(
                "line {}: the bad rate is printed as {rate} %, but {bad} of {total} is {:.2} %",
                line.number,
                percent(bad, total)
            ));
        }
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole as f64
}

/// `bad: 1, total: 13`.
fn bad_line(text: &str) -> Option<(u64, u64)> {
    let (bad, total) = text.strip_prefix("bad:")?.split_once(',')?;
    let total = total.trim_start().strip_prefix("total:")?;
    Some((bad.trim().parse().ok()?, total.trim().parse().ok()?))
}

/// `task: 0`, or several with commas between.
fn take_reasons(text: &str, scalars: &mut Map<String, Value>) -> bool {
    let pairs: Option<Vec<(&str, u64)>> = text
        .split(',')
        .map(|part| part.split_once(':').and_then(|(key, n)| Some((key.trim(), n.trim().parse().ok()?))))
        .collect();
    for (reason, n) in pairs.iter().flatten() {
        insert_new(scalars, &format!("fail_{reason}"), Value::from(*n));
    }
    pairs.is_some()
}

/// `Total time: 11.299 [sec]`, of `perf bench`.
fn total_time(text: &str) -> Option<f64> {
    let value = text.strip_prefix("Total time:")?.trim().strip_suffix("[sec]")?.trim_end();
    value.parse().ok().filter(|seconds: &f64| seconds.is_finite())
}

/// `Before:`, but no comment and no long prose.
fn heading(text: &str) -> Option<&str> {
    let heading = text.strip_suffix(':')?;
    let words = heading.split_whitespace().count();
    ((1..=4).contains(&words) && heading.len() <= 60 && heading.starts_with(char::is_alphabetic))
        .then_some(heading)
}

/// Inserts under `key`, or `key_2`, ... where there is one already.
fn insert_new(scalars: &mut Map<String, Value>, key: &str, value: Value) {
    if !scalars.contains_key(key) {
        scalars.insert(key.to_owned(), value);
        return;
    }
    // Some runs are pasted together, never thousands; so this stays linear in the file.
    if let Some(free) = (2..10).map(|n| format!("{key}_{n}")).find(|key| !scalars.contains_key(key)) {
        scalars.insert(free, value);
    }
}
