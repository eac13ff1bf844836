//! The walk over the CPUs, `cgroup_rstat_flush_locked` (up to 6.14): every flush passes it with the
//! lock held, so it counts flushes, and where acquisition or release cannot be seen it stands in
//! for them.
//!
//! - Acquisition unseen: taken with irqsave (`cgroup_rstat_flush_irqsafe` of 6.1), or no hook on
//!   the lock function. The walk begins right after it.
//! - Release unseen: taken with irqsave, or `spin_unlock_irq` is inlined. It follows right on the
//!   walk's end, but for a reader of `cpu.stat`, who holds the lock a little longer: the return of
//!   `cgroup_base_stat_cputime_show` says for how long at most.
//! - Yields then show as switches to another thread, or as the next acquisition.

use aya_ebpf::{
    macros::{fentry, fexit, kprobe, kretprobe, raw_tracepoint},
    programs::{FEntryContext, FExitContext, ProbeContext, RawTracePointContext, RetProbeContext},
};
use rstat_probe_common::wire::{OpenKind, OpenSection, SectionStats};

use crate::{
    lock::record_section,
    lock_function::{begin_section, came_at, on_yield, resumed_flush},
    maps::{INFER_BEGIN, INFER_END, OPEN, State, state},
    section::on_unlock,
    timing::{now, record, thread},
};

/// The walk begins. The lock is held, IRQs are off.
#[inline(always)]
fn on_begin() {
    // SAFETY: IRQs are off.
    let Some(State { stats, open, armed }) = (unsafe { state() }) else { return };
    let thread = thread();
    if INFER_BEGIN.load() != 0 || open.start == 0 || open.owner != u64::from(thread) {
        let spin = core::mem::take(&mut open.spin_start);
        if INFER_BEGIN.load() != 0 {
            if open.walk_end != 0 {
                bound(stats, open, came_at(spin));
            }
            if resumed_flush(thread) != 0 {
                // The end of this thread's walk before was not seen.
                stats.lock.section_overwritten += 1;
            }
        }
        begin_section(stats, open, armed, spin, thread);
        if !armed {
            open.flush_start = 0;
            return;
        }
        open.ends_with_walk = 1;
    }
    open.flush_start = if open.wait_start == 0 { open.start } else { open.wait_start };
}

/// The walk ends. The lock is held, IRQs are off.
#[inline(always)]
fn on_end() {
    let end = now();
    // SAFETY: IRQs are off.
    let Some(State { stats, open, armed }) = (unsafe { state() }) else { return };
    let thread = thread();
    let in_section = open.start != 0 && open.owner == u64::from(thread);
    let begin = if in_section { open.flush_start } else { resumed_flush(thread) };
    open.flush_start = 0;
    // Of an acquisition inside the walk that was not seen.
    open.spin_start = 0;
    stats.updates_begun += 1;
    end_flush(stats, armed, begin, end);
    if in_section && (open.ends_with_walk != 0 || INFER_END.load() != 0) {
        let section = on_unlock(&mut stats.lock, open, armed, end, thread.into(), core::ptr::null());
        if let Some(section) = section {
            record_section(stats, &section);
        }
        if INFER_END.load() != 0 {
            stats.inferred_ends += 1;
            // Others release the lock right after the walk.
            open.walk_end = if open.reader == thread { end } else { 0 };
        }
    }
    stats.updates_ended += 1;
}

#[inline(always)]
fn end_flush(stats: &mut SectionStats, armed: bool, begin: u64, end: u64) {
    if begin == 0 {
        if armed {
            stats.flush_open_at_start += 1;
        }
    } else if end < begin {
        stats.lock.clock_backwards += 1;
    } else {
        stats.flushes += 1;
        // SAFETY: this CPU's element, IRQs off.
        unsafe { record(&raw mut stats.flush, end - begin) };
    }
}

/// The running thread leaves the CPU, so it holds no lock any more.
#[inline(always)]
fn on_switch() {
    let Some(open) = OPEN.get_ptr_mut(OpenKind::Main as u32) else { return };
    // SAFETY: this CPU's element; IRQs are off.
    if unsafe { (*open).start == 0 && (*open).walk_end == 0 } {
        return;
    }
    let at = now();
    // SAFETY: IRQs are off.
    let Some(State { stats, open, armed }) = (unsafe { state() }) else { return };
    if open.owner != u64::from(thread()) {
        return;
    }
    if open.start == 0 {
        bound(stats, open, at);
        return;
    }
    if open.flush_start == 0 {
        return;
    }
    on_yield(stats, open, armed, at);
    if INFER_BEGIN.load() != 0 {
        stats.lock.section_unseen += 1;
    }
}

/// The lock whose release could not be seen is free at `at`.
#[inline(always)]
pub(crate) fn bound(stats: &mut SectionStats, open: &mut OpenSection, at: u64) {
    let end = core::mem::take(&mut open.walk_end);
    if end != 0 && at > end {
        stats.unseen_hold += at - end;
    }
}

/// A reader of `cpu.stat` begins: what ended before is not its walk.
#[inline(always)]
fn on_reader_begin() {
    if let Some(open) = OPEN.get_ptr_mut(OpenKind::Main as u32) {
        // SAFETY: this CPU's element; the walk's programs, which write `walk_end` too, run in this
        // thread or after it.
        unsafe {
            (*open).walk_end = 0;
            (*open).reader = thread();
        }
    }
}

/// A reader of `cpu.stat` is through: its lock was released before.
#[inline(always)]
fn on_reader_end() {
    let end = now();
    // SAFETY: of the words written here only `unseen_hold` has other writers, and they run when
    // this thread leaves the CPU or another one has the lock; `walk_end` is taken by one of them.
    let Some(State { stats, open, .. }) = (unsafe { state() }) else { return };
    if open.owner == u64::from(thread()) && open.start == 0 {
        bound(stats, open, end);
        open.reader = 0;
    }
}

/// On `cgroup_rstat_flush_locked(struct cgroup *, ...)`.
#[fentry]
fn walk_begin(_ctx: FEntryContext) -> i32 {
    on_begin();
    0
}

#[fexit]
fn walk_end(_ctx: FExitContext) -> i32 {
    on_end();
    0
}

#[kprobe]
fn walk_begin_k(_ctx: ProbeContext) -> u32 {
    on_begin();
    0
}

#[kretprobe]
fn walk_end_k(_ctx: RetProbeContext) -> u32 {
    on_end();
    0
}

/// On `cgroup_base_stat_cputime_show(struct seq_file *)`.
#[fentry]
fn reader_begin(_ctx: FEntryContext) -> i32 {
    on_reader_begin();
    0
}

#[fexit]
fn reader_end(_ctx: FExitContext) -> i32 {
    on_reader_end();
    0
}

#[kprobe]
fn reader_begin_k(_ctx: ProbeContext) -> u32 {
    on_reader_begin();
    0
}

#[kretprobe]
fn reader_end_k(_ctx: RetProbeContext) -> u32 {
    on_reader_end();
    0
}

/// On `sched_switch`.
#[raw_tracepoint]
fn switched(_ctx: RawTracePointContext) -> i32 {
    on_switch();
    0
}
