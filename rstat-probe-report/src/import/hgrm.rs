//! Percentile tables of HdrHistogram: `.hgrm` files, the CSV variant, and wrk2's output.

use std::str::FromStr;

use serde_json::{Map, Value, json};

use super::{ImportError, Imported, ImportedBucket, ImportedHistogram, Line, Source, Unit};

const HEADER: [&str; 4] = ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"];

/// Reads `source` if a line of it is the header of such a table.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    source.lines.iter().any(|line| is_header(line.text)).then(|| read(source))
}

/// The columns, separated by blanks or commas, without quotes.
fn columns(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\t', ',', '"']).filter(|column| !column.is_empty())
}

fn is_header(text: &str) -> bool {
    columns(text).eq(HEADER)
}

/// A table.
#[derive(Default)]
struct Table {
    buckets: Vec<ImportedBucket>,
    rows: u64,
    /// Events up to the last row.
    total: u64,
    last: Option<f64>,
    /// The row of percentile 1 was there.
    complete: bool,
    footer: Map<String, Value>,
}

fn read(source: &Source<'_>) -> Result<Imported, ImportError> {
    let mut imported = Imported { format: "hdrhistogram-hgrm".to_owned(), ..Imported::default() };
    let mut unit = None;
    let mut tables: Vec<(Option<Unit>, Table)> = Vec::new();
    for line in &source.lines {
        let text = line.text.trim();
        if is_header(text) {
            tables.push((unit, Table::default()));
        } else if let Some((_, table)) = tables.last_mut().filter(|(_, table)| !table.ended(text)) {
            table.line(source, *line)?;
        } else {
            unit = unit_of_prose(text).or(unit);
        }
    }
    let from_name = unit_of_file(source.what);
    if let Some(word) = from_name.filter(|_| tables.iter().any(|(unit, _)| unit.is_none())) {
        let text = serde_json::to_value(word).unwrap_or_default();
        imported.warnings.push(format!("the unit is not in the file; {text} was taken from the file's name"));
    }
    let alone = tables.len() == 1;
    for (index, (unit, table)) in tables.into_iter().enumerate() {
        let name = if index == 0 { "latency".to_owned() } else { format!("latency {}", index + 1) };
        table.check(&name, &mut imported.warnings);
        let scalars = table.scalars();
        if alone {
            imported.scalars = scalars;
        } else {
            imported.scalars.insert(name.clone(), scalars.into());
        }
        imported.histograms.push(ImportedHistogram {
            name,
            unit: unit.or(from_name),
            upper_inclusive: true,
            buckets: table.buckets,
            ..ImportedHistogram::default()
        });
    }
    Ok(imported)
}

impl Table {
    /// Whether `text` stands after the table.
    fn ended(&self, text: &str) -> bool {
        let numbers = columns(text).take(2).take_while(|column| column.parse::<f64>().is_ok()).count();
        self.complete && numbers < 2 && !text.starts_with("#[")
    }

    fn line(&mut self, source: &Source<'_>, line: Line<'_>) -> Result<(), ImportError> {
        let text = line.text.trim();
        if let Some(footer) = text.strip_prefix("#[") {
            self.footer(footer);
            return Ok(());
        }
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        let mut words = columns(text);
        let value: f64 = column(&mut words, HEADER[0], source, line)?;
        let percentile: f64 = column(&mut words, HEADER[1], source, line)?;
        let total: u64 = column(&mut words, HEADER[2], source, line)?;
        // It follows from the percentile; the last row may not have it.
        let _: Option<&str> = words.next();
        if words.next().is_some() {
            return Err(source.damaged(line, "more than the four columns of a percentile table"));
        }
        if !value.is_finite() || !(0.0..=1.0).contains(&percentile) {
            return Err(source.damaged(line, format!("value {value} at percentile {percentile}")));
        }
        if self.last.is_some_and(|last| value < last) {
            return Err(source.damaged(line, format!("the value goes backwards to {value}")));
        }
        let count = total.checked_sub(self.total).ok_or_else(|| {
            source.damaged(line, format!("the count goes backwards, from {} to {total}", self.total))
        })?;
        match self.buckets.last_mut() {
            Some(bucket) if self.last == Some(value) => bucket.count += count,
            _ => self.buckets.push(ImportedBucket { low: self.last, high: Some(value), count }),
        }
        self.rows += 1;
        self.total = total;
        self.last = Some(value);
        self.complete |= percentile >= 1.0;
        Ok(())
    }

    /// Takes `Mean = 4.881, StdDeviation = 1.777]`.
    fn footer(&mut self, text: &str) {
        for part in text.trim_end_matches(']').split(',') {
            let Some((key, value)) = part.split_once('=') else { continue };
            let (key, value) = (key.trim(), value.trim());
            let number = match (value.parse::<u64>(), value.parse::<f64>()) {
                (Ok(whole), _) => json!(whole),
                (_, Ok(value)) if value.is_finite() => json!(value),
                _ => continue,
            };
            self.footer.insert(key.to_owned(), number);
        }
    }

    fn scalars(&self) -> Map<String, Value> {
        let mut scalars = Map::new();
        scalars.insert("rows".to_owned(), json!(self.rows));
        scalars.insert("total".to_owned(), json!(self.total));
        scalars.insert("last_value".to_owned(), json!(self.last));
        scalars.insert("footer".to_owned(), self.footer.clone().into());
        scalars
    }

    /// Compares the rows with the footer.
    fn check(&self, name: &str, warnings: &mut Vec<String>) {
        let Some(last) = self.last else {
            warnings.push(format!("{name}: the table has no rows"));
            return;
        };
        if !self.complete {
            warnings.push(format!("{name}: the table ends before percentile 1, at {last}: it was cut off"));
        }
        if let Some(count) = self.footer.get("Total count").filter(|count| count.as_u64() != Some(self.total))
        {
            warnings.push(format!("{name}: the rows count {}, the footer says {count}", self.total));
        }
        match self.footer.get("Max").and_then(Value::as_f64) {
            Some(max) if max < last => warnings.push(format!(
                "{name}: the maximum {max} of the footer lies below the last value {last}, the end of its bucket"
            )),
            Some(max) if max > last => {
                warnings.push(format!("{name}: the maximum {max} of the footer lies above the last value {last}"));
            }
            _ => {}
        }
    }
}

fn column<'a, T: FromStr>(
    words: &mut impl Iterator<Item = &'a str>,
    name: &str,
    source: &Source<'_>,
    line: Line<'_>,
) -> Result<T, ImportError> {
    let word =
        words.next().ok_or_else(|| source.damaged(line, format!("no {name} in a percentile table")))?;
    word.parse().map_err(|_| source.damaged(line, format!("{word:?} is no {name}")))
}

/// `(ns)` or `[usec]` in a heading; wrk2's tables are in milliseconds.
fn unit_of_prose(text: &str) -> Option<Unit> {
    if text.starts_with("Detailed Percentile spectrum") {
        return Some(Unit::Ms);
    }
    text.split(['(', '[']).skip(1).find_map(|rest| Unit::from_word(rest.split([')', ']']).next()?))
}

/// From a name such as `latency-ns.hgrm`.
fn unit_of_file(what: &str) -> Option<Unit> {
    let name = what.rsplit('/').next()?;
    let stem = name.strip_suffix(".txt").unwrap_or(name);
    let stem = stem.strip_suffix(".hgrm").or_else(|| stem.strip_suffix(".csv")).unwrap_or(stem);
    // A single letter is too little to go by.
    stem.rsplit(['-', '_', '.'])
        .next()
        .filter(|word| word.len() > 1 && *word != stem)
        .and_then(Unit::from_word)
}

#[cfg(test)]
mod tests;
