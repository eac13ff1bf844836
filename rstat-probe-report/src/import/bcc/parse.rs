//! Single lines of a bcc table.

use super::super::{Line, Unit};

/// A row, both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row<'a> {
    pub(super) line: Line<'a>,
    pub(super) low: u64,
    pub(super) high: u64,
    pub(super) count: u64,
    /// Stars and width.
    pub(super) bar: Option<(u64, u64)>,
    /// What follows the count is no bar.
    pub(super) strange: bool,
    /// One value instead of a range.
    pub(super) linear: bool,
}

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Words<'a> {
    Row(Row<'a>),
    /// A row that ends too early.
    Cut(String),
    /// A row that cannot be.
    Bad(String),
    Other,
}

/// `avg = 8852 usecs, total: 17633268 usecs, count: 1992`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer<'a> {
    pub(super) line: Line<'a>,
    pub(super) average: Option<u64>,
    pub(super) sum: Option<u64>,
    pub(super) unit: Option<Unit>,
    pub(super) count: Option<u64>,
}

/// The word before `: count     distribution`.
pub(super) fn head(text: &str) -> Option<&str> {
    let (word, rest) = text.split_once(':')?;
    let word = word.trim();
    let mut rest = rest.split_whitespace();
    let ours = rest.next() == Some("count")
        && matches!(rest.next(), None | Some("distribution"))
        && rest.next().is_none()
        && !word.is_empty()
        && word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '/');
    ours.then_some(word)
}

/// `a -> b : count |bar|`, and `value : count |bar|` where `linear`.
pub(super) fn row<'a>(line: Line<'a>, text: &'a str, linear: bool) -> Words<'a> {
    let (bounds, rest) = match text.split_once(':') {
        Some((bounds, rest)) => (bounds, Some(rest)),
        None => (text, None),
    };
    let (low, high) = match bounds.split_once("->") {
        Some((low, high)) => (low.trim(), high.trim()),
        None if linear && rest.is_some_and(|rest| rest.contains('|')) => (bounds.trim(), bounds.trim()),
        None => return Words::Other,
    };
    if !digits(low) {
        return Words::Other;
    }
    let Some(rest) = rest else { return Words::Cut(format!("`{text}` has no count")) };
    if !digits(high) {
        return Words::Bad(format!("`{high}` is not the end of a row"));
    }
    let rest = rest.trim_start();
    let end = rest.find(|c: char| c.is_whitespace() || c == '|').unwrap_or(rest.len());
    let (count, bar) = rest.split_at(end);
    if count.is_empty() {
        return Words::Cut(format!("`{text}` has no count"));
    }
    let number = |what: &str, word: &str| match word.parse::<u64>() {
        Ok(number) => Ok(number),
        Err(_) if digits(word) => Err(format!("the {what} {word} is above 2^64 - 1")),
        Err(_) => Err(format!("the {what} `{word}` is not a whole number")),
    };
    let parsed = number("edge", low)
        .and_then(|low| Ok((low, number("edge", high)?)))
        .and_then(|(low, high)| Ok((low, high, number("count", count)?)));
    match parsed {
        Ok((low, high, _)) if low > high => Words::Bad(format!("the row of {low} ends before it, at {high}")),
        Ok((low, high, count)) => {
            let linear = !bounds.contains("->");
            Words::Row(Row {
                line,
                low,
                high,
                count,
                bar: stars(bar.trim()),
                strange: !only_bar(bar),
                linear,
            })
        }
        Err(message) => Words::Bad(message),
    }
}

/// Stars and width of `|***   |`.
pub(super) fn stars(bar: &str) -> Option<(u64, u64)> {
    let inner = bar.strip_prefix('|')?.strip_suffix('|')?;
    inner.chars().all(|c| matches!(c, '*' | '+' | ' ')).then_some(())?;
    let stars = inner.chars().filter(|c| *c != ' ').count();
    Some((stars.try_into().ok()?, inner.chars().count().try_into().ok()?))
}

/// The bar of the row before, wrapped by a mail client.
pub(super) fn only_bar(text: &str) -> bool {
    text.chars().all(|c| matches!(c, '|' | '*' | '+') || c.is_whitespace())
}

/// A mark for rows that the author cut.
pub(super) fn elision(text: &str) -> bool {
    let inner = text.trim_matches(['[', ']', '<', '>', '(', ')', ' ']);
    inner == "..." || inner == "…" || inner.eq_ignore_ascii_case("snip")
}

/// A footer; `next` is the line after it, for the part that a mail client wrapped.
pub(super) fn footer<'a>(line: Line<'a>, text: &str, next: &str) -> Option<Footer<'a>> {
    let average = text.strip_prefix("avg")?.trim_start().strip_prefix('=')?;
    let after = if average.contains("count:") { "" } else { next };
    let whole = format!("{average} {after}");
    let quantity = |part: &str| {
        let mut words = part.split_whitespace();
        (words.next().and_then(|word| word.parse().ok()), words.next().and_then(Unit::from_word))
    };
    let part = |label: &str| {
        whole
            .split_once(label)
            .map_or((None, None), |(_, rest)| quantity(rest.split(',').next().unwrap_or("")))
    };
    let (sum, unit) = part("total:");
    Some(Footer { line, average: quantity(&whole).0, sum, unit, count: part("count:").0 })
}

/// `HH:MM:SS`.
pub(super) fn stamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 8
        && bytes.iter().enumerate().all(
            |(index, byte)| {
                if index % 3 == 2 { *byte == b':' } else { byte.is_ascii_digit() }
            },
        )
}

/// `softirq = net_rx_action`.
pub(super) fn section(text: &str) -> Option<&str> {
    let (key, value) = text.split_once(" = ")?;
    let ours = !value.trim().is_empty()
        && (1..=40).contains(&key.len())
        && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '));
    ours.then_some(text)
}

/// `* Slow:` as `Slow`, `Before the change:` as `Before`.
pub(super) fn heading(text: &str) -> Option<String> {
    const FILLERS: [&str; 10] =
        ["the", "this", "my", "change", "changes", "patch", "patches", "fix", "commit", "series"];
    let text = text.trim_start_matches(['*', '#', '-', '=', ' ']).trim_end_matches(['*', '=', ' ']);
    let text = text.strip_suffix(':')?.trim();
    if text.is_empty() || text.len() > 80 || text.starts_with('$') {
        return None;
    }
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let side = first.eq_ignore_ascii_case("before") || first.eq_ignore_ascii_case("after");
    let filled = rest.split_whitespace().all(|word| FILLERS.contains(&word.to_ascii_lowercase().as_str()));
    Some(if side && filled { first.to_owned() } else { text.to_owned() })
}

/// `completed: 19.43s [...]`.
pub(super) fn wall_time(text: &str) -> Option<(&str, f64)> {
    let (word, rest) = text.split_once(':')?;
    let seconds = rest.split_whitespace().next()?.strip_suffix('s')?;
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let number = seconds.chars().all(|c| c.is_ascii_digit() || c == '.');
    if plain && number && !word.is_empty() { Some((word, seconds.parse().ok()?)) } else { None }
}

/// Not empty and only ASCII digits.
fn digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}
