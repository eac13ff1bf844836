//! Tables of `perf lock contention` and klockstat: of each caller the number of waits, their sum
//! and the largest. No histogram, but enough for mean and maximum.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Span;
use super::part::{Counts, Part, Row};

/// Sums of the rows of one caller.
#[derive(Default)]
struct Sums {
    rows: usize,
    count: u64,
    total: f64,
    max: f64,
}

/// A part for each caller, and a warning where several rows were added up.
pub(super) fn parts(rows: &[Map<String, Value>]) -> (Vec<(String, Part)>, Vec<String>) {
    let number =
        |row: &Map<String, Value>, keys: [&str; 2]| keys.iter().find_map(|key| row.get(*key)?.as_f64());
    let tables: std::collections::BTreeSet<String> = rows.iter().map(table).collect();
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for row in rows {
        let count = ["contended", "count"].iter().find_map(|key| row.get(*key)?.as_u64());
        let total = number(row, ["total_wait_ns", "total_ns"]);
        let max = number(row, ["max_wait_ns", "max_ns"]);
        let (Some(count), Some(total), Some(max), Some(name)) = (count, total, max, name(row)) else {
            continue;
        };
        let prefix = if tables.len() > 1 { table(row) + " " } else { String::new() };
        let sum = sums.entry(prefix + &name).or_default();
        sum.rows += 1;
        sum.count = sum.count.saturating_add(count);
        sum.total += total;
        sum.max = sum.max.max(max);
    }
    let joined: Vec<String> = sums
        .iter()
        .filter(|(_, sum)| sum.rows > 1)
        .map(|(name, sum)| format!("{} rows of {name}", sum.rows))
        .collect();
    let warning = (!joined.is_empty()).then(|| format!("added up: {}", joined.join(", ")));
    let parts =
        sums.into_iter().filter(|(_, sum)| sum.count > 0).map(|(name, sum)| (name, sum.part())).collect();
    (parts, warning.into_iter().collect())
}

impl Sums {
    fn part(&self) -> Part {
        // One bucket up to the largest: where in it the waits were is not known.
        let row = Row { low: 0.0, high: self.max + 1.0, count: self.count };
        Part {
            counts: Counts::Rows(vec![row]),
            sum: Some(self.total),
            min: None,
            max: Some(Span::exact(self.max)),
            length_s: None,
        }
    }
}

/// What tells two tables of one paste apart.
fn table(row: &Map<String, Value>) -> String {
    let text = |key: &str| {
        row.get(key).map(|value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned))
    };
    match (text("heading"), text("table")) {
        (Some(heading), _) => heading,
        (None, Some(table)) if table.bytes().all(|byte| byte.is_ascii_digit()) => format!("table {table}"),
        (None, Some(table)) => table,
        (None, None) => String::new(),
    }
}

/// Caller, lock or thread, and the type of lock.
fn name(row: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| row.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let who = ["caller", "symbol", "comm", "cgroup", "address"].iter().find_map(|key| text(key))?;
    Some(text("type").map_or_else(|| who.to_owned(), |lock| format!("{who} ({lock})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(caller: &str, contended: u64, total: u64, max: u64) -> Map<String, Value> {
        let json = serde_json::json!({
            "caller": caller, "type": "spinlock", "contended": contended,
            "total_wait_ns": total, "max_wait_ns": max, "table": 0,
        });
        json.as_object().unwrap().clone()
    }

    #[test]
    fn rows_of_one_caller_are_added_up_and_that_is_told() {
        let rows = [row("a+0x1", 2, 300, 200), row("b+0x2", 1, 5, 5), row("a+0x1", 1, 700, 700)];
        let (parts, warnings) = parts(&rows);
        assert_eq!(warnings, ["added up: 2 rows of a+0x1 (spinlock)"]);
        let (name, part) = &parts[0];
        assert_eq!(name, "a+0x1 (spinlock)");
        assert_eq!((part.events(), part.sum, part.max), (3, Some(1_000.0), Some(Span::exact(700.0))));
    }

    #[test]
    fn several_tables_are_kept_apart() {
        let mut second = row("a", 1, 1, 1);
        second.insert("heading".to_owned(), "After".into());
        let mut first = row("a", 2, 2, 1);
        first.insert("heading".to_owned(), "Before".into());
        let names: Vec<String> = parts(&[first, second]).0.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["After a (spinlock)", "Before a (spinlock)"]);
    }
}
