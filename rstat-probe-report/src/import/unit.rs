//! Units of foreign files, and the word of the user against that of the text.

use serde_json::Value;

use super::Imported;
use crate::render::text::escaped;

/// Unit of the edges of a histogram or of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    /// From how tools write it: `ns`, `nsec`, `nsecs`, `usecs`, `us`, `msecs`, `sec`, ...
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word.trim().to_ascii_lowercase().as_str() {
            "ns" | "nsec" | "nsecs" | "nanoseconds" => Self::Ns,
            "us" | "usec" | "usecs" | "µs" | "microseconds" => Self::Us,
            "ms" | "msec" | "msecs" | "milliseconds" => Self::Ms,
            "s" | "sec" | "secs" | "seconds" => Self::S,
            _ => return None,
        })
    }

    /// Nanoseconds in one.
    #[must_use]
    pub const fn nanoseconds(self) -> u64 {
        match self {
            Self::Ns => 1,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
            Self::S => 1_000_000_000,
        }
    }

    /// The short word, as `ns`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::Us => "us",
            Self::Ms => "ms",
            Self::S => "s",
        }
    }
}

impl Imported {
    /// With `unit` for all histograms and samples, whatever the text says: some texts do not say
    /// it, and some are wrong. Numbers stay as they are.
    #[must_use]
    pub fn with_unit(mut self, unit: Unit) -> Self {
        let mut stated: Vec<(Unit, String)> = Vec::new();
        for histogram in &mut self.histograms {
            if let Some(other) = histogram.unit.replace(unit).filter(|other| *other != unit) {
                stated.push((other, histogram.full_name()));
            }
        }
        if self.is_samples() {
            let before = self.scalars.insert("unit".to_owned(), Value::from(unit.word()));
            let other = before.as_ref().and_then(Value::as_str).and_then(Unit::from_word);
            stated.extend(other.filter(|other| *other != unit).map(|other| (other, "the values".to_owned())));
        }
        if let [(other, name), more @ ..] = &stated[..] {
            let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            let name = if name.is_empty() { "the histogram".to_owned() } else { escaped(name) };
            self.warnings.push(format!(
                "{} is taken as the unit of {name}{more}, as told; the text says {}",
                unit.word(),
                other.word()
            ));
        }
        self
    }

    /// Plain samples and no histograms.
    pub(super) fn is_samples(&self) -> bool {
        self.format == super::samples::FORMAT
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{corpus, import},
        *,
    };

    #[test]
    fn the_word_of_the_user_is_taken_and_a_contradiction_told() {
        let expected = corpus::expected("16");
        let imported = corpus::imported("16").with_unit(Unit::Ns);
        for key in ["unit", "count", "sum", "min", "max"] {
            assert_eq!(imported.scalars[key], expected[key], "{key}");
        }
        assert_eq!(imported.warnings, [""; 0]);

        let (before, expected) = (corpus::imported("67"), corpus::expected("67"));
        let imported = before.clone().with_unit(Unit::Ns);
        assert_eq!(expected["scalars"]["true_unit"], "ns");
        assert_eq!(imported.histograms[0].unit, Some(Unit::Ns));
        assert_eq!(imported.histograms[0].buckets, before.histograms[0].buckets);
        assert_eq!(
            imported.warnings,
            ["ns is taken as the unit of softirq = sched, as told; the text says us"]
        );
        assert_eq!(before.clone().with_unit(Unit::Us), before);
    }

    #[test]
    fn one_warning_for_many() {
        let imported = corpus::imported("63").with_unit(Unit::Ns);
        assert_eq!(imported.warnings.len(), 1);
        assert!(imported.warnings[0].contains(" and 5 more, as told"), "{:?}", imported.warnings);
        let samples = import("5 us\n", "x").unwrap().with_unit(Unit::Ms);
        assert_eq!(samples.scalars["unit"], "ms");
        assert_eq!(samples.warnings, ["ms is taken as the unit of the values, as told; the text says us"]);
        assert!(corpus::imported("81").with_unit(Unit::Ns).scalars.get("unit").is_none());
    }
}
