//! Rows and single values, and what is said about all maps together.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::super::{ImportError, Imported, Line, Source};

/// Parts of a key that the rstat scripts in circulation print, by the map's name.
const KNOWN_KEYS: &[(&str, &[&str])] = &[("@stack_wait", &["pid", "comm", "level"])];

/// The row of a map that is no histogram.
pub(super) fn map_row(map: &str, key: Option<&str>, time: Option<&str>) -> Map<String, Value> {
    let mut row = Map::new();
    if let Some(time) = time {
        row.insert("time".to_owned(), time.into());
    }
    row.insert("map".to_owned(), map.into());
    row.insert("key".to_owned(), key.map_or(Value::Null, Value::from));
    let parts = KNOWN_KEYS.iter().find(|(known, _)| *known == map).map_or(&[][..], |(_, parts)| parts);
    let values: Vec<&str> = key.unwrap_or("").split(", ").collect();
    if parts.len() == values.len() {
        for (part, value) in parts.iter().zip(values) {
            row.insert((*part).to_owned(), scalar(value));
        }
    }
    row
}

/// `value`, or the three of `stats()`.
pub(super) fn insert_value(row: &mut Map<String, Value>, text: &str) {
    match stats(text) {
        Some(values) => row.extend(values.map(|(key, value)| (key.to_owned(), value))),
        None => {
            row.insert("value".to_owned(), scalar(text));
        }
    }
}

/// A value that only a map has: a number, or `count 2, average 5, total 10`.
pub(super) fn is_value(text: &str) -> bool {
    text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() || stats(text).is_some()
}

fn stats(text: &str) -> Option<[(&str, Value); 3]> {
    let mut parts = text.splitn(3, ", ");
    let mut part = |key: &'static str| {
        let value = parts.next()?.strip_prefix(key)?.trim().parse::<i64>().ok()?;
        Some((key, Value::from(value)))
    };
    Some([part("count")?, part("average")?, part("total")?])
}

/// An integer, or the text.
fn scalar(text: &str) -> Value {
    let integer = text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from));
    integer.unwrap_or_else(|_| text.into())
}

/// Whole numbers as such.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, positive and below 2^53")]
pub(super) fn plain_number(value: f64) -> Value {
    if value.fract() == 0.0 && (0.0..9e15).contains(&value) {
        Value::from(value as u64)
    } else {
        value.into()
    }
}

/// The result, with its format and with doubts that concern several maps.
pub(super) fn conclude(
    source: &Source<'_>,
    mut imported: Imported,
    troubles: HashMap<String, usize>,
) -> Result<Imported, ImportError> {
    if imported.histograms.is_empty() && imported.rows.is_empty() && imported.scalars.is_empty() {
        let line = source.lines.last().copied().unwrap_or(Line { number: 1, text: "" });
        return Err(source.damaged(line, "bpftrace output without maps or events"));
    }
    let series = repeated(&mut imported);
    if !series {
        keys_and_total(&mut imported);
    }
    total_among_keys(&mut imported);
    let mut troubles: Vec<_> = troubles.into_iter().collect();
    troubles.sort_unstable();
    imported.warnings.extend(troubles.into_iter().map(|(message, count)| match count {
        1 => format!("in the text: {message}"),
        _ => format!("in the text, {count} times: {message}"),
    }));
    imported.format = format(&imported, series).to_owned();
    Ok(imported)
}

fn format(imported: &Imported, series: bool) -> &'static str {
    let keyed = imported.histograms.iter().any(|histogram| histogram.name.contains('['));
    let open = |high: Option<Option<f64>>| high == Some(None);
    let linear =
        imported.histograms.iter().any(|histogram| open(histogram.buckets.last().map(|bucket| bucket.high)));
    match (imported.histograms.is_empty(), series, linear, keyed) {
        (false, true, ..) => "bpftrace-hist-series",
        (false, false, true, true) => "bpftrace-lhist-perkey",
        (false, false, true, false) => "bpftrace-lhist",
        (false, false, false, true) => "bpftrace-hist-perkey",
        (false, false, false, false) => "bpftrace-hist",
        (true, ..) if imported.rows.iter().any(|row| row.contains_key("frames")) => "bpftrace-stack-map",
        (true, ..) if imported.rows.iter().any(|row| row.contains_key("map")) => "bpftrace-counter-maps",
        (true, ..) => "bpftrace-printf-lines",
    }
}

/// One map printed several times: whether it was cleared between is not in the text.
fn repeated(imported: &mut Imported) -> bool {
    let mut times: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, histogram) in imported.histograms.iter().enumerate() {
        times.entry(histogram.full_name()).or_default().push(index);
    }
    let mut all: Vec<_> = times.into_iter().filter(|(_, indices)| indices.len() > 1).collect();
    all.sort_unstable_by_key(|(_, indices)| indices[0]);
    for (name, indices) in &all {
        imported.warnings.push(format!(
            "{name} is printed {} times: each is kept by itself, none is added to another",
            indices.len()
        ));
    }
    !all.is_empty()
}

/// `@total` beside the keys of another map: their sums should agree.
fn keys_and_total(imported: &mut Imported) {
    let mut keyed: Option<(&str, usize, u64)> = None;
    for histogram in &imported.histograms {
        let Some((map, _)) = histogram.name.split_once('[') else { continue };
        let Some(total) = histogram.total() else { return };
        keyed = match keyed {
            None => Some((map, 1, total)),
            Some((known, count, sum)) if known == map => {
                let Some(sum) = sum.checked_add(total) else { return };
                Some((known, count + 1, sum))
            }
            // Two keyed maps: no telling which of them it is the total of.
            Some(_) => return,
        };
    }
    let total = imported.histograms.iter().find(|histogram| is_total(histogram.name.trim_start_matches('@')));
    let (Some((map, 2.., sum)), Some(total)) = (keyed, total) else { return };
    let Some(all) = total.total() else { return };
    let warning = (sum != all).then(|| {
        format!("{} holds {all} events and the keys of {map} {sum}: neither is corrected", total.name)
    });
    imported.scalars.insert("sum_over_keys".to_owned(), sum.into());
    imported.warnings.extend(warning);
}

/// A key `all` among others.
fn total_among_keys(imported: &mut Imported) {
    let mut warnings: Vec<String> = Vec::new();
    for row in &imported.rows {
        if let (Some(Value::String(map)), Some(Value::String(key))) = (row.get("map"), row.get("key"))
            && is_total(key)
        {
            let warning = format!("{map}[{key}] reads as a total of the other keys: do not add it to them");
            if warnings.last() != Some(&warning) {
                warnings.push(warning);
            }
        }
    }
    imported.warnings.append(&mut warnings);
}

fn is_total(word: &str) -> bool {
    ["total", "all", "sum"].iter().any(|total| word.eq_ignore_ascii_case(total))
}
