//! From tests, or from two bare histograms, to one word and one sentence.

use serde::Serialize;

use super::bins::Binned;
use super::figure::{Change, Figure, FigureKind, change};
use super::pool::Pool;
use super::series::Quantity;
use super::testing::Test;
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

    /// The verdict of the tests. Significance alone is not enough: with events enough any
    /// difference is significant, so it must also be as large as `least_change`.
    pub(super) fn tested(&self, tests: &[Test]) -> Verdict {
        let significant = |test: &Test| (test.tested.adjusted_p * self.holm).min(1.0) < self.alpha;
        let (body_kind, body_change) = self.largest_change_of_body();
        let counts = |test: &Test| match test.above {
            None => body_change >= self.least_change,
            Some(edge) => {
                let [before, after] = self.pools.map(|pool| pool.above(edge) / pool.events.max(1.0));
                (after - before).abs() >= self.least_change * before.max(after)
            }
        };
        let moved = |test: &Test| {
            if significant(test) && counts(test) { self.direction(test.difference) } else { Direction::Same }
        };
        let mut outcome = outcome(&tests.iter().map(moved).collect::<Vec<_>>());
        let mut said: Vec<String> = Vec::new();
        for test in tests.iter().filter(|test| moved(test) != Direction::Same) {
            let p = words::p_value((test.tested.adjusted_p * self.holm).min(1.0));
            said.push(match test.above {
                None => format!("body {} ({}, {p})", moved(test).word(), self.body_words(body_kind)),
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
        let (opposite, but) = self.disagreement(outcome);
        if opposite {
            outcome = Outcome::Mixed;
        }
        said.extend(but);
        Verdict::new(outcome, said.join("; "))
    }

    /// The decile or quartile of the body that changed most, and by how much: from 0 to anything there is no
    /// number, and it counts as any.
    fn largest_change_of_body(&self) -> (FigureKind, f64) {
        let [baseline, candidate] = self.pools;
        let fine = baseline.is_fine() && candidate.is_fine();
        let size = |kind: FigureKind| match change(baseline, candidate, kind, fine) {
            Some(span) => span.middle().abs(),
            None if baseline.estimate(kind) != candidate.estimate(kind) => f64::INFINITY,
            None => 0.0,
        };
        let kinds = [50, 25, 75, 90].map(quantile).map(|kind| (kind, size(kind)));
        // The median is what people know.
        let median = kinds[0];
        let largest = kinds.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(median);
        if median.1 >= self.least_change { median } else { largest }
    }

    /// The change of `kind` and P(candidate > baseline).
    pub(super) fn body_words(&self, kind: FigureKind) -> String {
        let [baseline, candidate] = self.pools;
        let fine = baseline.is_fine() && candidate.is_fine();
        let change = change(baseline, candidate, kind, fine);
        let change =
            change.map(|span| format!("{} {}, ", kind.name(), words::relative(span))).unwrap_or_default();
        let counts = self.pools.map(Pool::whole_counts);
        let greater = probability_greater_binned(&counts[0], &counts[1]).unwrap_or(0.5);
        format!("{change}P(candidate > baseline) {greater:.2}")
    }

    fn tail_words(&self, edge: f64) -> String {
        let [before, after] = self.pools.map(|pool| words::percent(pool.above(edge) / pool.events.max(1.0)));
        format!("{before} -> {after} from {} on", words::edge(edge, self.quantity))
    }

    /// Figures that do not go along with the outcome, so that one word does not hide them, and whether one
    /// of them surely goes the other way.
    fn disagreement(&self, outcome: Outcome) -> (bool, Option<String>) {
        let along = match outcome {
            Outcome::Better => Direction::Better,
            Outcome::Worse => Direction::Worse,
            Outcome::NoDifference => Direction::Same,
            _ => return (false, None),
        };
        let mut opposite = false;
        let mut against = Vec::new();
        let kinds = [
            (FigureKind::Mean, "the mean"),
            (quantile(90), "p90"),
            (FigureKind::TimeShare, "the time share"),
        ];
        for (kind, name) in kinds {
            let Some(figure) = self.figure(kind) else { continue };
            let Some(Change { span, interval: Some(interval) }) = figure.change else { continue };
            let sure = interval.low > 0.0 || interval.high < 0.0;
            let direction = if sure { self.direction(span.middle()) } else { Direction::Same };
            let words = if kind.is_share() { words::points(span) } else { words::relative(span) };
            if direction != Direction::Same && direction != along && self.is_large(figure) {
                // Without a difference per event a time share says that there were more events.
                opposite |= along != Direction::Same;
                against.push(format!("{name} is {} ({words})", direction.word()));
            } else if kind == FigureKind::Mean && along != Direction::Same && !sure {
                against.push(format!("the interval of the mean ({words}) includes 0"));
            }
        }
        for (kind, name) in [(quantile(99), "p99"), (FigureKind::Max, "the maximum")] {
            let change = self.change(kind);
            let large = change.abs() >= self.least_change && along != Direction::Same;
            if large && self.direction(change) != along {
                against.push(format!("{name} is {}", if change < 0.0 { "lower" } else { "higher" }));
            }
        }
        (opposite, (!against.is_empty()).then(|| format!("but {}", against.join(" and "))))
    }

    /// Whether a figure changed by `least_change` of itself.
    fn is_large(&self, figure: &Figure) -> bool {
        let (Some(from), Some(to)) = (figure.baseline, figure.candidate) else { return false };
        let (from, to) = (from.middle(), to.middle());
        (to - from).abs() >= self.least_change * from.abs().max(to.abs())
    }
}

/// A quantile in percent.
pub(super) const fn quantile(percent: u32) -> FigureKind {
    FigureKind::Quantile { parts: percent * 100 }
}
