//! klockstat of bcc (bare ns) and of libbpf-tools (`703.9 us`): tables by caller or by thread.

use serde_json::{Map, Value};

use super::perf_lock::{Figures, Printed, unit_ns};
use super::{ImportError, Imported, Line, Source, shortened};

/// The head of a table.
#[derive(Clone, Debug)]
struct Head {
    /// `spin`, `wait` or `hold`.
    table: String,
    /// By thread, not by caller.
    threads: bool,
}

impl Head {
    /// `Caller   Avg Spin  Count   Max spin Total spin`.
    fn read(text: &str) -> Option<Self> {
        let words: Vec<String> = text.split_whitespace().take(10).map(str::to_ascii_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (threads, rest) = match words.as_slice() {
            ["caller", rest @ ..] => (false, rest),
            ["tid" | "pid", "comm", rest @ ..] => (true, rest),
            _ => return None,
        };
        match rest {
            // `Spin`, `Wait` or `Hold`; each row gets it.
            ["avg", table, "count", "max", second, "total", third]
                if table == second && table == third && table.len() <= 16 =>
            {
                Some(Self { table: (*table).to_owned(), threads })
            }
            _ => None,
        }
    }
}

/// A row and whether its times have units.
type Row = (Map<String, Value>, Figures, bool);

/// Reads the tables.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    let mut imported = Imported { format: "klockstat".to_owned(), ..Imported::default() };
    let mut head: Option<Head> = None;
    let mut tables = 0u64;
    let mut bare = false;
    let mut after_row = false;
    let mut damaged = None;
    for line in &source.lines {
        let text = line.text.trim();
        let may_belong = std::mem::take(&mut after_row);
        if let Some(found) = Head::read(text) {
            head = Some(found);
            tables += 1;
            continue;
        }
        let Some(head) = &head else { continue };
        if may_belong && belongs(text, &mut imported) {
            after_row = true;
            continue;
        }
        match row(head, text) {
            None => {}
            Some(Ok((mut fields, figures, has_units))) => {
                let name = fields.get(if head.threads { "comm" } else { "caller" });
                let name = name.and_then(Value::as_str).unwrap_or_default();
                imported.warnings.extend(figures.doubts(line.number, name));
                fields.insert("table_index".to_owned(), Value::from(tables - 1));
                imported.rows.push(fields);
                bare |= !has_units;
                after_row = true;
            }
            Some(Err(message)) => {
                imported.warnings.push(format!("line {}: {message}; the row is left out", line.number));
                damaged.get_or_insert((line.number, message));
            }
        }
    }
    head?;
    if bare {
        imported
            .warnings
            .push("the times have no unit; klockstat prints ns, so they are taken as ns".to_owned());
    }
    Some(match damaged {
        Some((number, message)) if imported.rows.is_empty() => {
            Err(source.damaged(Line { number, text: "" }, message))
        }
        _ => Ok(imported),
    })
}

/// Takes a stack line or `Max PID 1983644, COMM edgeworker/sbox` into the last row.
fn belongs(text: &str, into: &mut Imported) -> bool {
    let Some(row) = into.rows.last_mut() else { return false };
    if let Some((pid, comm)) = text.strip_prefix("Max PID ").and_then(|rest| rest.split_once(", COMM ")) {
        let Ok(pid) = pid.trim().parse::<u64>() else { return false };
        row.insert("max_pid".to_owned(), Value::from(pid));
        row.insert("max_comm".to_owned(), Value::from(comm.trim()));
        return true;
    }
    let symbol = text.contains("+0x") || text.starts_with("0x") || text == "[unknown]";
    if !symbol || text.contains(char::is_whitespace) {
        return false;
    }
    if let Some(Value::Array(stack)) = row.get_mut("stack") {
        stack.push(Value::from(text));
    } else {
        row.insert("stack".to_owned(), Value::from(vec![text]));
    }
    true
}

/// The words of a row, from its end.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn last(&mut self) -> Option<&'a str> {
        let text = self.0.trim_end();
        let at =
            text.char_indices().rev().find(|(_, c)| c.is_whitespace()).map_or(0, |(at, c)| at + c.len_utf8());
        let (rest, word) = text.split_at_checked(at)?;
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }

    /// A time and whether it has a unit; `None` if there is no number.
    fn time(&mut self) -> Option<(Result<Printed, String>, bool)> {
        let word = self.last()?;
        let (number, unit) = match unit_ns(word) {
            Some(unit) => (self.last()?, Some(unit)),
            None => (word, None),
        };
        number.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
        Some((Printed::new(number, unit.unwrap_or(1)), unit.is_some()))
    }
}

/// Reads a row from its end, since a comm may have blanks: `None` if it is none.
fn row(head: &Head, text: &str) -> Option<Result<Row, String>> {
    let mut words = Words(text);
    let total = words.time()?;
    let max = words.time()?;
    let count = words.last()?;
    count.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
    let average = words.time()?;
    let key = words.0.trim();
    if key.is_empty() {
        return None;
    }
    Some(fields(head, key, count, [total, max, average]))
}

fn fields(
    head: &Head,
    key: &str,
    count: &str,
    times: [(Result<Printed, String>, bool); 3],
) -> Result<Row, String> {
    let [(total, total_unit), (max, max_unit), (average, average_unit)] = times;
    let (total, max, average) = (total?, max?, average?);
    let count: u64 = count.parse().map_err(|_| format!("{} is not a count", shortened(count)))?;
    let mut row = Map::new();
    row.insert("table".to_owned(), Value::from(head.table.as_str()));
    if head.threads {
        let (tid, comm) = key.split_once(char::is_whitespace).unwrap_or((key, ""));
        let tid: u64 = tid.parse().map_err(|_| format!("{} is not a thread id", shortened(tid)))?;
        row.insert("tid".to_owned(), Value::from(tid));
        row.insert("comm".to_owned(), Value::from(comm.trim()));
    } else {
        row.insert("caller".to_owned(), Value::from(key));
    }
    row.insert("avg_ns".to_owned(), Value::from(average.ns));
    row.insert("count".to_owned(), Value::from(count));
    row.insert("max_ns".to_owned(), Value::from(max.ns));
    row.insert("total_ns".to_owned(), Value::from(total.ns));
    let figures = Figures { count: Some(count), total: Some(total), max: Some(max), average: Some(average) };
    Ok((row, figures, total_unit || max_unit || average_unit))
}

#[cfg(test)]
mod tests {
    use super::super::{corpus, import};

    #[test]
    fn the_published_tables_give_their_rows() {
        for id in ["39", "40", "42"] {
            assert_eq!(corpus::imported(id).format, "klockstat");
        }
    }

    #[test]
    fn hours_and_missing_units_are_warned_about_and_rounding_is_not() {
        let warnings = |id| corpus::imported(id).warnings;
        assert_eq!(warnings("39").len(), 1, "{:?}", warnings("39"));
        assert!(warnings("39")[0].contains("no unit"));
        assert_eq!(warnings("40"), Vec::<String>::new());
        assert_eq!(warnings("42").len(), 1, "{:?}", warnings("42"));
        assert!(warnings("42")[0].contains("1768320 s"), "{:?}", warnings("42"));
    }

    #[test]
    fn tables_by_thread_quotes_and_several_intervals_are_read() {
        let table = ">   Tid              Comm  Avg Wait    Count   Max Wait   Total Wait\r\n> \
                     1234   my worker 3    1.0 us        2     1.5 us       2.0 us\r\n";
        let imported = import(&table.repeat(2), "x").unwrap();
        assert_eq!(imported.rows.len(), 2);
        assert_eq!(imported.rows[1]["comm"], "my worker 3");
        assert_eq!(imported.rows[1]["tid"], 1234);
        assert_eq!(imported.rows[1]["table_index"], 1);
    }

    #[test]
    fn large_numbers_are_kept_or_an_error() {
        let head = "Caller   Avg Spin  Count   Max spin Total spin\n";
        let most = u64::MAX;
        let imported = import(&format!("{head}f+0x1 1 {most} {most} {most}\n"), "x").unwrap();
        assert_eq!(imported.rows[0]["total_ns"], most);
        let error = import(&format!("{head}f+0x1 1 1 1 {most}0\n"), "x").unwrap_err();
        assert_eq!(error.to_string(), "x:2: a time of 184467440737095516150 is out of range");
        let imported = import(&format!("{head}f+0x1 1 1 1 1\ng 1 {most}0 1 1\n"), "x").unwrap();
        assert_eq!(imported.rows.len(), 1);
        assert!(imported.warnings.iter().any(|warning| warning.starts_with("line 3:")));
    }
}
