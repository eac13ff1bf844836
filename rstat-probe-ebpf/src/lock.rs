//! The main rstat locks by their tracepoints: `cgroup_rstat_lock_contended`,
//! `cgroup_rstat_locked` and `cgroup_rstat_unlock`, all
//! `(struct cgroup *, int cpu, bool contended)` (`__css_rstat_lock` in kernel/cgroup/rstat.c).

use aya_ebpf::{bindings::BPF_NOEXIST, macros::raw_tracepoint, programs::RawTracePointContext};
use rstat_probe_common::wire::{OpenKind, OpenSection, SectionStats, WaitKind};

use crate::{
    flush,
    maps::{BY_THREAD, EXACT_SPIN, OPEN, OPEN_BY_THREAD, SECTIONS, control},
    section::{Acquired, Ended, on_contended, on_locked, on_unlock},
    timing::{now, record, take_wait_start, thread},
};

const NO_SECTION: OpenSection = OpenSection {
    start: 0,
    wait_start: 0,
    spin_start: 0,
    flush_start: 0,
    walk_end: 0,
    owner: 0,
    cpu: 0,
    contended: 0,
    ends_with_walk: 0,
    flush_thread: 0,
    subsystem: 0,
    reader: 0,
};

#[inline(always)]
fn locked(cgroup: *const u8, cpu: i32, contended: bool) {
    let wait_start = if contended { take_wait_start(WaitKind::Main) } else { 0 };
    let control = control();
    let armed = control.armed != 0;
    let stats = || {
        let stats = SECTIONS.get_ptr_mut(control.buffer)?;
        // SAFETY: this CPU's element.
        Some(unsafe { &raw mut (*stats).lock })
    };
    let open = if BY_THREAD.load() == 0 {
        OPEN.get_ptr_mut(OpenKind::Main as u32)
    } else {
        // Sections from before are nobody's business; the map must not keep them.
        let thread = thread();
        if !armed {
            let _ = OPEN_BY_THREAD.remove(thread);
        } else if OPEN_BY_THREAD.insert(thread, NO_SECTION, u64::from(BPF_NOEXIST)).is_err() {
            // Either there still is a section, whose release was not seen, or the map is full of
            // such.
            if let Some(stats) = stats() {
                // SAFETY: this CPU's element. On PREEMPT_RT another writer may run, but of no word of this program.
                unsafe {
                    (*stats).section_overwritten += 1;
                    (*stats).overwritten += 1;
                }
            }
            let _ = OPEN_BY_THREAD.insert(thread, NO_SECTION, 0);
        }
        OPEN_BY_THREAD.get_ptr_mut(thread)
    };
    let Some(open) = open else {
        if !armed
            && contended
            && wait_start == 0
            && let Some(stats) = stats()
        {
            // SAFETY: as above.
            unsafe { (*stats).unknown_waits_before += 1 };
        }
        return;
    };
    // SAFETY: this CPU's or this thread's element: nobody else writes it now.
    let open = unsafe { &mut *open };
    if EXACT_SPIN.load() != 0 && (!contended || open.spin_start < wait_start) {
        // Of an acquisition before all programs were there.
        open.spin_start = 0;
    }
    let acquired = Acquired { wait_start, owner: cgroup as u64, cpu, contended };
    on_locked(open, armed, &acquired, cgroup, stats);
}

#[inline(always)]
fn unlock(cgroup: *const u8, cpu: i32) {
    let end = now();
    let control = control();
    let Some(stats) = SECTIONS.get_ptr_mut(control.buffer) else { return };
    // SAFETY: this CPU's element; IRQs are off, so no other writer runs. On PREEMPT_RT one may,
    // but then not of the same words.
    let stats = unsafe { &mut *stats };
    let armed = control.armed != 0;
    let by_thread = BY_THREAD.load() != 0;
    let open = if by_thread {
        OPEN_BY_THREAD.get_ptr_mut(thread())
    } else {
        OPEN.get_ptr_mut(OpenKind::Main as u32)
    };
    let Some(open) = open else {
        if armed {
            stats.lock.open_at_start += 1;
        }
        return;
    };
    // SAFETY: as in `locked`.
    let open = unsafe { &mut *open };
    if let Some(section) = on_unlock(&mut stats.lock, open, armed, end, cgroup as u64, cgroup) {
        stats.updates_begun += 1;
        record_section(stats, &section);
        if cpu >= 0 {
            stats.yields += 1;
        }
        flush::on_section_end(stats, open, &section, cgroup, cpu);
        stats.updates_ended += 1;
    }
    if by_thread {
        let _ = OPEN_BY_THREAD.remove(thread());
    }
}

/// Adds a section to the histograms. Runs inside the update bracket of `stats`.
#[inline(always)]
pub(crate) fn record_section(stats: &mut SectionStats, section: &Ended) {
    // SAFETY: fields of this CPU's element, written by nobody else meanwhile.
    unsafe {
        if section.is_plain() {
            record(&raw mut stats.plain, section.hold());
            return;
        }
        record(&raw mut stats.lock_hold, section.hold());
        // On PREEMPT_RT IRQs stay on.
        if BY_THREAD.load() == 0
            && let Some(whole) = section.whole()
        {
            record(&raw mut stats.irqs_off, whole);
        }
        if let Some(wait) = section.wait() {
            record(&raw mut stats.lock_wait, wait);
        }
    }
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
