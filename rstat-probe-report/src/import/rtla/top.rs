//! `rtla timerlat top`: a row for each CPU, and the analysis of the stop.

use serde_json::{Map, Value, json};

use super::super::{ImportError, Imported, Line, Source, dmesg};

/// Names of the groups of columns, as `IRQ Timer Latency (us)`.
const GROUPS: [&str; 3] = ["irq", "thread", "user"];

/// Reads the summary, `None` if there is none.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    let ours = source.lines.iter().any(|line| {
        let text = line.trimmed();
        text.contains("IRQ Timer Latency (") || text.contains("hit stop tracing, analyzing it")
    });
    ours.then(|| read(source))
}

fn read(source: &Source<'_>) -> Result<Imported, ImportError> {
    let mut imported = Imported { format: "rtla-timerlat-top".to_owned(), ..Imported::default() };
    let mut stack: Vec<&str> = Vec::new();
    let mut analysis = false;
    let mut blocking = false;
    for line in &source.lines {
        let text = line.trimmed();
        if text.contains("hit stop tracing, analyzing it") {
            analysis = true;
            if let Some(cpu) = text.split_whitespace().find_map(|word| word.parse::<u64>().ok()) {
                imported.scalars.insert("stop_cpu".to_owned(), json!(cpu));
            }
        } else if !analysis {
            if let Some(row) = row(text) {
                imported.rows.push(row.map_err(|what| source.damaged(*line, what))?);
            }
        } else if let Some(symbol) = text.strip_prefix("->") {
            stack.push(symbol.trim());
        } else {
            blocking = scalar(text, blocking, &mut imported.scalars);
        }
    }
    if !stack.is_empty() {
        let rstat = stack.iter().any(|symbol| dmesg::is_rstat(symbol));
        imported.scalars.insert("stack".to_owned(), json!(stack));
        imported.scalars.insert("rstat_on_stack".to_owned(), json!(rstat));
    }
    if imported.rows.is_empty() && imported.scalars.is_empty() {
        let line = source.lines.first().copied().unwrap_or(Line { number: 1, text: "" });
        return Err(source.damaged(line, "recognised `rtla timerlat top`, which has no rows here"));
    }
    Ok(imported)
}

/// `23 #12320 | 28 0 1 28 | 41 3 11 41`.
fn row(text: &str) -> Option<Result<Map<String, Value>, String>> {
    let mut groups = text.split('|');
    let mut start = groups.next()?.split_whitespace();
    let cpu = start.next()?.parse::<u64>().ok()?;
    let count = start.next()?.strip_prefix('#')?;
    let fields = ["cur", "min", "avg", "max"];
    let parse = |word: &str| match word {
        "-" => Ok(Value::Null),
        word => word.parse::<u64>().map(Value::from).map_err(|_| format!("`{word}` is not a whole number")),
    };
    let read = || {
        let mut row = Map::from_iter([("cpu".to_owned(), json!(cpu)), ("count".to_owned(), parse(count)?)]);
        for (name, group) in GROUPS.iter().zip(groups) {
            let words: Vec<&str> = group.split_whitespace().collect();
            if words.len() != fields.len() {
                return Err(format!("{} values instead of cur, min, avg and max", words.len()));
            }
            let values =
                fields.iter().zip(words).map(|(field, word)| Ok(((*field).to_owned(), parse(word)?)));
            row.insert((*name).to_owned(), Value::Object(values.collect::<Result<_, String>>()?));
        }
        Ok(row)
    };
    Some(read())
}

/// `IRQ latency: 28.13 us`. Returns whether the blocking thread comes next.
fn scalar(text: &str, blocking: bool, scalars: &mut Map<String, Value>) -> bool {
    let microseconds = |text: &str| {
        let mut words = text.split_whitespace();
        let value: f64 = words.next()?.parse().ok().filter(|value: &f64| value.is_finite())?;
        (words.next() == Some("us")).then_some(value)
    };
    if blocking
        && let Some((thread, rest)) = text.split_once(char::is_whitespace)
        && microseconds(rest).is_some()
    {
        scalars.insert("blocking_thread".to_owned(), json!(thread));
        return false;
    }
    let Some((label, rest)) = text.split_once(": ") else { return false };
    let Some(value) = microseconds(rest) else { return false };
    if label.contains("from idle") {
        scalars.insert("idle_max_us".to_owned(), json!(value));
        let cpu = rest.rsplit_once("cpu ").and_then(|(_, cpu)| cpu.trim().parse::<u64>().ok());
        if let Some(cpu) = cpu {
            scalars.insert("idle_max_cpu".to_owned(), json!(cpu));
        }
        return false;
    }
    let name = format!("{}_us", label.trim().to_lowercase().replace(' ', "_"));
    scalars.insert(name, json!(value));
    label.trim() == "Blocking thread"
}
