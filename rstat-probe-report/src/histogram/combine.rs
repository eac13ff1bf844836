//! Sums and differences of histograms.

use rstat_probe_common::slots::SLOTS;

use super::{Extremes, Histogram, HistogramError, ends};

impl Histogram {
    /// All events of both.
    ///
    /// # Errors
    /// If there are more than `u64::MAX`.
    pub fn merge(&self, other: &Self) -> Result<Self, HistogramError> {
        let count = self.count.checked_add(other.count).ok_or(HistogramError::TooMany)?;
        let mut slots = Vec::with_capacity(self.slots.len().max(other.slots.len()));
        let (mut left, mut right) = (self.slots.iter().peekable(), other.slots.iter().peekable());
        loop {
            // No count can overflow: their total did not.
            let next = match (left.peek(), right.peek()) {
                (Some(&&(a, n)), Some(&&(b, m))) if a == b => {
                    left.next();
                    right.next();
                    (a, n + m)
                }
                (Some(&&(a, n)), Some(&&(b, _))) if a < b => {
                    left.next();
                    (a, n)
                }
                (_, Some(&&event)) => {
                    right.next();
                    event
                }
                (Some(&&event), None) => {
                    left.next();
                    event
                }
                (None, None) => break,
            };
            slots.push(next);
        }
        let extremes = match (self.extremes, other.extremes) {
            (Some(a), Some(b)) => Some(a.merge(b)),
            (a, b) => a.or(b),
        };
        let overflow = self.overflow + other.overflow;
        Ok(Self { slots, overflow, count, sum: self.sum + other.sum, extremes })
    }

    /// What was added to a cumulative histogram after it was `earlier`.
    ///
    /// The extremes of the difference are exact where the cumulative extreme moved. Otherwise
    /// they are the outer ends of the outermost slots, clipped to the cumulative extremes.
    ///
    /// # Errors
    /// If anything went backwards, which a cumulative histogram never does.
    pub fn since(&self, earlier: &Self) -> Result<Self, HistogramError> {
        let mut slots = self.slots.clone();
        for &(slot, before) in &earlier.slots {
            let found = slots.binary_search_by_key(&slot, |&(slot, _)| slot);
            let later = found.map_or(0, |index| slots[index].1);
            match (found, later.checked_sub(before)) {
                (Ok(index), Some(rest)) => slots[index].1 = rest,
                _ => return Err(HistogramError::SlotBackwards { slot, earlier: before, later }),
            }
        }
        slots.retain(|&(_, count)| count > 0);
        let backwards = |what, earlier, later| HistogramError::Backwards { what, earlier, later };
        let overflow = self
            .overflow
            .checked_sub(earlier.overflow)
            .ok_or_else(|| backwards("overflow", u128::from(earlier.overflow), u128::from(self.overflow)))?;
        let sum = self.sum.checked_sub(earlier.sum).ok_or_else(|| backwards("sum", earlier.sum, self.sum))?;

        let outer = |last: bool| match (slots.first(), slots.last(), overflow) {
            (_, Some(&(slot, _)), 0) if last => Some(slot),
            (Some(&(slot, _)), _, _) if !last => Some(slot),
            (_, _, 0) => None,
            _ => Some(SLOTS),
        };
        let extremes = match (self.extremes, outer(false), outer(true)) {
            (Some(all), Some(lowest), Some(highest)) => {
                Some(all.since(earlier.extremes, ends(lowest), ends(highest))?)
            }
            _ => None,
        };
        Self::checked(slots, overflow, sum, extremes)
    }
}

impl Extremes {
    /// The extremes of both together. On a tie an exact one wins: the bound is then attained.
    pub(super) fn merge(self, other: Self) -> Self {
        let (min, min_inexact) = (self.min, !self.min_exact).min((other.min, !other.min_exact));
        let (max, max_exact) = (self.max, self.max_exact).max((other.max, other.max_exact));
        Self { min, max, min_exact: !min_inexact, max_exact }
    }

    /// The extremes of what came after `earlier`, given the ends of its outermost slots.
    fn since(
        self,
        earlier: Option<Self>,
        lowest: (u64, u64),
        highest: (u64, u64),
    ) -> Result<Self, HistogramError> {
        let Some(earlier) = earlier else { return Ok(self) };
        let backwards = |what, earlier: u64, later: u64| HistogramError::Backwards {
            what,
            earlier: earlier.into(),
            later: later.into(),
        };
        if self.min > earlier.min {
            return Err(backwards("min", earlier.min, self.min));
        }
        if self.max < earlier.max {
            return Err(backwards("max", earlier.max, self.max));
        }
        let (min, min_exact) = if self.min < earlier.min {
            (self.min, self.min_exact)
        } else {
            let bound = lowest.0.max(self.min);
            (bound, bound == lowest.1)
        };
        let (max, max_exact) = if self.max > earlier.max {
            (self.max, self.max_exact)
        } else {
            let bound = highest.1.min(self.max);
            (bound, bound == highest.0)
        };
        Ok(Self { min, max, min_exact, max_exact })
    }
}
