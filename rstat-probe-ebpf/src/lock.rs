//! The main rstat locks: `cgroup_rstat_lock_contended`, `cgroup_rstat_locked` and
//! `cgroup_rstat_unlock`, all `(struct cgroup *, int cpu, bool contended)` (`__css_rstat_lock` in
//! kernel/cgroup/rstat.c).

use aya_ebpf::{macros::raw_tracepoint, programs::RawTracePointContext};
use rstat_probe_common::wire::{SectionStats, WaitKind};

use crate::{
    flush,
    maps::SECTIONS,
    section::{on_contended, on_locked, on_unlock},
    timing::{now, record},
};

#[inline(always)]
fn locked(cgroup: *const u8, cpu: i32, contended: bool) {
    let Some(stats) = SECTIONS.get_ptr_mut(0) else { return };
    // SAFETY: this CPU's element; IRQs are off, so no other writer runs.
    let stats: &mut SectionStats = unsafe { &mut *stats };
    on_locked(&mut stats.lock, WaitKind::Main, cgroup, cpu, contended);
}

#[inline(always)]
fn unlock(cgroup: *const u8, cpu: i32) {
    let end = now();
    let Some(stats) = SECTIONS.get_ptr_mut(0) else { return };
    // SAFETY: this CPU's element; IRQs are off, so no other writer runs.
    let stats: &mut SectionStats = unsafe { &mut *stats };
    let Some(section) = on_unlock(&mut stats.lock, end, cgroup) else { return };
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
