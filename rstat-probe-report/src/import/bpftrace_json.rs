//! bpftrace's `-f json`: one object a line, or spread over several, its keys in the order of the
//! text.

mod json;
mod object;
#[cfg(test)]
mod tests;

use self::json::Json;
use super::{ImportError, Imported, Line, Source};

/// What `type` may be.
const TYPES: &[&str] = &[
    "attached_probes",
    "lost_events",
    "time",
    "printf",
    "map",
    "stats",
    "tseries",
    "value",
    "cat",
    "join",
    "syscall",
    "hist",
];

/// Reads bpftrace's JSON.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    let starts = source.lines.iter().any(|line| line.text.trim_start().starts_with('{'));
    (starts && names_a_type(source)).then(|| Reader::new(source).read())
}

/// `"type": "hist"` and the like, on one line or on two.
fn names_a_type(source: &Source<'_>) -> bool {
    let mut pending = false;
    for line in &source.lines {
        let mut pieces = line.text.split("\"type\"");
        let first = pieces.next().unwrap_or("");
        if (pending && is_type(first)) || pieces.clone().any(is_type) {
            return true;
        }
        let last = pieces.last().map_or(if pending { first } else { "x" }, |piece| piece);
        pending = matches!(last.trim(), "" | ":");
    }
    false
}

/// `: "hist", ...`
fn is_type(text: &str) -> bool {
    let text = text.trim_start();
    let text = text.strip_prefix(':').unwrap_or(text).trim_start();
    let word = text.strip_prefix('"').and_then(|text| text.split_once('"'));
    word.is_some_and(|(word, _)| TYPES.contains(&word))
}

struct Reader<'s, 'a> {
    source: &'s Source<'a>,
    imported: Imported,
    time: Option<String>,
    elapsed_s: Option<f64>,
    skipped: Vec<usize>,
}

impl<'s, 'a> Reader<'s, 'a> {
    fn new(source: &'s Source<'a>) -> Self {
        let imported = Imported { format: "bpftrace-json".to_owned(), ..Imported::default() };
        Self { source, imported, time: None, elapsed_s: None, skipped: Vec::new() }
    }

    fn read(mut self) -> Result<Imported, ImportError> {
        // Line ends become blanks, which also mends strings that a mail program has wrapped.
        let mut text = String::with_capacity(self.source.lines.iter().map(|line| line.text.len() + 1).sum());
        let mut starts = Vec::with_capacity(self.source.lines.len());
        for line in &self.source.lines {
            starts.push(text.len());
            text.push_str(line.text);
            text.push(' ');
        }
        let line_of = |offset: usize| starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let mut at = 0;
        while at < text.len() {
            let index = line_of(at);
            let end = starts.get(index + 1).copied().unwrap_or(text.len());
            let rest = &text[at..];
            let blank = rest.len() - rest.trim_start().len();
            if blank > 0 {
                at += blank;
                continue;
            }
            let Some(&line) = self.source.lines.get(index) else { break };
            if !rest.starts_with('{') {
                self.skipped.push(line.number);
                at = end;
                continue;
            }
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
            match values.next() {
                Some(Ok(value)) => {
                    at += values.byte_offset();
                    self.object(line, value)?;
                }
                Some(Err(error)) if error.is_eof() && self.has_data() => {
                    self.imported
                        .warnings
                        .push(format!("line {}: the text ends within an object", line.number));
                    break;
                }
                Some(Err(error)) => {
                    let offset = at + error.column().saturating_sub(1);
                    let line = self.source.lines.get(line_of(offset)).copied().unwrap_or(line);
                    return Err(self.source.damaged(line, format!("not JSON: {}", reason(&error))));
                }
                None => break,
            }
        }
        self.conclude()
    }

    fn has_data(&self) -> bool {
        !(self.imported.histograms.is_empty() && self.imported.rows.is_empty())
    }

    fn conclude(mut self) -> Result<Imported, ImportError> {
        if let [first, ..] = self.skipped[..] {
            let count = self.skipped.len();
            self.imported
                .warnings
                .push(format!("{count} lines are not JSON and left out, the first is line {first}"));
        }
        if !self.has_data() {
            let line = self.source.lines.last().copied().unwrap_or(Line { number: 1, text: "" });
            return Err(self.source.damaged(line, "bpftrace output without maps"));
        }
        Ok(self.imported)
    }
}

/// The message without its place, which is that of the joined text.
fn reason(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.clone(), |(reason, _)| reason.to_owned())
}
