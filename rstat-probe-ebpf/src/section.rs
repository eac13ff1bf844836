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

    /// Whether it did not wait: then all its times are one.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.open.contended == 0 && self.open.wait_start == 0
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

/// What an acquisition is.
pub(crate) struct Acquired {
    /// Begin of the wait before it, 0 when there was none or it is not known.
    pub(crate) wait_start: u64,
    /// See [`OpenSection::owner`].
    pub(crate) owner: u64,
    /// The tracepoint's argument.
    pub(crate) cpu: i32,
    pub(crate) contended: bool,
}

/// A thread owns a lock. IRQs are off. `cgroup` is for messages, `stats` where losses are counted: only then is it
/// looked up.
#[inline(always)]
pub(crate) fn on_locked(
    open: &mut OpenSection,
    armed: bool,
    acquired: &Acquired,
    cgroup: *const u8,
    stats: impl Fn() -> Option<*mut LockStats>,
) {
    if !armed {
        open.start = 0;
        if acquired.contended
            && acquired.wait_start == 0
            && let Some(stats) = stats()
        {
            // SAFETY: this CPU's element; IRQs are off, so no other writer runs.
            unsafe { (*stats).unknown_waits_before += 1 };
        }
        return;
    }
    if open.start != 0
        && let Some(stats) = stats()
    {
        // SAFETY: as above.
        unsafe {
            (*stats).section_overwritten += 1;
            (*stats).overwritten += 1;
            (*stats).overwritten_contended += u64::from(open.contended);
        }
        fault(Fault::SectionOverwritten, cgroup, thread());
    }
    open.wait_start = acquired.wait_start;
    open.owner = acquired.owner;
    open.cpu = acquired.cpu;
    open.contended = u32::from(acquired.contended);
    open.ends_with_walk = 0;
    open.start = now();
}

/// `owner` is about to release a lock; `end` is the time. IRQs are still off.
#[inline(always)]
pub(crate) fn on_unlock(
    stats: &mut LockStats,
    current: &mut OpenSection,
    armed: bool,
    end: u64,
    owner: u64,
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
    if open.contended != 0 && open.wait_start == 0 {
        stats.wait_start_missing += 1;
        fault(Fault::WaitStartMissing, cgroup, thread());
    }
    let begin = if open.wait_start == 0 { open.start } else { open.wait_start };
    let spin = if open.spin_start == 0 { open.start } else { open.spin_start };
    let backwards = end < open.start || open.start < begin || (EXACT_SPIN.load() != 0 && open.start < spin);
    if open.owner != owner || backwards {
        stats.lost += 1;
        stats.lost_contended += u64::from(open.contended);
        if backwards {
            stats.clock_backwards += 1;
            fault(Fault::ClockBackwards, cgroup, thread());
        } else {
            stats.task_mismatch += 1;
            fault(Fault::TaskMismatch, cgroup, thread());
        }
        return None;
    }
    Some(Ended { open, begin, spin, end })
}
