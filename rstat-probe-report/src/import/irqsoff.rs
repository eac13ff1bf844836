//! Latency traces of the kernel: `irqsoff`, `preemptoff`, `preemptirqsoff`, `wakeup`. One maximum
//! a trace: who, where from, where to, how long, and the stack at the end.

mod event;

use serde_json::{Map, Value, json};

use self::event::{Event, event};
use super::{ImportError, Imported, Line, Source};

const TRACERS: [&str; 6] = ["irqsoff", "preemptoff", "preemptirqsoff", "wakeup", "wakeup_rt", "wakeup_dl"];

/// One trace.
#[derive(Debug, Default)]
struct Trace {
    /// Where it starts, from 1 on.
    line: usize,
    fields: Map<String, Value>,
    events: Vec<Event>,
    stack: Vec<String>,
    /// The sender cut rows out (`...`).
    elided: bool,
}

/// Reads the traces, `None` if there are none.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    let ours = source.lines.iter().any(|line| {
        let text = header(line.trimmed());
        text.is_some_and(|text| starts_trace(text) || text.starts_with("=> started at:"))
    });
    ours.then(|| read(source))
}

/// The text of a `#` line.
fn header(text: &str) -> Option<&str> {
    text.strip_prefix('#').map(str::trim)
}

/// `tracer: irqsoff` and `irqsoff latency trace v1.1.5 on 6.14.0`.
fn starts_trace(text: &str) -> bool {
    text.strip_prefix("tracer:").is_some_and(|tracer| TRACERS.contains(&tracer.trim()))
        || text.contains(" latency trace v")
        || (text.starts_with("latency: ") && text.contains("CPU#"))
}

fn read(source: &Source<'_>) -> Result<Imported, ImportError> {
    let mut traces: Vec<Trace> = Vec::new();
    let mut index = 0;
    while let Some(line) = source.lines.get(index) {
        let text = line.trimmed();
        index += 1;
        if let Some(text) = header(text) {
            if begins(traces.last(), text) {
                traces.push(Trace { line: line.number, ..Trace::default() });
            }
            let Some(trace) = traces.last_mut() else { continue };
            let mut whole = text.to_owned();
            // A mail client wraps in the middle of `(M:desktop ... #P:512)` and after `at:`.
            let open = |whole: &str| whole.contains('(') && !whole.contains(')') || whole.ends_with(" at:");
            for next in source.lines.iter().skip(index).take(3) {
                if !open(&whole) || next.trimmed().starts_with('#') || event(next.trimmed()).is_some() {
                    break;
                }
                whole = format!("{whole} {}", next.trimmed());
                index += 1;
            }
            head(source, *line, &whole, &mut trace.fields)?;
            continue;
        }
        let Some(trace) = traces.last_mut() else { continue };
        body(source, *line, text, trace)?;
    }
    finish(source, traces)
}

/// Whether a header line opens a new trace.
fn begins(last: Option<&Trace>, text: &str) -> bool {
    let Some(last) = last else { return true };
    let over = !last.events.is_empty() || !last.stack.is_empty();
    over && (starts_trace(text) || text.starts_with("=> started at:"))
}

fn number(source: &Source<'_>, line: Line<'_>, what: &str, word: &str) -> Result<u64, ImportError> {
    word.parse().map_err(|_| source.damaged(line, format!("the {what} `{word}` is not a whole number")))
}

/// Takes what a header line says.
fn head(
    source: &Source<'_>,
    line: Line<'_>,
    text: &str,
    fields: &mut Map<String, Value>,
) -> Result<(), ImportError> {
    let mut set = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    if let Some(tracer) = text.strip_prefix("tracer:") {
        set("tracer", json!(tracer.trim()));
    } else if let Some((tracer, rest)) = text.split_once(" latency trace ") {
        let (version, kernel) = rest.split_once(" on ").unwrap_or((rest, ""));
        set("tracer", json!(tracer.trim()));
        set("version", json!(version.trim()));
        set("kernel", json!(kernel.trim()));
    } else if let Some(rest) = text.strip_prefix("latency:") {
        let latency = rest.split_whitespace().next().unwrap_or("");
        set("latency_us", json!(number(source, line, "latency", latency)?));
        if let Some((shown, total)) = after(rest, ", #").and_then(|entries| entries.split_once('/')) {
            set("entries_shown", json!(number(source, line, "number of entries", shown)?));
            set("entries_total", json!(number(source, line, "number of entries", total)?));
        }
        if let Some(cpu) = after(rest, "CPU#") {
            set("cpu", json!(number(source, line, "CPU", cpu)?));
        }
        if let Some(model) = after(rest, "(M:") {
            set("preempt_model", json!(model));
        }
        if let Some(cpus) = after(rest, "#P:") {
            set("nr_cpus", json!(number(source, line, "number of CPUs", cpus)?));
        }
    } else if let Some(task) = text.strip_prefix("| task:") {
        let task = task.split(" (").next().unwrap_or("").trim();
        if let Some((comm, pid)) = task.rsplit_once('-') {
            set("task", json!({"comm": comm, "pid": number(source, line, "pid", pid)?}));
        }
    } else if let Some(symbol) = text.strip_prefix("=> started at:") {
        set("started_at", json!(symbol.trim()));
    } else if let Some(symbol) = text.strip_prefix("=> ended at:") {
        set("ended_at", json!(symbol.trim()));
    }
    Ok(())
}

/// The word that follows `label`, up to a blank, comma or bracket.
fn after<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(label)?;
    rest.split([' ', ',', ')', '\t']).next()
}

/// An event, a frame of the stack, the rest of an event that was wrapped, or prose.
fn body(source: &Source<'_>, line: Line<'_>, text: &str, trace: &mut Trace) -> Result<(), ImportError> {
    if let Some(event) = event(text) {
        let event = event.map_err(|what| source.damaged(line, what))?;
        trace.events.push(event);
    } else if let Some(frame) = text.strip_prefix("=>") {
        trace.stack.push(frame.trim().to_owned());
    } else if text == "..." || text == "[...]" || text == "…" {
        trace.elided = true;
    } else if let Some(event) = trace.events.last_mut()
        && trace.stack.is_empty()
        && (text.starts_with("<-") || event.what.is_empty())
        && !text.is_empty()
    {
        if !event.what.is_empty() {
            event.what.push(' ');
        }
        event.what.push_str(text);
    }
    Ok(())
}

fn finish(source: &Source<'_>, mut traces: Vec<Trace>) -> Result<Imported, ImportError> {
    traces.retain(|trace| !trace.fields.is_empty() || !trace.events.is_empty());
    let mut imported = Imported { format: "irqsoff-trace".to_owned(), ..Imported::default() };
    for trace in &traces {
        if !trace.fields.contains_key("latency_us") && trace.events.is_empty() {
            imported
                .warnings
                .push(format!("line {}: a trace without latency and events is left out", trace.line));
            continue;
        }
        check(trace, &mut imported.warnings);
        imported.rows.push(row(trace));
    }
    if imported.rows.is_empty() {
        let line = Line { number: traces.first().map_or(1, |trace| trace.line), text: "" };
        return Err(source.damaged(line, "a latency trace without latency and events"));
    }
    if let ([row], Some(trace)) = (&imported.rows[..], traces.first()) {
        imported.scalars.clone_from(row);
        let events: Vec<Value> = trace.events.iter().map(Event::to_value).collect();
        imported.scalars.insert("rows".to_owned(), json!(events));
    }
    Ok(imported)
}

/// All that one trace says, but for its single events.
fn row(trace: &Trace) -> Map<String, Value> {
    let mut row = trace.fields.clone();
    let mut default = |key: &str, value: Value| {
        row.entry(key).or_insert(value);
    };
    if let Some(task) = trace.fields.get("task") {
        default("comm", task["comm"].clone());
        default("pid", task["pid"].clone());
    }
    if let (Some(first), Some(last)) = (trace.events.first(), trace.events.last()) {
        default("comm", json!(first.comm));
        default("pid", json!(first.pid));
        default("cpu", json!(first.cpu));
        default("first_event_us", json!(first.time));
        default("last_event_us", json!(last.time));
    }
    if let Some(last) = trace.events.iter().rev().find(|event| !event.of_the_tracer()) {
        default("latency_us_last_line", json!(last.time));
    }
    default("events", json!(trace.events.len()));
    default("stack", json!(trace.stack));
    row
}

/// Adds what is contradictory or missing in `trace`.
fn check(trace: &Trace, warnings: &mut Vec<String>) {
    let mut warn = |text: String| warnings.push(format!("line {}: {text}", trace.line));
    let field = |key: &str| trace.fields.get(key).and_then(Value::as_u64);
    let events = trace.events.len();
    if let Some(shown) = field("entries_shown").filter(|shown| u64::try_from(events) != Ok(*shown)) {
        warn(format!("{shown} entries announced, {events} found: the trace was cut"));
    } else if trace.elided {
        warn("rows were cut out of the trace".to_owned());
    }
    let last = trace.events.iter().rev().find(|event| !event.of_the_tracer()).map(|event| event.time);
    match (field("latency_us"), last) {
        (None, Some(last)) => warn(format!("no `latency:` line; the last event is at {last} us")),
        (Some(latency), Some(last)) if latency.abs_diff(last) > (latency / 100).max(10) => {
            warn(format!("latency: {latency} us, but the last event is at {last} us"));
        }
        _ => {}
    }
    if trace.events.windows(2).any(|pair| pair[1].time < pair[0].time) {
        warn("times go back".to_owned());
    }
    let cpu = field("cpu").or_else(|| trace.events.first().map(|event| event.cpu));
    if let Some(event) = trace.events.iter().find(|event| Some(event.cpu) != cpu) {
        warn(format!("an event of CPU {} in a trace of CPU {}", event.cpu, cpu.unwrap_or_default()));
    }
    if !trace.fields.contains_key("started_at") || !trace.fields.contains_key("ended_at") {
        let tracer = trace.fields.get("tracer").and_then(Value::as_str).unwrap_or("");
        if !tracer.starts_with("wakeup") {
            warn("where the latency started or ended is missing".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{corpus, import};

    #[test]
    fn the_samples_give_their_right_values() {
        assert_eq!(corpus::imported("43").warnings, Vec::<String>::new());
        assert_eq!(
            corpus::imported("44").warnings,
            ["line 1: 60 entries announced, 4 found: the trace was cut"]
        );
        assert_eq!(
            corpus::imported("46").warnings,
            ["line 1: 4323 entries announced, 67 found: the trace was cut"]
        );
        assert_eq!(
            corpus::imported("S4").warnings,
            ["line 1: no `latency:` line; the last event is at 45342 us"]
        );
    }

    #[test]
    fn two_traces_give_two_rows() {
        let (text, name) = corpus::sample("43");
        let imported = import(&format!("{text}\n{text}").replace('\n', "\r\n"), &name).unwrap();
        assert_eq!(imported.rows.len(), 2);
        assert_eq!(imported.rows[0], imported.rows[1]);
        assert_eq!(imported.rows[0]["nr_cpus"], 512);
        assert!(imported.scalars.is_empty());
    }

    #[test]
    fn damage_names_the_line() {
        let error = |text: &str| import(text, "x").unwrap_err().to_string();
        assert_eq!(
            error("# tracer: irqsoff\n# latency: 18446744073709551616 us, #1/1, CPU#0 | (M:x #P:1)\n"),
            "x:2: the latency `18446744073709551616` is not a whole number"
        );
        assert_eq!(error("# tracer: irqsoff\n"), "x:1: a latency trace without latency and events");
    }
}
