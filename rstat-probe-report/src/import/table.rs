//! Hand-made bucket tables, as they are in commit messages: bounds in the first column, a column of counts
//! for each side.

mod bounds;
mod columns;
mod row;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::{ImportError, Imported, ImportedBucket, ImportedHistogram, Line, Source, Unit};
use bounds::Printed;
pub(super) use bounds::from_word;
use columns::Columns;
pub(super) use columns::unit_in;
use row::Row;

/// A table under way.
#[derive(Default)]
struct Table<'a> {
    /// The line above, without rulers.
    head: Option<Line<'a>>,
    /// `Before:`.
    heading: Option<&'a str>,
    rows: Vec<Row<'a>>,
    /// Counts of a row of totals.
    totals: Option<(Line<'a>, Vec<u64>)>,
}

/// Reads the tables.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    let mut imported = Imported { format: "hand-bucket-table".to_owned(), ..Imported::default() };
    let mut tables = Vec::new();
    let mut table = Table::default();
    let mut damaged = None;
    for line in &source.lines {
        let text = line.text.trim();
        if text.is_empty() || text.chars().all(|c| "-=+|: _".contains(c)) {
            continue;
        }
        match Row::read(*line, table.rows.last()) {
            Some(Ok(row)) => table.rows.push(row),
            Some(Err(message)) => {
                damaged.get_or_insert((*line, message));
            }
            None => {
                if !table.rows.is_empty() {
                    if let Some(totals) = row::total(text) {
                        table.totals = Some((*line, totals));
                        continue;
                    }
                    let heading = table.heading;
                    tables.push(std::mem::replace(&mut table, Table { heading, ..Table::default() }));
                }
                table.head = Some(*line);
                // All histograms below get it, so it must not be long.
                if let Some(heading) = text.strip_suffix(':').filter(|heading| heading.len() <= 120) {
                    table.heading = Some(heading);
                }
            }
        }
    }
    tables.push(table);
    tables.retain(Table::is_sure);
    if tables.is_empty() {
        return None;
    }
    if let Some((line, message)) = damaged {
        return Some(Err(source.damaged(line, message)));
    }
    for table in &mut tables {
        if let Err((line, message)) = table.histograms(&mut imported) {
            return Some(Err(source.damaged(line, message)));
        }
    }
    number_names(&mut imported.histograms);
    Some(Ok(imported))
}

/// Numbers the histograms that even their headings do not tell apart.
fn number_names(histograms: &mut [ImportedHistogram]) {
    let mut seen = BTreeMap::<String, usize>::new();
    for histogram in histograms {
        let times = seen.entry(histogram.full_name()).or_default();
        *times += 1;
        if *times > 1 {
            histogram.name = format!("{} ({times})", histogram.name);
        }
    }
}

impl<'a> Table<'a> {
    /// Whether this is a table and not a chance likeness.
    fn is_sure(&self) -> bool {
        let units = self.rows.iter().any(|row| row.bounds.units().next().is_some());
        let counts = self.rows.iter().filter(|row| !row.cells.is_empty()).count();
        counts > 0 && self.rows.len() >= if units { 2 } else { 3 }
    }

    /// The smallest unit of the rows, or that of the head.
    fn unit(&self) -> Option<Unit> {
        let units = self.rows.iter().flat_map(|row| row.bounds.units());
        units.min_by_key(|unit| unit.nanoseconds()).or_else(|| unit_in(self.head?.text))
    }

    fn histograms(&mut self, into: &mut Imported) -> Result<(), (Line<'a>, String)> {
        let unit = self.unit();
        let Some(first) = self.rows.first().map(|row| row.line) else { return Ok(()) };
        let mut edges = self.edges(unit);
        if edges.len() > 1 && edges.windows(2).all(|two| start(two[1].0) < start(two[0].0)) {
            edges.reverse();
            self.rows.reverse();
        }
        include_ends(&mut edges);
        self.check_edges(&edges, into)?;

        let columns = Columns::new(self.head, &self.rows);
        if let Some(warning) = columns.doubt(first) {
            into.warnings.push(warning);
        }
        let mut counts = vec![vec![None; self.rows.len()]; columns.names.len()];
        for (index, row) in self.rows.iter().enumerate() {
            for (column, count) in
                columns.place(row, &mut into.warnings).map_err(|message| (row.line, message))?
            {
                if let Some(cell) = counts.get_mut(column).and_then(|column| column.get_mut(index)) {
                    *cell = Some(count);
                }
            }
        }
        let mut totals = Vec::new();
        for (name, counts) in columns.names.iter().zip(&counts) {
            // Blank cells are zero; those at the end are no buckets of this column.
            let used = counts.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            if used == 0 {
                into.warnings.push(format!("line {}: {name} has no counts; it is left out", first.number));
                continue;
            }
            let buckets = edges.iter().zip(counts).take(used);
            let histogram = ImportedHistogram {
                name: name.clone(),
                heading: self.heading.map(str::to_owned),
                unit,
                buckets: buckets
                    .map(|((low, high), count)| ImportedBucket {
                        low: *low,
                        high: *high,
                        count: count.unwrap_or(0),
                    })
                    .collect(),
                ..ImportedHistogram::default()
            };
            let total = histogram.total().ok_or_else(|| {
                (
                    self.rows.last().map_or(first, |row| row.line),
                    format!("the counts of {name} add up to more than 2^64"),
                )
            })?;
            totals.push(total);
            into.histograms.push(histogram);
        }
        if let Some((line, printed)) = &self.totals
            && *printed != totals
        {
            into.warnings.push(format!(
                "line {}: the totals are given as {printed:?}, the rows add up to {totals:?}",
                line.number
            ));
        }
        Ok(())
    }

    /// All bounds in `unit`.
    fn edges(&self, unit: Option<Unit>) -> Vec<(Option<f64>, Option<f64>)> {
        let scaled = |edge: Printed| match (edge.unit, unit) {
            (Some(own), Some(unit)) => edge.value * (own.nanoseconds() / unit.nanoseconds()) as f64,
            _ => edge.value,
        };
        self.rows.iter().map(|row| (row.bounds.low.map(scaled), row.bounds.high.map(scaled))).collect()
    }

    /// Errors where rows overlap, warns of gaps.
    fn check_edges(
        &self,
        edges: &[(Option<f64>, Option<f64>)],
        into: &mut Imported,
    ) -> Result<(), (Line<'a>, String)> {
        let mut end = None;
        for (index, (row, (low, high))) in self.rows.iter().zip(edges).enumerate() {
            if let (Some(low), Some(high)) = (low, high)
                && low >= high
            {
                return Err((row.line, format!("the bucket from {low} to {high} is empty or reversed")));
            }
            match (end, *low) {
                (None, _) if index == 0 => {}
                (Some(end), Some(low)) if low >= end => {
                    if low > end {
                        into.warnings
                            .push(format!("line {}: no row is from {end} to {low}", row.line.number));
                    }
                }
                _ => return Err((row.line, "the bucket overlaps the one of the row before".to_owned())),
            }
            end = *high;
        }
        Ok(())
    }
}

/// For the order: an open start is the smallest.
fn start(low: Option<f64>) -> f64 {
    low.unwrap_or(f64::NEG_INFINITY)
}

/// `0-9`, `10-19` have their last value within: all ends become the first value above.
fn include_ends(edges: &mut [(Option<f64>, Option<f64>)]) {
    let mut closed = edges.windows(2).filter_map(|two| Some((two[0].1?, two[1].0?, two[1].1?)));
    let included = closed.clone().next().is_some()
        && closed.all(|(end, next, _)| end.fract() == 0.0 && next.to_bits() == (end + 1.0).to_bits());
    if !included {
        return;
    }
    let mut last = None;
    for (low, high) in edges {
        match (low, high) {
            (_, Some(high)) => {
                *high += 1.0;
                last = Some(*high);
            }
            // `>19` behind `10-19` starts at 20.
            (Some(low), None) if last == Some(*low + 1.0) => *low += 1.0,
            _ => {}
        }
    }
}
