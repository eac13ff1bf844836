//! The first cell of a row of a hand-made table: `01-05 us`, `>90 us`, `500ns-1us`, `90+`.

use super::super::Unit;

/// An edge as it is printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Printed {
    pub(super) value: f64,
    pub(super) unit: Option<Unit>,
}

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    /// `None`: open below.
    pub(super) low: Option<Printed>,
    /// `None`: open above.
    pub(super) high: Option<Printed>,
}

impl Bounds {
    /// Reads the bounds at the start of `text`; what is behind them comes back too.
    pub(super) fn read(text: &str) -> Option<(Self, &str)> {
        let text = text.trim_start();
        let above = strip_any(text, &[">=", "≥", ">"]);
        let below = strip_any(text, &["<=", "≤", "<"]);
        let (bounds, rest) = if let Some(rest) = above {
            let (edge, rest) = edge(rest)?;
            (Self { low: Some(edge), high: None }, rest)
        } else if let Some(rest) = below {
            let (edge, rest) = edge(rest)?;
            (Self { low: None, high: Some(edge) }, rest)
        } else {
            let (low, rest) = edge(text)?;
            let inner = rest.trim_start();
            if let Some(rest) =
                strip_any(inner, &["+", "and above", "and more", "and up", "or more", "or above"])
            {
                let (unit, rest) = unit(rest);
                (Self { low: Some(Printed { unit: low.unit.or(unit), ..low }), high: None }, rest)
            } else {
                let rest = strip_any(inner, &["->", "-", "–", "—", "..", "to "])?;
                if inner.starts_with("->") {
                    // These are bcc's.
                    return None;
                }
                let (high, rest) = edge(rest)?;
                let low = Printed { unit: low.unit.or(high.unit), ..low };
                (Self { low: Some(low), high: Some(high) }, rest)
            }
        };
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some((bounds, rest))
    }

    /// Reads `90 us`, which is `>90 us` at the start of a line, where the sign is taken for a mail quote.
    pub(super) fn read_above(text: &str) -> Option<(Self, &str)> {
        let (edge, rest) = edge(text)?;
        rest.starts_with(char::is_whitespace).then_some((Self { low: Some(edge), high: None }, rest))
    }

    /// Whether this starts just where `before` ends.
    pub(super) fn continues(&self, before: &Self) -> bool {
        self.low.is_some() && self.low == before.high
    }

    /// The units of its edges.
    pub(super) fn units(&self) -> impl Iterator<Item = Unit> {
        [self.low, self.high].into_iter().flatten().filter_map(|edge| edge.unit)
    }
}

fn strip_any<'a>(text: &'a str, prefixes: &[&str]) -> Option<&'a str> {
    prefixes.iter().find_map(|prefix| text.strip_prefix(prefix))
}

/// A number with its unit.
fn edge(text: &str) -> Option<(Printed, &str)> {
    let text = text.trim_start();
    let within = |at: usize, c: char| match c {
        '.' => text.get(at + 1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())),
        ',' => thousands(text, at),
        _ => c.is_ascii_digit(),
    };
    let end = text.char_indices().find(|(at, c)| !within(*at, *c));
    let (number, rest) = text.split_at_checked(end.map_or(text.len(), |(at, _)| at))?;
    let value: f64 = number.replace(',', "").parse().ok()?;
    let (unit, rest) = unit(rest);
    // Above 2^53 edges would not be exact.
    (value <= 9_007_199_254_740_992.0).then_some((Printed { value, unit }, rest))
}

/// Whether the comma at `at` is followed by three digits and no fourth.
fn thousands(text: &str, at: usize) -> bool {
    let digits = text.bytes().skip(at + 1).take(4).take_while(u8::is_ascii_digit).count();
    digits == 3
}

/// A unit, if one is next.
fn unit(text: &str) -> (Option<Unit>, &str) {
    let word = text.trim_start();
    let end = word.find(|c: char| !c.is_alphabetic()).unwrap_or(word.len());
    let found = word.split_at_checked(end).and_then(|(word, rest)| Some((from_word(word)?, rest)));
    found.map_or((None, text), |(unit, rest)| (Some(unit), rest))
}

/// Like [`Unit::from_word`], with the Greek mu too.
pub(in crate::import) fn from_word(word: &str) -> Option<Unit> {
    (word.len() <= 16).then(|| Unit::from_word(&word.replace('\u{3bc}', "\u{b5}")))?
}

#[cfg(test)]
mod tests {
    use super::*;

    type Found<'a> = (Option<f64>, Option<f64>, Option<Unit>, &'a str);

    fn read(text: &str) -> Option<Found<'_>> {
        let (bounds, rest) = Bounds::read(text)?;
        let unit = bounds.units().next();
        Some((bounds.low.map(|edge| edge.value), bounds.high.map(|edge| edge.value), unit, rest))
    }

    #[test]
    fn bounds_are_read_in_all_spellings() {
        assert_eq!(read(" 01-05 us   9"), Some((Some(1.0), Some(5.0), Some(Unit::Us), "   9")));
        assert_eq!(read(">90 us 3"), Some((Some(90.0), None, Some(Unit::Us), " 3")));
        assert_eq!(read("≥ 90ms 3"), Some((Some(90.0), None, Some(Unit::Ms), " 3")));
        assert_eq!(read("<1 ns\t3"), Some((None, Some(1.0), Some(Unit::Ns), "\t3")));
        assert_eq!(read("90+ us 3"), Some((Some(90.0), None, Some(Unit::Us), " 3")));
        assert_eq!(read("0.5 to 1.25 s: 3"), Some((Some(0.5), Some(1.25), Some(Unit::S), " 3")));
        assert_eq!(read("1,000-2,000 7,000"), Some((Some(1000.0), Some(2000.0), None, " 7,000")));
        assert_eq!(read("500–999"), Some((Some(500.0), Some(999.0), None, "")));
    }

    #[test]
    fn what_is_no_bounds_is_not_read() {
        for text in [
            "",
            "5",
            "5 us 3",
            "2024-03-11 12:00",
            "0 -> 1 : 5",
            "[1, 2) 3",
            "a-b 5",
            "1-2x 4",
            ">",
            "-1-2 4",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
