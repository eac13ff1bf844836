//! Plain samples: one number a line, with or without a unit.

use serde_json::{Map, Value};

use super::table::{from_word, unit_in};
use super::{ImportError, Imported, Line, Source, Unit, shortened};

/// The format, as [`Imported`] has it.
pub(super) const FORMAT: &str = "raw-values";
/// Most samples that are read: each costs a hundred times the memory of its text.
const MOST_SAMPLES: usize = 1_000_000;
/// Lines that are no numbers are named up to here, and counted from here on.
const NAMED: usize = 10;

/// A value as it is printed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    value: Number,
    unit: Option<Unit>,
}

/// Whole numbers stay exact.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Whole(i128),
    Fraction(f64),
}

impl Number {
    fn as_f64(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Fraction(fraction) => fraction,
        }
    }

    fn times(self, factor: u64) -> Self {
        match self {
            Self::Whole(whole) => whole
                .checked_mul(i128::from(factor))
                .map_or_else(|| Self::Fraction(whole as f64 * factor as f64), Self::Whole),
            Self::Fraction(fraction) => Self::Fraction(fraction * factor as f64),
        }
    }

    fn plus(self, other: Self) -> Self {
        if let (Self::Whole(a), Self::Whole(b)) = (self, other)
            && let Some(sum) = a.checked_add(b)
        {
            return Self::Whole(sum);
        }
        Self::Fraction(self.as_f64() + other.as_f64())
    }

    /// Whole where JSON has it.
    fn value(self) -> Value {
        if let Self::Whole(whole) = self {
            if let Ok(whole) = u64::try_from(whole) {
                return Value::from(whole);
            }
            if let Ok(whole) = i64::try_from(whole) {
                return Value::from(whole);
            }
        }
        Value::from(self.as_f64())
    }
}

impl Sample {
    /// `69869`, `69869 ns`, `1,234.5us`, `1e3`.
    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let no_number = || format!("{} is not a number", shortened(text));
        let last = text.char_indices().rev().find(|(_, c)| c.is_ascii_digit() || *c == '.');
        let (number, unit) = last.and_then(|(at, _)| text.split_at_checked(at + 1)).ok_or_else(no_number)?;
        let unit = match unit.trim() {
            "" => None,
            unit => Some(from_word(unit).ok_or_else(no_number)?),
        };
        let known = |c: char| c.is_ascii_digit() || ".,+-eE".contains(c);
        if number.len() > 64 || !number.chars().all(known) {
            return Err(no_number());
        }
        let number = ungrouped(number).ok_or_else(no_number)?;
        let value = if let Ok(whole) = number.parse::<i128>() {
            let in_range = i128::from(i64::MIN)..=i128::from(u64::MAX);
            if !in_range.contains(&whole) {
                return Err(format!("{} is out of range", shortened(text)));
            }
            Number::Whole(whole)
        } else {
            let fraction = number.parse::<f64>().map_err(|_| no_number())?;
            // Whole numbers are exact or an error.
            if !fraction.is_finite() || !number.contains(['.', 'e', 'E']) {
                return Err(format!("{} is out of range", shortened(text)));
            }
            Number::Fraction(fraction)
        };
        Ok(Self { value, unit })
    }
}

/// Without thousands commas, which must be where they belong.
fn ungrouped(number: &str) -> Option<String> {
    let whole = number.split('.').next().unwrap_or_default();
    let mut groups = whole.trim_start_matches(['+', '-']).split(',');
    let first = groups.next().unwrap_or_default().len();
    let right = (1..=3).contains(&first) && groups.all(|group| group.len() == 3);
    (!number.contains(',') || right).then(|| number.replace(',', ""))
}

/// Reads the samples.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    let mut samples = Vec::new();
    let mut others: Vec<(Line<'_>, String)> = Vec::new();
    let mut others_count = 0usize;
    let mut said: Option<Unit> = None;
    for line in source.lines.iter().filter(|line| !line.text.trim().is_empty()) {
        let text = line.text.trim();
        match Sample::read(text) {
            Ok(_) if samples.len() >= MOST_SAMPLES => {
                let message =
                    format!("more than {MOST_SAMPLES} samples are not read: give a histogram of them");
                return Some(Err(source.damaged(*line, message)));
            }
            Ok(sample) => samples.push((*line, sample)),
            Err(_) if text.starts_with('#') => said = said.or_else(|| unit_in(text.trim_start_matches('#'))),
            // A line of words above the numbers is their head.
            Err(_) if samples.is_empty() && others_count == 0 && said.is_none() && is_head(text) => {
                others_count += 1;
                said = unit_in(text);
            }
            Err(message) => {
                others_count += 1;
                if others.len() < NAMED {
                    others.push((*line, message));
                }
            }
        }
    }
    if samples.is_empty() || others_count * 2 > samples.len() {
        return None;
    }
    if let Some((line, message)) = others.first()
        && others_count * 10 > samples.len()
    {
        return Some(Err(source.damaged(*line, message.as_str())));
    }
    let mut imported = summed(&samples, said);
    for (line, message) in &others {
        imported.warnings.push(format!("line {}: {message}; it is left out", line.number));
    }
    Some(Ok(imported))
}

/// Whether a line may be the head of a column of numbers.
fn is_head(text: &str) -> bool {
    text.len() <= 80 && text.starts_with(|c: char| c.is_alphabetic() || c == '@' || c == '"')
}

/// Rows and scalars.
fn summed(samples: &[(Line<'_>, Sample)], said: Option<Unit>) -> Imported {
    let mut imported = Imported { format: FORMAT.to_owned(), ..Imported::default() };
    let own = samples.iter().filter_map(|(_, sample)| sample.unit);
    let smallest = own.min_by_key(|unit| unit.nanoseconds());
    let unit = smallest.or(said);
    let mut sum = Number::Whole(0);
    let mut ends: Option<(Number, Number)> = None;
    let (mut bare, mut negative) = (0usize, 0usize);
    for (_, sample) in samples {
        let value = match (sample.unit, unit) {
            (Some(own), Some(unit)) => sample.value.times(own.nanoseconds() / unit.nanoseconds()),
            _ => sample.value,
        };
        bare += usize::from(sample.unit.is_none());
        negative += usize::from(value.as_f64() < 0.0);
        sum = sum.plus(value);
        let (min, max) = ends.unwrap_or((value, value));
        ends = Some((
            if value.as_f64() < min.as_f64() { value } else { min },
            if value.as_f64() > max.as_f64() { value } else { max },
        ));
        imported.rows.push(Map::from_iter([("value".to_owned(), value.value())]));
    }
    imported.scalars.insert("count".to_owned(), Value::from(samples.len()));
    imported.scalars.insert("sum".to_owned(), sum.value());
    if let Some((min, max)) = ends {
        imported.scalars.insert("min".to_owned(), min.value());
        imported.scalars.insert("max".to_owned(), max.value());
    }
    if let Some(unit) = unit {
        imported.scalars.insert("unit".to_owned(), Value::from(unit.word()));
    }
    if smallest.is_some() && bare > 0 {
        imported
            .warnings
            .push(format!("{bare} values have no unit and others have; the bare ones are taken as they are"));
    }
    if negative > 0 {
        imported.warnings.push(format!("{negative} values are below 0"));
    }
    if sum.value().is_f64() && samples.iter().all(|(_, sample)| matches!(sample.value, Number::Whole(_))) {
        imported.warnings.push("the sum is above 2^64 and is not exact".to_owned());
    }
    imported
}

#[cfg(test)]
mod tests {
    use super::super::{corpus, import};

    #[test]
    fn the_published_samples_are_read_without_a_unit() {
        for (id, count, sum, min, max) in [
            ("16", 46, 1_910_443, 29_518, 72_642),
            ("S6", 23, 903_610, 29_518, 72_642),
            ("S7", 23, 1_006_833, 35_148, 63_507),
        ] {
            let imported = corpus::imported(id);
            assert_eq!(imported.format, "raw-values");
            assert_eq!(imported.rows.len(), count, "{id}");
            let right = serde_json::json!({"count": count, "sum": sum, "min": min, "max": max});
            assert_eq!(serde_json::Value::from(imported.scalars), right, "{id}");
            assert_eq!(imported.warnings, Vec::<String>::new());
        }
        let expected = corpus::expected("16");
        let imported = corpus::imported("16");
        for key in ["count", "sum", "min", "max"] {
            assert_eq!(imported.scalars[key], expected[key], "{key}");
        }
        let reference = corpus::expected("S6-S7");
        for (id, side) in [("S6", "baseline"), ("S7", "candidate")] {
            let imported = corpus::imported(id);
            assert_eq!(imported.scalars["sum"], reference[side]["sum"]);
            assert_eq!(imported.scalars["count"], reference[side]["n"]);
        }
    }

    #[test]
    fn units_come_from_the_values_or_from_the_text_around() {
        let scalars = |text: &str| import(text, "x").unwrap().scalars;
        let mixed = scalars("> 1 us\r\n> 500ns\r\n> 1.5 \u{3bc}s\r\n");
        assert_eq!((&mixed["unit"], &mixed["sum"]), (&"ns".into(), &3000.0.into()));
        assert_eq!(scalars("# flush time, nsecs\n5\n6\n")["unit"], "ns");
        assert_eq!(scalars("latency_us\n5\n6\n")["unit"], "us");
        assert_eq!(scalars("latency (s)\n5\n6\n")["unit"], "s");
        assert!(!scalars("5\n1,006,833\n-1\n").contains_key("unit"));
    }

    #[test]
    fn lines_that_are_no_numbers_are_warned_about_or_an_error() {
        let many = "7\n".repeat(20);
        let imported = import(&format!("{many}oops\n"), "x").unwrap();
        assert_eq!(imported.warnings, ["line 21: oops is not a number; it is left out"]);
        let error = import("7\n7\n7\n7\nno\n", "x").unwrap_err();
        assert_eq!(error.to_string(), "x:5: no is not a number");
        for text in ["", "\n\n", "words\n", "some\nwords\n7\n"] {
            assert!(import(text, "x").unwrap_err().to_string().contains("not recognised"), "{text:?}");
        }
    }

    #[test]
    fn large_numbers_are_exact_or_said_not_to_be() {
        let most = u64::MAX;
        let imported = import(&format!("{most}\n"), "x").unwrap();
        assert_eq!((&imported.scalars["sum"], imported.warnings.len()), (&most.into(), 0));
        let imported = import(&format!("{most}\n{most}\n"), "x").unwrap();
        assert_eq!(imported.warnings, ["the sum is above 2^64 and is not exact"]);
        let error = import(&format!("{most}0\n1\n2\n"), "x").unwrap_err();
        assert_eq!(error.to_string(), "x:1: 184467440737095516150 is out of range");
        assert!(import(&format!("{most} h\n1\n2\n1e999\n"), "x").is_err());
    }
}
