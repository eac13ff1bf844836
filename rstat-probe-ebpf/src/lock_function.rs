//! The main rstat locks by the lock functions, for kernels without tracepoints: the return of
//! `_raw_spin_lock_irq` and the call of `_raw_spin_unlock_irq`, both with IRQs off, and the return
//! of `_raw_spin_trylock`, which comes first from 6.10 on.
//!
//! These functions are hot on the whole machine: compare the address first and leave.

use aya_ebpf::{
    macros::{fentry, fexit},
    programs::{FEntryContext, FExitContext},
};
use rstat_probe_common::wire::{FlushStart, OpenSection, SectionStats};

use crate::{
    flush::{UNCALLED, on_section_of_function},
    lock::record_section,
    maps::{FLUSH_BY_FUNCTION, FLUSH_STARTS, INFER_END, State, is_main_lock, state},
    report::{Fault, fault},
    section::{Acquired, on_locked, on_unlock},
    timing::{now, thread},
    walk::bound,
};

const NO_CGROUP: *const u8 = core::ptr::null();

/// The running thread got a main lock. IRQs are off.
#[inline(always)]
fn on_acquired() {
    // SAFETY: IRQs are off.
    let Some(State { stats, open, armed }) = (unsafe { state() }) else { return };
    let thread = thread();
    let spin = core::mem::take(&mut open.spin_start);
    if INFER_END.load() != 0 && open.walk_end != 0 {
        bound(stats, open, came_at(spin));
    }
    if INFER_END.load() != 0 && open.start != 0 && open.flush_start != 0 && open.owner == u64::from(thread) {
        // The walk gave the lock up and this thread went on at once.
        on_yield(stats, open, armed, came_at(spin));
    }
    open.flush_start = resumed_flush(thread);
    begin_section(stats, open, armed, spin, thread);
}

/// When this CPU came to the lock that it got just now: begin of its spin, 0 for none.
#[inline(always)]
pub(crate) fn came_at(spin: u64) -> u64 {
    if spin == 0 { now() } else { spin }
}

/// Begins a section whose CPU began to spin at `spin`, 0 for not at all.
#[inline(always)]
pub(crate) fn begin_section(
    stats: &mut SectionStats,
    open: &mut OpenSection,
    armed: bool,
    spin: u64,
    thread: u32,
) {
    let acquired = Acquired { wait_start: spin, owner: thread.into(), cpu: -1, contended: spin != 0 };
    let stats = &raw mut stats.lock;
    on_locked(open, armed, &acquired, NO_CGROUP, || Some(stats));
}

/// Takes the begin of the flush in which the thread gave up the lock, 0 when there is none.
#[inline(always)]
pub(crate) fn resumed_flush(thread: u32) -> u64 {
    // SAFETY: only this thread writes the element of its key.
    let Some(start) = (unsafe { FLUSH_STARTS.get(thread) }) else { return 0 };
    if start.by_function != 0 {
        return 0;
    }
    let begin = start.start;
    let _ = FLUSH_STARTS.remove(thread);
    begin
}

/// The lock was given up at `at` in the middle of a walk.
#[inline(always)]
pub(crate) fn on_yield(stats: &mut SectionStats, open: &mut OpenSection, armed: bool, at: u64) {
    let start = open.flush_start;
    open.flush_start = 0;
    let thread = thread();
    let section = on_unlock(&mut stats.lock, open, armed, at, thread.into(), NO_CGROUP);
    let Some(section) = section else { return };
    stats.updates_begun += 1;
    record_section(stats, &section);
    stats.yields += 1;
    if FLUSH_STARTS.insert(thread, FlushStart { start, ..UNCALLED }, 0).is_err() {
        stats.flush_map_full += 1;
        fault(Fault::FlushNotStored, NO_CGROUP, thread);
    }
    stats.updates_ended += 1;
}

/// The running thread is about to release a main lock. IRQs are still off.
#[inline(always)]
fn on_released() {
    let end = now();
    // SAFETY: IRQs are off.
    let Some(State { stats, open, armed }) = (unsafe { state() }) else { return };
    if open.flush_start != 0 {
        on_yield(stats, open, armed, end);
        return;
    }
    let thread = thread();
    let section = on_unlock(&mut stats.lock, open, armed, end, thread.into(), NO_CGROUP);
    let Some(section) = section else { return };
    stats.updates_begun += 1;
    record_section(stats, &section);
    if FLUSH_BY_FUNCTION.load() != 0 {
        on_section_of_function(stats, thread, end);
    }
    stats.updates_ended += 1;
}

/// On `_raw_spin_lock_irq(raw_spinlock_t *)`.
#[fexit]
fn acquired(ctx: FExitContext) -> i32 {
    if is_main_lock(ctx.arg(0)) {
        on_acquired();
    }
    0
}

/// On `int _raw_spin_trylock(raw_spinlock_t *)`: the word after the argument is the result.
#[fexit]
fn tried(ctx: FExitContext) -> i32 {
    if is_main_lock(ctx.arg(0)) && ctx.arg::<u32>(1) != 0 {
        on_acquired();
    }
    0
}

/// On `_raw_spin_unlock_irq(raw_spinlock_t *)`.
#[fentry]
fn released(ctx: FEntryContext) -> i32 {
    if is_main_lock(ctx.arg(0)) {
        on_released();
    }
    0
}
