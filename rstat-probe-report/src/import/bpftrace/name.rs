//! Names of maps, and the units that they and the prose around them tell.

use super::super::Unit;

/// The line a map starts with: `@name:`, `@name[key]: value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MapLine<'a> {
    /// With the `@`.
    pub(super) map: &'a str,
    /// Between the brackets.
    pub(super) key: Option<&'a str>,
    /// After the colon.
    pub(super) rest: &'a str,
}

/// Parses `text` as the first line of a map.
pub(super) fn parse_map_line(text: &str) -> Option<MapLine<'_>> {
    let after = text.strip_prefix('@')?;
    let (map, after) = text.split_at(1 + identifier(after));
    if let Some(rest) = after.strip_prefix(':') {
        return ends_here(rest).then_some(MapLine { map, key: None, rest: rest.trim() });
    }
    let (key, rest) = after.strip_prefix('[')?.split_once("]:")?;
    ends_here(rest).then_some(MapLine { map, key: Some(key), rest: rest.trim() })
}

/// `@name[` with no end of the key: a stack is part of it and the lines below hold it.
pub(super) fn opens_key(text: &str) -> bool {
    let Some(after) = text.strip_prefix('@') else {
        return false;
    };
    after[identifier(after)..].strip_prefix('[').is_some_and(|key| !key.contains([']', '[', '=', ';']))
}

/// `name[key]:` alone: a map whose `@` was lost when it was pasted.
pub(super) fn parse_without_at(text: &str) -> Option<(&str, &str)> {
    let length = identifier(text);
    let key = text[length..].strip_prefix('[')?.trim_end().strip_suffix("]:")?;
    (length > 0).then_some((&text[..length], key))
}

fn identifier(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

fn ends_here(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(char::is_whitespace)
}

/// The unit that the name of a map ends in, a word like `hist` or a `by_...` after it or not.
pub(in crate::import) fn unit_of_map(map: &str) -> Option<Unit> {
    let mut words: Vec<String> =
        map.trim_start_matches('@').split('_').map(str::to_ascii_lowercase).collect();
    if let Some(by) = words.iter().position(|word| word == "by") {
        words.truncate(by);
    }
    while words.last().is_some_and(|word| {
        ["hist", "histogram", "dist", "distribution", "lat", "latency", "time", "total"]
            .contains(&word.as_str())
    }) {
        words.pop();
    }
    let word = words.pop()?;
    if words.last().is_some_and(|before| before == "per") {
        return None;
    }
    // `@s` alone is anything.
    Unit::from_word(&word).filter(|_| word.len() > 1 || !words.is_empty())
}

/// The unit that prose tells, as in `Time below is in nanosec:`.
pub(super) fn unit_of_prose(text: &str) -> Option<Unit> {
    let mut words =
        text.split_whitespace().map(|word| word.trim_matches([':', ',', '.', '(', ')', '[', ']']));
    while let Some(word) = words.next() {
        if ["in", "unit", "units"].iter().any(|start| word.eq_ignore_ascii_case(start)) {
            let unit = words.clone().next().and_then(|word| {
                // Unit::from_word has the words of tools; people also write these.
                let known = match word.to_ascii_lowercase().as_str() {
                    "nanosec" | "nanosecs" | "nanosecond" => Some(Unit::Ns),
                    "microsec" | "microsecs" | "microsecond" => Some(Unit::Us),
                    "millisec" | "millisecs" | "millisecond" | "milliseconds" => Some(Unit::Ms),
                    _ => None,
                };
                known.or_else(|| Unit::from_word(word).filter(|_| word.len() > 1))
            });
            if unit.is_some() {
                return unit;
            }
        }
    }
    None
}

/// The heading that a line of prose is: `Patched kernel:`, `## Before`, `after the patch`.
pub(super) fn heading(text: &str) -> Option<String> {
    let bare = text.trim_matches(|c: char| "#*=-".contains(c) || c.is_whitespace());
    let marked = bare.len() < text.trim().len() && text.starts_with(['#', '*', '=']);
    let title = bare.strip_suffix(':').map(str::trim_end);
    let words = title.unwrap_or(bare).split_whitespace().count();
    let plain = bare.chars().all(|c| c.is_alphanumeric() || " .,_()+-".contains(c)) && !bare.ends_with('.');
    let command =
        bare.contains("bpftrace") || bare.rsplit_once('.').is_some_and(|(_, extension)| extension == "bt");
    let is_heading = (1..=10).contains(&words)
        && bare.chars().any(char::is_alphanumeric)
        && (title.is_some() || marked || (words <= 5 && plain && !command));
    (is_heading && bare.len() <= 120).then(|| title.unwrap_or(bare).to_owned())
}
