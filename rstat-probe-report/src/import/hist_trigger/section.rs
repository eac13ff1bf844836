//! What belongs to one trigger: its entries, the buckets they share, and its totals.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    super::{ImportError, ImportedBucket, ImportedHistogram, Line, Source, Unit},
    Open,
};

/// The part of the file that belongs to one trigger.
#[derive(Debug, Default)]
pub(super) struct Section {
    /// `hist:keys=...`, as the kernel prints it back.
    pub(super) trigger: Option<String>,
    /// The key that the trigger sorts by.
    sorted_by: Option<String>,
    pub(super) line: usize,
    pub(super) rows: Vec<Map<String, Value>>,
    /// Edges, both inclusive, and hits.
    pub(super) buckets: BTreeMap<(u128, u128), u64>,
    /// The bucketed key.
    key: Option<String>,
    hits: u64,
    pub(super) totals: Map<String, Value>,
}

impl Section {
    /// Of the trigger that the kernel printed back.
    pub(super) fn new(trigger: &str, line: usize) -> Self {
        let sorted_by = trigger.split_once("sort=").and_then(|(_, keys)| keys.split_once('.'));
        let sorted_by = sorted_by.map(|(key, _)| key.to_owned());
        Self { trigger: Some(trigger.to_owned()), sorted_by, line, ..Self::default() }
    }

    /// Of entries without a head.
    pub(super) fn headless(line: usize) -> Self {
        Self { line, ..Self::default() }
    }

    /// Takes an entry with its hits.
    pub(super) fn entry(&mut self, entry: &Open<'_>) -> Result<(), String> {
        let text = entry.text.strip_prefix('{').unwrap_or(&entry.text);
        let (keys, values) = text.rsplit_once('}').ok_or("the entry has no `}`")?;
        let mut row = Map::new();
        let words: Vec<&str> = values.split_whitespace().collect();
        for pair in words.chunks(2) {
            let (Some(name), Some(value)) = (pair[0].strip_suffix(':'), pair.get(1)) else { continue };
            let value: u64 =
                value.parse().map_err(|_| format!("the {name} `{value}` is not a whole number"))?;
            row.insert(name.to_owned(), json!(value));
        }
        let hits = row.get("hitcount").and_then(Value::as_u64).ok_or("the entry has no hitcount")?;
        let mut bucketed = Vec::new();
        for pair in keys.split(',') {
            let Some((name, value)) = pair.split_once(':') else { continue };
            let (name, value) = (name.trim(), value.trim());
            if name.ends_with("stacktrace") {
                let frames: Vec<&str> =
                    value.lines().map(str::trim).filter(|frame| !frame.is_empty()).collect();
                row.insert("stack".to_owned(), json!(frames));
                continue;
            }
            if let Some(range) = value.strip_prefix('~') {
                bucketed.push((name, range.trim()));
            }
            row.insert(
                name.to_owned(),
                value.parse::<i64>().map_or_else(|_| json!(value), |value| json!(value)),
            );
        }
        if let Some((name, range)) = bucketed
            .iter()
            .find(|(name, _)| self.sorted_by.as_deref() == Some(*name))
            .or(bucketed.last())
            .copied()
        {
            let edges = edges(range).ok_or_else(|| format!("`~ {range}` is not a bucket"))?;
            let count = self.buckets.entry(edges).or_insert(0);
            *count = count.checked_add(hits).ok_or("the hits of a bucket add up to more than 2^64 - 1")?;
            if *self.key.get_or_insert_with(|| name.to_owned()) != name {
                return Err(format!("the buckets are of `{name}` here and of another key before"));
            }
        }
        self.hits = self.hits.checked_add(hits).ok_or("the hits up to here add up to more than 2^64 - 1")?;
        self.rows.push(row);
        Ok(())
    }

    /// The hits by bucket, whatever the other keys are.
    pub(super) fn histogram(
        &self,
        source: &Source<'_>,
        name: String,
    ) -> Result<ImportedHistogram, ImportError> {
        let ranges: Vec<&(u128, u128)> = self.buckets.keys().collect();
        if let Some([first, second]) = ranges.array_windows().find(|[first, second]| second.0 <= first.1) {
            let line = Line { number: self.line, text: "" };
            let message = format!("buckets of the trigger overlap: {first:?} and {second:?}");
            return Err(source.damaged(line, message));
        }
        let buckets = self.buckets.iter().map(|((low, high), count)| ImportedBucket {
            low: Some(*low as f64),
            high: Some((high + 1) as f64),
            count: *count,
        });
        Ok(ImportedHistogram { name, buckets: buckets.collect(), ..ImportedHistogram::default() })
    }

    /// The unit as far as the text tells it. A key of a synthetic event that is called `delta` is a
    /// difference of `common_timestamp.usecs` in all published examples, so that is taken and said.
    pub(super) fn unit(&self, synthetic: bool, warnings: &mut Vec<String>) -> Option<Unit> {
        let key = self.key.as_deref().unwrap_or("");
        let trigger = self.trigger.as_deref().unwrap_or("");
        let suffix = key.rsplit_once('_').and_then(|(_, suffix)| Unit::from_word(suffix));
        let unit = suffix.or_else(|| trigger.contains(".usecs").then_some(Unit::Us));
        if unit.is_some() || !synthetic || key != "delta" {
            return unit;
        }
        warnings.push(format!(
            "line {}: the text does not say the unit of `delta`; us are taken, as in the examples for synthetic events",
            self.line
        ));
        Some(Unit::Us)
    }

    /// Adds where the totals and the entries disagree.
    pub(super) fn check(&self, warnings: &mut Vec<String>) {
        let mut warn = |text: String| warnings.push(format!("line {}: {text}", self.line));
        let total = |key: &str| self.totals.get(key).and_then(Value::as_u64);
        let dropped = total("Dropped").unwrap_or(0);
        if dropped > 0 {
            warn(format!("{dropped} events were dropped: the table of the trigger was full"));
        }
        match total("Hits") {
            Some(hits) if self.hits.checked_add(dropped) != Some(hits) => {
                warn(format!("the entries add up to {} hits, the totals say {hits}", self.hits));
            }
            None => warn("no totals: the file may be cut".to_owned()),
            _ => {}
        }
        let rows = self.rows.len();
        if let Some(entries) = total("Entries").filter(|entries| u64::try_from(rows) != Ok(*entries)) {
            warn(format!("{rows} entries found, the totals say {entries}"));
        }
    }
}

/// Both ends, inclusive. `2^N` is the kernel's `ilog2(roundup_pow_of_two(v))`: the values above
/// 2^(N-1), up to 2^N; 0 lands in `2^0` as well.
fn edges(range: &str) -> Option<(u128, u128)> {
    if let Some(power) = range.strip_prefix("2^") {
        let power: u32 = power.trim().parse().ok().filter(|power| *power <= 64)?;
        let low = if power == 0 { 0 } else { (1u128 << (power - 1)) + 1 };
        return Some((low, 1u128 << power));
    }
    let (low, high) = range.split_once('-')?;
    let (low, high): (u64, u64) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (low <= high).then_some((low.into(), high.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_those_of_the_kernel() {
        assert_eq!(edges("2^0"), Some((0, 1)));
        assert_eq!(edges("2^1"), Some((2, 2)));
        assert_eq!(edges("2^2"), Some((3, 4)));
        assert_eq!(edges("2^64"), Some(((1 << 63) + 1, 1 << 64)));
        assert_eq!(edges("2^65"), None);
        assert_eq!(edges("10-19"), Some((10, 19)));
        assert_eq!(edges("19-10"), None);
        assert_eq!(edges("0-18446744073709551615"), Some((0, u128::from(u64::MAX))));
    }
}
