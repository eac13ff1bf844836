//! The main rstat locks: `cgroup_rstat_lock_contended`, `cgroup_rstat_locked` and
//! `cgroup_rstat_unlock`, all `(struct cgroup *, int cpu, bool contended)` (`__css_rstat_lock` in
//! kernel/cgroup/rstat.c).

use aya_ebpf::{macros::raw_tracepoint, programs::RawTracePointContext};
use rstat_probe_common::wire::{OpenKind, WaitKind};

use crate::{
    flush,
    maps::{OPEN, SECTIONS, control},
    section::{on_contended, on_locked, on_unlock},
    timing::{now, record, take_wait_start},
};

#[inline(always)]
fn locked(cgroup: *const u8, cpu: i32, contended: bool) {
    let wait_start = if contended { take_wait_start(WaitKind::Main) } else { 0 };
    let control = control();
    let Some(stats) = SECTIONS.get_ptr_mut(control.buffer) else { return };
    let Some(open) = OPEN.get_ptr_mut(OpenKind::Main as u32) else { return };
    // SAFETY: this CPU's elements; IRQs are off, so no other writer runs.
    let (stats, open) = unsafe { (&mut *stats, &mut *open) };
    on_locked(&mut stats.lock, open, control.armed != 0, wait_start, cgroup, cpu, contended);
}

#[inline(always)]
fn unlock(cgroup: *const u8, cpu: i32) {
    let end = now();
    let control = control();
    let Some(stats) = SECTIONS.get_ptr_mut(control.buffer) else { return };
    let Some(open) = OPEN.get_ptr_mut(OpenKind::Main as u32) else { return };
    // SAFETY: this CPU's elements; IRQs are off, so no other writer runs.
    let (stats, open) = unsafe { (&mut *stats, &mut *open) };
    let Some(section) = on_unlock(&mut stats.lock, open, control.armed != 0, end, cgroup) else { return };
    stats.updates_begun += 1;
    // SAFETY: fields of this CPU's element, see above.
    unsafe {
        record(&raw mut stats.lock_hold, section.hold());
        if let Some(whole) = section.whole() {
            record(&raw mut stats.irqs_off, whole);
        }
        if let Some(wait) = section.wait() {
            record(&raw mut stats.lock_wait, wait);
        }
    }
    if cpu >= 0 {
        stats.yields += 1;
    }
    flush::on_section_end(stats, &section, cgroup, cpu);
    stats.updates_ended += 1;
}

#[raw_tracepoint]
fn lock_contended(ctx: RawTracePointContext) -> i32 {
    on_contended(WaitKind::Main, ctx.arg(0));
    0
}

#[raw_tracepoint]
fn lock_locked(ctx: RawTracePointContext) -> i32 {
    locked(ctx.arg(0), ctx.arg(1), ctx.arg::<u8>(2) != 0);
    0
}

#[raw_tracepoint]
fn lock_unlock(ctx: RawTracePointContext) -> i32 {
    unlock(ctx.arg(0), ctx.arg(1));
    0
}
