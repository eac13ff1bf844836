//! `perf sched latency`: a row for each task with its run time, switches and delays.

use serde_json::{Map, Value, json};

use super::{ImportError, Imported, Line, Source, shortened};

/// What has been read.
#[derive(Default)]
struct Reading {
    imported: Imported,
    /// A bare line above rows, by which people tell runs apart.
    group: Option<String>,
    /// Switches up to here, of all groups.
    switches: u128,
}

/// `Task | Runtime ms | Switches | ...`; newer versions write `Count`.
fn is_head(text: &str) -> bool {
    let mut cells = text.split('|').map(str::trim);
    cells.next() == Some("Task")
        && cells.next() == Some("Runtime ms")
        && matches!(cells.next(), Some("Switches" | "Count"))
}

/// Reads the table, `None` if there is none.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    let head = source.lines.iter().position(|line| is_head(line.trimmed()))?;
    Some(read(source, head))
}

fn read(source: &Source<'_>, head: usize) -> Result<Imported, ImportError> {
    let imported = Imported { format: "perf-sched-latency".to_owned(), ..Imported::default() };
    let mut reading = Reading { imported, ..Reading::default() };
    for line in source.lines.iter().skip(head + 1) {
        reading.line(*line).map_err(|message| source.damaged(*line, message))?;
    }
    if reading.imported.rows.is_empty() {
        let line = source.lines.get(head).copied().unwrap_or(Line { number: 1, text: "" });
        return Err(source.damaged(line, "recognised perf sched latency, which has no rows here"));
    }
    Ok(reading.imported)
}

impl Reading {
    fn line(&mut self, line: Line<'_>) -> Result<(), String> {
        let text = line.trimmed();
        let warnings = &mut self.imported.warnings;
        if text.is_empty() || text.starts_with("---") || is_head(text) {
            return Ok(());
        }
        let Some((task, cells)) = text.split_once('|') else {
            if text.starts_with("INFO:") {
                warnings.push(format!("line {}: perf says: {}", line.number, shortened(text)));
            } else if text.len() <= 80 && !text.ends_with(['.', ',']) {
                self.group = Some(text.trim_end_matches(':').to_owned());
            }
            return Ok(());
        };
        let (task, cells) = (task.trim(), cells.trim_end());
        let mut cells = cells.strip_suffix('|').unwrap_or(cells).split('|').map(str::trim);
        if task == "TOTAL:" {
            if let Some(total) = cells.nth(1).and_then(|cell| cell.parse::<u128>().ok())
                && total != self.switches
            {
                warnings.push(format!(
                    "line {}: the rows add up to {} switches, the total says {total}",
                    line.number, self.switches
                ));
            }
            return Ok(());
        }
        let Some((name, pid)) = task.rsplit_once(':').filter(|(name, _)| !name.is_empty()) else {
            return Ok(());
        };
        let mut row =
            Map::from_iter([("group".to_owned(), json!(self.group)), ("task".to_owned(), json!(name))]);
        // Tasks of one name may be merged: `name:(12)`.
        match pid.strip_prefix('(').and_then(|threads| threads.strip_suffix(')')) {
            Some(threads) => row.insert("threads".to_owned(), whole(threads)?),
            None => row.insert("pid".to_owned(), whole(pid)?),
        };
        let runtime = cells.next().and_then(|cell| cell.strip_suffix("ms"));
        let (Some(runtime), Some(switches)) = (runtime, cells.next()) else {
            warnings.push(format!("line {}: the row is cut off; it is left out", line.number));
            return Ok(());
        };
        row.insert("runtime_ms".to_owned(), decimal(runtime.trim())?);
        let switches = whole(switches)?;
        self.switches += u128::from(switches.as_u64().unwrap_or(0));
        row.insert("switches".to_owned(), switches);
        for cell in cells {
            if let Some((field, value)) = labelled(cell)? {
                row.insert(field.to_owned(), value);
            }
        }
        let delay = |key: &str| row.get(key).and_then(Value::as_f64);
        match (delay("avg_delay_ms"), delay("max_delay_ms")) {
            (Some(average), Some(max)) if average > max => {
                warnings.push(format!("line {}: the average delay is above the maximum", line.number));
            }
            (Some(_), Some(_)) => {}
            _ => warnings.push(format!("line {}: the row has no average and maximum delay", line.number)),
        }
        self.imported.rows.push(row);
        Ok(())
    }
}

/// The field and value of `avg:    0.002 ms`, `max at:    112.154512 s`.
fn labelled(cell: &str) -> Result<Option<(&'static str, Value)>, String> {
    const LABELS: [(&str, &str, &str); 5] = [
        ("avg", "ms", "avg_delay_ms"),
        ("max", "ms", "max_delay_ms"),
        ("max at", "s", "max_at_s"),
        ("max start", "s", "max_start_s"),
        ("max end", "s", "max_end_s"),
    ];
    let Some((label, value)) = cell.split_once(':') else { return Ok(None) };
    let Some((_, unit, field)) = LABELS.iter().find(|(known, ..)| *known == label.trim()) else {
        return Ok(None);
    };
    match value.strip_suffix(unit) {
        Some(number) => Ok(Some((field, decimal(number.trim())?))),
        // Cut off within the cell.
        None => Ok(None),
    }
}

fn whole(text: &str) -> Result<Value, String> {
    text.parse::<u64>().map(Value::from).map_err(|_| format!("{} is not a whole number", shortened(text)))
}

/// Digits with a fraction: not `inf`, not `1e9`.
fn decimal(text: &str) -> Result<Value, String> {
    let plain = text.len() <= 24 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = text.parse::<f64>().ok().filter(|_| plain);
    number.map(Value::from).ok_or_else(|| format!("{} is not a number", shortened(text)))
}

#[cfg(test)]
mod tests {
    use super::super::{corpus, import};

    const HEAD: &str =
        " Task | Runtime ms | Count | Avg delay ms | Max delay ms | Max delay start | Max delay end |\n";

    #[test]
    fn the_published_table_gives_its_rows() {
        assert_eq!(corpus::imported("83").warnings, [""; 0]);
    }

    #[test]
    fn newer_tables_with_their_total_are_read() {
        let rows =
            "  a b:(12) | 1.5 ms | 3 | avg: 0.1 ms | max: 0.2 ms | max start: 1.5 s | max end: 2.0 s\n";
        let text = format!("{HEAD}---\n{rows}---\n  TOTAL: | 1.5 ms | 3 |\n---\n");
        let imported = import(&text, "x").unwrap();
        assert_eq!(imported.rows[0]["threads"], 12);
        assert_eq!((&imported.rows[0]["task"], &imported.rows[0]["max_end_s"]), (&"a b".into(), &2.0.into()));
        assert_eq!(imported.warnings, [""; 0]);
        let wrong =
            text.replace("| 3 |\n", "| 4 |\n").replace("---\n  TOTAL", " INFO: 0.1% lost events\n  TOTAL");
        assert_eq!(
            import(&wrong, "x").unwrap().warnings,
            [
                "line 4: perf says: INFO: 0.1% lost events",
                "line 5: the rows add up to 3 switches, the total says 4"
            ]
        );
    }

    #[test]
    fn damage_is_told() {
        let error = |rows: &str| import(&format!("{HEAD}{rows}"), "x").unwrap_err().to_string();
        assert_eq!(error(""), "x:1: recognised perf sched latency, which has no rows here");
        assert_eq!(error("a:b | 1 ms | 1 |\n"), "x:2: b is not a whole number");
        assert_eq!(error("a:1 | 1e3 ms | 1 |\n"), "x:2: 1e3 is not a number");
        let imported =
            import(&format!("{HEAD}a:1 | 1 ms | 1 | avg: 2 ms | max: 1 ms\na:1 | 1 ms | 1 | avg: 2"), "x");
        assert_eq!(
            imported.unwrap().warnings,
            [
                "line 2: the average delay is above the maximum",
                "line 3: the row has no average and maximum delay"
            ]
        );
    }
}
