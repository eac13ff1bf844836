//! A histogram while its rows are read, and what is checked when it ends. Both forms of
//! bpftrace output end here.

use super::super::{ImportError, ImportedBucket, ImportedHistogram, Line, Source, Unit};
use super::row::Bar;

/// A row with the line it stands on.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) struct DraftRow<'a> {
    pub(in crate::import) line: Line<'a>,
    pub(in crate::import) bucket: ImportedBucket,
    /// `None` where there is no picture.
    pub(in crate::import) bar: Option<Bar>,
}

/// A histogram while it is read.
#[derive(Clone, Debug, Default)]
pub(in crate::import) struct Draft<'a> {
    pub(in crate::import) name: String,
    pub(in crate::import) heading: Option<String>,
    pub(in crate::import) time: Option<String>,
    pub(in crate::import) elapsed_s: Option<f64>,
    pub(in crate::import) unit: Option<Unit>,
    pub(in crate::import) rows: Vec<DraftRow<'a>>,
}

impl<'a> Draft<'a> {
    /// The histogram, if its rows agree with each other; doubts go to `warnings`.
    pub(in crate::import) fn finish(
        mut self,
        source: &Source<'a>,
        warnings: &mut Vec<String>,
    ) -> Result<ImportedHistogram, ImportError> {
        let empty = |row: &&DraftRow<'_>| matches!((row.bucket.low, row.bucket.high), (Some(low), Some(high)) if low >= high);
        if let Some(row) = self.rows.iter().find(empty) {
            return Err(source.damaged(row.line, "the row ends before it begins"));
        }
        self.order(source, warnings)?;
        self.check_widths(warnings);
        self.check_bars(warnings);
        let sum = self.rows.iter().try_fold(0_u64, |sum, row| sum.checked_add(row.bucket.count));
        if let (None, Some(last)) = (sum, self.rows.last()) {
            let message = format!("the counts of {} add up to more than 2^64-1", self.name);
            return Err(source.damaged(last.line, message));
        }
        Ok(ImportedHistogram {
            name: self.name,
            heading: self.heading,
            time: self.time,
            elapsed_s: self.elapsed_s,
            unit: self.unit,
            buckets: self.rows.iter().map(|row| row.bucket).collect(),
            ..ImportedHistogram::default()
        })
    }

    /// Ascending rows; bpftrace prints empty ones too, so a gap is a loss.
    fn order(&mut self, source: &Source<'a>, warnings: &mut Vec<String>) -> Result<(), ImportError> {
        let low = |row: &DraftRow<'_>| row.bucket.low.unwrap_or(f64::NEG_INFINITY);
        let high = |row: &DraftRow<'_>| row.bucket.high.unwrap_or(f64::INFINITY);
        if !self.rows.is_sorted_by(|a, b| low(a) <= low(b)) {
            self.rows.sort_by(|a, b| low(a).total_cmp(&low(b)));
            warnings.push(format!("{}: the rows were not in order and have been sorted", self.name));
        }
        let mut gap = None;
        for pair in self.rows.windows(2) {
            let (before, after) = (&pair[0], &pair[1]);
            if high(before) > low(after) {
                let message = format!(
                    "the row of {} overlaps that of line {}: a row is wrong, or the name of another map is missing before it",
                    self.name, before.line.number
                );
                return Err(source.damaged(after.line, message));
            }
            if high(before) < low(after) && gap.is_none() {
                gap = Some((high(before), low(after), after.line.number));
            }
        }
        if let Some((from, to, line)) = gap {
            warnings.push(format!("{}: rows from {from} to {to} are missing before line {line}", self.name));
        }
        Ok(())
    }

    /// `lhist` has rows of one width, `hist` those that a power of two is cut into: a damaged edge
    /// shows.
    fn check_widths(&self, warnings: &mut Vec<String>) {
        let widths = || {
            let edges = |row: &DraftRow<'a>| Some((row.line.number, row.bucket.low?, row.bucket.high?));
            self.rows.iter().filter_map(edges).map(|(line, low, high)| (line, low, high - low))
        };
        let Some((_, _, first)) = widths().next() else {
            return;
        };
        #[expect(clippy::float_cmp, reason = "differences of integers")]
        let linear = widths().all(|(_, _, width)| width == first);
        let odd = |low: f64, width: f64| {
            low > 0.0 && (width > low || width.log2().fract() != 0.0 || low % width != 0.0)
        };
        if let Some((line, low, width)) = widths().find(|(_, low, width)| !linear && odd(*low, *width)) {
            warnings.push(format!(
                "{}: the row from {low} to {} of line {line} is not as wide as a row there is",
                self.name,
                low + width
            ));
        }
    }

    /// Counts and bars are the same thing twice: a damaged count shows.
    fn check_bars(&self, warnings: &mut Vec<String>) {
        let drawn = || self.rows.iter().filter_map(|row| row.bar.map(|bar| (row, bar)));
        if let Some((row, _)) = drawn().find(|(_, bar)| bar.ends < 2) {
            warnings.push(format!(
                "{}: the bar of line {} is not closed: the count may be cut",
                self.name, row.line.number
            ));
        }
        let Some((largest, longest)) = drawn().max_by_key(|(row, _)| row.bucket.count) else {
            return;
        };
        if largest.bucket.count == 0 {
            return;
        }
        let scale = longest.length as f64 / largest.bucket.count as f64;
        let fits = |row: &DraftRow<'_>, bar: Bar| {
            let right = row.bucket.count as f64 * scale;
            (-0.01..1.01).contains(&(right - bar.length as f64))
        };
        if let Some((row, bar)) = drawn().find(|(row, bar)| bar.ends == 2 && !fits(row, *bar)) {
            warnings.push(format!(
                "{}: the count {} of line {} does not fit its bar of {} (line {} has {} for {})",
                self.name,
                row.bucket.count,
                row.line.number,
                bar.length,
                largest.line.number,
                longest.length,
                largest.bucket.count
            ));
        }
    }
}
