//! Quantiles of plain values.

/// The quantile `q` (0..=1) of values in ascending order, interpolated linearly between the two order
/// statistics around `q * (n - 1)`: type 7 of Hyndman & Fan 1996 (doi 10.2307/2684934), the default
/// of numpy and R. In the unit of the values.
///
/// `None` without values, for `q` outside of 0..=1, and when a neighbour is NaN. Values that are not
/// in order give a meaningless number.
#[must_use]
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&q) {
        return None;
    }
    let last = sorted.len().checked_sub(1)?;
    let position = q * last as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in 0..=last")]
    let index = (position.floor() as usize).min(last);
    let (low, high) = (sorted[index], sorted[(index + 1).min(last)]);
    if low.is_nan() || high.is_nan() {
        return None;
    }
    let part = position - index as f64;
    // The weighted sum cannot overflow as `high - low` can. Rounding may lead out of the two by a bit,
    // and it is NaN where an infinity is multiplied by 0; `max` prefers `low` to a NaN.
    Some((low * (1.0 - part) + high * part).max(low).min(high))
}
