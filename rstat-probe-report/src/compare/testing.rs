//! Is the difference more than chance? Permutation tests of body and tails over the units.

use super::Options;
use super::bins::{Bin, Binned, Unit};
use super::pool::Pool;
use super::resample::LEAST_UNITS;
use crate::stats::permutation::{Tested, max_t};
use crate::stats::series::inflation;

/// A tail is tested when each side is expected to have so many events in it.
const LEAST_TAIL_EVENTS: f64 = 10.0;

/// Tails that are tested: the share of all events of both sides above. Of plain samples there are
/// too few for more than the first.
const TAILS: [f64; 4] = [0.1, 0.01, 0.001, 0.0001];

/// Standard errors below this, of shares and probabilities, are those of units that are all the same.
const NO_ERROR: f64 = 1e-9;

/// How much less the intervals of a run are worth than as many independent ones, at least 1:
/// neighbours are alike when the load comes and goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dependence {
    /// For how long events took.
    pub(super) of_values: f64,
    /// For how many events there were.
    pub(super) of_rates: f64,
}

impl Dependence {
    pub(super) const NONE: Self = Self { of_values: 1.0, of_rates: 1.0 };

    pub(super) fn of(binned: &Binned) -> Self {
        let ranks = midranks(binned);
        let means = |units: &[Unit]| -> Vec<f64> {
            let filled = units.iter().filter(|unit| unit.events > 0);
            filled.map(|unit| rank_sum(unit, &ranks) / unit.events as f64).collect()
        };
        let rates = |units: &[Unit]| -> Vec<f64> {
            units.iter().filter_map(|unit| Some(unit.events as f64 / unit.length_s?)).collect()
        };
        let of_values = inflation(&[&means(&binned.baseline), &means(&binned.candidate)]);
        let of_rates = inflation(&[&rates(&binned.baseline), &rates(&binned.candidate)]);
        Self { of_values, of_rates: of_rates.max(of_values) }
    }
}

/// Units of the smaller side that have events, as far as they are independent.
pub(super) fn worth(binned: &Binned, inflation: f64) -> f64 {
    let [baseline, candidate] = filled(binned);
    baseline.min(candidate) as f64 / inflation
}

/// Units that have events, of baseline and candidate: the others say nothing of how long one takes.
pub(super) fn filled(binned: &Binned) -> [usize; 2] {
    [&binned.baseline, &binned.candidate].map(|units| units.iter().filter(|unit| unit.events > 0).count())
}

/// A test of one statistic over the units of both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    /// `None`: the body, by ranks of all events. Else the share of events from this edge on.
    pub(super) above: Option<f64>,
    /// P(candidate > baseline) - 1/2, or the difference of the shares.
    pub(super) difference: f64,
    pub(super) tested: Tested,
}

/// One unit, as far as the tests need it: its events, and of each statistic the sum over them.
struct Features {
    events: f64,
    sums: Vec<f64>,
}

/// Tests body and tails together; `None` with too few units. Where units are worth less by `inflation`,
/// what was measured counts as nearer to what chance gives, by its root.
///
/// The statistics are differences of ratios of sums, divided by their standard errors between units
/// (Cochran 1977, ratio estimator): the sides may have very different numbers of events per unit, and without
/// that the deals would not be comparable with what was measured (Janssen 1997).
pub(super) fn tests(binned: &Binned, inflation: f64, options: &Options) -> Option<Vec<Test>> {
    if worth(binned, inflation) < LEAST_UNITS as f64 {
        return None;
    }
    let edges = tail_edges(binned);
    let ranks = midranks(binned);
    let all: f64 = binned.baseline.iter().chain(&binned.candidate).map(|unit| unit.events as f64).sum();
    let features = |units: &[Unit]| -> Vec<Features> {
        let filled = units.iter().filter(|unit| unit.events > 0);
        filled
            .map(|unit| {
                // By the number of all events: then it is P(candidate > baseline) - 1/2, as Mann and Whitney
                // (1947) relate it to rank sums.
                let body = rank_sum(unit, &ranks) / all;
                let tails = edges.iter().map(|edge| events_above(unit, &binned.bins, *edge));
                Features { events: unit.events as f64, sums: std::iter::once(body).chain(tails).collect() }
            })
            .collect()
    };
    let (baseline, candidate) = (features(&binned.baseline), features(&binned.candidate));
    let differences: Vec<f64> = (0..=edges.len())
        .map(|statistic| {
            let ratio = |units: &[Features]| {
                units.iter().map(|unit| unit.sums[statistic]).sum::<f64>()
                    / units.iter().map(|unit| unit.events).sum::<f64>()
            };
            ratio(&candidate) - ratio(&baseline)
        })
        .collect();
    let counts = (baseline.len(), candidate.len());
    let units: Vec<Features> = baseline.into_iter().chain(candidate).collect();
    // The first deal is the one that was measured.
    let mut shrink = 1.0 / inflation.sqrt();
    let mut moments = vec![[Moments::default(); 2]; edges.len() + 1];
    let tested = max_t(options.seed, counts.0, counts.1, options.deals(), edges.len() + 1, |labels, out| {
        moments.fill([Moments::default(); 2]);
        for (unit, is_candidate) in units.iter().zip(labels) {
            for (moments, sum) in moments.iter_mut().zip(&unit.sums) {
                moments[usize::from(*is_candidate)].add(unit.events, *sum);
            }
        }
        for (statistic, [baseline, candidate]) in out.iter_mut().zip(&moments) {
            let error = (baseline.variance() + candidate.variance()).sqrt();
            *statistic = (candidate.ratio() - baseline.ratio()) / error.max(NO_ERROR) * shrink;
        }
        shrink = 1.0;
    });
    let above = std::iter::once(None).chain(edges.into_iter().map(Some));
    let tests = above.zip(differences).zip(tested);
    Some(tests.map(|((above, difference), tested)| Test { above, difference, tested }).collect())
}

/// Sums over the units of one side, for a ratio and its error.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    units: f64,
    events: f64,
    sum: f64,
    events_squared: f64,
    sum_squared: f64,
    product: f64,
}

impl Moments {
    fn add(&mut self, events: f64, sum: f64) {
        self.units += 1.0;
        self.events += events;
        self.sum += sum;
        self.events_squared += events * events;
        self.sum_squared += sum * sum;
        self.product += events * sum;
    }

    fn ratio(&self) -> f64 {
        self.sum / self.events
    }

    /// Of the ratio.
    fn variance(&self) -> f64 {
        let ratio = self.ratio();
        let squares = self.sum_squared - 2.0 * ratio * self.product + ratio * ratio * self.events_squared;
        (squares.max(0.0) / (self.events * self.events)) * self.units / (self.units - 1.0).max(1.0)
    }
}

/// Rank of the events of each bin among those of both sides; events of one bin share theirs. Does
/// not depend on which unit is on which side.
fn midranks(binned: &Binned) -> Vec<f64> {
    let mut counts = vec![0.0; binned.bins.len()];
    for unit in binned.baseline.iter().chain(&binned.candidate) {
        unit.counts.iter().for_each(|&(bin, count)| counts[bin as usize] += count as f64);
    }
    let mut below = 0.0;
    counts
        .iter()
        .map(|count| {
            let rank = below + (count + 1.0) / 2.0;
            below += count;
            rank
        })
        .collect()
}

fn rank_sum(unit: &Unit, ranks: &[f64]) -> f64 {
    unit.counts.iter().map(|&(bin, count)| ranks[bin as usize] * count as f64).sum()
}

fn events_above(unit: &Unit, bins: &[Bin], edge: f64) -> f64 {
    let above = unit.counts.iter().filter(|(bin, _)| bins[*bin as usize].low >= edge);
    above.map(|(_, count)| *count as f64).sum()
}

/// The edges above which at most the shares [`TAILS`] of all events lie, and enough of them for either
/// side. Those of both sides together, for the same reason as in [`midranks`].
fn tail_edges(binned: &Binned) -> Vec<f64> {
    let sides = [&binned.baseline, &binned.candidate].map(|units| Pool::of(&binned.bins, units));
    let all: f64 = sides.iter().map(|pool| pool.events).sum();
    let mut edges = Vec::new();
    for share in TAILS {
        let mut above = all;
        let counts = sides[0].counts.iter().zip(&sides[1].counts);
        let edge = binned.bins.iter().zip(counts).find_map(|(bin, (baseline, candidate))| {
            let found = above <= share * all;
            let here = above;
            above -= baseline + candidate;
            found.then_some((bin.low, here / all))
        });
        let enough = |share: f64| {
            sides
                .iter()
                .all(|pool| share * pool.events >= LEAST_TAIL_EVENTS.min(pool.events / 12.0).max(2.0) - 1e-9)
        };
        if let Some((edge, share)) = edge
            && enough(share)
            && edges.last() != Some(&edge)
        {
            edges.push(edge);
        }
    }
    edges
}
