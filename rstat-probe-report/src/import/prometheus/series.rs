//! The series of one histogram, and the histogram they make.

use std::collections::HashSet;

use super::super::{ImportError, ImportedBucket, ImportedHistogram, Line, Source, Unit};
use super::{Metadata, key, line::Labels};

/// The series of one histogram.
pub(super) struct Series<'a> {
    pub(super) base: &'a str,
    pub(super) labels: Labels,
    pub(super) timestamp: Option<&'a str>,
    /// Upper edge, count up to it, line.
    pub(super) buckets: Vec<(f64, u64, Line<'a>)>,
    pub(super) sum: Option<&'a str>,
    pub(super) count: Option<u64>,
    pub(super) created: Option<f64>,
}

impl<'a> Series<'a> {
    pub(super) fn new(base: &'a str, labels: Labels, timestamp: Option<&'a str>) -> Self {
        Self { base, labels, timestamp, buckets: Vec::new(), sum: None, count: None, created: None }
    }
}

/// De-accumulates `series`; `dated` are those of more than one time stamp.
pub(super) fn histogram(
    source: &Source<'_>,
    mut series: Series<'_>,
    metadata: &Metadata<'_>,
    dated: &HashSet<(String, Labels)>,
    warnings: &mut Vec<String>,
) -> Result<ImportedHistogram, ImportError> {
    let (base, sorted, _) = key(series.base, &series.labels, None);
    if let Some(timestamp) = series.timestamp.filter(|_| dated.contains(&(base.to_owned(), sorted))) {
        series.labels.push(("timestamp".to_owned(), timestamp.to_owned()));
    }
    let mut histogram = ImportedHistogram {
        name: base.to_owned(),
        labels: series.labels,
        unit: metadata.unit(base),
        upper_inclusive: true,
        ..ImportedHistogram::default()
    };
    let name = histogram.full_name();
    if let Some(word) = metadata.units.get(base).filter(|word| Unit::from_word(word).is_none()) {
        warnings.push(format!("{name}: the unit {word} is not a time"));
    }
    if !series.buckets.is_sorted_by(|a, b| a.0 <= b.0) {
        warnings.push(format!("{name}: the buckets are not in ascending order; they were sorted"));
        series.buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    histogram.buckets = single(source, &series.buckets)?;
    let (above, reached) = series.buckets.last().map_or((None, 0), |(edge, count, _)| (Some(*edge), *count));
    close(&mut histogram.buckets, above, reached, series.count, &name, warnings);
    match series.sum.map(str::parse::<f64>) {
        Some(Ok(sum)) if sum.is_finite() => histogram.sum = Some(sum),
        Some(_) => warnings.push(format!("{name}: the sum {} is left out", series.sum.unwrap_or_default())),
        None => {}
    }
    if let (true, Some(created), Some(Ok(time))) =
        (metadata.ended, series.created, series.timestamp.map(str::parse::<f64>))
    {
        histogram.elapsed_s = Some(time - created).filter(|elapsed| elapsed.is_finite() && *elapsed > 0.0);
    }
    Ok(histogram)
}

/// Buckets that count what lies in them alone.
fn single(
    source: &Source<'_>,
    cumulative: &[(f64, u64, Line<'_>)],
) -> Result<Vec<ImportedBucket>, ImportError> {
    let mut buckets = Vec::with_capacity(cumulative.len() + 1);
    let mut low = None;
    let mut before = 0;
    for (edge, total, line) in cumulative {
        if low == Some(*edge) {
            return Err(source.damaged(*line, format!("a second bucket le=\"{edge}\" of one histogram")));
        }
        let count = total.checked_sub(before).ok_or_else(|| {
            source.damaged(
                *line,
                format!("the count of le=\"{edge}\" goes backwards, from {before} to {total}"),
            )
        })?;
        buckets.push(ImportedBucket { low, high: Some(*edge).filter(|edge| edge.is_finite()), count });
        low = Some(*edge);
        before = *total;
    }
    Ok(buckets)
}

/// Compares with `_count`, from which a missing last bucket is made.
fn close(
    buckets: &mut Vec<ImportedBucket>,
    above: Option<f64>,
    reached: u64,
    count: Option<u64>,
    name: &str,
    warnings: &mut Vec<String>,
) {
    let open = above.is_some_and(f64::is_infinite);
    match count {
        None if open => {}
        None => warnings
            .push(format!("{name}: neither a +Inf bucket nor a count; events above the last edge are lost")),
        Some(count) if open && count == reached => {}
        Some(count) if open => {
            warnings.push(format!(
                "{name}: the +Inf bucket has {reached}, _count {count}; the buckets were taken"
            ));
        }
        Some(count) => match count.checked_sub(reached) {
            Some(rest) => {
                warnings.push(format!("{name}: there is no +Inf bucket; it was made from _count"));
                buckets.push(ImportedBucket { low: above, high: None, count: rest });
            }
            None => warnings.push(format!("{name}: _count {count} is less than the buckets' {reached}")),
        },
    }
}
