//! Quantiles and shares, each as the range that the slots allow.

use super::Histogram;

/// q is taken as a decimal fraction with this many parts to the whole.
const PARTS: u64 = 1_000_000_000_000;

/// A value that is known to lie between two others, both inclusive, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Smallest possible value.
    pub low: u64,
    /// Largest possible value.
    pub high: u64,
}

/// The rank of quantile `q` among `count` events: the smallest integer not below `q * count`, at
/// least 1. `None` without events and for `q` outside of 0..=1.
///
/// A product in `f64` goes wrong twice: 0.9 is a little more than 9/10 in binary, so that the 0.9
/// quantile of 10 events would have rank 10, and counts from 2^53 on lose their last digits.
/// Therefore q is first rounded to 10^-12, which gives back the decimal fraction that was meant,
/// and everything after is integer: 10^12 * 2^64 < 2^104.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in 0..=PARTS < 2^53")]
fn rank(q: f64, count: u64) -> Option<u64> {
    if count == 0 || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let parts = (q * PARTS as f64).round() as u64;
    let rank = (u128::from(parts) * u128::from(count)).div_ceil(u128::from(PARTS));
    Some((rank as u64).max(1))
}

impl Histogram {
    /// The value of quantile `q` (0..=1; 0.99 is the 99th percentile): the event of rank
    /// `ceil(q * count)`, at least the first. As wide as the slot it lies in, narrowed by the
    /// extremes; the first and the last event are exact when the extremes are.
    ///
    /// `None` without events and for `q` outside of 0..=1.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Range> {
        let rank = rank(q, self.count)?;
        let all = self.extremes?;
        if rank == self.count && all.max_exact {
            return Some(Range { low: all.max, high: all.max });
        }
        if rank == 1 && all.min_exact {
            return Some(Range { low: all.min, high: all.min });
        }
        let mut below = 0;
        let (slot, _) = self.occupied().find(|&(_, count)| {
            below += count;
            below >= rank
        })?;
        let (low, high) = self.clipped(slot);
        Some(Range { low, high })
    }

    /// The share of events (0..=1) of at least `threshold` ns, as its smallest and its largest
    /// possible value. Both are equal when `threshold` is the edge of a slot, as every power of
    /// two is. `None` without events.
    #[must_use]
    pub fn share_above(&self, threshold: u64) -> Option<(f64, f64)> {
        if self.count == 0 {
            return None;
        }
        let (mut sure, mut possible) = (0, 0);
        for (slot, count) in self.occupied() {
            let (low, high) = self.clipped(slot);
            if low >= threshold {
                sure += count;
            }
            if high >= threshold {
                possible += count;
            }
        }
        Some((sure as f64 / self.count as f64, possible as f64 / self.count as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn ranks_are_those_of_the_decimal_fraction() {
        assert_eq!(rank(0.9, 10), Some(9));
        assert_eq!(rank(0.99, 100), Some(99));
        assert_eq!(rank(0.999, 1000), Some(999));
        assert_eq!(rank(0.07, 100), Some(7));
        assert_eq!(rank(0.5, 3), Some(2));
        assert_eq!(rank(0.0, 3), Some(1));
        assert_eq!(rank(1.0, 3), Some(3));
        for percent in 1..=100u64 {
            for count in [100, 100 << 50, u64::MAX / 100 * 100] {
                assert_eq!(rank(percent as f64 / 100.0, count), Some(count / 100 * percent));
            }
        }
        assert_eq!(rank(1.0, u64::MAX), Some(u64::MAX));
    }

    #[test]
    fn nothing_has_no_rank() {
        assert_eq!(rank(0.5, 0), None);
        for q in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(rank(q, 1), None);
        }
    }
}
