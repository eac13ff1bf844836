//! Clock, durations into histograms, and who is running.

use aya_ebpf::helpers::{bpf_get_current_pid_tgid, bpf_get_smp_processor_id, bpf_ktime_get_ns};
use rstat_probe_common::{
    slots::{SLOTS, slot_of},
    wire::{WaitKey, WaitKind, WireHistogram},
};

use crate::maps::WAIT_STARTS;

/// CLOCK_MONOTONIC in ns.
#[inline(always)]
pub(crate) fn now() -> u64 {
    // SAFETY: the helper has no preconditions.
    unsafe { bpf_ktime_get_ns() }
}

/// Id of the running thread; the idle tasks share id 0.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low half is the thread id")]
pub(crate) fn thread() -> u32 {
    bpf_get_current_pid_tgid() as u32
}

/// The CPU this runs on.
#[inline(always)]
pub(crate) fn cpu() -> u32 {
    // SAFETY: the helper has no preconditions.
    unsafe { bpf_get_smp_processor_id() }
}

/// The key under which the running thread waits.
#[inline(always)]
pub(crate) fn wait_key(kind: WaitKind) -> WaitKey {
    let thread = thread();
    // An idle task can be interrupted into the update path on every CPU at once; it does not
    // migrate, so its CPU tells it apart.
    let thread = if thread == 0 { 1 << 31 | cpu() } else { thread };
    WaitKey { thread, kind: kind as u32 }
}

/// Takes the begin of the running thread's wait, 0 when there is none.
#[inline(always)]
pub(crate) fn take_wait_start(kind: WaitKind) -> u64 {
    let key = wait_key(kind);
    // SAFETY: only this thread writes and removes the element of its key.
    let Some(start) = (unsafe { WAIT_STARTS.get(key) }) else { return 0 };
    let start = *start;
    // Fails only when the element is gone, and then nothing is left to remove.
    let _ = WAIT_STARTS.remove(key);
    start
}

/// Adds `value` (ns) to the histogram.
///
/// # Safety
/// `histogram` points into a map value that no other program writes at the same time.
#[inline(always)]
pub(crate) unsafe fn record(histogram: *mut WireHistogram, value: u64) {
    // SAFETY: the caller's promise.
    let histogram = unsafe { &mut *histogram };
    histogram.sum += value;
    if value > histogram.max {
        histogram.max = value;
    }
    if !value > histogram.min_inverted {
        histogram.min_inverted = !value;
    }
    if let Some(slot) = slot_of(value) {
        // The compiler can prove the bound and would drop the check, the verifier cannot and
        // needs it: hide where the number comes from.
        let slot = core::hint::black_box(slot);
        if slot < SLOTS {
            // SAFETY: checked on the line above; indexing would bring in a panic path.
            unsafe { *histogram.slots.get_unchecked_mut(slot) += 1 };
        }
    } else {
        histogram.overflow += 1;
    }
}
