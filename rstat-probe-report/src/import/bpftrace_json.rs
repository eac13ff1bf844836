//! bpftrace's `-f json`: one object a line, or spread over several, its keys in the order of the
//! text.

mod json;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use self::json::Json;
use super::{
    ImportError, Imported, ImportedBucket, Line, Source,
    bpftrace::{
        draft::{Draft, DraftRow},
        events::parse_elapsed,
        name::unit_of_map,
    },
};

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

    /// One line of bpftrace's.
    fn object(&mut self, line: Line<'a>, value: Json) -> Result<(), ImportError> {
        let Json::Object(fields) = value else {
            return Ok(());
        };
        let mut kind = None;
        let mut data = None;
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("type", Json::Text(text)) => kind = Some(text),
                ("data", value) => data = Some(value),
                ("msg", Json::Text(text)) => {
                    self.imported.warnings.push(format!(
                        "line {}: bpftrace says: {}",
                        line.number,
                        text.trim()
                    ));
                }
                _ => {}
            }
        }
        let (Some(kind), Some(data)) = (kind, data) else {
            return Ok(());
        };
        match (kind.as_str(), data) {
            ("hist", Json::Object(maps)) => self.histograms(line, maps),
            ("hist", _) => Err(self.source.damaged(line, "the data of a histogram are no map")),
            ("map" | "stats" | "tseries", Json::Object(maps)) => {
                self.maps(maps);
                Ok(())
            }
            ("lost_events", data) => {
                let count = data.get("events").and_then(Json::integer);
                let count = count.map_or_else(|| "some".to_owned(), |count| count.to_string());
                self.imported.warnings.push(format!("line {}: bpftrace lost {count} events", line.number));
                Ok(())
            }
            ("time", Json::Text(text)) => {
                self.time = Some(text.trim().to_owned());
                Ok(())
            }
            ("printf", Json::Text(text)) => {
                if let Some((elapsed, _)) = parse_elapsed(&text) {
                    self.elapsed_s = Some(elapsed);
                } else {
                    self.row([("printf", text.trim_end().into())]);
                }
                Ok(())
            }
            ("value", data) => {
                self.row([("value", data.into_value())]);
                Ok(())
            }
            ("attached_probes", _) => Ok(()),
            (kind, _) => {
                let warning = format!("line {}: data of type {kind:?} are left out", line.number);
                self.imported.warnings.push(warning);
                Ok(())
            }
        }
    }

    fn row<const N: usize>(&mut self, fields: [(&str, Value); N]) {
        let mut row: Map<String, Value> = Map::new();
        if let Some(time) = &self.time {
            row.insert("time".to_owned(), time.as_str().into());
        }
        row.extend(fields.into_iter().map(|(key, value)| (key.to_owned(), value)));
        self.imported.rows.push(row);
    }

    /// Values of maps that are no histograms.
    fn maps(&mut self, maps: Vec<(String, Json)>) {
        for (map, value) in maps {
            match value {
                Json::Object(keys) => {
                    for (key, value) in keys {
                        let fields = [
                            ("map", map.as_str().into()),
                            ("key", key.into()),
                            ("value", value.into_value()),
                        ];
                        self.row(fields);
                    }
                }
                value => {
                    self.row([("map", map.into()), ("key", Value::Null), ("value", value.into_value())]);
                }
            }
        }
    }

    fn histograms(&mut self, line: Line<'a>, maps: Vec<(String, Json)>) -> Result<(), ImportError> {
        for (map, value) in maps {
            match value {
                Json::Array(buckets) => self.histogram(line, &map, map.clone(), &buckets)?,
                Json::Object(keys) => {
                    for (key, value) in keys {
                        let Json::Array(buckets) = value else {
                            return Err(self.source.damaged(line, format!("{map}[{key}] has no buckets")));
                        };
                        self.histogram(line, &map, format!("{map}[{key}]"), &buckets)?;
                    }
                }
                _ => return Err(self.source.damaged(line, format!("{map} has no buckets"))),
            }
        }
        Ok(())
    }

    fn histogram(
        &mut self,
        line: Line<'a>,
        map: &str,
        name: String,
        buckets: &[Json],
    ) -> Result<(), ImportError> {
        if buckets.is_empty() {
            self.imported.warnings.push(format!("line {}: {name} is empty", line.number));
            return Ok(());
        }
        let mut rows = Vec::with_capacity(buckets.len());
        for bucket in buckets {
            let Some(bucket) = parse_bucket(bucket) else {
                let message = format!("a bucket of {name} is not min, max and a count below 2^64");
                return Err(self.source.damaged(line, message));
            };
            rows.push(DraftRow { line, bucket, bar: None });
        }
        let draft = Draft {
            unit: unit_of_map(map),
            name,
            time: self.time.clone(),
            elapsed_s: self.elapsed_s,
            rows,
            ..Draft::default()
        };
        let histogram = draft.finish(self.source, &mut self.imported.warnings)?;
        self.imported.histograms.push(histogram);
        Ok(())
    }
}

/// `{"min": 2, "max": 3, "count": 1}`, closed at both ends; one of them may be missing.
fn parse_bucket(bucket: &Json) -> Option<ImportedBucket> {
    let edge = |key, more: i128| match bucket.get(key) {
        None => Some(None),
        Some(value) => Some(Some(value.integer()?.checked_add(more)? as f64)),
    };
    let (low, high) = (edge("min", 0)?, edge("max", 1)?);
    let count = bucket.get("count")?.integer()?.try_into().ok()?;
    (low.is_some() || high.is_some()).then_some(ImportedBucket { low, high, count })
}

/// The message without its place, which is that of the joined text.
fn reason(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.clone(), |(reason, _)| reason.to_owned())
}
