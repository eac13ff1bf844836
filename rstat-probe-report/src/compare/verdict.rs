//! From tests, or from two bare histograms, to one word and one sentence.

use serde::Serialize;

use super::bins::Binned;
use super::figure::{Figure, FigureKind, Span};
use super::pool::Pool;
use super::resample::Test;
use super::series::Quantity;
use super::words;
use crate::stats::rank::probability_greater_binned;

/// How a comparison came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The candidate is better.
    Better,
    /// No difference was found, or none that counts.
    NoDifference,
    /// Better in one part, worse in another.
    Mixed,
    /// The candidate is worse.
    Worse,
    /// Too little to tell.
    NotEnoughData,
    /// The two sides do not mean the same.
    NotComparable,
}

impl Outcome {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::NoDifference => "no difference",
            Self::Mixed => "mixed",
            Self::Worse => "worse",
            Self::NotEnoughData => "not enough data",
            Self::NotComparable => "not comparable",
        }
    }
}

/// The outcome, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// In a word.
    pub outcome: Outcome,
    /// Too few units for a test: the outcome only describes what was measured.
    pub unreplicated: bool,
    /// In one sentence, without a full stop.
    pub reason: String,
}

impl Verdict {
    pub(super) fn new(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self { outcome, unreplicated: false, reason: reason.into() }
    }
}

/// Which way something moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Better,
    Worse,
    Same,
}

impl Direction {
    pub(super) fn of(difference: f64, higher_is_better: bool) -> Self {
        match difference {
            d if d == 0.0 || d.is_nan() => Self::Same,
            d if (d > 0.0) == higher_is_better => Self::Better,
            _ => Self::Worse,
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "the same",
        }
    }
}

pub(super) fn outcome(parts: &[Direction]) -> Outcome {
    let any = |direction| parts.contains(&direction);
    match (any(Direction::Better), any(Direction::Worse)) {
        (true, true) => Outcome::Mixed,
        (true, false) => Outcome::Better,
        (false, true) => Outcome::Worse,
        (false, false) => Outcome::NoDifference,
    }
}

/// What a verdict is made of.
pub(super) struct Evidence<'a> {
    pub(super) binned: &'a Binned,
    pub(super) pools: [&'a Pool<'a>; 2],
    pub(super) figures: &'a [Figure],
    pub(super) quantity: &'a Quantity,
    pub(super) higher_is_better: bool,
    /// Smallest change that counts, 0.05 is 5 %.
    pub(super) least_change: f64,
    /// 1 - confidence.
    pub(super) alpha: f64,
    /// What p-values are multiplied by because several measures are looked at (Holm 1979).
    pub(super) holm: f64,
}

impl Evidence<'_> {
    pub(super) fn figure(&self, kind: FigureKind) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.kind == kind)
    }

    pub(super) fn direction(&self, difference: f64) -> Direction {
        Direction::of(difference, self.higher_is_better)
    }

    /// Half-way of the change of a figure, 0 where it has none.
    pub(super) fn change(&self, kind: FigureKind) -> f64 {
        self.figure(kind).and_then(|figure| figure.change).map_or(0.0, |change| change.span.middle())
    }

    /// How large the change of a figure is: from 0 to anything it has no number, and counts as any.
    fn size_of_change(&self, kind: FigureKind) -> f64 {
        match self.figure(kind) {
            Some(Figure { baseline: Some(from), candidate: Some(to), change: None, .. }) if from != to => {
                f64::INFINITY
            }
            _ => self.change(kind).abs(),
        }
    }

    /// The verdict of the tests. Significance alone is not enough: with events enough any
    /// difference is significant, so it must also be as large as `least_change`.
    pub(super) fn tested(&self, tests: &[Test]) -> Verdict {
        let significant = |test: &Test| (test.tested.adjusted_p * self.holm).min(1.0) < self.alpha;
        let body_kinds = [FigureKind::Mean, quantile(50), quantile(90)];
        let body_change = body_kinds.map(|kind| self.size_of_change(kind)).into_iter().fold(0.0, f64::max);
        let counts = |test: &Test| match test.above {
            None => body_change >= self.least_change,
            Some(edge) => {
                let [before, after] = self.pools.map(|pool| pool.above(edge) / pool.events.max(1.0));
                (after - before).abs() >= self.least_change * before.max(after)
            }
        };
        let moved = |test: &Test| {
            if significant(test) && counts(test) {
                self.direction(test.tested.observed)
            } else {
                Direction::Same
            }
        };
        let outcome = outcome(&tests.iter().map(moved).collect::<Vec<_>>());
        let mut said: Vec<String> = Vec::new();
        for test in tests.iter().filter(|test| moved(test) != Direction::Same) {
            let p = words::p_value((test.tested.adjusted_p * self.holm).min(1.0));
            said.push(match test.above {
                None => format!("body {} ({}, {p})", moved(test).word(), self.body_words()),
                Some(edge) => format!("tail {} ({}, {p})", moved(test).word(), self.tail_words(edge)),
            });
        }
        if said.is_empty() {
            let slight = tests.iter().any(significant);
            let least = words::percent(self.least_change);
            said.push(if slight {
                format!("what differs more than by chance differs by less than {least}")
            } else {
                let p = tests.iter().map(|test| test.tested.adjusted_p).fold(1.0, f64::min);
                let p = words::p_value((p * self.holm).min(1.0));
                format!("neither body nor tail differ more than by chance ({p})")
            });
        }
        if let Some(but) = self.disagreement(outcome) {
            said.push(but);
        }
        Verdict::new(outcome, said.join("; "))
    }

    pub(super) fn body_words(&self) -> String {
        let p50 = self.figure(quantile(50)).and_then(|figure| figure.change);
        let change = p50.map(|change| format!("p50 {}, ", words::relative(change.span))).unwrap_or_default();
        let counts = self.pools.map(Pool::whole_counts);
        let greater = probability_greater_binned(&counts[0], &counts[1]).unwrap_or(0.5);
        format!("{change}P(candidate > baseline) {greater:.2}")
    }

    fn tail_words(&self, edge: f64) -> String {
        let [before, after] = self.pools.map(|pool| words::percent(pool.above(edge) / pool.events.max(1.0)));
        format!("{before} -> {after} from {} on", words::edge(edge, self.quantity))
    }

    /// Figures that do not go along with the outcome, so that one word does not hide them.
    fn disagreement(&self, outcome: Outcome) -> Option<String> {
        let (Outcome::Better | Outcome::Worse) = outcome else { return None };
        let along = if outcome == Outcome::Better { Direction::Better } else { Direction::Worse };
        let mut against = Vec::new();
        if let Some(Figure { change: Some(change), .. }) = self.figure(FigureKind::Mean)
            && let Some(Span { low, high }) = change.interval
            && low <= 0.0
            && high >= 0.0
        {
            against.push(format!("the interval of the mean ({}) includes 0", words::relative(change.span)));
        }
        for (kind, name) in [(quantile(99), "p99"), (FigureKind::Max, "the maximum")] {
            let change = self.change(kind);
            if change.abs() >= self.least_change && self.direction(change) != along {
                against.push(format!("{name} is {}", if change < 0.0 { "lower" } else { "higher" }));
            }
        }
        (!against.is_empty()).then(|| format!("but {}", against.join(" and ")))
    }
}

/// A quantile in percent.
pub(super) const fn quantile(percent: u32) -> FigureKind {
    FigureKind::Quantile { parts: percent * 100 }
}
