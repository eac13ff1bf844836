//! Output of rtla: `hist` (a column for each CPU and context), and the summary of `timerlat top`
//! with its automatic analysis.

mod top;

use std::time::Duration;

use super::{ImportError, Imported, ImportedBucket, ImportedHistogram, Line, Source, Unit};

/// One table of `rtla ... hist`.
#[derive(Debug)]
struct Table<'a> {
    line: Line<'a>,
    /// Names of the columns, without `Index`.
    columns: Vec<&'a str>,
    /// The header may still go on, as mail clients wrap it.
    header_open: bool,
    /// Index and a count for each column.
    rows: Vec<(Line<'a>, u64, Vec<u64>)>,
    over: Vec<u64>,
    counts: Vec<u64>,
    unit: Option<Unit>,
    elapsed: Option<Duration>,
    /// From the command line.
    bucket_size: Option<u64>,
}

/// A row whose values have not all come yet.
#[derive(Debug)]
struct Open<'a> {
    line: Line<'a>,
    label: &'a str,
    values: Vec<&'a str>,
}

/// What came before the next table.
#[derive(Debug, Default)]
struct Before {
    unit: Option<Unit>,
    elapsed: Option<Duration>,
    bucket_size: Option<u64>,
}

/// Reads the histograms or the summary, `None` if there are none.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    if source.lines.iter().any(|line| columns(line.trimmed()).is_some()) {
        return Some(read(source));
    }
    top::import(source)
}

/// The columns of `Index   IRQ-000   Thr-000`.
fn columns(text: &str) -> Option<Vec<&str>> {
    let rest = text.strip_prefix("Index")?;
    let columns: Vec<&str> = rest.split_whitespace().collect();
    (!columns.is_empty() && columns.iter().all(|word| column(word))).then_some(columns)
}

/// `IRQ-000`, `Thr-000`, `Usr-000`, `CPU-000`.
fn column(word: &str) -> bool {
    word.split_once('-').is_some_and(|(kind, cpu)| {
        matches!(kind, "IRQ" | "Thr" | "Usr" | "CPU")
            && !cpu.is_empty()
            && cpu.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn read(source: &Source<'_>) -> Result<Imported, ImportError> {
    let mut tables: Vec<Table<'_>> = Vec::new();
    let mut before = Before::default();
    let mut open: Option<Open<'_>> = None;
    let mut reading = false;
    for line in &source.lines {
        let text = line.trimmed();
        if let Some(columns) = columns(text) {
            if let Some(open) = &open {
                return Err(source.damaged(open.line, "the row has fewer values than the table has columns"));
            }
            let Before { unit, elapsed, bucket_size } = std::mem::take(&mut before);
            tables.push(Table {
                line: *line,
                columns,
                header_open: true,
                rows: Vec::new(),
                over: Vec::new(),
                counts: Vec::new(),
                unit,
                elapsed,
                bucket_size,
            });
            reading = true;
            continue;
        }
        let Some(table) = tables.last_mut().filter(|_| reading) else {
            before.take(text);
            continue;
        };
        if text.is_empty() {
            continue;
        }
        if table.header_open && text.split_whitespace().all(column) {
            table.columns.extend(text.split_whitespace());
            continue;
        }
        table.header_open = false;
        let mut words = text.split_whitespace();
        if open.is_none() {
            let label = words.next().unwrap_or("");
            let known = matches!(label, "over:" | "count:" | "min:" | "avg:" | "max:");
            if !known && !label.bytes().all(|byte| byte.is_ascii_digit()) {
                // `ALL:` and whatever follows the table.
                reading = false;
                before.take(text);
                continue;
            }
            open = Some(Open { line: *line, label, values: Vec::new() });
        }
        let Some(mut row) = open.take() else { continue };
        row.values.extend(words);
        if row.values.len() < table.columns.len() {
            open = Some(row);
        } else {
            table.row(source, &row)?;
        }
    }
    if let Some(open) = open {
        return Err(source.damaged(open.line, "the row has fewer values than the table has columns"));
    }
    finish(source, &tables)
}

impl Before {
    /// Unit, duration and bucket size from the lines above a table.
    fn take(&mut self, text: &str) {
        if let Some((_, unit)) = text.split_once("Time unit is") {
            self.unit = unit.split(['(', ')']).find_map(Unit::from_word).or(self.unit);
        } else if let Some((_, duration)) = text.split_once("# Duration:") {
            self.elapsed = elapsed(duration);
        } else if text.contains("hist") && (text.contains("timerlat") || text.contains("osnoise")) {
            let mut words = text.split_whitespace();
            while let Some(word) = words.next() {
                if word == "-b" || word == "--bucket-size" {
                    self.bucket_size = words.next().and_then(|size| size.parse().ok());
                }
            }
        }
    }
}

/// `0 00:01:00`: days, then hours, minutes and seconds.
fn elapsed(text: &str) -> Option<Duration> {
    let (days, time) = text.trim().split_once(' ')?;
    let mut seconds: u64 = days.parse().ok()?;
    let mut parts = time.trim().split(':');
    for base in [24, 60, 60] {
        seconds = seconds.checked_mul(base)?.checked_add(parts.next()?.parse().ok()?)?;
    }
    parts.next().is_none().then(|| Duration::from_secs(seconds))
}

impl<'a> Table<'a> {
    fn row(&mut self, source: &Source<'_>, row: &Open<'a>) -> Result<(), ImportError> {
        if row.values.len() > self.columns.len() {
            let message = format!("{} values for {} columns", row.values.len(), self.columns.len());
            return Err(source.damaged(row.line, message));
        }
        let number = |word: &str| {
            word.parse::<u64>().map_err(|_| {
                source.damaged(row.line, format!("`{word}` is not a whole number up to 2^64 - 1"))
            })
        };
        let counts = || -> Result<Vec<u64>, ImportError> {
            row.values.iter().map(|word| if *word == "-" { Ok(0) } else { number(word) }).collect()
        };
        match row.label {
            "over:" => self.over = counts()?,
            "count:" => self.counts = counts()?,
            "min:" | "avg:" | "max:" => {}
            index => {
                let index = number(index)?;
                if let Some((line, last, _)) = self.rows.last().filter(|(_, last, _)| *last >= index) {
                    let message = format!("index {index} does not come after {last} (line {})", line.number);
                    return Err(source.damaged(row.line, message));
                }
                self.rows.push((row.line, index, counts()?));
            }
        }
        Ok(())
    }

    /// Width of a bucket: empty rows are not printed, so that only the common divisor is left
    /// where the command line is not in the text.
    fn width(&self) -> u64 {
        let divisor = self.rows.iter().fold(0, |divisor, (_, index, _)| gcd(divisor, *index));
        self.bucket_size.unwrap_or(divisor).max(1)
    }

    fn histogram(
        &self,
        source: &Source<'_>,
        column: usize,
        warnings: &mut Vec<String>,
    ) -> Result<ImportedHistogram, ImportError> {
        let width = self.width();
        let name = self.columns[column];
        let mut buckets = Vec::with_capacity(self.rows.len());
        let mut total = 0u64;
        let add = |total: u64, count: u64, line: Line<'_>| {
            total.checked_add(count).ok_or_else(|| {
                source.damaged(line, format!("the counts of {name} add up to more than 2^64 - 1"))
            })
        };
        let mut end = 0.0;
        for (line, index, counts) in &self.rows {
            let count = counts.get(column).copied().unwrap_or(0);
            total = add(total, count, *line)?;
            end = (u128::from(*index) + u128::from(width)) as f64;
            buckets.push(ImportedBucket { low: Some(*index as f64), high: Some(end), count });
        }
        let over = self.over.get(column).copied().unwrap_or(0);
        if over > 0 {
            total = add(total, over, self.line)?;
            buckets.push(ImportedBucket { low: Some(end), high: None, count: over });
        }
        match self.counts.get(column) {
            Some(count) if *count != total => {
                warnings.push(format!("{name}: the rows add up to {total}, the table says count: {count}"));
            }
            None => warnings.push(format!("{name}: no `count:` row: the table may be cut")),
            _ => {}
        }
        Ok(ImportedHistogram {
            name: name.to_owned(),
            unit: self.unit,
            buckets,
            elapsed_s: self.elapsed.map(|elapsed| elapsed.as_secs_f64()),
            ..ImportedHistogram::default()
        })
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn finish(source: &Source<'_>, tables: &[Table<'_>]) -> Result<Imported, ImportError> {
    let mut imported = Imported { format: "rtla-hist".to_owned(), ..Imported::default() };
    for table in tables {
        let number = table.line.number;
        if table.rows.is_empty() {
            return Err(source.damaged(table.line, "a table of rtla without rows"));
        }
        let width = table.width();
        if let Some((line, index, _)) = table.rows.iter().find(|(_, index, _)| index % width != 0) {
            return Err(
                source.damaged(*line, format!("index {index} is no multiple of the bucket size {width}"))
            );
        }
        if table.unit.is_none() {
            imported.warnings.push(format!("line {number}: no `Time unit is` line: the unit is not known"));
        }
        if width > 1 && table.bucket_size.is_none() {
            imported.warnings.push(format!(
                "line {number}: the bucket size is not in the text; {width}, which all rows are multiples of, is taken"
            ));
        }
        if table.over.iter().any(|over| *over > 0) {
            imported.warnings.push(format!(
                "line {number}: values beyond the table (`over:`) are in a bucket that is open above"
            ));
        }
        for column in 0..table.columns.len() {
            let histogram = table.histogram(source, column, &mut imported.warnings)?;
            imported.histograms.push(histogram);
        }
    }
    Ok(imported)
}

#[cfg(test)]
mod tests;
