//! What all rstat locks have in common: a thread may fail to take one, takes it, and releases it.
//!
//! `locked` and `unlock` fire with IRQs off, so an open section's state is per CPU; `contended`
//! fires with IRQs on and the thread can move before it spins, so a wait's state is per thread.

use aya_ebpf::bindings::BPF_NOEXIST;
use rstat_probe_common::wire::{LockStats, OpenSection, WaitKind};

use crate::{
    maps::{EXACT_SPIN, WAIT_STARTS, WAITS, control},
    report::{Fault, fault},
    timing::{now, thread, wait_key},
};

/// -EEXIST of include/uapi/asm-generic/errno-base.h.
const EXISTS: i32 = -17;

/// A section that ended. All times CLOCK_MONOTONIC ns.
pub(crate) struct Ended {
    pub(crate) open: OpenSection,
    /// Begin of the wait, or the acquisition when it did not wait or that begin is unknown.
    pub(crate) begin: u64,
    /// When the CPU began to spin, or the acquisition when it did not.
    spin: u64,
    pub(crate) end: u64,
}

impl Ended {
    /// Length of the section.
    #[inline(always)]
    pub(crate) fn hold(&self) -> u64 {
        self.end - self.open.start
    }

    /// Length of the wait before it, if it waited and the begin is known.
    #[inline(always)]
    pub(crate) fn wait(&self) -> Option<u64> {
        (self.open.wait_start != 0).then(|| self.open.start - self.begin)
    }

    /// Time with IRQs off: wait and hold together. A contended acquisition without a known begin
    /// took longer than its hold: it is counted as lost, not recorded too short.
    #[inline(always)]
    pub(crate) fn whole(&self) -> Option<u64> {
        let begin = if EXACT_SPIN.load() == 0 { self.begin } else { self.spin };
        (self.open.wait_start != 0 || self.open.contended == 0).then(|| self.end - begin)
    }
}

/// A thread failed to take a lock at the first try and is about to spin.
#[inline(always)]
pub(crate) fn on_contended(kind: WaitKind, cgroup: *const u8) {
    let key = wait_key(kind);
    let stored = WAIT_STARTS.insert(key, 0, u64::from(BPF_NOEXIST));
    // The clock comes last: storing takes longer than reading it.
    if let Some(start) = WAIT_STARTS.get_ptr_mut(key) {
        // SAFETY: only this thread writes and removes the element of its key.
        unsafe { *start = now() };
    }
    // Waits are kept before and after the measurement as well, but their losses are none of its.
    let Err(error) = stored else { return };
    if control().armed == 0 {
        return;
    }
    let Some(losses) = WAITS.get_ptr_mut(kind as u32) else { return };
    // SAFETY: this CPU's element; the kernel never runs a program inside itself.
    let losses = unsafe { &mut *losses };
    if error == EXISTS {
        losses.overwritten += 1;
        fault(Fault::WaitOverwritten, cgroup, key.thread);
    } else {
        losses.map_full += 1;
        fault(Fault::WaitNotStored, cgroup, key.thread);
    }
}

/// A thread owns a lock; its wait began at `wait_start`, if that is known. IRQs are off.
#[inline(always)]
pub(crate) fn on_locked(
    stats: &mut LockStats,
    open: &mut OpenSection,
    armed: bool,
    wait_start: u64,
    cgroup: *const u8,
    cpu: i32,
    contended: bool,
) {
    if !armed {
        open.start = 0;
        if contended && wait_start == 0 {
            stats.unknown_waits_before += 1;
        }
        return;
    }
    let thread = thread();
    if open.start != 0 {
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
    open.wait_start = wait_start;
    open.thread = thread;
    open.cpu = cpu;
    open.contended = u32::from(contended);
    open.ends_with_walk = 0;
    open.start = now();
}

/// A thread is about to release a lock; `end` is the time. IRQs are still off.
#[inline(always)]
pub(crate) fn on_unlock(
    stats: &mut LockStats,
    current: &mut OpenSection,
    armed: bool,
    end: u64,
    cgroup: *const u8,
) -> Option<Ended> {
    let open = *current;
    current.spin_start = 0;
    if open.start == 0 {
        if armed {
            stats.open_at_start += 1;
        }
        return None;
    }
    current.start = 0;
    let thread = thread();
    if open.thread != thread {
        stats.task_mismatch += 1;
        fault(Fault::TaskMismatch, cgroup, thread);
        return None;
    }
    let begin = if open.wait_start == 0 { open.start } else { open.wait_start };
    let spin = if open.spin_start == 0 { open.start } else { open.spin_start };
    if end < open.start || open.start < begin || (EXACT_SPIN.load() != 0 && open.start < spin) {
        stats.clock_backwards += 1;
        fault(Fault::ClockBackwards, cgroup, thread);
        return None;
    }
    Some(Ended { open, begin, spin, end })
}
