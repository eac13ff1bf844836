//! What can be wrong with a histogram.

use rstat_probe_common::slots::SLOTS;

/// Why numbers are no histogram, or two histograms do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistogramError {
    /// Not one count for each slot.
    #[error("{found} slots, expected {SLOTS}")]
    SlotCount {
        /// Number of counts given.
        found: usize,
    },
    /// A slot number from [`SLOTS`] on, or not above the one before it, or with a count of 0.
    #[error("slot {slot} is out of range, out of order or empty")]
    Slot {
        /// The slot.
        slot: u64,
    },
    /// More than `u64::MAX` events.
    #[error("more than 2^64 - 1 events")]
    TooMany,
    /// The stated number of events is not that of the slots.
    #[error("count is {stated}, but slots and overflow hold {held}")]
    Count {
        /// Events stated.
        stated: u64,
        /// Events in slots and overflow.
        held: u64,
    },
    /// The sum is none that the slots allow.
    #[error("sum {sum} is outside of {low}..={high}, which is what the slots allow")]
    Sum {
        /// Sum stated, ns.
        sum: u128,
        /// Smallest possible sum, ns.
        low: u128,
        /// Largest possible sum, ns.
        high: u128,
    },
    /// The extremes are missing, superfluous or not in the outermost slots.
    #[error("min {min:?} and max {max:?} do not fit to the slots")]
    Extremes {
        /// Smallest value stated, ns.
        min: Option<u64>,
        /// Largest value stated, ns.
        max: Option<u64>,
    },
    /// A slot of a cumulative histogram holds less than it did before.
    #[error("slot {slot} went back from {earlier} to {later}")]
    SlotBackwards {
        /// The slot.
        slot: usize,
        /// Events in the earlier histogram.
        earlier: u64,
        /// Events in the later one.
        later: u64,
    },
    /// Something else of a cumulative histogram went backwards.
    #[error("{what} went back from {earlier} to {later}")]
    Backwards {
        /// `overflow`, `sum`, `min` or `max`.
        what: &'static str,
        /// In the earlier histogram.
        earlier: u128,
        /// In the later one.
        later: u128,
    },
}
