//! One measure of both sides: from series to figures, tests and a verdict.

use serde::Serialize;

use super::bins::Binned;
use super::buckets::{PairBucket, pair_buckets};
use super::figure::{Change, Figure, FigureKind, change};
use super::judge::judge;
use super::kinds::kinds;
use super::matching::{pair_up, too_few_events};
use super::pairing::{holm, pairs};
use super::part::Part;
use super::pool::Pool;
use super::resample::intervals;
use super::series::{Level, Quantity, Series};
use super::side::{Side, metric};
use super::testing::{Dependence, Test, filled, tests};
use super::verdict::{Outcome, Verdict};
use super::{Options, Span};
use crate::stats::ks::ks_distance_binned;
use crate::stats::rank::{hodges_lehmann, mann_whitney, probability_greater_binned};

/// One measure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// `irqs_off`, or what the files call it.
    pub name: String,
    /// What it is, of our own metrics.
    pub title: Option<String>,
    /// What the values are.
    pub quantity: Quantity,
    /// More is better.
    pub higher_is_better: bool,
    /// Events of baseline and candidate.
    pub events: [u64; 2],
    /// What was resampled.
    pub level: Level,
    /// Units of baseline and candidate.
    pub units: [usize; 2],
    /// Those of them that have events, which is what tests are made of.
    pub units_with_events: [usize; 2],
    /// Intervals that follow each other are alike when the load comes and goes: their number is worth
    /// less than that of independent ones by this, at least 1.
    pub inflation: f64,
    /// What one must know to read the figures, a sentence each.
    pub notes: Vec<String>,
    /// Figures side by side.
    pub figures: Vec<Figure>,
    /// P(candidate > baseline) of two random events, ties half.
    pub probability_greater: Option<f64>,
    /// Its interval.
    pub probability_greater_interval: Option<Span>,
    /// Largest difference of the two cumulative distributions, 0..=1, read at the common edges.
    pub ks_distance: Option<f64>,
    /// Mann-Whitney test over the units.
    pub rank_test: Option<RankTest>,
    /// What the verdict rests on.
    pub tests: Vec<TestResult>,
    /// Both histograms on one scale.
    pub buckets: Vec<PairBucket>,
    /// How it came out.
    pub verdict: Verdict,
}

/// Mann-Whitney U test and Hodges-Lehmann shift of one value per unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankTest {
    /// What the values are, as `means of intervals`.
    pub of: String,
    /// U of the candidate.
    pub u: f64,
    /// Two-sided, corrected for ties and continuity.
    pub p: f64,
    /// Median of all differences candidate - baseline.
    pub hodges_lehmann: Option<f64>,
}

/// A permutation test of body or tail.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TestResult {
    /// `None`: the body, by ranks of all events; else the share of events from this edge on.
    pub above: Option<f64>,
    /// P(candidate > baseline) - 1/2, or the difference of the shares.
    pub difference: f64,
    /// Two-sided.
    pub p: f64,
    /// Corrected for the number of tests of this measure.
    pub adjusted_p: f64,
}

/// Everything of a measure but its verdict, which depends on the other measures' tests.
struct Prepared {
    measure: Measure,
    /// `None` where the verdict is there already.
    binned: Option<Binned>,
    tests: Option<Vec<Test>>,
}

/// All measures of both sides, with verdicts.
pub(super) fn measures(baseline: &Side, candidate: &Side, options: &Options) -> Vec<Measure> {
    let prepared: Vec<Prepared> = pairs(baseline, candidate)
        .into_iter()
        .map(|(name, series)| prepare(name, series, [baseline, candidate], options))
        .collect();
    let smallest: Vec<f64> = prepared.iter().map(|one| smallest_p(one.tests.as_deref())).collect();
    let tested = smallest.iter().filter(|p| p.is_finite()).count();
    let mut measures = Vec::with_capacity(prepared.len());
    for (index, mut one) in prepared.into_iter().enumerate() {
        if let Some(binned) = &one.binned {
            one.measure.verdict =
                judge(&one.measure, binned, one.tests.as_deref(), holm(&smallest, index), tested, options);
        }
        measures.push(one.measure);
    }
    measures
}

fn smallest_p(tests: Option<&[Test]>) -> f64 {
    tests.unwrap_or_default().iter().map(|test| test.tested.adjusted_p).fold(f64::INFINITY, f64::min)
}

fn prepare(name: String, series: [Option<&Series>; 2], sides: [&Side; 2], options: &Options) -> Prepared {
    let some = series[0].or(series[1]);
    let mut measure = Measure {
        title: metric(&name).map(|metric| metric.title().to_owned()),
        quantity: some.map_or(Quantity::Other(None), |series| series.quantity.clone()),
        higher_is_better: some.is_some_and(|series| series.higher_is_better)
            || options.higher_is_better && some.is_some_and(Series::has_values),
        name,
        events: series.map(|series| series.map_or(0, |series| series.wholes().map(Part::events).sum())),
        level: Level::Interval,
        units: [0, 0],
        units_with_events: [0, 0],
        inflation: 1.0,
        notes: Vec::new(),
        figures: Vec::new(),
        probability_greater: None,
        probability_greater_interval: None,
        ks_distance: None,
        rank_test: None,
        tests: Vec::new(),
        buckets: Vec::new(),
        verdict: Verdict::new(Outcome::NotComparable, ""),
    };
    match pair_up(&mut measure, series, sides, options) {
        Ok(mut binned) => {
            let too_few = too_few_events(&measure, series);
            let tests = fill(&mut measure, &binned, too_few.is_none(), options);
            if let Some(verdict) = too_few {
                measure.verdict = verdict;
                return Prepared { measure, binned: None, tests: None };
            }
            // Thousands of units of several measures need not lie in memory at once.
            (binned.baseline, binned.candidate) = (Vec::new(), Vec::new());
            Prepared { measure, binned: Some(binned), tests }
        }
        Err(verdict) => {
            measure.verdict = verdict;
            Prepared { measure, binned: None, tests: None }
        }
    }
}

/// Figures, and where there are events enough their intervals and tests.
fn fill(measure: &mut Measure, binned: &Binned, enough: bool, options: &Options) -> Option<Vec<Test>> {
    let dependence =
        if measure.level == Level::Interval && enough { Dependence::of(binned) } else { Dependence::NONE };
    measure.inflation = dependence.of_values;
    measure.units = [binned.baseline.len(), binned.candidate.len()];
    measure.units_with_events = filled(binned);
    if binned.joined {
        let text = "the two sides have different buckets; figures are read at the edges that both have";
        measure.notes.push(text.to_owned());
    }
    let pools = [0, 1].map(|side| Pool::of(&binned.bins, std::slice::from_ref(&binned.wholes[side])));
    let fine = pools.iter().all(Pool::is_fine);
    let kinds = kinds(&measure.quantity, &pools, options);
    let (changes, greater) = if enough {
        intervals(binned, &kinds, fine, dependence, options)
    } else {
        (vec![None; kinds.len()], None)
    };
    for (kind, interval) in kinds.iter().zip(changes) {
        let span = change(&pools[0], &pools[1], *kind, fine);
        let [baseline, candidate] = [0, 1].map(|side| pools[side].span(*kind));
        let change = span.map(|span| Change { span, interval: interval.filter(|_| is_resampled(*kind)) });
        measure.figures.push(Figure { kind: *kind, baseline, candidate, change });
    }
    let counts = [0, 1].map(|side| pools[side].whole_counts());
    measure.probability_greater = probability_greater_binned(&counts[0], &counts[1]);
    measure.probability_greater_interval = greater;
    measure.ks_distance = ks_distance_binned(&counts[0], &counts[1]);
    measure.rank_test = rank_test(measure, binned);
    measure.buckets = pair_buckets(&binned.bins, &counts);
    explain_gaps(measure, &pools);
    let tests = if enough { tests(binned, dependence.of_values, options) } else { None };
    measure.tests = tests
        .iter()
        .flatten()
        .map(|test| TestResult {
            above: test.above,
            difference: test.difference,
            p: test.tested.p,
            adjusted_p: test.tested.adjusted_p,
        })
        .collect();
    tests
}

/// The number of events depends on how long was measured, and the largest of all events is not
/// known better by drawing among them again.
const fn is_resampled(kind: FigureKind) -> bool {
    !matches!(kind, FigureKind::Count | FigureKind::Max)
}

/// Why a figure that one expects is missing.
fn explain_gaps(measure: &mut Measure, pools: &[Pool<'_>; 2]) {
    if measure.quantity != Quantity::Time || measure.level == Level::Sample {
        return;
    }
    let without = |side: usize| pools[side].length_s.is_none_or(|length| length <= 0.0);
    let which = match (without(0), without(1)) {
        (true, true) => "either side",
        (true, false) => "the baseline",
        (false, true) => "the candidate",
        (false, false) => return,
    };
    measure.notes.push(format!("no rate and no time share: how long was measured is not known of {which}"));
}

/// The rank test of one value per unit: its mean, or the value itself.
fn rank_test(measure: &Measure, binned: &Binned) -> Option<RankTest> {
    if measure.units.iter().any(|units| *units < 2) {
        return None;
    }
    let means = [&binned.baseline, &binned.candidate].map(|units| {
        units
            .iter()
            .filter(|unit| unit.events > 0)
            .map(|unit| unit.sum.middle() / unit.events as f64)
            .collect::<Vec<_>>()
    });
    let test = mann_whitney(&means[0], &means[1])?;
    let of = match measure.level {
        Level::Sample => "values".to_owned(),
        level => format!("means of {}", level.words()[1]),
    };
    Some(RankTest { of, u: test.u, p: test.p, hodges_lehmann: hodges_lehmann(&means[0], &means[1]) })
}
