//! What the units of both sides say beyond their sums: intervals by bootstrap, tests by
//! permutation. The unit is drawn as a whole, because the events in one are not independent.

use super::bins::{Bin, Binned, Unit};
use super::figure::{FigureKind, change};
use super::pool::Pool;
use super::testing::{Dependence, worth};
use super::{Options, Span};
use crate::stats::bootstrap::{Bootstrap, expanded_tails, percentile_interval};
use crate::stats::rank::probability_greater_binned;

/// Fewer units on a side cannot show anything at 95 %: of 3 and 3 there are 20 deals.
pub const LEAST_UNITS: usize = 4;

/// Intervals of the changes of `kinds` and of P(candidate > baseline). `None` each where there are too
/// few units. Units that are worth less make them longer by the root of that.
pub(super) fn intervals(
    binned: &Binned,
    kinds: &[FigureKind],
    fine: bool,
    dependence: Dependence,
    options: &Options,
) -> (Vec<Option<Span>>, Option<Span>) {
    let worth = worth(binned, dependence.of_values);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of units")]
    let tails =
        if worth < LEAST_UNITS as f64 { None } else { expanded_tails(options.confidence, worth as usize) };
    let Some((tail_low, tail_high)) = tails else { return (vec![None; kinds.len()], None) };
    let [baseline, candidate] =
        [&binned.baseline, &binned.candidate].map(|units| Pool::of(&binned.bins, units));
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
                compact.add(&mut sides[side], side, index, unit, *times);
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
            let inflation = match kind {
                FigureKind::Rate | FigureKind::TimeShare => dependence.of_rates,
                _ => dependence.of_values,
            };
            // Ratios are stretched as such, so that none falls by more than all of it.
            let scale = if kind.is_share() { Scale::Plain } else { Scale::Ratio };
            stretch(lows, centre.low, inflation, scale);
            stretch(highs, centre.high, inflation, scale);
            interval(lows, highs)
        })
        .collect();
    let counts = [baseline.whole_counts(), candidate.whole_counts()];
    let centre = probability_greater_binned(&counts[0], &counts[1]).unwrap_or(f64::NAN);
    stretch(&mut greater, centre, dependence.of_values, Scale::Plain);
    let mut again = greater.clone();
    let greater = interval(&mut greater, &mut again);
    // Stretched, it may leave what a probability can be.
    (spans, greater.map(|span| span.map(|end| end.clamp(0.0, 1.0))))
}

#[derive(Clone, Copy, PartialEq)]
enum Scale {
    Plain,
    /// Changes of ratios: c stands for 1 + c.
    Ratio,
}

/// Moves replicates away from `centre` by the root of `inflation`.
fn stretch(replicates: &mut [f64], centre: f64, inflation: f64, scale: Scale) {
    if inflation <= 1.0 || !centre.is_finite() {
        return;
    }
    let factor = inflation.sqrt();
    for value in replicates {
        *value = match scale {
            Scale::Plain => centre + (*value - centre) * factor,
            Scale::Ratio => (1.0 + centre) * ((1.0 + *value) / (1.0 + centre)).powf(factor) - 1.0,
        };
    }
}

/// The bins that hold events, and the units in these: as rows with all of them, which are added in
/// one go, thousands of times, or as they are where that would take too much memory.
struct Compact {
    bins: Vec<Bin>,
    /// Rows of baseline and candidate.
    rows: Option<[Vec<f64>; 2]>,
    /// The number of each bin in `bins`.
    places: Vec<usize>,
}

/// More cells are too much for rows: 64 MiB.
const MOST_CELLS: usize = 8 << 20;

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
        let cells = sides.iter().map(|units| units.len()).sum::<usize>().saturating_mul(bins.len());
        let rows = (cells <= MOST_CELLS).then(|| {
            sides.map(|units| {
                let mut rows = vec![0.0; units.len() * bins.len()];
                for (unit, row) in units.iter().zip(rows.chunks_exact_mut(bins.len().max(1))) {
                    for &(bin, count) in &unit.counts {
                        row[places[bin as usize]] = count as f64;
                    }
                }
                rows
            })
        });
        Self { bins, rows, places }
    }

    fn add(&self, pool: &mut Pool<'_>, side: usize, index: usize, unit: &Unit, times: u32) {
        match &self.rows {
            Some(rows) => {
                let width = self.bins.len();
                pool.add_row(unit, &rows[side][index * width..][..width], times);
            }
            None => pool.add_sparse(unit, &self.places, times),
        }
    }
}
