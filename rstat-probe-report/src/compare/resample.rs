//! What the units of both sides say beyond their sums: intervals by bootstrap, tests by
//! permutation. The unit is drawn as a whole, because the events in one are not independent.

use super::bins::{Bin, Binned, Unit};
use super::figure::{FigureKind, change};
use super::pool::Pool;
use super::{Options, Span};
use crate::stats::bootstrap::{Bootstrap, expanded_tails, percentile_interval};
use crate::stats::permutation::{Tested, max_t};
use crate::stats::rank::probability_greater_binned;
use crate::stats::series::inflation;

/// Fewer units on a side cannot show anything at 95 %: of 3 and 3 there are 20 deals.
pub const LEAST_UNITS: usize = 4;

/// A share above some time is tested when so many events of both sides are above it.
const LEAST_TAIL_EVENTS: f64 = 10.0;

/// Tails that are tested: the share of all events of both sides above. Of plain samples there are
/// too few for more than the first.
const TAILS: [f64; 4] = [0.1, 0.01, 0.001, 0.0001];

/// How much less the intervals of a run are worth than as many independent ones, at least 1:
/// neighbours are alike when the load comes and goes.
pub(super) fn dependence(binned: &Binned) -> f64 {
    let ranks = midranks(binned);
    let series = |units: &[Unit]| -> Vec<f64> {
        let filled = units.iter().filter(|unit| unit.events > 0);
        filled.map(|unit| rank_sum(unit, &ranks) / unit.events as f64).collect()
    };
    inflation(&[&series(&binned.baseline), &series(&binned.candidate)])
}

/// Units of the smaller side, as far as they are independent.
fn worth(binned: &Binned, inflation: f64) -> f64 {
    binned.baseline.len().min(binned.candidate.len()) as f64 / inflation
}

/// Intervals of the changes of `kinds` and of P(candidate > baseline), which lie around `changes` and
/// `greater`. `None` each where there are too few units. Units that are worth less by `inflation` make
/// them longer by its root.
pub(super) fn intervals(
    binned: &Binned,
    kinds: &[FigureKind],
    fine: bool,
    inflation: f64,
    options: &Options,
) -> (Vec<Option<Span>>, Option<Span>) {
    let worth = worth(binned, inflation);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of units")]
    let tails =
        if worth < LEAST_UNITS as f64 { None } else { expanded_tails(options.confidence, worth as usize) };
    let Some((tail_low, tail_high)) = tails else { return (vec![None; kinds.len()], None) };
    let [baseline, candidate] =
        [&binned.baseline, &binned.candidate].map(|units| Pool::of(&binned.bins, units));
    let stretch = |replicates: &mut [f64], centre: f64| {
        if inflation > 1.0 && centre.is_finite() {
            for value in replicates {
                *value = centre + (*value - centre) * inflation.sqrt();
            }
        }
    };
    let mut changes = vec![(Vec::new(), Vec::new()); kinds.len()];
    let mut greater = Vec::new();
    let compact = Compact::of(binned);
    let mut sides = [Pool::new(&compact.bins), Pool::new(&compact.bins)];
    let bootstrap =
        Bootstrap::new(options.seed, binned.baseline.len(), binned.candidate.len(), options.resamples);
    bootstrap.run(|baseline_weights, candidate_weights| {
        let units = [(&binned.baseline, baseline_weights), (&binned.candidate, candidate_weights)];
        for (side, (units, weights)) in units.into_iter().enumerate() {
            sides[side].clear();
            let drawn = units.iter().zip(weights).enumerate().filter(|(_, (_, times))| **times > 0);
            for (index, (unit, times)) in drawn {
                sides[side].add_row(unit, compact.row(side, index), *times);
            }
        }
        for (kind, (lows, highs)) in kinds.iter().zip(&mut changes) {
            let span = change(&sides[0], &sides[1], *kind, fine);
            lows.push(span.map_or(f64::NAN, |span| span.low));
            highs.push(span.map_or(f64::NAN, |span| span.high));
        }
        let counts = [sides[0].whole_counts(), sides[1].whole_counts()];
        greater.push(probability_greater_binned(&counts[0], &counts[1]).unwrap_or(f64::NAN));
    });
    let interval = |lows: &mut [f64], highs: &mut [f64]| {
        // A bucket without an end that was drawn leaves the interval without one.
        let open = highs.contains(&f64::INFINITY);
        let low = percentile_interval(lows, tail_low, tail_high)?.low;
        let high = if open { f64::INFINITY } else { percentile_interval(highs, tail_low, tail_high)?.high };
        Some(Span { low, high })
    };
    let spans = kinds
        .iter()
        .zip(&mut changes)
        .map(|(kind, (lows, highs))| {
            let centre = change(&baseline, &candidate, *kind, fine)?;
            stretch(lows, centre.low);
            stretch(highs, centre.high);
            interval(lows, highs)
        })
        .collect();
    let counts = [baseline.whole_counts(), candidate.whole_counts()];
    stretch(&mut greater, probability_greater_binned(&counts[0], &counts[1]).unwrap_or(f64::NAN));
    let mut again = greater.clone();
    let greater = interval(&mut greater, &mut again);
    // Stretched, it may leave what a probability can be.
    (spans, greater.map(|span| span.map(|end| end.clamp(0.0, 1.0))))
}

/// The bins that hold events, and the counts of each unit in all of them: a row is added in one go,
/// thousands of times.
struct Compact {
    bins: Vec<Bin>,
    /// Rows of baseline and candidate.
    counts: [Vec<f64>; 2],
}

impl Compact {
    fn of(binned: &Binned) -> Self {
        let sides = [&binned.baseline, &binned.candidate];
        let mut places = vec![usize::MAX; binned.bins.len()];
        for (bin, _) in sides.iter().flat_map(|units| units.iter()).flat_map(|unit| &unit.counts) {
            places[*bin as usize] = 0;
        }
        let mut bins = Vec::new();
        for (bin, place) in binned.bins.iter().zip(&mut places).filter(|(_, place)| **place == 0) {
            *place = bins.len();
            bins.push(*bin);
        }
        let counts = sides.map(|units| {
            let mut rows = vec![0.0; units.len() * bins.len()];
            for (unit, row) in units.iter().zip(rows.chunks_exact_mut(bins.len().max(1))) {
                unit.counts.iter().for_each(|&(bin, count)| row[places[bin as usize]] = count as f64);
            }
            rows
        });
        Self { bins, counts }
    }

    fn row(&self, side: usize, unit: usize) -> &[f64] {
        &self.counts[side][unit * self.bins.len()..][..self.bins.len()]
    }
}

/// A test of one statistic over the units of both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    /// `None`: the body, by ranks of all events. Else the share of events from this edge on.
    pub(super) above: Option<f64>,
    pub(super) tested: Tested,
}

/// Tests body and tails together; `None` with too few units. Where units are worth less by `inflation`,
/// what was measured counts as nearer to what chance gives, by its root.
pub(super) fn tests(binned: &Binned, inflation: f64, options: &Options) -> Option<Vec<Test>> {
    if worth(binned, inflation) < LEAST_UNITS as f64 {
        return None;
    }
    let edges = tail_edges(binned);
    let ranks = midranks(binned);
    let features: Vec<Features> = binned
        .baseline
        .iter()
        .chain(&binned.candidate)
        .map(|unit| Features {
            events: unit.events as f64,
            ranks: rank_sum(unit, &ranks),
            above: edges.iter().map(|edge| events_above(unit, &binned.bins, *edge)).collect(),
        })
        .collect();
    let all: f64 = features.iter().map(|unit| unit.events).sum();
    let mut sums = vec![[0.0; 2]; edges.len()];
    // The first deal is the one that was measured.
    let mut shrink = 1.0 / inflation.sqrt();
    let mut tested = max_t(
        options.seed,
        binned.baseline.len(),
        binned.candidate.len(),
        options.deals(),
        edges.len() + 1,
        |is_candidate, out| {
            let (mut events, mut rank_sums) = ([0.0; 2], [0.0; 2]);
            sums.fill([0.0; 2]);
            for (unit, side) in features.iter().zip(is_candidate) {
                let side = usize::from(*side);
                events[side] += unit.events;
                rank_sums[side] += unit.ranks;
                for (sum, above) in sums.iter_mut().zip(&unit.above) {
                    sum[side] += above;
                }
            }
            let share = |sum: [f64; 2]| sum[1] / events[1].max(1.0) - sum[0] / events[0].max(1.0);
            // P(candidate > baseline) - 1/2, as Mann and Whitney (1947) relate it to rank sums.
            out[0] = share(rank_sums) / all.max(1.0);
            for (tail, sum) in out[1..].iter_mut().zip(&sums) {
                *tail = share(*sum);
            }
            for statistic in out {
                *statistic *= shrink;
            }
            shrink = 1.0;
        },
    );
    for test in &mut tested {
        test.observed *= inflation.sqrt();
    }
    let above = std::iter::once(None).chain(edges.into_iter().map(Some));
    Some(above.zip(tested).map(|(above, tested)| Test { above, tested }).collect())
}

/// One unit, as far as the tests need it.
struct Features {
    events: f64,
    ranks: f64,
    above: Vec<f64>,
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

/// The edges above which the shares [`TAILS`] of all events lie, at most, and enough of them.
/// Those of both sides together, for the same reason as in [`midranks`].
fn tail_edges(binned: &Binned) -> Vec<f64> {
    let mut pool = Pool::of(&binned.bins, &binned.baseline);
    binned.candidate.iter().for_each(|unit| pool.add(unit));
    let mut edges = Vec::new();
    for share in TAILS {
        let most = share * pool.events;
        let mut above = pool.events;
        let edge = binned.bins.iter().zip(&pool.counts).find_map(|(bin, count)| {
            let found = above <= most;
            let here = above;
            above -= count;
            found.then_some((bin.low, here))
        });
        // 10 % is body where there are events enough for the rest.
        let coarse = share > 0.05 && pool.events >= LEAST_TAIL_EVENTS / TAILS[1];
        let enough = |events: f64| events >= LEAST_TAIL_EVENTS.min(pool.events / 12.0).max(2.0);
        if let Some((edge, events)) = edge
            && !coarse
            && enough(events)
            && edges.last() != Some(&edge)
        {
            edges.push(edge);
        }
    }
    edges
}
