//! The slow path of the lock, `native_queued_spin_lock_slowpath(struct qspinlock *, u32)` and its
//! paravirtual twin (kernel/locking/qspinlock.c): where a CPU spins, with IRQs off already.
//!
//! From there to the release the CPU runs nothing else, so the begin is kept per CPU, in the state
//! of the section that follows.

use aya_ebpf::{
    macros::{fentry, kprobe},
    programs::{FEntryContext, ProbeContext},
};
use rstat_probe_common::wire::OpenKind;

use crate::{
    maps::{OPEN, is_main_lock},
    timing::now,
};

#[inline(always)]
fn on_spin(lock: u64) {
    if !is_main_lock(lock) {
        return;
    }
    let Some(open) = OPEN.get_ptr_mut(OpenKind::Main as u32) else { return };
    // SAFETY: this CPU's element; IRQs are off, so no other writer runs.
    unsafe { (*open).spin_start = now() };
}

/// On `native_queued_spin_lock_slowpath`, or `queued_spin_lock_slowpath` where that is its name.
#[fentry]
fn spin_native(ctx: FEntryContext) -> i32 {
    on_spin(ctx.arg(0));
    0
}

#[fentry]
fn spin_pv(ctx: FEntryContext) -> i32 {
    on_spin(ctx.arg(0));
    0
}

#[kprobe]
fn spin_native_k(ctx: ProbeContext) -> u32 {
    on_spin(ctx.arg(0).unwrap_or(0));
    0
}

#[kprobe]
fn spin_pv_k(ctx: ProbeContext) -> u32 {
    on_spin(ctx.arg(0).unwrap_or(0));
    0
}
