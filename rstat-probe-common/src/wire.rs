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
    /// Acquisition, CLOCK_MONOTONIC ns.
    pub start: u64,
    /// Begin of the wait before it, 0 when it did not wait or the begin is unknown.
    pub wait_start: u64,
    /// When this CPU began to spin for the lock, with IRQs off; 0 when it did not. Written by the
    /// slow path's program before the section begins, cleared when it ends.
    pub spin_start: u64,
    /// Begin of the flush whose walk over the CPUs the section is part of, 0 when it is in none.
    /// Only kept on kernels without tracepoints.
    pub flush_start: u64,
    /// When the walk ended whose section ended with it, see [`SectionStats::unseen_hold`].
    pub walk_end: u64,
    /// Thread id of the owner.
    pub thread: u32,
    /// The tracepoint's `cpu` argument: the CPU whose counters are flushed, or -1.
    pub cpu: i32,
    /// 1 when the acquisition had to wait.
    pub contended: u32,
    /// 1 when the section ends with the walk, because its release cannot be seen.
    pub ends_with_walk: u32,
    /// Thread id that `subsystem` is true for, 0 for none. Not part of the section: it saves a
    /// look-up for each section of a flush.
    pub flush_thread: u32,
    /// Index into [`SectionStats::subsystems`] of the flush of `flush_thread`.
    pub subsystem: u32,
    /// Thread id of the reader of `cpu.stat` that began on this CPU, 0 for none.
    pub reader: u32,
    /// Always 0: no padding in map values.
    pub reserved: u32,
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
    /// Acquisitions.
    pub acquisitions: u64,
    /// Acquisitions that had to wait.
    pub contended: u64,
    /// Releases whose acquisition lies before the measurement.
    pub open_at_start: u64,
    /// Before the measurement: contended acquisitions whose wait has no known begin.
    pub unknown_waits_before: u64,
    /// Lost: contended acquisitions whose wait has no known begin.
    pub wait_start_missing: u64,
    /// Lost: releases by another thread than the owner.
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
    /// The locks themselves.
    pub lock: LockStats,
    /// Releases inside a flush: with `cpu >= 0`, or inside the walk.
    pub yields: u64,
    /// Flushes that ended.
    pub flushes: u64,
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
    /// IRQs off: wait and hold of one acquisition.
    pub irqs_off: WireHistogram,
    /// Wait for the lock.
    pub lock_wait: WireHistogram,
    /// Hold of the lock.
    pub lock_hold: WireHistogram,
    /// Flushes that were not timed by the flush function's own programs.
    pub flush: WireHistogram,
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

/// Value of the one element of `CONTROL`, written by user space.
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
    assert!(size_of::<LockStats>() == 8 * 9 && size_of::<SubsystemStats>() == 8 * 4);
    assert!(
        size_of::<SectionStats>()
            == size_of::<LockStats>()
                + 8 * 10
                + SUBSYSTEMS * size_of::<SubsystemStats>()
                + 4 * size_of::<WireHistogram>()
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
