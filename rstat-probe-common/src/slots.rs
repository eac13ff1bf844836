//! Slot number <-> range of nanoseconds. The only slot arithmetic in the project: the eBPF
//! programs and user space call the same functions.
//!
//! Slots are log-linear, as in HdrHistogram (<https://github.com/HdrHistogram/HdrHistogram>): a
//! power of two is split into [`SLOTS_PER_POWER`] slots of equal width, so a slot is at most
//! 1/16 = 6.25 % of its lower edge wide. Values below 16 ns have a slot each. Every power of two
//! is an edge, so that joining slots gives exactly the `[2^k, 2^(k+1))` buckets of bpftrace.

/// log2 of [`SLOTS_PER_POWER`].
const SUB_BITS: u32 = 4;

/// Slots in one power of two from 16 ns on.
pub const SLOTS_PER_POWER: usize = 1 << SUB_BITS;

/// The first step of the search in [`slot_of`], a power of two: twice as much reaches every power.
const SEARCH_FROM: u32 = 32;

/// log2 of [`LIMIT`].
pub const LIMIT_POWER: u32 = 38;

/// First value (ns) without a slot: 2^38 ns, about 275 s. Longer times count as overflow.
pub const LIMIT: u64 = 1 << LIMIT_POWER;

/// Number of slots.
pub const SLOTS: usize = SLOTS_PER_POWER * (LIMIT_POWER - SUB_BITS + 1) as usize;

/// The slot of `value` (ns), or `None` from [`LIMIT`] on.
///
/// A search for the power instead of `ilog2`: eBPF has no instruction for that, and what stands in for it takes some
/// fifty instructions, each of which waits for the one before.
#[inline]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "slot numbers are below SLOTS")]
pub const fn slot_of(value: u64) -> Option<usize> {
    if value >= LIMIT {
        return None;
    }
    let (mut top, mut shift) = (value, 0);
    let mut step = SEARCH_FROM;
    while step > 0 {
        if top >= (SLOTS_PER_POWER as u64) << step {
            top >>= step;
            shift += step;
        }
        step /= 2;
    }
    // From the second power on `top` has the leading one and the bits behind it, which is one more slot a power.
    Some(((shift as usize) << SUB_BITS) + top as usize)
}

/// The smallest value (ns) in `slot`.
///
/// # Panics
/// If `slot` is not below [`SLOTS`].
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "slot numbers are below SLOTS")]
pub const fn slot_low(slot: usize) -> u64 {
    assert!(slot < SLOTS, "slot out of range");
    if slot < SLOTS_PER_POWER {
        return slot as u64;
    }
    let group = (slot >> SUB_BITS) as u32; // 1 is [16, 32)
    let sub = (slot & (SLOTS_PER_POWER - 1)) as u64;
    (SLOTS_PER_POWER as u64 + sub) << (group - 1)
}

/// The first value (ns) above `slot`: slots are `[slot_low, slot_high)`.
///
/// # Panics
/// If `slot` is not below [`SLOTS`].
#[must_use]
pub const fn slot_high(slot: usize) -> u64 {
    assert!(slot < SLOTS, "slot out of range");
    if slot + 1 == SLOTS { LIMIT } else { slot_low(slot + 1) }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{
        num::NonZero,
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slots_partition_the_range() {
        assert_eq!(SLOTS, 560);
        assert_eq!(slot_low(0), 0);
        assert_eq!(slot_high(SLOTS - 1), LIMIT);
        for slot in 0..SLOTS {
            let (low, high) = (slot_low(slot), slot_high(slot));
            assert!(low < high, "slot {slot} is empty");
            assert_eq!(slot_of(low), Some(slot));
            assert_eq!(slot_of(high - 1), Some(slot));
            if slot >= SLOTS_PER_POWER {
                assert!((high - low) * 16 <= low, "slot {slot} is wider than 6.25 %");
            } else {
                assert_eq!(high - low, 1);
            }
        }
    }

    #[test]
    fn neighbours_of_every_power_of_two() {
        for k in 0..64 {
            let power = 1u64 << k;
            let inside = |value: u64| match slot_of(value) {
                Some(slot) => slot_low(slot) <= value && value < slot_high(slot),
                None => value >= LIMIT,
            };
            assert!(inside(power - 1) && inside(power) && inside(power + 1), "2^{k}");
            if power < LIMIT {
                assert_eq!(slot_low(slot_of(power).unwrap()), power, "2^{k} is an edge");
                assert_ne!(slot_of(power - 1), slot_of(power), "2^{k} - 1 lies below the edge");
            }
        }
        assert_eq!(slot_of(LIMIT - 1), Some(SLOTS - 1));
        assert_eq!(slot_of(LIMIT), None);
        assert_eq!(slot_of(u64::MAX), None);
    }

    /// Everything that can be recorded, one value after the other: with what is here for the rest, the proof that
    /// slot and range are inverse and monotone for every `u64`.
    ///
    /// `cargo test --release -p rstat-probe-common every_value -- --ignored`, some minutes.
    #[test]
    #[ignore = "2^38 values take minutes"]
    fn every_value_lies_in_its_slot_and_in_no_other() {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    // From the highest slot down: the widest come first.
                    while let Some(slot) = (SLOTS - 1).checked_sub(next.fetch_add(1, Ordering::Relaxed)) {
                        let wrong = (slot_low(slot)..slot_high(slot)).find(|v| slot_of(*v) != Some(slot));
                        assert_eq!(wrong, None, "slot {slot}");
                    }
                });
            }
        });
    }

    #[test]
    fn small_values_lie_in_their_slots() {
        for value in 0..1 << 20 {
            let slot = slot_of(value).unwrap();
            assert!(slot_low(slot) <= value && value < slot_high(slot), "{value}");
        }
    }

    proptest! {
        #[test]
        fn what_is_too_long_has_no_slot(value in LIMIT..) {
            prop_assert_eq!(slot_of(value), None);
        }

        #[test]
        fn slot_and_range_are_inverse(value in 0..LIMIT) {
            let slot = slot_of(value).unwrap();
            prop_assert!(slot_low(slot) <= value && value < slot_high(slot));
        }

        #[test]
        fn slots_are_monotone(a in any::<u64>(), b in any::<u64>()) {
            let (a, b) = (a.min(b), a.max(b));
            let order = |v| slot_of(v).unwrap_or(SLOTS);
            prop_assert!(order(a) <= order(b));
        }
    }
}
