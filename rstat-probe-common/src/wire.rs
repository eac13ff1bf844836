//! Map values and globals as they lie in kernel memory. Fixed-width fields, no padding, all
//! counters cumulative from load on: nobody ever clears them.
//!
//! Every word has one writer program, so that plain increments lose nothing: `locked` and
//! `unlock` run with IRQs off on their CPU and share [`SectionStats`]; the programs that can be
//! preempted (`lock_contended` from 7.1 on, fentry and fexit) have values of their own.
//!
//! The maps that user space reads while the CPUs write have [`BUFFERS`] elements, and
//! [`Control::buffer`] says which one is written. User space turns the programs to the other one
//! and reads the one at rest; the sum of both is what was counted up to the turn.

use crate::slots::SLOTS;

/// Elements of `SECTIONS`, `CPU_LOCKS` and `FLUSHES`.
pub const BUFFERS: u32 = 2;

/// Threads that may wait or flush at the same time, unless user space says something else before load.
pub const THREADS: u32 = 16384;

/// One histogram of one CPU, times in ns. The number of events is the sum of the slots plus
/// `overflow`; it is not stored twice.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WireHistogram {
    /// Sum of all values.
    pub sum: u64,
    /// Largest value, 0 when there is none.
    pub max: u64,
    /// `u64::MAX - smallest value`, 0 when there is none: zeroed memory needs no set-up.
    pub min_inverted: u64,
    /// Values from [`crate::slots::LIMIT`] on.
    pub overflow: u64,
    /// Events by slot.
    pub slots: [u64; SLOTS],
}

/// The section that this CPU is in. Map `OPEN`, indexed by [`OpenKind`]; on PREEMPT_RT map
/// `OPEN_BY_THREAD`. `start == 0` means none, or one that began before the measurement did.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OpenSection {
    // What every section writes stands first, in as few cache lines as may be.
    /// Acquisition, CLOCK_MONOTONIC ns.
    pub start: u64,
    /// Begin of the wait before it, 0 when it did not wait or the begin is unknown.
    pub wait_start: u64,
    /// What the release must have in common with the acquisition. By tracepoints: the address of the cgroup, which both
    /// have as an argument. By functions: the thread id.
    pub owner: u64,
    /// The tracepoint's `cpu` argument: the CPU whose counters are flushed, or -1.
    pub cpu: i32,
    /// 1 when the acquisition had to wait.
    pub contended: u32,
    /// When this CPU began to spin for the lock, with IRQs off; 0 when it did not. Written by the
    /// slow path's program before the section begins, cleared when it ends.
    pub spin_start: u64,
    /// 1 when the section ends with the walk, because its release cannot be seen.
    pub ends_with_walk: u32,
    /// Thread id that `subsystem` is true for, 0 for none. Not part of the section: it saves a
    /// look-up for each section of a flush.
    pub flush_thread: u32,
    /// Index into [`SectionStats::subsystems`] of the flush of `flush_thread`.
    pub subsystem: u32,
    /// Thread id of the reader of `cpu.stat` that began on this CPU, 0 for none.
    pub reader: u32,
    /// Begin of the flush whose walk over the CPUs the section is part of, 0 when it is in none.
    /// Only kept on kernels without tracepoints.
    pub flush_start: u64,
    /// When the walk ended whose section ended with it, see [`SectionStats::unseen_hold`].
    pub walk_end: u64,
}

/// Index into `OPEN`: the main and the per-CPU locks nest.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenKind {
    /// A main rstat lock.
    Main = 0,
    /// A per-CPU rstat lock, on either path.
    Cpu = 1,
}

impl OpenKind {
    /// Number of kinds.
    pub const COUNT: u32 = 2;
}

/// Counters about one kind of lock on one CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LockStats {
    /// Acquisitions whose section is in no histogram, because its release showed one of the losses below. Written by
    /// the programs on releases.
    pub lost: u64,
    /// Those of them that had to wait.
    pub lost_contended: u64,
    /// Acquisitions whose section is in no histogram, because the next one came before a release was seen. Written by
    /// the programs on acquisitions, which on PREEMPT_RT can run in the middle of the others.
    pub overwritten: u64,
    /// Those of them that had to wait.
    pub overwritten_contended: u64,
    /// Releases whose acquisition lies before the measurement.
    pub open_at_start: u64,
    /// Before the measurement: contended acquisitions whose wait has no known begin.
    pub unknown_waits_before: u64,
    /// Lost: contended acquisitions whose wait has no known begin.
    pub wait_start_missing: u64,
    /// Lost: releases by another than the owner, see [`OpenSection::owner`].
    pub task_mismatch: u64,
    /// Lost: acquisitions while this CPU already was in a section.
    pub section_overwritten: u64,
    /// Lost: intervals that ended before they began.
    pub clock_backwards: u64,
    /// Lost: sections after a yield, where the acquisition cannot be seen.
    pub section_unseen: u64,
}

/// What is known per lock from 6.16 on, where each subsystem has its own. Times in ns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SubsystemStats {
    /// Sections that ended.
    pub sections: u64,
    /// Those that had waited.
    pub contended: u64,
    /// Sum of the holds.
    pub hold: u64,
    /// Longest hold.
    pub hold_max: u64,
}

/// Index into [`SectionStats::subsystems`]: the lock of the base statistics (`rstat_base_lock`).
pub const SUBSYSTEM_BASE: u32 = 0;
/// Index of a subsystem whose `cgroup_subsys.id` is 0; the kernel has at most 16 of them
/// (`CGROUP_SUBSYS_COUNT` in kernel/cgroup/cgroup.c).
pub const SUBSYSTEM_FIRST: u32 = 1;
/// Index of sections whose lock is not known.
pub const SUBSYSTEM_UNKNOWN: u32 = 17;
/// Length of [`SectionStats::subsystems`].
pub const SUBSYSTEMS: usize = 18;

/// Everything about the main rstat locks on one CPU. Map `SECTIONS`, written by the programs on
/// `cgroup_rstat_locked` and `cgroup_rstat_unlock`, or by those on the lock's functions and the
/// walk, all of which run with IRQs off. On PREEMPT_RT they do not, but no two of them write the
/// same word there.
///
/// A program may still be writing the buffer that user space just turned away from. Writers raise
/// `updates_begun` before and `updates_ended` after an update; the kernel copies upwards, so a
/// copy in which both are equal was not touched by an update in between.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SectionStats {
    /// Finished updates. First field on purpose, see above.
    pub updates_ended: u64,
    /// Releases inside a flush: with `cpu >= 0`, or inside the walk.
    pub yields: u64,
    /// Flushes that ended.
    pub flushes: u64,
    /// Flushes whose begin was put into `FLUSH_BEGINS`.
    pub flushes_begun: u64,
    /// Those of them that have ended.
    pub flushes_closed: u64,
    /// Sections that did not wait: hold of the lock and IRQs off at once. They are nearly all, and one histogram
    /// costs half of two. It stands here because what every section writes is to be in few cache lines.
    pub plain: WireHistogram,
    /// Flushes that were not timed by the flush function's own programs.
    pub flush: WireHistogram,
    /// IRQs off of sections that waited: wait and hold of one acquisition.
    pub irqs_off: WireHistogram,
    /// Wait for the lock.
    pub lock_wait: WireHistogram,
    /// Hold of the lock of sections that waited.
    pub lock_hold: WireHistogram,
    /// The locks themselves.
    pub lock: LockStats,
    /// Flush ends whose begin lies before the measurement.
    pub flush_open_at_start: u64,
    /// Lost: begins of flushes that found the map full.
    pub flush_map_full: u64,
    /// Flushes whose return was not seen, recorded up to their last release.
    pub unseen_returns: u64,
    /// Flushes whose call was not seen, although programs wait for it.
    pub unseen_entries: u64,
    /// Sections whose release cannot be seen and that were taken to end with the walk.
    pub inferred_ends: u64,
    /// Upper bound in ns of what all of them together lack: up to the return of
    /// `cgroup_base_stat_cputime_show`, or the switch to another thread before it.
    pub unseen_hold: u64,
    /// By lock, from 6.16 on and where function hooks attach.
    pub subsystems: [SubsystemStats; SUBSYSTEMS],
    /// Begun updates. Last field on purpose.
    pub updates_begun: u64,
}

/// The per-CPU rstat locks on one CPU (6.10 to 6.16). Map `CPU_LOCKS`, written by the programs on
/// `cgroup_rstat_cpu_locked`, `cgroup_rstat_cpu_unlock` and their `_fastpath` twins, all of which
/// run with IRQs off.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpuLockStats {
    /// As in [`SectionStats`].
    pub updates_ended: u64,
    /// The locks themselves.
    pub lock: LockStats,
    /// Wait for the lock.
    pub wait: WireHistogram,
    /// Hold of the lock.
    pub hold: WireHistogram,
    /// As in [`SectionStats`].
    pub updates_begun: u64,
}

/// Flushes timed by function hooks on one CPU. Map `FLUSHES`, written by the fexit program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FlushStats {
    /// As in [`SectionStats`].
    pub updates_ended: u64,
    /// Lost: intervals that ended before they began.
    pub clock_backwards: u64,
    /// Function entry to return.
    pub flush: WireHistogram,
    /// As in [`SectionStats`].
    pub updates_begun: u64,
}

/// Losses of one `lock_contended` program on one CPU. Map `WAITS`, indexed by [`WaitKind`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WaitStats {
    /// Lost: begins that found the map full.
    pub map_full: u64,
    /// Lost: begins that replaced one whose acquisition was never seen.
    pub overwritten: u64,
}

/// Which lock a thread waits for; part of the key of `WAIT_STARTS` and the index into `WAITS`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    /// A main rstat lock.
    Main = 0,
    /// A per-CPU rstat lock on the flush path.
    Cpu = 1,
    /// A per-CPU rstat lock on the update path.
    CpuFastpath = 2,
}

impl WaitKind {
    /// Number of kinds.
    pub const COUNT: u32 = 3;
}

/// Key of `WAIT_STARTS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WaitKey {
    /// Thread id; for the idle tasks, which all have id 0, `1 << 31 | CPU`.
    pub thread: u32,
    /// A [`WaitKind`].
    pub kind: u32,
}

/// Value of `FLUSH_BEGINS`, an array that is indexed by the low bits of the thread id: thread id and begin of a flush in
/// one word, so that nothing is ever half written. 0 is none.
///
/// A thread whose place another one has goes into `FLUSH_STARTS`. Times are kept modulo 2^42 ns, 73 minutes.
pub mod flush_begin {
    /// The kernel's ids are below (`PID_MAX_LIMIT` in include/linux/threads.h).
    const THREAD_BITS: u32 = 22;
    const TIME: u64 = u64::MAX >> THREAD_BITS;

    /// Elements of an array for so many threads: a power of two.
    #[must_use]
    pub const fn places(threads: u32) -> u32 {
        // The kernel has no more ids.
        let most = 1 << THREAD_BITS;
        if threads < most { threads.next_power_of_two() } else { most }
    }

    /// Where the flush of a thread is kept in an array of `places`.
    #[inline]
    #[must_use]
    pub const fn place(thread: u32, places: u32) -> u32 {
        thread & (places - 1)
    }

    /// The word of a thread whose flush began at `begin`, CLOCK_MONOTONIC ns.
    #[inline]
    #[must_use]
    pub const fn word(thread: u32, begin: u64) -> u64 {
        begin << THREAD_BITS | thread as u64 & ((1 << THREAD_BITS) - 1)
    }

    /// Whether a thread may use a place with this word.
    #[inline]
    #[must_use]
    pub const fn is_free(word: u64, thread: u32) -> bool {
        word == 0 || is_of(word, thread)
    }

    /// Whether the word is of this thread.
    #[inline]
    #[must_use]
    pub const fn is_of(word: u64, thread: u32) -> bool {
        word != 0 && (word ^ thread as u64) & ((1 << THREAD_BITS) - 1) == 0
    }

    /// Length in ns of a flush that ended at `end`, CLOCK_MONOTONIC ns.
    #[inline]
    #[must_use]
    pub const fn length(word: u64, end: u64) -> u64 {
        end.wrapping_sub(word >> THREAD_BITS) & TIME
    }

    #[cfg(test)]
    mod tests {
        use proptest::prelude::*;

        use super::*;

        proptest! {
            #[test]
            fn what_was_put_in_comes_out(thread in 0..1u32 << 22, begin in 1..1u64 << 60, length_ns in 0..1u64 << 42) {
                let word = word(thread, begin);
                prop_assume!(word != 0);
                prop_assert!(is_of(word, thread) && is_free(word, thread));
                prop_assert_eq!(length(word, begin + length_ns), length_ns);
            }

            #[test]
            fn the_place_of_another_is_not_free(thread in 0..1u32 << 22, other in 0..1u32 << 22, begin in 1..1u64 << 42) {
                prop_assume!(thread != other);
                prop_assert!(!is_free(word(thread, begin), other) && !is_of(word(thread, begin), other));
            }
        }

        #[test]
        fn an_empty_place_is_of_nobody() {
            assert!(is_free(0, 0) && is_free(0, 7) && !is_of(0, 0) && !is_of(0, 7));
            assert_eq!((place(1 << 16 | 5, 1 << 16), place(7, 1)), (5, 0));
            assert_eq!([0, 1, 2, 3, 16384, u32::MAX].map(places), [1, 1, 2, 4, 16384, 1 << 22]);
        }
    }
}

/// Value of `FLUSH_STARTS`, which is keyed by thread id.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FlushStart {
    /// Begin, CLOCK_MONOTONIC ns.
    pub start: u64,
    /// Last release of the flush, CLOCK_MONOTONIC ns, 0 while it has not come. Only kept for a
    /// flush that ends with the function's return.
    pub last_release: u64,
    /// Length in ns, up to the last release, of the thread's flush before this one, when its
    /// return was not seen; 0 otherwise.
    pub unreturned: u64,
    /// 1 when a function hook wrote it, 0 when a tracepoint did.
    pub by_function: u32,
    /// 1 when a section was seen since: the flush functions return at once, without a section,
    /// for a css that keeps no statistics, and such calls are no flushes.
    pub has_section: u32,
    /// Index into [`SectionStats::subsystems`].
    pub subsystem: u32,
    /// The CPU whose [`OpenSection::flush_thread`] is this thread.
    pub cached_on: u32,
}

/// The global `CONTROL`, which is all of the map `.bss`, written by user space.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// 0: pair, but count nothing. 1: measure.
    pub armed: u32,
    /// The buffer that is written, below [`BUFFERS`].
    pub buffer: u32,
}

const _: () = {
    assert!(size_of::<WireHistogram>() == 8 * (4 + SLOTS));
    assert!(size_of::<OpenSection>() == 72);
    assert!(size_of::<LockStats>() == 8 * 11 && size_of::<SubsystemStats>() == 8 * 4);
    assert!(
        size_of::<SectionStats>()
            == size_of::<LockStats>()
                + 8 * 12
                + SUBSYSTEMS * size_of::<SubsystemStats>()
                + 5 * size_of::<WireHistogram>()
    );
    assert!(size_of::<CpuLockStats>() == size_of::<LockStats>() + 8 * 2 + 2 * size_of::<WireHistogram>());
    assert!(size_of::<FlushStats>() == 8 * 2 + size_of::<WireHistogram>() + 8);
    assert!(size_of::<FlushStart>() == 40 && size_of::<WaitKey>() == 8 && size_of::<Control>() == 8);
    // A per-CPU array value must fit into one per-CPU allocation unit (PCPU_MIN_UNIT_SIZE in
    // include/linux/percpu.h), or map creation fails with E2BIG.
    assert!(size_of::<SectionStats>() <= 32 << 10);
};

#[cfg(feature = "user")]
mod pod {
    use super::{
        Control, CpuLockStats, FlushStart, FlushStats, OpenSection, SectionStats, WaitKey, WaitStats,
    };

    // SAFETY: repr(C), integers only, no padding (asserted above), any bit pattern is a value.
    unsafe impl aya::Pod for SectionStats {}
    // SAFETY: as above.
    unsafe impl aya::Pod for CpuLockStats {}
    // SAFETY: as above.
    unsafe impl aya::Pod for FlushStats {}
    // SAFETY: as above.
    unsafe impl aya::Pod for WaitStats {}
    // SAFETY: as above.
    unsafe impl aya::Pod for Control {}
    // SAFETY: as above.
    unsafe impl aya::Pod for FlushStart {}
    // SAFETY: as above.
    unsafe impl aya::Pod for WaitKey {}
    // SAFETY: as above.
    unsafe impl aya::Pod for OpenSection {}
}
