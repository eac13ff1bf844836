//! Windows, counted as they end.

use std::collections::BTreeMap;

use super::{Bounds, Compared, CrossCheck, MOST_OTHERS, OtherSpans, Outcome, Span, TRACER};
use crate::histogram::Histogram;

/// The cross-check as it grows.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    sums: CrossCheck,
    others: BTreeMap<String, OtherSpans>,
}

impl Tally {
    /// Counts a window that ended `at_ns` after the start, with the tracer's longest span in it.
    ///
    /// The tracer cannot be read at the same moment as we: `inner` has our times with IRQs off that
    /// ended in the window for sure, `outer` also those that may have. The tracer went on `settled_ns`
    /// before `inner`: a longer time can have begun before that, so that the tracer has not seen it.
    pub fn add(
        &mut self,
        at_ns: u64,
        span: Option<Span>,
        inner: &Histogram,
        outer: &Histogram,
        settled_ns: u64,
    ) {
        self.sums.windows += 1;
        let Some(span) = span else { return };
        if !span.is_rstat() {
            let function = span.function();
            let row = self.others.entry(function.to_owned()).or_insert_with(|| OtherSpans {
                function: function.to_owned(),
                windows: 0,
                longest_us: 0,
            });
            row.windows += 1;
            row.longest_us = row.longest_us.max(span.tracer_us);
            return;
        }
        let ours = longest(outer)
            .map(|(_, high_ns)| Bounds { low_ns: certain(inner, settled_ns).min(high_ns), high_ns });
        let difference_ns = span.difference_ns(ours);
        let compared = Compared { at_ns, span, ours, difference_ns };
        self.sums.rstat_windows += 1;
        match compared.outcome() {
            Outcome::Agrees => self.sums.agreeing += 1,
            Outcome::Undecided => self.sums.undecided += 1,
            Outcome::TracerShorter => self.sums.tracer_shorter += 1,
            Outcome::TracerLonger => self.sums.tracer_longer += 1,
        }
        let apart = |compared: &Compared| {
            // Exact where f64 would not be: both factors fit into 64 bits.
            (u128::from(compared.difference_ns.unsigned_abs()), u128::from(compared.span.allowed_ns()))
        };
        let further = self.sums.furthest.as_ref().is_none_or(|before| {
            let ((a, allowed_a), (b, allowed_b)) = (apart(&compared), apart(before));
            a * allowed_b > b * allowed_a
        });
        if self.sums.longest.as_ref().is_none_or(|before| compared.span.tracer_us > before.span.tracer_us) {
            self.sums.longest = Some(compared.clone());
        }
        if further {
            self.sums.furthest = Some(compared);
        }
    }

    /// Notes why no further window will come.
    pub fn end_early(&mut self, reason: String) {
        self.sums.ended_early.get_or_insert(reason);
    }

    /// What came out.
    #[must_use]
    pub fn finish(mut self) -> CrossCheck {
        TRACER.clone_into(&mut self.sums.tracer);
        let mut others: Vec<OtherSpans> = self.others.into_values().collect();
        others.sort_by_key(|row| std::cmp::Reverse((row.windows, row.longest_us)));
        others.truncate(MOST_OTHERS);
        self.sums.others = others;
        self.sums
    }
}

/// Between what the longest value of `histogram` lies, ns; `None` without events.
fn longest(histogram: &Histogram) -> Option<(u64, u64)> {
    let max = histogram.max()?;
    if histogram.max_exact() {
        return Some((max, max));
    }
    let low = histogram.slot_buckets().last().and_then(|bucket| bucket.low).unwrap_or(0);
    Some((low, max))
}

/// The longest value of `histogram` is not below this, ns, values above `limit` left out; 0 when no other is left.
fn certain(histogram: &Histogram, limit: u64) -> u64 {
    match longest(histogram) {
        Some((low, high)) if high <= limit => low,
        _ => {
            let buckets = histogram.slot_buckets();
            let below = buckets.iter().rev().find(|bucket| bucket.high.is_some_and(|high| high <= limit));
            below.and_then(|bucket| bucket.low).unwrap_or(0)
        }
    }
}
