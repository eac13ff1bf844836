//! The per-CPU rstat locks of 6.10 to 6.16: `cgroup_rstat_cpu_lock_contended`, `_cpu_locked`,
//! `_cpu_unlock` on the flush path and their `_fastpath` twins on the update path.
//!
//! `locked` and `unlock` fire with IRQs off on both paths (`_cgroup_rstat_cpu_lock` in
//! kernel/cgroup/rstat.c takes the lock with irqsave), so one state per CPU serves both.

use aya_ebpf::{macros::raw_tracepoint, programs::RawTracePointContext};
use rstat_probe_common::wire::{OpenKind, WaitKind};

use crate::{
    maps::{CPU_LOCKS, OPEN, control},
    section::{Acquired, on_contended, on_locked, on_unlock},
    timing::{now, record, take_wait_start},
};

#[inline(always)]
fn locked(kind: WaitKind, cgroup: *const u8, cpu: i32, contended: bool) {
    let wait_start = if contended { take_wait_start(kind) } else { 0 };
    let control = control();
    let Some(open) = OPEN.get_ptr_mut(OpenKind::Cpu as u32) else { return };
    // SAFETY: this CPU's element; IRQs are off, so no other writer runs.
    let open = unsafe { &mut *open };
    let acquired = Acquired { wait_start, owner: cgroup as u64, cpu, contended };
    on_locked(open, control.armed != 0, &acquired, cgroup, || {
        let stats = CPU_LOCKS.get_ptr_mut(control.buffer)?;
        // SAFETY: as above.
        Some(unsafe { &raw mut (*stats).lock })
    });
}

#[inline(always)]
fn unlock(cgroup: *const u8) {
    let end = now();
    let control = control();
    let Some(stats) = CPU_LOCKS.get_ptr_mut(control.buffer) else { return };
    let Some(open) = OPEN.get_ptr_mut(OpenKind::Cpu as u32) else { return };
    // SAFETY: this CPU's elements; IRQs are off, so no other writer runs.
    let (stats, open) = unsafe { (&mut *stats, &mut *open) };
    let section = on_unlock(&mut stats.lock, open, control.armed != 0, end, cgroup as u64, cgroup);
    let Some(section) = section else { return };
    stats.updates_begun += 1;
    // SAFETY: fields of this CPU's element, see above.
    unsafe {
        record(&raw mut stats.hold, section.hold());
        if let Some(wait) = section.wait() {
            record(&raw mut stats.wait, wait);
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
    locked(WaitKind::Cpu, ctx.arg(0), ctx.arg(1), ctx.arg::<u8>(2) != 0);
    0
}

#[raw_tracepoint]
fn cpu_locked_fp(ctx: RawTracePointContext) -> i32 {
    locked(WaitKind::CpuFastpath, ctx.arg(0), ctx.arg(1), ctx.arg::<u8>(2) != 0);
    0
}

#[raw_tracepoint]
fn cpu_unlock(ctx: RawTracePointContext) -> i32 {
    unlock(ctx.arg(0));
    0
}

#[raw_tracepoint]
fn cpu_unlock_fp(ctx: RawTracePointContext) -> i32 {
    unlock(ctx.arg(0));
    0
}
