//! The bootstrap of two independent samples (Efron 1979, doi 10.1214/aos/1176344552), and percentile
//! intervals that are not too short for few units.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

use super::quantile::quantile;
use super::student;

/// A confidence interval, both ends inclusive, in the unit of the statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end, not below the lower one.
    pub high: f64,
}

/// Resampling of two sides, each with replacement and independently of the other.
#[derive(Clone, Copy, Debug)]
pub struct Bootstrap {
    seed: u64,
    baseline_units: usize,
    candidate_units: usize,
    resamples: usize,
}

impl Bootstrap {
    /// What is drawn is whole units, so that what belongs together within one stays together.
    #[must_use]
    pub fn new(seed: u64, baseline_units: usize, candidate_units: usize, resamples: usize) -> Self {
        Self { seed, baseline_units, candidate_units, resamples }
    }

    /// Calls `replicate` once for each resample with how often each unit of the baseline and of the
    /// candidate was drawn. The weights of a side sum to its number of units. The same seed gives the
    /// same draws on every machine.
    pub fn run(&self, mut replicate: impl FnMut(&[u32], &[u32])) {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut baseline = vec![0; self.baseline_units];
        let mut candidate = vec![0; self.candidate_units];
        for _ in 0..self.resamples {
            draw(&mut rng, &mut baseline);
            draw(&mut rng, &mut candidate);
            replicate(&baseline, &candidate);
        }
    }
}

/// Draws as many units as there are weights.
fn draw(rng: &mut ChaCha8Rng, weights: &mut [u32]) {
    weights.fill(0);
    for _ in 0..weights.len() {
        let unit = rng.random_range(0..weights.len());
        weights[unit] += 1;
    }
}

/// Percentile interval of bootstrap replicates: their quantiles at the tail probabilities `alpha_low`
/// and `alpha_high` (0.025 and 0.975 for 95 % and many units; see [`expanded_tails`] for few).
/// Reorders the replicates.
///
/// A statistic may be undefined for some resamples, such as a ratio to nothing. Replicates that are
/// not finite are left out, and the interval is then conditional on the statistic being defined.
/// `None` when fewer than half of the replicates are finite, because such an interval would speak of
/// a minority; without replicates; and unless 0 <= `alpha_low` <= `alpha_high` <= 1.
pub fn percentile_interval(replicates: &mut [f64], alpha_low: f64, alpha_high: f64) -> Option<Interval> {
    // Finite ones first, in ascending order.
    replicates.sort_unstable_by(|a, b| b.is_finite().cmp(&a.is_finite()).then(a.total_cmp(b)));
    let finite = replicates.partition_point(|value| value.is_finite());
    if 2 * finite < replicates.len() {
        return None;
    }
    let sorted = &replicates[..finite];
    let interval = Interval { low: quantile(sorted, alpha_low)?, high: quantile(sorted, alpha_high)? };
    (alpha_low <= alpha_high).then_some(interval)
}

/// The tail probabilities (low, high) that a percentile interval of `confidence` (between 0 and 1)
/// must use when the smaller side has `units` units, so that it is not too short: the expanded
/// percentile interval of Hesterberg 2015 (doi 10.1080/00031305.2015.1089789),
/// `alpha'/2 = Phi(-sqrt(n / (n - 1)) * t(1 - alpha/2, n - 1))`. It corrects a plain interval for
/// dividing by n instead of n - 1 and for using the normal instead of Student's distribution.
///
/// With very few units the tails are smaller than one replicate, and the interval spans all of them.
///
/// `None` for fewer than 2 units and for a confidence that is not between 0 and 1.
#[must_use]
pub fn expanded_tails(confidence: f64, units: usize) -> Option<(f64, f64)> {
    if units < 2 || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let freedom = (units - 1) as f64;
    let t = student::quantile((1.0 - confidence) / 2.0, freedom)?;
    let tail = Normal::standard().cdf((units as f64 / freedom).sqrt() * t);
    Some((tail, 1.0 - tail))
}
