//! The main rstat locks: `cgroup_rstat_lock_contended`, `cgroup_rstat_locked` and
//! `cgroup_rstat_unlock`, all `(struct cgroup *, int cpu, bool contended)`.
//!
//! `locked` and `unlock` fire with IRQs off (kernel/cgroup/rstat.c, `__css_rstat_lock`), so a
//! section's state is per CPU; `lock_contended` fires with IRQs on, so a wait's is per thread.

use aya_ebpf::{bindings::BPF_NOEXIST, macros::raw_tracepoint, programs::RawTracePointContext};
use rstat_probe_common::wire::{OpenSection, SectionStats, WaitKind};

use crate::{
    flush,
    maps::{SECTIONS, WAIT_STARTS, WAITS, armed},
    report::{Fault, fault},
    timing::{now, record, take_wait_start, thread, wait_key},
};

/// -EEXIST of include/uapi/asm-generic/errno-base.h.
const EXISTS: i32 = -17;

/// A thread failed to take a lock at the first try and is about to spin.
#[inline(always)]
pub(crate) fn on_contended(kind: WaitKind, cgroup: *const u8) {
    let key = wait_key(kind);
    let start = now();
    let Err(error) = WAIT_STARTS.insert(key, start, u64::from(BPF_NOEXIST)) else { return };
    let Some(losses) = WAITS.get_ptr_mut(kind as u32) else { return };
    if error == EXISTS {
        // SAFETY: this CPU's element; the kernel never runs a program inside itself.
        unsafe { (*losses).overwritten += 1 };
        fault(Fault::WaitOverwritten, cgroup, key.thread);
        let _ = WAIT_STARTS.insert(key, start, 0);
    } else {
        // SAFETY: as above.
        unsafe { (*losses).map_full += 1 };
        fault(Fault::WaitNotStored, cgroup, key.thread);
    }
}

/// A thread owns a lock. IRQs are off.
#[inline(always)]
fn on_locked(cgroup: *const u8, cpu: i32, contended: bool) {
    let Some(stats) = SECTIONS.get_ptr_mut(0) else { return };
    // SAFETY: this CPU's element; IRQs are off, so no other writer runs.
    let stats: &mut SectionStats = unsafe { &mut *stats };
    let wait_start = if contended { take_wait_start(WaitKind::Main) } else { 0 };
    if !armed() {
        stats.open.start = 0;
        if contended && wait_start == 0 {
            stats.unknown_waits_before += 1;
        }
        return;
    }
    let thread = thread();
    if stats.open.start != 0 {
        stats.section_overwritten += 1;
        fault(Fault::SectionOverwritten, cgroup, thread);
    }
    stats.sections += 1;
    if contended {
        stats.contended += 1;
        if wait_start == 0 {
            stats.wait_start_missing += 1;
            fault(Fault::WaitStartMissing, cgroup, thread);
        }
    }
    stats.open.wait_start = wait_start;
    stats.open.thread = thread;
    stats.open.cpu = cpu;
    stats.open.contended = u64::from(contended);
    stats.open.start = now();
}

/// A thread is about to release a lock. IRQs are still off.
#[inline(always)]
fn on_unlock(cgroup: *const u8, cpu: i32) {
    let end = now();
    let Some(stats) = SECTIONS.get_ptr_mut(0) else { return };
    // SAFETY: this CPU's element; IRQs are off, so no other writer runs.
    let stats: &mut SectionStats = unsafe { &mut *stats };
    let open: OpenSection = stats.open;
    if open.start == 0 {
        if armed() {
            stats.open_at_start += 1;
        }
        return;
    }
    stats.open.start = 0;
    let thread = thread();
    if open.thread != thread {
        stats.task_mismatch += 1;
        fault(Fault::TaskMismatch, cgroup, thread);
        return;
    }
    let waited = open.wait_start != 0;
    let begin = if waited { open.wait_start } else { open.start };
    if end < open.start || open.start < begin {
        stats.clock_backwards += 1;
        fault(Fault::ClockBackwards, cgroup, thread);
        return;
    }
    stats.updates_begun += 1;
    // SAFETY: fields of this CPU's element, see above.
    unsafe {
        record(&raw mut stats.lock_hold, end - open.start);
        // A contended acquisition without a known begin had IRQs off for longer than its hold:
        // it is counted as lost for irqs_off, not recorded too short.
        if waited || open.contended == 0 {
            record(&raw mut stats.irqs_off, end - begin);
        }
        if waited {
            record(&raw mut stats.lock_wait, open.start - begin);
        }
    }
    if cpu >= 0 {
        stats.yields += 1;
    }
    flush::on_section_end(stats, &open, cgroup, cpu, begin, end);
    stats.updates_ended += 1;
}

#[raw_tracepoint]
fn lock_contended(ctx: RawTracePointContext) -> i32 {
    on_contended(WaitKind::Main, ctx.arg(0));
    0
}

#[raw_tracepoint]
fn lock_locked(ctx: RawTracePointContext) -> i32 {
    on_locked(ctx.arg(0), ctx.arg(1), ctx.arg::<u8>(2) != 0);
    0
}

#[raw_tracepoint]
fn lock_unlock(ctx: RawTracePointContext) -> i32 {
    on_unlock(ctx.arg(0), ctx.arg(1));
    0
}
