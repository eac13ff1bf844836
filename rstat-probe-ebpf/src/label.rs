//! Which lock a section is on, from 6.16 on: the base lock, or one of a subsystem.
//!
//! The tracepoints do not tell; the argument of `css_rstat_flush` does, and a flush's state is
//! kept by thread. So that not every section costs a look-up there, a CPU remembers the answer for
//! the thread that it saw last (`OpenSection::flush_thread`). A thread is remembered on one CPU at
//! a time: when a section runs elsewhere, or the flush ends, the other CPU is made to forget it.

use aya_ebpf::helpers::bpf_map_lookup_percpu_elem;
use rstat_probe_common::wire::{
    FlushStart, OpenKind, OpenSection, SUBSYSTEM_UNKNOWN, SUBSYSTEMS, SectionStats,
};

use crate::{
    maps::{FLUSH_STARTS, LABELS, OPEN},
    section::Ended,
    timing::cpu,
};

/// No CPU has this number.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Index of the lock of a section inside a flush. `open` is this CPU's; `first` says that the
/// section is the flush's first.
#[inline(always)]
pub(crate) fn of_section(open: &mut OpenSection, thread: u32, first: bool) -> u32 {
    if !first && open.flush_thread == thread {
        return open.subsystem;
    }
    let Some(start) = FLUSH_STARTS.get_ptr_mut(thread) else { return SUBSYSTEM_UNKNOWN };
    // SAFETY: only this thread writes the element of its key.
    let start = unsafe { &mut *start };
    forget(start, thread);
    open.flush_thread = thread;
    open.subsystem = start.subsystem;
    start.cached_on = cpu();
    start.subsystem
}

/// Makes the CPU that remembers the thread's flush forget it.
#[inline(always)]
pub(crate) fn forget(start: &FlushStart, thread: u32) {
    if LABELS.load() == 0 || start.cached_on == NOWHERE {
        return;
    }
    let kind = OpenKind::Main as u32;
    // SAFETY: the kernel has the helper (5.19) where labels are used (6.16), and checks the CPU's
    // number.
    let open = unsafe {
        bpf_map_lookup_percpu_elem(
            (&raw const OPEN).cast_mut().cast(),
            (&raw const kind).cast(),
            start.cached_on,
        )
    };
    if open.is_null() {
        return;
    }
    let open = open.cast::<OpenSection>();
    // SAFETY: an element of OPEN. Its CPU may remember another thread at this moment: then that
    // one is forgotten, which costs it a look-up.
    unsafe {
        if (*open).flush_thread == thread {
            (*open).flush_thread = 0;
        }
    }
}

/// Counts a section on its lock. Runs inside the update bracket of `stats`.
#[inline(always)]
pub(crate) fn count(stats: &mut SectionStats, subsystem: u32, section: &Ended) {
    // As in `timing::record`: the verifier needs to see the bound.
    let index = core::hint::black_box(subsystem as usize);
    if index >= SUBSYSTEMS {
        return;
    }
    // SAFETY: checked above.
    let subsystem = unsafe { stats.subsystems.get_unchecked_mut(index) };
    subsystem.sections += 1;
    subsystem.contended += u64::from(section.open.contended);
    let hold = section.hold();
    subsystem.hold += hold;
    if hold > subsystem.hold_max {
        subsystem.hold_max = hold;
    }
}
