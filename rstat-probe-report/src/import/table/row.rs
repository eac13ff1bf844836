//! One line of a hand-made table: bounds and counts, with where on the line each count is.

use std::ops::Range;

use super::super::{Line, shortened};
use super::bounds::Bounds;

/// More columns than this is no table made by hand; it also keeps the work linear.
const MOST_COLUMNS: usize = 64;

/// A count.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) count: u64,
    /// Characters of the line.
    pub(super) span: Range<usize>,
    /// Where the line itself says which column this is.
    pub(super) column: Option<usize>,
}

/// A row.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    pub(super) line: Line<'a>,
    pub(super) bounds: Bounds,
    pub(super) cells: Vec<Cell>,
}

/// Tabs as blanks up to the next multiple of 8.
pub(super) fn expanded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0usize;
    for c in text.chars() {
        if c == '\t' {
            let blanks = 8 - at % 8;
            out.extend(std::iter::repeat_n(' ', blanks));
            at += blanks;
        } else {
            out.push(c);
            at += 1;
        }
    }
    out
}

/// Words of an expanded line, split where there are at least `blanks` blanks, with their characters.
pub(super) fn words(text: &str, blanks: usize) -> Vec<(Range<usize>, String)> {
    let mut words: Vec<(Range<usize>, String)> = Vec::new();
    for (at, c) in text.chars().enumerate().filter(|(_, c)| !c.is_whitespace()) {
        match words.last_mut() {
            Some((span, word)) if at < span.end + blanks => {
                word.extend(std::iter::repeat_n(' ', at - span.end));
                word.push(c);
                span.end = at + 1;
            }
            _ => words.push((at..at + 1, c.to_string())),
        }
    }
    words
}

/// The cells of `| a | b |`.
pub(super) fn piped(text: &str) -> Option<Vec<&str>> {
    let inner = text.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    Some(inner.split('|').map(str::trim).collect())
}

impl<'a> Row<'a> {
    /// `None` if `line` is no row below `before`.
    pub(super) fn read(line: Line<'a>, before: Option<&Row<'_>>) -> Option<Result<Self, String>> {
        Self::read_with(line, Bounds::read).or_else(|| {
            let before = before?;
            let row = Self::read_with(line, Bounds::read_above)?;
            row.as_ref().is_ok_and(|row| row.bounds.continues(&before.bounds)).then_some(row)
        })
    }

    fn read_with(line: Line<'a>, bounds: fn(&str) -> Option<(Bounds, &str)>) -> Option<Result<Self, String>> {
        let (bounds, cells) = if let Some(cells) = piped(line.text) {
            let (first, counts) = cells.split_first()?;
            let (bounds, rest) = bounds(first)?;
            rest.trim().is_empty().then_some(())?;
            (bounds, cells_of(counts.iter().map(|cell| (0..0, (*cell).to_owned())), true))
        } else {
            bounds(line.text)?;
            let text = expanded(line.text);
            let (bounds, rest) = bounds(&text)?;
            let start = text.chars().count() - rest.chars().count();
            let words = words(rest, 1).into_iter();
            (bounds, cells_of(words.map(|(span, word)| (span.start + start..span.end + start, word)), false))
        };
        match cells {
            Ok(cells)
                if cells.iter().enumerate().any(|(n, cell)| cell.column.unwrap_or(n) >= MOST_COLUMNS) =>
            {
                None
            }
            Ok(cells) => Some(Ok(Self { line, bounds, cells })),
            Err(message) => Some(Err(message)),
        }
    }
}

/// The counts of a row that has no bounds, as `Total 12 13`, if it begins with `total`.
pub(super) fn total(text: &str) -> Option<Vec<u64>> {
    let text = text.trim().trim_start_matches('|').trim_start();
    let label: String = text.chars().take_while(|c| c.is_alphabetic()).collect();
    if !matches!(label.to_ascii_lowercase().as_str(), "total" | "totals" | "sum" | "all" | "count") {
        return None;
    }
    let rest = text.get(label.len()..)?;
    let counts =
        rest.split(|c: char| c.is_whitespace() || c == '|' || c == ':').filter(|word| !word.is_empty());
    counts.map(|word| count(word).ok()).collect::<Option<Vec<u64>>>().filter(|counts| !counts.is_empty())
}

/// Counts with their places. Percentages are passed over, and a remark ends the row.
fn cells_of(words: impl Iterator<Item = (Range<usize>, String)>, placed: bool) -> Result<Vec<Cell>, String> {
    let mut cells = Vec::new();
    for (index, (span, word)) in words.enumerate() {
        let word = if placed { word.split_whitespace().next().unwrap_or_default() } else { word.as_str() };
        if matches!(word, "" | "-" | "–" | "—") || word.trim_end_matches(')').ends_with('%') {
            continue;
        }
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            break;
        }
        cells.push(Cell { count: count(word)?, span, column: placed.then_some(index) });
    }
    Ok(cells)
}

/// `9,772,767` or `9772767`.
fn count(word: &str) -> Result<u64, String> {
    let no_count = || format!("{} is not a count", shortened(word));
    let mut groups = word.split(',');
    let first = groups.next().unwrap_or_default();
    let grouped = word.contains(',');
    let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    if first.is_empty()
        || !digits(first)
        || grouped && (first.len() > 3 || !groups.all(|group| group.len() == 3 && digits(group)))
    {
        return Err(no_count());
    }
    word.replace(',', "").parse().map_err(|_| format!("{} is more than can be counted", shortened(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Option<Result<Vec<u64>, String>> {
        Row::read(Line { number: 1, text }, None)
            .map(|row| row.map(|row| row.cells.iter().map(|cell| cell.count).collect()))
    }

    #[test]
    fn counts_are_read_with_commas_percentages_and_remarks() {
        assert_eq!(counts("0-1 us 804,139 13,738,708"), Some(Ok(vec![804_139, 13_738_708])));
        assert_eq!(counts("0-1 us 804 (5%) 13 7.5% <-- 3"), Some(Ok(vec![804, 13])));
        assert_eq!(counts("0-1 us - 18446744073709551615"), Some(Ok(vec![u64::MAX])));
        assert_eq!(counts("| 0-1 us | | 1,000 |"), Some(Ok(vec![1000])));
        for wrong in ["1,00", "1.5", "12x", "1,0000", "18446744073709551616", "1,,000"] {
            assert!(matches!(counts(&format!("0-1 us {wrong}")), Some(Err(_))), "{wrong}");
        }
        assert_eq!(counts("total 5"), None);
        assert_eq!(total("  Total: 1,000 5"), Some(vec![1000, 5]));
        assert_eq!(total("Totally 1"), None);
    }

    #[test]
    fn words_know_their_place() {
        assert_eq!(words("  a b  c", 2), [(2..5, "a b".to_owned()), (7..8, "c".to_owned())]);
        assert_eq!(expanded("a\tb"), "a       b");
    }
}
