//! The per-CPU rstat locks of 6.10 to 6.16: `cgroup_rstat_cpu_lock_contended`, `_cpu_locked`,
//! `_cpu_unlock` on the flush path and their `_fastpath` twins on the update path.
//!
//! `locked` and `unlock` fire with IRQs off on both paths (`_cgroup_rstat_cpu_lock` in
//! kernel/cgroup/rstat.c takes the lock with irqsave), so one state per CPU serves both.

use aya_ebpf::{macros::raw_tracepoint, programs::RawTracePointContext};
use rstat_probe_common::wire::{CpuLockStats, WaitKind};

use crate::{
    lock::on_contended,
    maps::{CPU_LOCKS, armed},
    report::{Fault, fault},
    timing::{now, record, take_wait_start, thread},
};

#[inline(always)]
fn on_locked(kind: WaitKind, cgroup: *const u8, cpu: i32, contended: bool) {
    let Some(stats) = CPU_LOCKS.get_ptr_mut(0) else { return };
    // SAFETY: this CPU's element; IRQs are off, so no other writer runs.
    let stats: &mut CpuLockStats = unsafe { &mut *stats };
    let wait_start = if contended { take_wait_start(kind) } else { 0 };
    if !armed() {
        stats.open.start = 0;
        return;
    }
    let thread = thread();
    if stats.open.start != 0 {
        stats.section_overwritten += 1;
        fault(Fault::SectionOverwritten, cgroup, thread);
    }
    stats.acquisitions += 1;
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

#[inline(always)]
fn on_unlock(cgroup: *const u8) {
    let end = now();
    let Some(stats) = CPU_LOCKS.get_ptr_mut(0) else { return };
    // SAFETY: this CPU's element; IRQs are off, so no other writer runs.
    let stats: &mut CpuLockStats = unsafe { &mut *stats };
    let open = stats.open;
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
    if end < open.start || (waited && open.start < open.wait_start) {
        stats.clock_backwards += 1;
        fault(Fault::ClockBackwards, cgroup, thread);
        return;
    }
    stats.updates_begun += 1;
    // SAFETY: fields of this CPU's element, see above.
    unsafe {
        record(&raw mut stats.hold, end - open.start);
        if waited {
            record(&raw mut stats.wait, open.start - open.wait_start);
        }
    }
    stats.updates_ended += 1;
}

#[raw_tracepoint]
fn cpu_contended(ctx: RawTracePointContext) -> i32 {
    on_contended(WaitKind::Cpu, ctx.arg(0));
    0
}

#[raw_tracepoint]
fn cpu_contended_fp(ctx: RawTracePointContext) -> i32 {
    on_contended(WaitKind::CpuFastpath, ctx.arg(0));
    0
}

#[raw_tracepoint]
fn cpu_locked(ctx: RawTracePointContext) -> i32 {
    on_locked(WaitKind::Cpu, ctx.arg(0), ctx.arg(1), ctx.arg::<u8>(2) != 0);
    0
}

#[raw_tracepoint]
fn cpu_locked_fp(ctx: RawTracePointContext) -> i32 {
    on_locked(WaitKind::CpuFastpath, ctx.arg(0), ctx.arg(1), ctx.arg::<u8>(2) != 0);
    0
}

#[raw_tracepoint]
fn cpu_unlock(ctx: RawTracePointContext) -> i32 {
    on_unlock(ctx.arg(0));
    0
}

#[raw_tracepoint]
fn cpu_unlock_fp(ctx: RawTracePointContext) -> i32 {
    on_unlock(ctx.arg(0));
    0
}
