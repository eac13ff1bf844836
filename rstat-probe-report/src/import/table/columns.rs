//! The columns of a hand-made table: names from its head, and which column a count is in.

use std::ops::Range;

use super::super::{Line, Unit};
use super::bounds::from_word;
use super::row::{Row, expanded, piped, words};

/// The columns of counts.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) names: Vec<String>,
    /// Characters of the line that belong to each.
    spans: Vec<Option<Range<usize>>>,
    /// Whether the names are from the head.
    named: bool,
}

impl Columns {
    /// From the head, if it fits to the rows.
    pub(super) fn new(head: Option<Line<'_>>, rows: &[Row<'_>]) -> Self {
        let most = rows.iter().map(|row| row.cells.len().max(last_placed(row))).max().unwrap_or(0);
        let mut columns = head.and_then(|head| Self::from_head(head.text, most)).unwrap_or_else(|| Self {
            names: (1..=most).map(|n| format!("column {n}")).collect(),
            spans: vec![None; most],
            named: false,
        });
        let full = rows.iter().filter(|row| row.cells.len() == columns.names.len());
        for cell in full.flat_map(|row| row.cells.iter().enumerate()) {
            let (index, cell) = cell;
            if let Some(span) = columns.spans.get_mut(index) {
                let own = &cell.span;
                *span = Some(
                    span.as_ref()
                        .map_or(own.clone(), |span| span.start.min(own.start)..span.end.max(own.end)),
                );
            }
        }
        columns
    }

    fn from_head(text: &str, most: usize) -> Option<Self> {
        if let Some(cells) = piped(text) {
            let names: Vec<String> = cells.iter().skip(1).map(|name| (*name).to_owned()).collect();
            let spans = vec![None; names.len()];
            return (most..=most + 8).contains(&names.len()).then_some(Self { names, spans, named: true });
        }
        let text = expanded(text);
        let wide = words(&text, 2);
        let narrow = words(&text, 1);
        // The bounds may have no head of their own, and a column no count.
        let chosen = if wide.len() > most && wide.len() > 1 {
            wide.get(1..)
        } else if narrow.len() == most + 1 {
            narrow.get(1..)
        } else if wide.len() == most && (most > 1 || text.starts_with("  ")) {
            wide.get(..)
        } else {
            None
        }?;
        if chosen.len() > most + 8 {
            return None;
        }
        let (spans, names) = chosen.iter().map(|(span, name)| (Some(span.clone()), name.clone())).unzip();
        Some(Self { names, spans, named: true })
    }

    /// A warning if the head does not name the columns.
    pub(super) fn doubt(&self, first: Line<'_>) -> Option<String> {
        (!self.named)
            .then(|| format!("line {}: no line above names the columns; they are numbered", first.number))
    }

    /// The columns of the counts of `row`.
    pub(super) fn place(
        &self,
        row: &Row<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<(usize, u64)>, String> {
        let cells = &row.cells;
        if cells.len() > self.names.len() {
            return Err(format!("{} counts for {} columns", cells.len(), self.names.len()));
        }
        if let Some(placed) =
            cells.iter().map(|cell| Some((cell.column?, cell.count))).collect::<Option<Vec<_>>>()
        {
            return Ok(placed);
        }
        if cells.len() == self.names.len() {
            return Ok(cells.iter().map(|cell| cell.count).enumerate().collect());
        }
        let mut from = 0;
        let mut placed = Vec::with_capacity(cells.len());
        for (index, cell) in cells.iter().enumerate() {
            // The counts behind this one need a column too.
            let to = self.names.len() - (cells.len() - 1 - index);
            let nearest = (from..to)
                .filter_map(|column| Some((column, distance(self.spans.get(column)?.as_ref()?, &cell.span))))
                .min_by_key(|(_, distance)| *distance);
            let (column, distance) = nearest.unwrap_or((from, 1));
            if distance > 0 {
                warnings.push(format!(
                    "line {}: it is not sure in which column {} is; taken as {}",
                    row.line.number,
                    cell.count,
                    self.names.get(column).map_or("", String::as_str)
                ));
            }
            placed.push((column, cell.count));
            from = column + 1;
        }
        Ok(placed)
    }
}

/// One more than the last column that the row itself names.
fn last_placed(row: &Row<'_>) -> usize {
    row.cells.iter().filter_map(|cell| cell.column).max().map_or(0, |last| last + 1)
}

/// Blanks between the two; below 0 as far as they overlap.
fn distance(a: &Range<usize>, b: &Range<usize>) -> i64 {
    let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    signed(a.start.max(b.start)).saturating_sub(signed(a.end.min(b.end)))
}

/// The unit that a line of words names: `Hold time (us)`, `latency [ns]`, `wait_usecs`.
pub(in crate::import) fn unit_in(text: &str) -> Option<Unit> {
    text.split_whitespace().take(40).find_map(|word| {
        let bare = word.trim_matches(|c: char| ":,;.*\"'`".contains(c));
        let inner = bare.trim_matches(|c: char| "()[]{}".contains(c));
        let marked = inner.len() < bare.len();
        let suffix = inner.rsplit_once('_').map(|(_, suffix)| suffix);
        let unit = from_word(suffix.unwrap_or(inner))?;
        // A lone s may be anything.
        (unit != Unit::S || marked || suffix.is_some() || inner.len() > 1).then_some(unit)
    })
}
