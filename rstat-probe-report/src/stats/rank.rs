//! What rests on comparing each value of one side with each of the other: the Mann-Whitney U test, the
//! probability that one is greater, and the Hodges-Lehmann estimate of the shift.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{sorted, total};

/// Set in negative values.
const SIGN: u64 = 1 << 63;

/// Result of [`mann_whitney`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// U of the candidate: the number of pairs of one value of each side in which the candidate's is
    /// greater, ties counted half. In 0..=n*m.
    pub u: f64,
    /// Two-sided p-value (0..=1).
    pub p: f64,
}

/// Two-sided Mann-Whitney U test of candidate against baseline (Mann & Whitney 1947, doi
/// 10.1214/aoms/1177730491), by the normal approximation with tie and continuity correction:
/// `scipy.stats.mannwhitneyu(candidate, baseline, method="asymptotic")`.
///
/// Assumes values that are independent of each other. The approximation is poor below about 8 values
/// a side. When all values are equal, p is 1.
///
/// `None` when a side is empty or has a NaN; infinities are values like others.
///
/// Not statrs' `mannwhitneyu`: it compares all pairs in search of NaN, which takes quadratic time, and
/// computes p as 1 - cdf, which is 0 or noise below 10^-16. The distribution is statrs'.
#[must_use]
pub fn mann_whitney(baseline: &[f64], candidate: &[f64]) -> Option<MannWhitney> {
    let (baseline, candidate) = (sorted(baseline)?, sorted(candidate)?);
    let u = doubled_wins(&baseline, &candidate) as f64 / 2.0;
    let pairs = baseline.len() as f64 * candidate.len() as f64;
    let all = (baseline.len() + candidate.len()) as f64;
    let ties = tie_term(&baseline, &candidate) / (all * (all - 1.0));
    let deviation = (pairs / 12.0 * (all + 1.0 - ties)).max(0.0).sqrt();
    let beyond = u.max(pairs - u) - pairs / 2.0 - 0.5;
    // Without deviation all values are equal, and U is its mean.
    let p = if deviation > 0.0 { (2.0 * Normal::standard().sf(beyond / deviation)).min(1.0) } else { 1.0 };
    Some(MannWhitney { u, p })
}

/// The probability (0..=1) that a value of the candidate is greater than one of the baseline, both
/// drawn at random, plus half the probability that they are equal: U / (n * m), the A of Vargha &
/// Delaney 2000 (doi 10.3102/10769986025002101). 0.5 means that neither side tends to be greater.
///
/// `None` when a side is empty or has a NaN.
#[must_use]
pub fn probability_greater(baseline: &[f64], candidate: &[f64]) -> Option<f64> {
    let (b, c) = (sorted(baseline)?, sorted(candidate)?);
    Some(doubled_wins(&b, &c) as f64 / (2.0 * b.len() as f64 * c.len() as f64))
}

/// As [`probability_greater`], of counts in the same bins in ascending order; bins that one side lacks
/// at its end are empty. Values in the same bin count as equal.
///
/// `None` when a side has no counts.
#[must_use]
pub fn probability_greater_binned(baseline: &[u64], candidate: &[u64]) -> Option<f64> {
    let (n, m) = (total(baseline), total(candidate));
    if n == 0 || m == 0 {
        return None;
    }
    // In shares, because pairs of 2^64 counts a bin do not fit into 128 bits.
    let (mut below, mut probability) = (0_u128, 0.0);
    for (bin, &count) in candidate.iter().enumerate() {
        let same = u128::from(baseline.get(bin).copied().unwrap_or(0));
        probability += (count as f64 / m as f64) * ((2 * below + same) as f64 / n as f64 / 2.0);
        below += same;
    }
    Some(probability.min(1.0))
}

/// The shift from baseline to candidate that belongs to the U test: the median of all n*m differences
/// candidate - baseline (Hodges & Lehmann 1963, doi 10.1214/aoms/1177704172), exact, with the mean of
/// the middle two when their number is even. In the unit of the values. It is not the difference of
/// the medians.
///
/// The differences are never stored: time is O((n + m) log) and memory O(n + m).
///
/// `None` when a side is empty or has a value that is not finite.
#[must_use]
pub fn hodges_lehmann(baseline: &[f64], candidate: &[f64]) -> Option<f64> {
    let (b, c) = (sorted(baseline)?, sorted(candidate)?);
    if b.iter().chain(&c).any(|value| value.is_infinite()) {
        return None;
    }
    let pairs = b.len() as u128 * c.len() as u128;
    let low = difference_of_rank(&b, &c, pairs.div_ceil(2));
    let high = difference_of_rank(&b, &c, pairs / 2 + 1);
    // Not the sum's half, which could overflow.
    Some(f64::midpoint(low, high)).filter(|shift| shift.is_finite())
}

/// The difference candidate - baseline of `rank` (from 1) in ascending order. Both sides finite and in
/// ascending order.
///
/// Bisection over the at most 2^64 values that an `f64` can have, so that it ends with a difference
/// that occurs and not with one close by.
fn difference_of_rank(baseline: &[f64], candidate: &[f64], rank: u128) -> f64 {
    let (mut low, mut high) = (order(f64::NEG_INFINITY), order(f64::INFINITY));
    while low < high {
        let middle = low.midpoint(high);
        if differences_up_to(baseline, candidate, from_order(middle)) >= rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    from_order(low)
}

/// The number of pairs with candidate - baseline <= `limit`. Rounding does not change the order of
/// differences, so one pass over both sides is enough.
fn differences_up_to(baseline: &[f64], candidate: &[f64], limit: f64) -> u128 {
    let (mut above, mut count) = (0, 0);
    for &value in candidate {
        above += baseline[above..].iter().take_while(|&&other| value - other > limit).count();
        count += (baseline.len() - above) as u128;
    }
    count
}

/// An integer that orders as the value does, -0.0 before 0.0.
fn order(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The value of which [`order`] is `key`.
fn from_order(key: u64) -> f64 {
    f64::from_bits(if key & SIGN == 0 { !key } else { key & !SIGN })
}

/// Twice the number of pairs in which the candidate's value is greater, ties counted half. Both sides
/// in ascending order.
fn doubled_wins(baseline: &[f64], candidate: &[f64]) -> u128 {
    let (mut less, mut not_greater, mut doubled) = (0, 0, 0);
    for &value in candidate {
        less += baseline[less..].iter().take_while(|&&other| other < value).count();
        not_greater += baseline[not_greater..].iter().take_while(|&&other| other <= value).count();
        doubled += (less + not_greater) as u128;
    }
    doubled
}

/// Sum of t^3 - t over the groups of t equal values of both sides together.
fn tie_term(baseline: &[f64], candidate: &[f64]) -> f64 {
    let mut all = [baseline, candidate].concat();
    all.sort_unstable_by(f64::total_cmp);
    // 0.0 and -0.0 are equal and next to each other.
    #[expect(clippy::float_cmp, reason = "ties are exactly equal values")]
    let groups = all.chunk_by(|a, b| a == b);
    groups.map(|group| group.len() as f64).map(|t| t * t * t - t).sum()
}
