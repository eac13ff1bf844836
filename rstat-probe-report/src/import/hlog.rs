//! Interval logs of HdrHistogram (`.hlog`): one histogram a tag, the intervals as rows.

mod payload;
mod ratio;

use std::collections::{BTreeMap, HashMap};

use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

use self::ratio::Ratio;
use super::{ImportError, Imported, ImportedBucket, ImportedHistogram, Line, Source};

/// Distinct buckets of all tags together; more is no measurement. Full range with 5 digits has
/// 6.4 million, and the common 3 digits 57 thousand.
const MOST_BUCKETS: usize = 8_000_000;

/// Slots of all histograms of the log together, empty ones included: each is looked at, and a line
/// of a hundred bytes can have six million. This is ten hours of intervals of 1 s with 3 digits.
const MOST_SLOTS: u64 = 2 << 30;

/// Name of the histogram of the lines without a tag.
const UNTAGGED: &str = "(no tag)";

/// Reads `source` if it has the version comment or a line with a histogram.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    let is_of_format = |line: &Line<'_>| {
        let text = line.text.trim_start();
        text.starts_with("#[Histogram log format version") || interval(text).is_ok()
    };
    source.lines.iter().any(is_of_format).then(|| read(source))
}

/// A line of the log.
struct Interval<'a> {
    tag: Option<&'a str>,
    start: f64,
    length: f64,
    /// As written.
    max: &'a str,
    payload: &'a str,
}

/// Nobody measured longer: 30 years. The lengths of all intervals add up to something finite then.
const LONGEST_INTERVAL: f64 = 1e9;

/// Takes `text` apart.
fn interval(text: &str) -> Result<Interval<'_>, String> {
    let mut columns = text.split([',', ' ', '\t']).filter(|column| !column.is_empty()).peekable();
    let tag =
        columns.next_if(|column| column.starts_with("Tag=")).and_then(|column| column.strip_prefix("Tag="));
    let mut next = |what: &str| columns.next().ok_or_else(|| format!("no {what} in an interval"));
    let start = seconds(next("start")?)?;
    let length = seconds(next("length")?)?;
    if !(0.0..=LONGEST_INTERVAL).contains(&length) {
        return Err(format!("an interval of {length:e} s"));
    }
    let max = next("maximum")?;
    seconds(max)?;
    let payload = next("histogram")?;
    if !payload.starts_with("HIST") {
        return Err("the last column is no histogram of version 2".to_owned());
    }
    match columns.next() {
        Some(column) => Err(format!("{column:?} after the histogram")),
        None => Ok(Interval { tag, start, length, max, payload }),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("{text:?} is no number"))
}

/// The intervals of one tag added up.
struct Sum<'a> {
    tag: Option<&'a str>,
    /// Digits and power of two of the lowest value: what the grid of buckets depends on.
    grid: (u8, u32),
    /// Lowest value to highest value and count.
    buckets: BTreeMap<u64, (u64, u64)>,
    elapsed: f64,
}

/// All that is read.
#[derive(Default)]
struct Log<'a> {
    sums: Vec<Sum<'a>>,
    index: HashMap<Option<&'a str>, usize>,
    buckets: usize,
    slots: u64,
    rows: Vec<Map<String, Value>>,
    ratio: Ratio,
    scalars: Map<String, Value>,
}

fn read(source: &Source<'_>) -> Result<Imported, ImportError> {
    let mut log = Log::default();
    let mut warnings = Vec::new();
    let last = source.lines.iter().rev().find(|line| !line.text.trim().is_empty()).map(|line| line.number);
    for line in &source.lines {
        let text = line.text.trim();
        if let Some(comment) = text.strip_prefix("#[") {
            log.comment(comment);
        } else if !text.is_empty() && !text.starts_with(['#', '"']) {
            match interval(text).and_then(|interval| log.add(&interval)) {
                Ok(()) => {}
                // The command line above the output.
                Err(_) if log.rows.is_empty() && !text.contains("HIST") => {}
                // A process that was killed leaves half a line.
                Err(message) if !log.rows.is_empty() && Some(line.number) == last => {
                    warnings.push(format!("line {}, the last, was left out: {message}", line.number));
                }
                Err(message) => return Err(source.damaged(*line, message)),
            }
        }
    }
    Ok(log.finish(warnings))
}

impl<'a> Log<'a> {
    /// Takes what comments say of the time and the maxima.
    fn comment(&mut self, comment: &str) {
        let Some((key, value)) = comment.split_once(':') else { return };
        let value = value.split([' ', ']']).find(|word| !word.is_empty()).and_then(|word| seconds(word).ok());
        match (key.trim(), value) {
            ("StartTime", Some(value)) => drop(self.scalars.insert("start_epoch_s".to_owned(), json!(value))),
            ("BaseTime", Some(value)) => drop(self.scalars.insert("base_epoch_s".to_owned(), json!(value))),
            ("MaxValueDivisor", Some(value)) => self.ratio.stated(value),
            _ => {}
        }
    }

    fn add(&mut self, interval: &Interval<'a>) -> Result<(), String> {
        let histogram = payload::decode(interval.payload)?;
        self.slots += histogram.distinct_values() as u64;
        if self.slots > MOST_SLOTS {
            return Err(format!("more than {MOST_SLOTS} slots in the log: cut it into parts"));
        }
        let grid = (histogram.sigfig(), histogram.low().ilog2());
        let at = *self.index.entry(interval.tag).or_insert(self.sums.len());
        if at == self.sums.len() {
            self.sums.push(Sum { tag: interval.tag, grid, buckets: BTreeMap::new(), elapsed: 0.0 });
        }
        let Some(sum) = self.sums.get_mut(at) else { return Ok(()) };
        if sum.grid != grid {
            let (digits, power) = sum.grid;
            return Err(format!(
                "the histogram has {} digits from 2^{} on, those before it {digits} from 2^{power} on: they do not add up",
                grid.0, grid.1
            ));
        }
        let before = sum.buckets.len();
        let count = sum.add(&histogram)?;
        self.buckets += sum.buckets.len() - before;
        if self.buckets > MOST_BUCKETS {
            return Err(format!("more than {MOST_BUCKETS} buckets in the log"));
        }
        sum.elapsed += interval.length;
        self.ratio.interval(histogram.max(), interval.max);
        if self.rows.is_empty() {
            self.scalars.insert("sig_digits".to_owned(), json!(histogram.sigfig()));
            self.scalars.insert("lowest".to_owned(), json!(histogram.low()));
        }
        let mut row = Map::new();
        row.insert("tag".to_owned(), json!(interval.tag));
        row.insert("start_s".to_owned(), json!(interval.start));
        row.insert("length_s".to_owned(), json!(interval.length));
        row.insert("interval_max".to_owned(), json!(interval.max.parse::<f64>().ok()));
        row.insert("count".to_owned(), json!(count));
        row.insert("max_raw".to_owned(), json!(histogram.max()));
        self.rows.push(row);
        Ok(())
    }

    fn finish(mut self, mut warnings: Vec<String>) -> Imported {
        let unit = self.ratio.unit();
        if self.ratio.is_milliseconds() {
            for row in &mut self.rows {
                let max = row.remove("interval_max").unwrap_or_default();
                row.insert("interval_max_ms".to_owned(), max);
            }
        }
        if self.rows.is_empty() {
            warnings.push("the log has no intervals".to_owned());
        } else {
            self.ratio.warn(&mut warnings);
            self.scalars.insert("max_unit_ratio".to_owned(), self.ratio.value());
        }
        self.scalars.insert("intervals".to_owned(), json!(self.rows.len()));
        let histogram = |sum: Sum<'_>| ImportedHistogram {
            name: sum.tag.unwrap_or(UNTAGGED).to_owned(),
            unit,
            elapsed_s: Some((sum.elapsed * 1e3).round() / 1e3).filter(|elapsed| *elapsed > 0.0),
            buckets: sum
                .buckets
                .into_iter()
                .map(|(low, (highest, count))| bucket(low, highest, count))
                .collect(),
            ..ImportedHistogram::default()
        };
        Imported {
            format: "hdrhistogram-log".to_owned(),
            histograms: self.sums.into_iter().map(histogram).collect(),
            rows: self.rows,
            scalars: self.scalars,
            warnings,
        }
    }
}

fn bucket(low: u64, highest: u64, count: u64) -> ImportedBucket {
    ImportedBucket { low: Some(low as f64), high: highest.checked_add(1).map(|high| high as f64), count }
}

impl Sum<'_> {
    /// Adds `histogram` and tells its count.
    fn add(&mut self, histogram: &Histogram<u64>) -> Result<u64, String> {
        let mut total = 0u64;
        let too_many = || "the counts exceed 2^64".to_owned();
        for step in histogram.iter_recorded() {
            let highest = step.value_iterated_to();
            let entry = self.buckets.entry(histogram.lowest_equivalent(highest)).or_insert((highest, 0));
            entry.1 = entry.1.checked_add(step.count_at_value()).ok_or_else(too_many)?;
            total = total.checked_add(step.count_at_value()).ok_or_else(too_many)?;
        }
        Ok(total)
    }
}

#[cfg(test)]
mod tests;
