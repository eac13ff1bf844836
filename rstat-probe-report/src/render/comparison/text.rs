//! A comparison as text of 72 columns.

use std::io::{self, Write};

use super::{WIDTH, cells, facts, histogram};
use crate::compare::{Comparison, Measure};
use crate::render::text::escaped;
use crate::render::text::layout::{Page, columns_width, write_columns};

/// Writes the whole report, [`WIDTH`] columns wide but for words and tables that are wider:
/// figures are not cut.
///
/// # Errors
/// Those of the writer.
pub fn write_text(w: &mut impl Write, comparison: &Comparison) -> io::Result<()> {
    let page = Page::new(Some(WIDTH));
    for (label, text) in facts::head(comparison) {
        page.write_fact(w, label, &text)?;
    }
    for measure in &comparison.measures {
        writeln!(w)?;
        write_measure(w, comparison, measure, page)?;
    }
    writeln!(w)?;
    page.write_fact(w, "legend", &facts::legend(comparison))
}

fn write_measure(
    w: &mut impl Write,
    comparison: &Comparison,
    measure: &Measure,
    page: Page,
) -> io::Result<()> {
    let title = measure.title.as_ref().map_or_else(String::new, |title| format!(": {title}"));
    page.write_fact(w, "measure", &format!("{}{title}", escaped(&measure.name)))?;
    if !measure.figures.is_empty() {
        let head = std::iter::once(String::new()).chain(cells::heads(&comparison.options)).collect();
        let mut rows: Vec<Vec<String>> = vec![head];
        rows.extend(cells::rows(measure).into_iter().map(Vec::from));
        if rows[1..].iter().all(|row| row[4] == "-") {
            for row in &mut rows {
                row.truncate(4);
            }
        }
        write_columns_within(w, &rows)?;
        writeln!(w)?;
        let lines = histogram::lines(measure);
        for line in &lines {
            writeln!(w, "{line}")?;
        }
        if !lines.is_empty() {
            writeln!(w)?;
        }
    }
    for (label, text) in facts::below(measure, comparison.measures.len() == 1) {
        page.write_fact(w, label, &text)?;
    }
    Ok(())
}

/// Writes the columns; where they are too wide the last one goes below.
fn write_columns_within(w: &mut impl Write, rows: &[Vec<String>]) -> io::Result<()> {
    if columns_width(rows) <= WIDTH {
        return write_columns(w, rows);
    }
    let without: Vec<Vec<String>> = rows.iter().map(|row| row[..row.len().min(4)].to_vec()).collect();
    write_columns(w, &without)?;
    let intervals: Vec<Vec<String>> =
        rows.iter().filter(|row| row.len() > 4).map(|row| vec![row[0].clone(), row[4].clone()]).collect();
    if intervals.is_empty() {
        return Ok(());
    }
    writeln!(w)?;
    write_columns(w, &intervals)
}
