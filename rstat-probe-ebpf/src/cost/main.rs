//! Programs that `cargo xtask bench` puts beside those of the tool: what a hook costs at least.
//!
//! Each kind has one program for `cgroup_rstat_lock_contended`, `cgroup_rstat_locked` and
//! `cgroup_rstat_unlock`.
#![no_std]
#![no_main]

#[path = "../frame.rs"]
mod frame;

use aya_ebpf::{
    helpers::bpf_ktime_get_ns,
    macros::{map, raw_tracepoint},
    maps::PerCpuArray,
    programs::RawTracePointContext,
};
use rstat_probe_common::slots::{SLOTS, slot_of};

/// Of this CPU: when the floor's programs ran last.
#[map]
static FLOOR: PerCpuArray<[u64; 3]> = PerCpuArray::with_max_entries(1, 0);

/// Of this CPU: when the section began that the histogram's programs time.
#[map]
static BEGIN: PerCpuArray<u64> = PerCpuArray::with_max_entries(1, 0);

/// Of this CPU: sections by power of two of their length in ns.
#[map]
static POWERS: PerCpuArray<[u64; 64]> = PerCpuArray::with_max_entries(1, 0);

/// Of this CPU: when the section began that the witness times.
#[map]
static WITNESS_BEGIN: PerCpuArray<u64> = PerCpuArray::with_max_entries(1, 0);

/// Of this CPU: sections by the tool's own slots.
#[map]
static WITNESS: PerCpuArray<[u64; SLOTS]> = PerCpuArray::with_max_entries(1, 0);

#[inline(always)]
#[expect(clippy::inline_always, reason = "a call would be part of what is measured")]
fn now() -> u64 {
    // SAFETY: the helper has no preconditions.
    unsafe { bpf_ktime_get_ns() }
}

#[raw_tracepoint]
fn empty_contended(_ctx: RawTracePointContext) -> i32 {
    0
}

#[raw_tracepoint]
fn empty_locked(_ctx: RawTracePointContext) -> i32 {
    0
}

#[raw_tracepoint]
fn empty_unlock(_ctx: RawTracePointContext) -> i32 {
    0
}

/// A clock read and one store.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a call would be part of what is measured")]
fn floor<const WORD: usize>() -> i32 {
    let at = now();
    if let Some(words) = FLOOR.get_ptr_mut(0) {
        // SAFETY: this CPU's element, and this program's word of it.
        unsafe { (*words)[WORD] = at };
    }
    0
}

#[raw_tracepoint]
fn floor_contended(_ctx: RawTracePointContext) -> i32 {
    floor::<0>()
}

#[raw_tracepoint]
fn floor_locked(_ctx: RawTracePointContext) -> i32 {
    floor::<1>()
}

#[raw_tracepoint]
fn floor_unlock(_ctx: RawTracePointContext) -> i32 {
    floor::<2>()
}

#[raw_tracepoint]
fn bare_contended(_ctx: RawTracePointContext) -> i32 {
    0
}

/// The least that makes a histogram of holds: no waits, no pairing, no losses.
#[raw_tracepoint]
fn bare_locked(_ctx: RawTracePointContext) -> i32 {
    if let Some(begin) = BEGIN.get_ptr_mut(0) {
        // SAFETY: this CPU's element; IRQs are off.
        unsafe { *begin = now() };
    }
    0
}

#[raw_tracepoint]
fn bare_unlock(_ctx: RawTracePointContext) -> i32 {
    let end = now();
    let (Some(begin), Some(powers)) = (BEGIN.get_ptr(0), POWERS.get_ptr_mut(0)) else { return 0 };
    // SAFETY: this CPU's elements; IRQs are off.
    unsafe {
        // As below: the verifier needs the check that the compiler would drop.
        let power = core::hint::black_box(((end - *begin) | 1).ilog2() as usize);
        if power < 64 {
            *(*powers).get_unchecked_mut(power) += 1;
        }
    }
    0
}

/// Attached before the tool: its clock is read before the tool's program on `locked` runs.
#[raw_tracepoint]
fn witness_locked(_ctx: RawTracePointContext) -> i32 {
    if let Some(begin) = WITNESS_BEGIN.get_ptr_mut(0) {
        // SAFETY: this CPU's element; IRQs are off.
        unsafe { *begin = now() };
    }
    0
}

/// Attached after the tool: its clock is read after the tool's program on `unlock` has run.
#[raw_tracepoint]
fn witness_unlock(_ctx: RawTracePointContext) -> i32 {
    let end = now();
    let (Some(begin), Some(slots)) = (WITNESS_BEGIN.get_ptr_mut(0), WITNESS.get_ptr_mut(0)) else { return 0 };
    // SAFETY: this CPU's elements; IRQs are off.
    unsafe {
        let start = core::mem::take(&mut *begin);
        if start != 0
            && let Some(slot) = slot_of(end - start)
        {
            // As in the tool: the verifier needs the check that the compiler would drop.
            let slot = core::hint::black_box(slot);
            if slot < SLOTS {
                *(*slots).get_unchecked_mut(slot) += 1;
            }
        }
    }
    0
}
