//! Flushes: from the tracepoints alone, or from the flush function's entry to its return where
//! function hooks attach.
//!
//! From the tracepoints a flush lasts from the first acquisition (its wait included) to the last
//! release by the same thread. User space says which `cpu` arguments mark those: -1 and -1 where
//! the kernel has `cgroup_rstat_flush_locked`, else the first and the last possible CPU
//! (kernel/cgroup/rstat.c before and after commit 093c8812de2d).

use aya_ebpf::{
    helpers::bpf_probe_read_kernel,
    macros::{fentry, fexit, kprobe, kretprobe},
    programs::{FEntryContext, FExitContext, ProbeContext, RetProbeContext},
};
use rstat_probe_common::wire::{
    FlushStart, OpenSection, SUBSYSTEM_BASE, SUBSYSTEM_FIRST, SUBSYSTEM_UNKNOWN, SectionStats, flush_begin,
};

use crate::{
    label,
    maps::{
        CSS_SS, FIRST_CPU, FLUSH_BEGINS, FLUSH_BY_FUNCTION, FLUSH_PLACES, FLUSH_STARTS, FLUSHES, LABELS,
        LAST_CPU, SUBSYS_ID, control,
    },
    report::{Fault, fault},
    section::Ended,
    timing::{now, record, thread},
};

/// A flush that no program of the flush function has seen.
pub(crate) const UNCALLED: FlushStart = FlushStart {
    start: 0,
    last_release: 0,
    unreturned: 0,
    by_function: 0,
    has_section: 1,
    subsystem: SUBSYSTEM_UNKNOWN,
    cached_on: label::NOWHERE,
};

/// Follows a flush by its sections. Runs inside the update bracket of `stats`.
#[inline(always)]
pub(crate) fn on_section_end(
    stats: &mut SectionStats,
    open: &mut OpenSection,
    section: &Ended,
    cgroup: *const u8,
    cpu: i32,
) {
    let first = section.open.cpu == FIRST_CPU.load();
    let last = cpu == LAST_CPU.load();
    let by_function = FLUSH_BY_FUNCTION.load() != 0;
    if first && last && !by_function {
        // One section is the whole flush: nothing to remember.
        stats.flushes += 1;
        // SAFETY: this CPU's element, see `lock`.
        unsafe { record(&raw mut stats.flush, section.end - section.begin) };
        return;
    }
    if !first && !last && LABELS.load() == 0 {
        return;
    }
    let thread = thread();
    if first && !begin_at_tracepoint(stats, thread, section.begin, by_function) {
        stats.flush_map_full += 1;
        fault(Fault::FlushNotStored, cgroup, thread);
    }
    if LABELS.load() != 0 {
        // Only a reader of cpu.stat takes the lock for no CPU, and that is the base lock.
        let subsystem = if cpu < 0 { SUBSYSTEM_BASE } else { label::of_section(open, thread, first) };
        label::count(stats, subsystem, section);
    }
    if last {
        end_at_tracepoint(stats, thread, section.end);
    }
}

/// Remembers a flush that began at `begin`; false when the map takes no more.
#[inline(always)]
fn begin_at_tracepoint(stats: &mut SectionStats, thread: u32, begin: u64, by_function: bool) -> bool {
    if !by_function
        && let Some(place) = FLUSH_BEGINS.get_ptr_mut(flush_begin::place(thread, FLUSH_PLACES.load()))
    {
        // SAFETY: the word is read and written at once. Two threads that share the place and come at the same moment
        // may both find it free: then one of their ends finds no begin, which is counted.
        unsafe {
            if flush_begin::is_free(place.read_volatile(), thread) {
                place.write_volatile(flush_begin::word(thread, begin));
                stats.flushes_begun += 1;
                return true;
            }
        }
    }
    if by_function && let Some(start) = FLUSH_STARTS.get_ptr_mut(thread) {
        // SAFETY: only this thread writes the element of its key.
        let start = unsafe { &mut *start };
        let called = start.by_function != 0 && start.has_section == 0;
        // The kernel skips a function's program while the same one runs on that CPU, so the
        // return of the flush before this one can be missing, and the entry of this one.
        let unreturned = if called { start.unreturned } else { length(start) };
        if unreturned != 0 {
            stats.unseen_returns += 1;
            // SAFETY: this CPU's element, see `lock`.
            unsafe { record(&raw mut stats.flush, unreturned) };
        }
        if called {
            start.unreturned = 0;
            start.has_section = 1;
            return true;
        }
        label::forget(start, thread);
    }
    if by_function {
        stats.unseen_entries += 1;
    }
    FLUSH_STARTS.insert(thread, FlushStart { start: begin, ..UNCALLED }, 0).is_ok()
}

/// Length in ns up to the last release, 0 when there was none or the return is not waited for.
#[inline(always)]
fn length(start: &FlushStart) -> u64 {
    if start.by_function != 0 && start.last_release > start.start {
        start.last_release - start.start
    } else {
        0
    }
}

#[inline(always)]
fn end_at_tracepoint(stats: &mut SectionStats, thread: u32, end: u64) {
    if FLUSH_BY_FUNCTION.load() == 0
        && let Some(place) = FLUSH_BEGINS.get_ptr_mut(flush_begin::place(thread, FLUSH_PLACES.load()))
    {
        // SAFETY: as in `begin_at_tracepoint`; this CPU's element, IRQs off.
        unsafe {
            let word = place.read_volatile();
            if flush_begin::is_of(word, thread) {
                place.write_volatile(0);
                stats.flushes_closed += 1;
                stats.flushes += 1;
                record(&raw mut stats.flush, flush_begin::length(word, end));
                return;
            }
        }
    }
    let Some(start) = FLUSH_STARTS.get_ptr_mut(thread) else {
        stats.flush_open_at_start += 1;
        return;
    };
    stats.flushes += 1;
    // SAFETY: only this thread writes the element of its key.
    let start = unsafe { &mut *start };
    if start.by_function != 0 {
        start.last_release = end; // the function's return ends it
        return;
    }
    let begin = start.start;
    label::forget(start, thread);
    let _ = FLUSH_STARTS.remove(thread);
    if end < begin {
        stats.lock.clock_backwards += 1;
        return;
    }
    // SAFETY: this CPU's element, IRQs off.
    unsafe { record(&raw mut stats.flush, end - begin) };
}

/// A section ended at `end`; without tracepoints the function's programs alone tell whether it was
/// inside a flush. Runs inside the update bracket of `stats`.
#[inline(always)]
pub(crate) fn on_section_of_function(stats: &mut SectionStats, thread: u32, end: u64) {
    let Some(start) = FLUSH_STARTS.get_ptr_mut(thread) else { return };
    // SAFETY: only this thread writes the element of its key.
    let start = unsafe { &mut *start };
    if start.by_function == 0 {
        return;
    }
    stats.yields += 1;
    if start.unreturned != 0 {
        stats.unseen_returns += 1;
        stats.flushes += 1;
        // SAFETY: this CPU's element, IRQs off.
        unsafe { record(&raw mut stats.flush, start.unreturned) };
        start.unreturned = 0;
    }
    start.has_section = 1;
    start.last_release = end;
}

/// The subsystem whose statistics are flushed: `css->ss->id`, from a `css_rstat_flush` argument.
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "the offsets come from BTF and are those of aligned members")]
fn subsystem_of(css: *const u8) -> u32 {
    if LABELS.load() == 0 {
        return SUBSYSTEM_UNKNOWN;
    }
    // SAFETY: the helper checks the address; user space took the offset from the kernel's BTF.
    let ss = unsafe { bpf_probe_read_kernel(css.add(CSS_SS.load() as usize).cast::<*const u8>()) };
    let Ok(ss) = ss else { return SUBSYSTEM_UNKNOWN };
    if ss.is_null() {
        return SUBSYSTEM_BASE; // cgroup::self
    }
    // SAFETY: as above.
    let id = unsafe { bpf_probe_read_kernel(ss.add(SUBSYS_ID.load() as usize).cast::<u32>()) };
    match id {
        Ok(id) if id < SUBSYSTEM_UNKNOWN - SUBSYSTEM_FIRST => SUBSYSTEM_FIRST + id,
        _ => SUBSYSTEM_UNKNOWN,
    }
}

/// The flush function was called. IRQs are on and the thread can be preempted.
#[inline(always)]
fn on_entry(css: *const u8) {
    if control().armed == 0 {
        return;
    }
    let thread = thread();
    // SAFETY: only this thread writes the element of its key.
    let unreturned = match unsafe { FLUSH_STARTS.get(thread) } {
        Some(before) => {
            label::forget(before, thread);
            if before.has_section == 0 { before.unreturned } else { length(before) }
        }
        None => 0,
    };
    let start = FlushStart {
        start: now(),
        unreturned,
        by_function: 1,
        has_section: 0,
        subsystem: subsystem_of(css),
        ..UNCALLED
    };
    // A full map is counted at the first section, which finds no begin here and cannot store one.
    let _ = FLUSH_STARTS.insert(thread, start, 0);
}

/// The flush function returns.
#[inline(always)]
fn on_return() {
    let end = now();
    let thread = thread();
    // SAFETY: only this thread writes the element of its key.
    let Some(start) = (unsafe { FLUSH_STARTS.get(thread) }) else { return };
    let start = *start;
    let control = control();
    // What stays in the map is recorded later: by the thread's next flush, or by user space
    // after the end, which is also what happens to a flush that returns after it.
    if start.by_function == 0 || start.unreturned != 0 || control.armed == 0 {
        return;
    }
    label::forget(&start, thread);
    let _ = FLUSH_STARTS.remove(thread);
    if start.has_section == 0 {
        return;
    }
    let Some(stats) = FLUSHES.get_ptr_mut(control.buffer) else { return };
    // SAFETY: this CPU's element; only this program writes these words, and the kernel never runs
    // a program inside itself.
    let stats = unsafe { &mut *stats };
    if end < start.start {
        stats.clock_backwards += 1;
        return;
    }
    stats.updates_begun += 1;
    // SAFETY: as above.
    unsafe { record(&raw mut stats.flush, end - start.start) };
    stats.updates_ended += 1;
}

#[fentry]
fn flush_entry(ctx: FEntryContext) -> i32 {
    on_entry(ctx.arg(0));
    0
}

#[fexit]
fn flush_return(_ctx: FExitContext) -> i32 {
    on_return();
    0
}

#[kprobe]
fn flush_entry_k(ctx: ProbeContext) -> u32 {
    if let Some(css) = ctx.arg(0) {
        on_entry(css);
    }
    0
}

#[kretprobe]
fn flush_return_k(_ctx: RetProbeContext) -> u32 {
    on_return();
    0
}
