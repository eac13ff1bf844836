//! One row of a histogram as bpftrace prints it: `[2K, 4K)   61 |@@@   |`.

use super::super::{ImportedBucket, shortened};

/// Longest piece of a row that is worth holding until the next line completes it.
const LONGEST_PIECE: usize = 120;

/// What a line starts with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Parsed<'a> {
    /// A row, and the text after it.
    Row(Row, &'a str),
    /// The beginning of what may be a row: the next line decides.
    Piece,
    /// A row that cannot be used.
    Bad(String),
    /// Something else.
    Other,
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) bucket: ImportedBucket,
    pub(super) bar: Bar,
}

/// The bar of a row, as far as the text has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::import) struct Bar {
    /// Its length in `@`.
    pub(in crate::import) length: usize,
    /// `|` seen: 2 when it is complete.
    pub(in crate::import) ends: usize,
}

/// Parses the row that `text` starts with.
pub(super) fn parse(text: &str) -> Parsed<'_> {
    let text = text.trim_start();
    let Some(open) = text.chars().next().filter(|c| matches!(c, '[' | '(')) else {
        return Parsed::Other;
    };
    let inner = &text[1..];
    let Some(end) = inner.find([']', ')']) else {
        return if is_piece_of_bounds(inner) { Parsed::Piece } else { Parsed::Other };
    };
    let (bounds, rest) = inner.split_at(end);
    let close = if rest.starts_with(']') { ']' } else { ')' };
    let Some((low, high)) = parse_bounds(open, bounds, close) else {
        return Parsed::Other;
    };
    let rest = rest[1..].trim_start();
    let (count, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    if count.is_empty() {
        return if rest.is_empty() { Parsed::Piece } else { Parsed::Other };
    }
    let after = rest.trim_start();
    if !after.is_empty() && !after.starts_with('|') {
        return Parsed::Other;
    }
    let Ok(count) = count.parse() else {
        return Parsed::Bad(format!("the count {} does not fit 64 bits", shortened(count)));
    };
    let (bar, rest) = parse_bar(after);
    Parsed::Row(Row { bucket: ImportedBucket { low, high, count }, bar }, rest)
}

/// Parses a bar or a piece of one, and gives the text after it.
pub(super) fn parse_bar(text: &str) -> (Bar, &str) {
    let mut bar = Bar::default();
    for (at, c) in text.char_indices() {
        match c {
            '@' => bar.length += 1,
            '|' => bar.ends += 1,
            c if c.is_whitespace() => {}
            _ => return (bar, &text[at..]),
        }
        if bar.ends == 2 {
            return (bar, text[at + 1..].trim_start());
        }
    }
    (bar, "")
}

/// Nothing but bar in `text`: the rest of a row that a mail program has wrapped.
pub(super) fn is_bar(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| matches!(c, '@' | '|') || c.is_whitespace())
}

/// Two lines that may be one row.
pub(super) fn joined(piece: &str, next: &str) -> Option<String> {
    (piece.len() <= LONGEST_PIECE).then(|| format!("{} {}", piece.trim(), next.trim()))
}

fn is_piece_of_bounds(text: &str) -> bool {
    text.len() <= LONGEST_PIECE
        && !text.trim().is_empty()
        && text.chars().all(|c| c.is_ascii_digit() || c.is_whitespace() || "KMGTPEk,.-".contains(c))
}

/// `[low, high)` from the text between the brackets: `2K, 4K`, `7`, `..., 0`, `100, ...`, and
/// `0, 1` closed by `]`, as the first versions had it.
fn parse_bounds(open: char, text: &str, close: char) -> Option<(Option<f64>, Option<f64>)> {
    if text.len() > LONGEST_PIECE {
        return None;
    }
    let Some((low, high)) = text.split_once(',') else {
        let value = parse_edge(text)?;
        return (open == '[' && close == ']').then_some((Some(value), Some(value + 1.0)));
    };
    let (low, high) = (low.trim(), high.trim());
    match (open, close) {
        ('(', ')') if low == "..." => Some((None, Some(parse_edge(high)?))),
        ('[', ')') if high == "..." => Some((Some(parse_edge(low)?), None)),
        ('[', ')') => Some((Some(parse_edge(low)?), Some(parse_edge(high)?))),
        ('[', ']') => Some((Some(parse_edge(low)?), Some(parse_edge(high)? + 1.0))),
        _ => None,
    }
}

/// `64`, `-10`, `2K`: suffixes are powers of 1024.
fn parse_edge(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, power) = match text.char_indices().next_back()? {
        (at, suffix @ ('k' | 'K' | 'M' | 'G' | 'T' | 'P' | 'E')) => {
            (&text[..at], 1 + "KMGTPE".find(suffix.to_ascii_uppercase())?)
        }
        _ => (text, 0),
    };
    let value: i128 = digits.parse().ok().filter(|_| digits.len() <= 20 && !digits.starts_with('+'))?;
    let factor = 1_i128 << (10 * power);
    Some(value.checked_mul(factor)? as f64)
}
