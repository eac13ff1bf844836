//! Tables of bcc, libbpf-tools and those who copied their look: `a -> b : count |****|`, both ends
//! inclusive, in the unit of the head line; sections, headings and footers around them.

mod check;
mod parse;

use serde_json::{Value, json};

use self::parse::{Footer, Row, Words};
use super::{ImportError, Imported, ImportedBucket, ImportedHistogram, Line, Source, Unit, shortened};

/// A table with what stood around it.
#[derive(Debug)]
struct Table<'a> {
    /// The head line, or the first row where there is none.
    line: Line<'a>,
    /// First word of the head line.
    word: Option<&'a str>,
    section: Option<&'a str>,
    heading: Option<String>,
    /// `HH:MM:SS` as printed before each interval.
    stamp: Option<&'a str>,
    rows: Vec<Row<'a>>,
    /// Sum of their counts.
    total: u64,
    footer: Option<Footer<'a>>,
}

impl Table<'_> {
    /// The section (`softirq = timer`) or else the heading.
    fn name(&self) -> &str {
        self.section.or(self.heading.as_deref()).unwrap_or("")
    }

    fn unit(&self) -> Option<Unit> {
        self.word.and_then(Unit::from_word)
    }
}

/// What has been read so far.
#[derive(Debug, Default)]
struct Reader<'a> {
    tables: Vec<Table<'a>>,
    /// Rows still belong to the last table.
    open: bool,
    section: Option<&'a str>,
    heading: Option<String>,
    stamp: Option<&'a str>,
    /// Wall times such as `completed: 19.43s`, by name.
    times: Vec<(String, Vec<f64>)>,
    warnings: Vec<String>,
}

/// Reads the tables, `None` if there are none.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    let recognised = |line: &Line<'_>| {
        let text = line.trimmed();
        parse::head(text).is_some()
            || matches!(parse::row(*line, text, false), Words::Row(row) if row.bar.is_some())
    };
    source.lines.iter().any(recognised).then(|| read(source))
}

fn read(source: &Source<'_>) -> Result<Imported, ImportError> {
    let mut reader = Reader::default();
    for (index, line) in source.lines.iter().enumerate() {
        let next = source.lines.get(index + 1).map_or("", |line| line.trimmed());
        reader.line(source, *line, next)?;
    }
    reader.finish(source)
}

impl<'a> Reader<'a> {
    fn line(&mut self, source: &Source<'_>, line: Line<'a>, next: &'a str) -> Result<(), ImportError> {
        let text = line.trimmed();
        if text.is_empty() {
            return Ok(());
        }
        if parse::only_bar(text) {
            let last = self.tables.last_mut().and_then(|table| table.rows.last_mut());
            if let Some(row) = last.filter(|row| row.bar.is_none()) {
                row.bar = parse::stars(text);
            }
            return Ok(());
        }
        if let Some(word) = parse::head(text) {
            self.start(line, Some(word));
            return Ok(());
        }
        match parse::row(line, text, self.open) {
            Words::Row(row) => self.row(source, row),
            Words::Cut(what) => {
                self.warnings.push(format!("line {}: {what}; the row is left out", line.number));
                Ok(())
            }
            Words::Bad(what) => Err(source.damaged(line, what)),
            Words::Other => {
                self.other(line, text, next);
                Ok(())
            }
        }
    }

    fn start(&mut self, line: Line<'a>, word: Option<&'a str>) {
        self.tables.push(Table {
            line,
            word,
            section: self.section.take(),
            heading: self.heading.clone(),
            stamp: self.stamp,
            rows: Vec::new(),
            total: 0,
            footer: None,
        });
        self.open = true;
    }

    fn row(&mut self, source: &Source<'_>, row: Row<'a>) -> Result<(), ImportError> {
        if !self.open {
            self.warnings
                .push(format!("line {}: rows without a head line: their unit is not known", row.line.number));
            self.start(row.line, None);
        }
        let Some(table) = self.tables.last_mut() else { return Ok(()) };
        if let Some(last) = table.rows.last() {
            if row.low <= last.high {
                return Err(source.damaged(
                    row.line,
                    format!(
                        "the row of {} does not come after that of {} (line {}): rows are out of order or a head line is missing",
                        row.low, last.low, last.line.number
                    ),
                ));
            }
            if row.low - last.high > 1 && !(row.linear && last.linear) {
                self.warnings.push(format!(
                    "line {}: the rows between {} and {} are missing; they are taken as empty",
                    row.line.number, last.high, row.low
                ));
            }
        }
        table.total = table
            .total
            .checked_add(row.count)
            .ok_or_else(|| source.damaged(row.line, "the counts up to here add up to more than 2^64 - 1"))?;
        table.rows.push(row);
        Ok(())
    }

    /// A line that is neither head nor row.
    fn other(&mut self, line: Line<'a>, text: &'a str, next: &'a str) {
        if parse::elision(text) {
            return;
        }
        if let Some(footer) = parse::footer(line, text, next) {
            match self.tables.last_mut().filter(|table| table.footer.is_none()) {
                Some(table) => table.footer = Some(footer),
                None => self.warnings.push(format!("line {}: a footer without a table", line.number)),
            }
            self.open = false;
            return;
        }
        self.open = false;
        self.section = None;
        if parse::stamp(text) {
            self.stamp = Some(text);
        } else if let Some(section) = parse::section(text) {
            self.section = Some(section);
        } else if let Some(heading) = parse::heading(text) {
            self.heading = Some(heading);
        } else if let Some((word, seconds)) = parse::wall_time(text) {
            let heading = self.heading.as_deref().map_or(String::new(), |heading| format!("{heading} "));
            let name = format!("{heading}{word}_s").to_lowercase().replace(' ', "_");
            match self.times.last_mut().filter(|(last, _)| *last == name) {
                Some((_, times)) => times.push(seconds),
                None => self.times.push((name, vec![seconds])),
            }
        }
    }

    fn finish(self, source: &Source<'_>) -> Result<Imported, ImportError> {
        let Self { tables, mut warnings, times, .. } = self;
        let mut histograms = Vec::new();
        let footers = tables.iter().any(|table| table.footer.is_some());
        for table in &tables {
            if table.rows.is_empty() {
                warnings.push(format!("line {}: a head line without rows", table.line.number));
                continue;
            }
            check::table(table, footers, &mut warnings);
            histograms.push(histogram(table));
        }
        if histograms.is_empty() {
            let line = tables.first().map_or(Line { number: 1, text: "" }, |table| table.line);
            return Err(source.damaged(line, "a bcc table without rows"));
        }
        let scalars = times.into_iter().map(|(name, times)| {
            let value = if let [time] = times[..] { json!(time) } else { json!(times) };
            (name, value)
        });
        let scalars = scalars.collect::<serde_json::Map<String, Value>>();
        Ok(Imported { format: "bcc-hist".to_owned(), histograms, scalars, warnings, ..Imported::default() })
    }
}

fn histogram(table: &Table<'_>) -> ImportedHistogram {
    let buckets = table.rows.iter().map(|row| ImportedBucket {
        low: Some(row.low as f64),
        high: Some((u128::from(row.high) + 1) as f64),
        count: row.count,
    });
    let sum =
        table.footer.as_ref().filter(|footer| footer.unit == table.unit()).and_then(|footer| footer.sum);
    ImportedHistogram {
        name: table.name().to_owned(),
        heading: table.section.and(table.heading.clone()),
        time: table.stamp.map(str::to_owned),
        unit: table.unit(),
        buckets: buckets.collect(),
        sum: sum.map(|sum| sum as f64),
        ..ImportedHistogram::default()
    }
}

#[cfg(test)]
mod tests;
