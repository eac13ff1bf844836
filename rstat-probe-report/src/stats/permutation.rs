//! A permutation test of several statistics at once.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Deviations that differ by less than this part count as equal: the same units in another order
/// must not give a smaller p through rounding.
const TIE: f64 = 1e-9;
/// Rounding of a statistic, as a part of its largest value.
const NOISE: f64 = 1e-13;

/// Result of [`max_t`] for one statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tested {
    /// The statistic of the labelling that was measured.
    pub observed: f64,
    /// Two-sided p-value (0..=1) of this statistic alone, never 0.
    pub p: f64,
    /// p-value adjusted for all statistics of the test: the chance that any of them is so far out
    /// when the sides do not differ. Not below `p`.
    pub adjusted_p: f64,
}

/// Two-sided max-T permutation test, single step (Westfall & Young 1993, Resampling-Based Multiple
/// Testing): units (first those of the baseline, then those of the candidate) are dealt anew to the
/// two sides, each of which keeps its number of units.
///
/// `statistic(is_candidate, out)` fills in the `statistics` numbers for one labelling; the first call
/// is for the one that was measured. How far out a number is, is its distance from the mean over all
/// labellings, divided by their standard deviation; that makes numbers of different units comparable.
/// p is the share of labellings that are at least as far out as the measured one, which is among
/// them. Units must be exchangeable when the sides do not differ.
///
/// All labellings are enumerated when there are no more than `permutations` of them. Otherwise that
/// many are drawn at random and the measured one is added, which is the +1 of Phipson & Smyth 2010 (doi
/// 10.2202/1544-6115.1585): p is never below 1 / (permutations + 1).
///
/// A number that is not finite, and one that is the same for all labellings, is no evidence: it counts
/// as not out at all, with the measured labelling as with the others, so that p stays valid.
pub fn max_t(
    seed: u64,
    baseline_units: usize,
    candidate_units: usize,
    permutations: usize,
    statistics: usize,
    mut statistic: impl FnMut(&[bool], &mut [f64]),
) -> Vec<Tested> {
    let mut values = Vec::new();
    labellings(seed, baseline_units, candidate_units, permutations, |is_candidate| {
        let start = values.len();
        values.resize(start + statistics, 0.0);
        statistic(is_candidate, &mut values[start..]);
    });
    let rows = || values.chunks_exact(statistics.max(1));
    let scales: Vec<Scale> = (0..statistics).map(|index| Scale::of(rows().map(|row| row[index]))).collect();
    let limits: Vec<f64> = scales.iter().zip(&values).map(|(scale, &value)| scale.limit(value)).collect();
    let mut alone = vec![0_usize; statistics];
    let mut any = vec![0_usize; statistics];
    for row in rows() {
        let out = || row.iter().zip(&scales).map(|(&value, scale)| scale.out(value));
        let furthest = out().fold(0.0, f64::max);
        for (index, out) in out().enumerate() {
            alone[index] += usize::from(out >= limits[index]);
            any[index] += usize::from(furthest >= limits[index]);
        }
    }
    let share = |count: usize| count as f64 / rows().len() as f64;
    (0..statistics)
        .map(|index| Tested {
            observed: values[index],
            p: share(alone[index]),
            adjusted_p: share(any[index]),
        })
        .collect()
}

/// Where a statistic lies over all labellings.
struct Scale {
    centre: f64,
    /// Standard deviation, 0 when it is no more than rounding.
    deviation: f64,
    /// Rounding of one value.
    noise: f64,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let count = finite.clone().count().max(1) as f64;
        let centre = finite.clone().map(|value| value / count).sum::<f64>();
        let variance = finite.clone().map(|value| (value - centre).powi(2) / count).sum::<f64>();
        let noise = NOISE * finite.map(f64::abs).fold(0.0, f64::max);
        let deviation = Some(variance.sqrt()).filter(|&deviation| deviation > noise && deviation.is_finite());
        Self { centre, deviation: deviation.unwrap_or(0.0), noise }
    }

    /// How far out a value is, in standard deviations.
    fn out(&self, value: f64) -> f64 {
        if self.deviation > 0.0 && value.is_finite() {
            (value - self.centre).abs() / self.deviation
        } else {
            0.0
        }
    }

    /// What counts as at least as far out as `value`.
    fn limit(&self, value: f64) -> f64 {
        let out = self.out(value);
        if out > 0.0 { out * (1.0 - TIE) - self.noise / self.deviation } else { 0.0 }
    }
}

/// Calls `each` with the measured labelling and then with the others.
fn labellings(
    seed: u64,
    baseline: usize,
    candidate: usize,
    permutations: usize,
    mut each: impl FnMut(&[bool]),
) {
    let mut labels = vec![false; baseline];
    labels.resize(baseline + candidate, true);
    each(&labels);
    if at_most(baseline, candidate, permutations) {
        while next(&mut labels) {
            each(&labels);
        }
        return;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..permutations {
        labels.shuffle(&mut rng);
        each(&labels);
    }
}

/// Whether there are at most `limit` ways to choose the `candidate` units among all.
fn at_most(baseline: usize, candidate: usize, limit: usize) -> bool {
    let mut ways = 1_u128;
    for chosen in 1..=baseline.min(candidate) as u128 {
        // Always an integer: the product so far is a binomial coefficient. It only grows.
        ways = ways.saturating_mul(baseline.max(candidate) as u128 + chosen) / chosen;
        if ways > limit as u128 {
            return false;
        }
    }
    ways <= limit as u128
}

/// Steps to the next labelling in lexicographic order (`false` before `true`); `false` after the last.
fn next(labels: &mut [bool]) -> bool {
    let Some(rise) = labels.windows(2).rposition(|pair| !pair[0] && pair[1]) else {
        return false;
    };
    // What follows is all `true` and then all `false`: the shortest change moves one `true` to the
    // front and sorts the rest.
    labels.swap(rise, rise + 1);
    labels[rise + 2..].reverse();
    true
}
