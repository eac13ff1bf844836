//! Files of ftrace `hist` triggers: `{ pid: 1, lat: ~ 2^4 } hitcount: 7`. Rows that differ in their
//! other keys share a bucket.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{ImportError, Imported, ImportedBucket, ImportedHistogram, Line, Source, Unit};

/// The part of the file that belongs to one trigger.
#[derive(Debug, Default)]
struct Section {
    /// `hist:keys=...`, as the kernel prints it back.
    trigger: Option<String>,
    line: usize,
    rows: Vec<Map<String, Value>>,
    /// Edges, both inclusive, and hits.
    buckets: BTreeMap<(u128, u128), u64>,
    /// The bucketed key.
    key: Option<String>,
    hits: u64,
    totals: Map<String, Value>,
}

/// An entry whose `}` or hits have not come yet.
#[derive(Debug)]
struct Open<'a> {
    line: Line<'a>,
    text: String,
}

/// Reads the histograms, `None` if there are none.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    let ours = source.lines.iter().any(|line| {
        let text = line.trimmed();
        comment(text).is_some_and(|text| text == "event histogram" || text.starts_with("trigger info: hist:"))
            || (text.starts_with('{') && text.contains("} hitcount:"))
    });
    ours.then(|| read(source))
}

/// The text of a `#` line.
fn comment(text: &str) -> Option<&str> {
    text.strip_prefix('#').map(str::trim)
}

fn read(source: &Source<'_>) -> Result<Imported, ImportError> {
    let mut sections: Vec<Section> = Vec::new();
    let mut open: Option<Open<'_>> = None;
    let mut warnings = Vec::new();
    let mut synthetic = false;
    for line in &source.lines {
        let text = line.trimmed();
        synthetic |= text.contains("/events/synthetic/");
        if let Some(Open { line, .. }) = open.take_if(|_| text.starts_with(['{', '#']) || text == "Totals:") {
            warnings.push(format!("line {}: the entry has no end; it is left out", line.number));
        }
        if let Some(entry) = &mut open {
            entry.text.push('\n');
            entry.text.push_str(text);
        } else if let Some(text) = comment(text) {
            if let Some(trigger) = text.strip_prefix("trigger info:") {
                let trigger = Some(trigger.trim().to_owned());
                sections.push(Section { trigger, line: line.number, ..Section::default() });
            }
            continue;
        } else if text.starts_with('{') {
            open = Some(Open { line: *line, text: text.to_owned() });
        } else {
            if let Some(section) = sections.last_mut() {
                total(source, *line, text, &mut section.totals)?;
            }
            continue;
        }
        if let Some(entry) = open.take_if(|_| closes(text)) {
            if sections.is_empty() {
                sections.push(Section { line: entry.line.number, ..Section::default() });
            }
            if let Some(section) = sections.last_mut() {
                section.entry(&entry).map_err(|what| source.damaged(entry.line, what))?;
            }
        }
    }
    if let Some(entry) = open {
        warnings.push(format!("line {}: the entry has no end; it is left out", entry.line.number));
    }
    finish(source, sections, warnings, synthetic)
}

/// Whether `text` ends an entry: `hitcount:` with a number.
fn closes(text: &str) -> bool {
    text.rsplit_once("hitcount:").is_some_and(|(_, hits)| !hits.trim().is_empty())
}

/// `Hits: 2122` below `Totals:`.
fn total(
    source: &Source<'_>,
    line: Line<'_>,
    text: &str,
    totals: &mut Map<String, Value>,
) -> Result<(), ImportError> {
    let Some((key @ ("Hits" | "Entries" | "Dropped"), value)) = text.split_once(':') else { return Ok(()) };
    let value: u64 = value
        .trim()
        .parse()
        .map_err(|_| source.damaged(line, format!("{key} `{}` is not a whole number", value.trim())))?;
    totals.insert(key.to_owned(), json!(value));
    Ok(())
}

impl Section {
    fn entry(&mut self, entry: &Open<'_>) -> Result<(), String> {
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
        let sorted = |name: &str| {
            let trigger = self.trigger.as_deref().unwrap_or("");
            trigger.split_once("sort=").is_some_and(|(_, key)| key.starts_with(&format!("{name}.")))
        };
        if let Some((name, range)) =
            bucketed.iter().find(|(name, _)| sorted(name)).or(bucketed.last()).copied()
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

    fn histogram(&self, source: &Source<'_>, name: String) -> Result<ImportedHistogram, ImportError> {
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

fn finish(
    source: &Source<'_>,
    sections: Vec<Section>,
    warnings: Vec<String>,
    synthetic: bool,
) -> Result<Imported, ImportError> {
    let mut imported = Imported { format: "tracefs-hist".to_owned(), warnings, ..Imported::default() };
    let single = sections.len() == 1;
    for section in sections {
        check(&section, &mut imported.warnings);
        if !section.buckets.is_empty() {
            let mut histogram = section.histogram(source, "all keys".to_owned())?;
            let key = section.key.as_deref().unwrap_or("");
            histogram.heading = section.trigger.clone().filter(|_| !single);
            (histogram.unit, imported.warnings) = unit(&section, key, synthetic, imported.warnings);
            imported.histograms.push(histogram);
        }
        if single {
            imported.scalars = section.totals;
        }
        imported.rows.extend(section.rows);
    }
    if imported.rows.is_empty() {
        let line = source.lines.iter().find(|line| line.trimmed().starts_with('#'));
        let line = line.copied().unwrap_or(Line { number: 1, text: "" });
        return Err(source.damaged(line, "a hist trigger file without entries"));
    }
    Ok(imported)
}

/// The unit as far as the text tells it. A key of a synthetic event that is called `delta` is a
/// difference of `common_timestamp.usecs` in all published examples, so that is taken and said.
fn unit(
    section: &Section,
    key: &str,
    synthetic: bool,
    mut warnings: Vec<String>,
) -> (Option<Unit>, Vec<String>) {
    let trigger = section.trigger.as_deref().unwrap_or("");
    let suffix = key.rsplit_once('_').and_then(|(_, suffix)| Unit::from_word(suffix));
    let unit = suffix.or_else(|| trigger.contains(".usecs").then_some(Unit::Us));
    if unit.is_none() && synthetic && key == "delta" {
        warnings.push(format!(
            "line {}: the text does not say the unit of `delta`; us are taken, as in the examples for synthetic events",
            section.line
        ));
        return (Some(Unit::Us), warnings);
    }
    (unit, warnings)
}

/// Adds where the totals and the entries of `section` disagree.
fn check(section: &Section, warnings: &mut Vec<String>) {
    let mut warn = |text: String| warnings.push(format!("line {}: {text}", section.line));
    let total = |key: &str| section.totals.get(key).and_then(Value::as_u64);
    let dropped = total("Dropped").unwrap_or(0);
    if dropped > 0 {
        warn(format!("{dropped} events were dropped: the table of the trigger was full"));
    }
    match total("Hits") {
        Some(hits) if section.hits.checked_add(dropped) != Some(hits) => {
            warn(format!("the entries add up to {} hits, the totals say {hits}", section.hits));
        }
        None => warn("no totals: the file may be cut".to_owned()),
        _ => {}
    }
    let rows = section.rows.len();
    if let Some(entries) = total("Entries").filter(|entries| u64::try_from(rows) != Ok(*entries)) {
        warn(format!("{rows} entries found, the totals say {entries}"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{corpus, import};
    use super::*;

    #[test]
    fn the_samples_give_their_right_values() {
        for id in ["47", "48", "49"] {
            corpus::assert_histograms(id);
            corpus::assert_rows(id);
        }
        for id in ["47", "48", "49"] {
            corpus::assert_scalars(id);
        }
        assert_eq!(corpus::imported("47").warnings, Vec::<String>::new());
    }

    #[test]
    fn damaged_samples_do_not_panic() {
        for id in ["47", "48", "49"] {
            corpus::assert_no_panic(id);
        }
    }

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

    #[test]
    fn damage_is_an_error_or_a_warning() {
        let read = |text: &str| import(text, "x");
        let head = "# event histogram\r\n# trigger info: hist:keys=lat.log2:vals=hitcount:sort=lat.log2\r\n";
        let entry = "{ lat: ~ 2^2 } hitcount: 18446744073709551615\r\n";
        let imported = read(&format!("{head}{entry}")).unwrap();
        assert_eq!(imported.histograms[0].total(), Some(u64::MAX));
        assert_eq!(imported.warnings, ["line 2: no totals: the file may be cut"]);
        assert_eq!(
            read(&format!("{head}{entry}{entry}")).unwrap_err().to_string(),
            "x:4: the hits of a bucket add up to more than 2^64 - 1"
        );
        assert_eq!(read(head).unwrap_err().to_string(), "x:1: a hist trigger file without entries");
        let cut = read(&format!("{head}{{ lat: ~ 2^2 }} hitcount: 1\n{{ lat: ~ 2^3 ")).unwrap();
        assert_eq!(cut.warnings[0], "line 4: the entry has no end; it is left out");
        assert_eq!(
            read(&format!("{head}{{ lat: ~ 2^99 }} hitcount: 1\n")).unwrap_err().to_string(),
            "x:3: `~ 2^99` is not a bucket"
        );
    }
}
