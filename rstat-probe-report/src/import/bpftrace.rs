//! bpftrace's text: histograms (`hist`, `lhist`), counters and stacks of maps, and the lines that
//! scripts print beside them, also after mail programs have quoted, wrapped and joined them.

pub(super) mod draft;
pub(super) mod events;
pub(super) mod name;
mod reader;
mod row;
mod summary;
#[cfg(test)]
mod tests;

use self::{
    name::parse_map_line,
    reader::Reader,
    row::{Parsed, parse},
};
use super::{ImportError, Imported, Source};

/// Reads bpftrace's text.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    source.lines.iter().any(|line| tells(line.text)).then(|| Reader::new(source).read())
}

/// A line that nothing else prints.
fn tells(text: &str) -> bool {
    let text = text.trim();
    let text = events::split_time(text).map_or(text, |(_, rest)| rest);
    if let Some(line) = parse_map_line(text) {
        return line.rest.is_empty()
            || summary::is_value(line.rest)
            || matches!(parse(line.rest), Parsed::Row(..));
    }
    let row = matches!(parse(text), Parsed::Row(row, _) if row.bar.ends > 0);
    let attached = text.strip_prefix("Attaching ").or_else(|| text.strip_prefix("Attached "));
    row || attached.is_some_and(|rest| rest.contains(" probe"))
        || events::parse_elapsed(text).is_some()
        || events::parse_rates(text).is_some()
        || (text.starts_with("Long lock-") && events::parse_event(text, None).is_some())
}
