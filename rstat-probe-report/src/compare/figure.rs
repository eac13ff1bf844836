//! The figures of one measure: what they are, and how the candidate's differs.

use serde::{Serialize, Serializer};

use super::pool::Pool;

/// A number that is known to lie between two others, both inclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Span {
    /// Smallest possible.
    pub low: f64,
    /// Largest possible; infinite (JSON null) where the last bucket is open.
    pub high: f64,
}

impl Span {
    /// A number that is known.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// Whether the number is known.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self.low == self.high
    }

    /// Half-way, the lower end when the upper one is open.
    #[must_use]
    pub fn middle(self) -> f64 {
        if self.high.is_infinite() { self.low } else { self.low + (self.high - self.low) / 2.0 }
    }

    pub(super) fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self { low: f(self.low), high: f(self.high) }
    }
}

/// One figure of a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FigureKind {
    /// Events.
    Count,
    /// Events per second of time measured.
    Rate,
    /// Sum of all times by the time measured: 0.5 is half of one CPU.
    TimeShare,
    /// Mean, ns (or the unit of the samples).
    Mean,
    /// A quantile, ns (or the unit of the samples).
    Quantile {
        /// In parts of 10,000: 9,900 is p99.
        parts: u32,
    },
    /// Largest value, ns (or the unit of the samples).
    Max,
    /// Share of events (0..=1) of at least `edge`.
    ShareAbove {
        /// ns (or the unit of the samples).
        edge: f64,
    },
}

impl FigureKind {
    /// The name in rules and files: `p99`, `p99.9`, `mean`, `above_1015808`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Count => "count".to_owned(),
            Self::Rate => "rate".to_owned(),
            Self::TimeShare => "time_share".to_owned(),
            Self::Mean => "mean".to_owned(),
            Self::Quantile { parts } => format!("p{}", f64::from(parts) / 100.0),
            Self::Max => "max".to_owned(),
            Self::ShareAbove { edge } => format!("above_{edge}"),
        }
    }

    /// Whether a change is a difference of shares, not a ratio.
    #[must_use]
    pub const fn is_share(self) -> bool {
        matches!(self, Self::TimeShare | Self::ShareAbove { .. })
    }
}

impl Serialize for FigureKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

/// How the candidate's figure differs: candidate / baseline - 1, for shares candidate - baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// What the buckets allow; one number where they are fine (up to 6.25 % wide).
    #[serde(flatten)]
    pub span: Span,
    /// 95 % interval (or [`super::Options::confidence`]) of the bootstrap over the units.
    pub interval: Option<Span>,
}

/// One figure on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Which.
    #[serde(rename = "figure")]
    pub kind: FigureKind,
    /// `None` where it cannot be told.
    pub baseline: Option<Span>,
    /// `None` where it cannot be told.
    pub candidate: Option<Span>,
    /// `None` where a side has none, or the baseline's is 0 and a ratio makes no sense.
    pub change: Option<Change>,
}

/// The change from one pool to another.
pub(super) fn change(
    baseline: &Pool<'_>,
    candidate: &Pool<'_>,
    kind: FigureKind,
    fine: bool,
) -> Option<Span> {
    let difference = |from: f64, to: f64| match kind.is_share() {
        true => to - from,
        // From a negative number no ratio can be told.
        false if from < 0.0 => f64::NAN,
        false => to / from - 1.0,
    };
    let span = if fine && matches!(kind, FigureKind::Quantile { .. }) {
        let (from, to) = (baseline.estimate(kind), candidate.estimate(kind));
        Span::exact(difference(from, to))
    } else {
        let (from, to) = (baseline.span(kind)?, candidate.span(kind)?);
        Span { low: difference(from.high, to.low), high: difference(from.low, to.high) }
    };
    // An open bucket leaves one end open; 0 to 0 and anything from 0 are no ratios.
    (!span.low.is_nan() && !span.high.is_nan() && span.low < f64::INFINITY).then_some(span)
}
