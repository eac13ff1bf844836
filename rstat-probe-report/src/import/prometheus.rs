//! Histograms in the text formats of Prometheus and OpenMetrics; other metrics become rows.

mod line;
mod series;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use self::line::{Labels, Parsed, Sample, whole};
use self::series::{Series, histogram};
use super::{ImportError, Imported, Line, Source, Unit, shortened};

/// Types that a `TYPE` line may name.
const TYPES: &[&str] =
    &["counter", "gauge", "gaugehistogram", "histogram", "info", "stateset", "summary", "unknown", "untyped"];

/// Reads `source` if a line of it is a bucket or a `TYPE`.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    source.lines.iter().any(|line| is_of_format(line.text.trim_start())).then(|| read(source))
}

fn is_of_format(text: &str) -> bool {
    match metadata(text, "TYPE") {
        Some((_, kind)) => TYPES.contains(&kind),
        None => text.split_once("_bucket{").is_some_and(|(name, labels)| {
            !name.contains(char::is_whitespace) && !name.starts_with('#') && labels.contains("le=\"")
        }),
    }
}

/// The metric and the rest of a `# KEYWORD metric rest`.
fn metadata<'a>(text: &'a str, keyword: &str) -> Option<(&'a str, &'a str)> {
    let (found, rest) = text.strip_prefix('#')?.trim_start().split_once([' ', '\t'])?;
    let (metric, rest) = rest.trim_start().split_once([' ', '\t'])?;
    (found == keyword).then_some((metric, rest.trim()))
}

/// What the comments say.
#[derive(Default)]
struct Metadata<'a> {
    types: HashMap<&'a str, &'a str>,
    units: HashMap<&'a str, &'a str>,
    /// `# EOF` was there.
    ended: bool,
}

impl Metadata<'_> {
    /// Whether the series of `base` may be those of a histogram.
    fn may_be_histogram(&self, base: &str) -> bool {
        self.types
            .get(base)
            .is_none_or(|kind| ["histogram", "gaugehistogram", "untyped", "unknown"].contains(kind))
    }

    /// Unit of `base`, from its `UNIT` line or the end of its name.
    fn unit(&self, base: &str) -> Option<Unit> {
        let word = self.units.get(base).copied().or_else(|| base.rsplit_once('_').map(|(_, word)| word))?;
        // `_s` may be a plural.
        if word == "s" { None } else { Unit::from_word(word) }
    }
}

/// What a series is known by: metric, sorted labels, time stamp.
type Key<'a> = (&'a str, Labels, Option<&'a str>);

fn key<'a>(base: &'a str, labels: &Labels, timestamp: Option<&'a str>) -> Key<'a> {
    let mut labels = labels.clone();
    labels.sort();
    (base, labels, timestamp)
}

fn read(source: &Source<'_>) -> Result<Imported, ImportError> {
    let mut imported = Imported { format: "prometheus-histogram".to_owned(), ..Imported::default() };
    let (metadata, samples) = lines(source, &mut imported.warnings)?;
    let mut all: Vec<Series<'_>> = Vec::new();
    let mut index: HashMap<Key<'_>, usize> = HashMap::new();
    // Buckets first: without them `_sum` and `_count` are metrics like others.
    for (line, sample) in &samples {
        let Some((base, edge, labels)) = bucket(sample, &metadata) else { continue };
        let edge = parse_edge(edge)
            .ok_or_else(|| source.damaged(*line, format!("le=\"{edge}\" is not the edge of a bucket")))?;
        let count = count_of(source, *line, sample)?;
        let at = *index.entry(key(base, &labels, sample.timestamp)).or_insert(all.len());
        if at == all.len() {
            all.push(Series::new(base, labels, sample.timestamp));
        }
        if let Some(series) = all.get_mut(at) {
            series.buckets.push((edge, count, *line));
        }
    }
    for (line, sample) in &samples {
        if bucket(sample, &metadata).is_some() {
            imported.rows.extend(exemplar(sample));
        } else if !belongs(source, *line, sample, &index, &mut all)? {
            imported.rows.push(row_of(sample));
        }
    }
    let dated = several_times(&all);
    let counted = all.iter().any(|series| series.count.is_some());
    for series in all.iter().filter(|series| series.count.is_none() && (counted || series.sum.is_some())) {
        let name = shortened(series.base);
        imported.warnings.push(format!("{name}: there is no _count: the text may be cut off"));
    }
    for series in all {
        let histogram = histogram(source, series, &metadata, &dated, &mut imported.warnings)?;
        imported.histograms.push(histogram);
    }
    Ok(imported)
}

/// The samples and what the comments say.
fn lines<'a>(
    source: &Source<'a>,
    warnings: &mut Vec<String>,
) -> Result<(Metadata<'a>, Vec<(Line<'a>, Sample<'a>)>), ImportError> {
    let mut metadata_found = Metadata::default();
    let mut samples = Vec::new();
    let mut open_metrics = false;
    let mut left_out: Vec<usize> = Vec::new();
    for line in &source.lines {
        let text = line.text.trim();
        if text.is_empty() {
            continue;
        }
        if metadata_found.ended {
            left_out.push(line.number);
        } else if let Some(comment) = text.strip_prefix('#') {
            if let Some((metric, kind)) = metadata(text, "TYPE") {
                metadata_found.types.insert(metric, kind);
            } else if let Some((metric, unit)) = metadata(text, "UNIT") {
                open_metrics = true;
                metadata_found.units.insert(metric, unit);
            } else if comment.trim() == "EOF" {
                metadata_found.ended = true;
            }
        } else {
            match line::parse(text) {
                Parsed::Sample(sample) => {
                    open_metrics |= sample.exemplar.is_some();
                    samples.push((*line, sample));
                }
                Parsed::Broken(message) => return Err(source.damaged(*line, message)),
                // The command line above the output.
                Parsed::Prose if samples.is_empty() => {}
                Parsed::Prose => left_out.push(line.number),
            }
        }
    }
    if let Some(first) = left_out.first() {
        let count = left_out.len();
        warnings.push(format!("{count} lines are no samples and were left out, the first is line {first}"));
    }
    let last = source.lines.iter().rev().find(|line| !line.text.trim().is_empty());
    if let (false, Some(last), Some((line, _))) = (source.ended, last, samples.last())
        && last.number == line.number
    {
        warnings.push(format!("line {}, the last, has no line end: it may be cut off", last.number));
    }
    if open_metrics && !metadata_found.ended {
        warnings.push("OpenMetrics text without \"# EOF\" at its end: it may be cut off".to_owned());
    }
    Ok((metadata_found, samples))
}

/// Metric, `le` and the other labels, if `sample` is a bucket.
fn bucket<'a, 's>(sample: &'s Sample<'a>, metadata: &Metadata<'_>) -> Option<(&'a str, &'s str, Labels)> {
    let base = sample.name.strip_suffix("_bucket").filter(|base| metadata.may_be_histogram(base))?;
    let (_, edge) = sample.labels.iter().find(|(key, _)| key == "le")?;
    let labels = sample.labels.iter().filter(|(key, _)| key != "le").cloned().collect();
    Some((base, edge, labels))
}

/// An edge, infinity included.
fn parse_edge(text: &str) -> Option<f64> {
    let edge: f64 = text.trim().parse().ok()?;
    (!edge.is_nan() && edge > f64::NEG_INFINITY).then_some(edge)
}

fn count_of(source: &Source<'_>, line: Line<'_>, sample: &Sample<'_>) -> Result<u64, ImportError> {
    whole(sample.value).ok_or_else(|| {
        source.damaged(line, format!("the count {} is not a whole number below 2^64", sample.value))
    })
}

/// Takes `sample` into the histogram it belongs to, if it is the sum, count or creation of one.
fn belongs<'a>(
    source: &Source<'_>,
    line: Line<'a>,
    sample: &Sample<'a>,
    index: &HashMap<Key<'a>, usize>,
    all: &mut [Series<'a>],
) -> Result<bool, ImportError> {
    let Some((base, suffix)) = sample.name.rsplit_once('_') else { return Ok(false) };
    if !["sum", "gsum", "count", "gcount", "created"].contains(&suffix) {
        return Ok(false);
    }
    let found = index.get(&key(base, &sample.labels, sample.timestamp)).and_then(|at| all.get_mut(*at));
    let Some(series) = found else { return Ok(false) };
    match suffix {
        "created" => series.created = sample.value.parse().ok(),
        "sum" | "gsum" => series.sum = Some(sample.value),
        _ => series.count = Some(count_of(source, line, sample)?),
    }
    Ok(true)
}

/// Metrics and labels that stand in the file with more than one time stamp.
fn several_times(all: &[Series<'_>]) -> HashSet<(String, Labels)> {
    let mut seen = HashSet::new();
    all.iter()
        .map(|series| key(series.base, &series.labels, None))
        .filter_map(|(base, labels, _)| {
            let one = (base.to_owned(), labels);
            if seen.insert(one.clone()) { None } else { Some(one) }
        })
        .collect()
}

/// A sample that is no part of a histogram.
fn row_of(sample: &Sample<'_>) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert("name".to_owned(), sample.name.into());
    row.insert("labels".to_owned(), object(&sample.labels));
    row.insert("value".to_owned(), number(sample.value));
    if let Some(timestamp) = sample.timestamp {
        row.insert("timestamp".to_owned(), number(timestamp));
    }
    row
}

/// The one event that a bucket names.
fn exemplar(sample: &Sample<'_>) -> Option<Map<String, Value>> {
    let (labels, value) = sample.exemplar.as_ref()?;
    let mut row = row_of(sample);
    row.insert("exemplar".to_owned(), object(labels));
    row.insert("value".to_owned(), number(value));
    Some(row)
}

fn object(labels: &Labels) -> Value {
    Value::Object(labels.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect())
}

/// Whole numbers exactly; what JSON has no number for, as text.
fn number(text: &str) -> Value {
    match (whole(text), text.parse::<f64>()) {
        (Some(whole), _) => json!(whole),
        (None, Ok(value)) if value.is_finite() => json!(value),
        _ => json!(text),
    }
}

#[cfg(test)]
mod tests;
