//! The Kolmogorov-Smirnov distance of two samples.

use super::{sorted, total};

/// The two-sample Kolmogorov-Smirnov statistic: the largest vertical distance (0..=1) between the
/// two empirical distribution functions.
///
/// `None` when a side is empty or has a NaN.
///
/// Not statrs' `ks_twosample`: it adds 1/n up for each value, so that rounding grows with n, and has
/// no statistic without a p-value, whose asymptotic series does not end for samples that are the same.
#[must_use]
pub fn ks_distance(baseline: &[f64], candidate: &[f64]) -> Option<f64> {
    let (b, c) = (sorted(baseline)?, sorted(candidate)?);
    let (mut i, mut j, mut distance) = (0, 0, 0.0_f64);
    while i < b.len() && j < c.len() {
        // Both functions jump at once where values are equal: the distance counts after all of them.
        let at = b[i].min(c[j]);
        i += b[i..].iter().take_while(|&&value| value <= at).count();
        j += c[j..].iter().take_while(|&&value| value <= at).count();
        distance = distance.max((i as f64 / b.len() as f64 - j as f64 / c.len() as f64).abs());
    }
    Some(distance)
}

/// As [`ks_distance`], of counts in the same bins in ascending order; bins that one side lacks at its
/// end are empty.
///
/// Looks at the edges of the bins only. Inside of a bin the distribution functions may be further
/// apart, so this is a lower bound of the distance of the values that were binned.
///
/// `None` when a side has no counts.
#[must_use]
pub fn ks_distance_binned(baseline: &[u64], candidate: &[u64]) -> Option<f64> {
    let (n, m) = (total(baseline), total(candidate));
    if n == 0 || m == 0 {
        return None;
    }
    let (mut below_b, mut below_c, mut distance) = (0_u128, 0_u128, 0.0_f64);
    // Beyond the end of one side its function is 1, and the other only comes closer.
    for (&b, &c) in baseline.iter().zip(candidate) {
        below_b += u128::from(b);
        below_c += u128::from(c);
        distance = distance.max((below_b as f64 / n as f64 - below_c as f64 / m as f64).abs());
    }
    Some(distance)
}
