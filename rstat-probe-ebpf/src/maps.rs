//! Every map and every read-only global, with key, value and writer.

use aya_ebpf::{
    Global,
    macros::map,
    maps::{Array, HashMap, PerCpuArray},
};
use rstat_probe_common::wire::{
    BUFFERS, Control, CpuLockStats, FlushStart, FlushStats, OpenKind, OpenSection, SectionStats, THREADS,
    WaitKey, WaitKind, WaitStats, flush_begin,
};

/// Written by user space. The only one of its kind, so that the map `.bss` is this value: without a key there is
/// nothing to look up.
#[unsafe(no_mangle)]
static mut CONTROL: Control = Control { armed: 0, buffer: 0 };

/// Key: buffer, of this CPU, written by the programs on the main locks.
#[map]
pub(crate) static SECTIONS: PerCpuArray<SectionStats> = PerCpuArray::with_max_entries(BUFFERS, 0);

/// Key: buffer, of this CPU, written by the programs on `cgroup_rstat_cpu_locked*` and
/// `_cpu_unlock*`.
#[map]
pub(crate) static CPU_LOCKS: PerCpuArray<CpuLockStats> = PerCpuArray::with_max_entries(BUFFERS, 0);

/// Key: buffer, of this CPU, written by the flush function's fexit program.
#[map]
pub(crate) static FLUSHES: PerCpuArray<FlushStats> = PerCpuArray::with_max_entries(BUFFERS, 0);

/// Key: `OpenKind`, of this CPU: the section it is in, written by the programs on acquisition and
/// release, and on what tells of them.
#[map]
pub(crate) static OPEN: PerCpuArray<OpenSection> = PerCpuArray::with_max_entries(OpenKind::COUNT, 0);

/// Key: thread id: the section it is in. Only on PREEMPT_RT, where the owner of a lock can be
/// preempted. Written at `locked`, removed at `unlock`.
#[map]
pub(crate) static OPEN_BY_THREAD: HashMap<u32, OpenSection> = HashMap::with_max_entries(THREADS, 0);

/// Key: `WaitKind`, of this CPU, written by the `lock_contended` programs.
#[map]
pub(crate) static WAITS: PerCpuArray<WaitStats> = PerCpuArray::with_max_entries(WaitKind::COUNT, 0);

/// Key: thread and lock kind; value: begin of the wait. Written at `contended`, removed at
/// `locked`. Keyed by thread, because a thread can move to another CPU before it spins.
#[map]
pub(crate) static WAIT_STARTS: HashMap<WaitKey, u64> = HashMap::with_max_entries(THREADS, 0);

/// Key: thread id. Written at the begin of a flush, removed at its end. Keyed by thread, because
/// a flush can move to another CPU between two sections.
#[map]
pub(crate) static FLUSH_STARTS: HashMap<u32, FlushStart> = HashMap::with_max_entries(THREADS, 0);

/// Index: `flush_begin::place`; value: `flush_begin::word`. Written at the begin of a flush, cleared at its end, where
/// the flush function has no programs: a hash would cost as much as everything else together.
#[map]
pub(crate) static FLUSH_BEGINS: Array<u64> = Array::with_max_entries(flush_begin::places(THREADS), 0);

/// Elements of `FLUSH_BEGINS`.
#[unsafe(no_mangle)]
pub(crate) static FLUSH_PLACES: Global<u32> = Global::new(flush_begin::places(THREADS));

/// The tracepoint's `cpu` argument at the first acquisition of a flush.
#[unsafe(no_mangle)]
pub(crate) static FIRST_CPU: Global<i32> = Global::new(-1);

/// The tracepoint's `cpu` argument at the last release of a flush.
#[unsafe(no_mangle)]
pub(crate) static LAST_CPU: Global<i32> = Global::new(-1);

/// 1 when programs on the flush function's entry and return time it.
#[unsafe(no_mangle)]
pub(crate) static FLUSH_BY_FUNCTION: Global<u8> = Global::new(0);

/// 1 on PREEMPT_RT: sections belong to threads, not to CPUs.
#[unsafe(no_mangle)]
pub(crate) static BY_THREAD: Global<u8> = Global::new(0);

/// 1 when the slow path's programs tell beside the tracepoints when a CPU began to spin.
#[unsafe(no_mangle)]
pub(crate) static EXACT_SPIN: Global<u8> = Global::new(0);

/// 1 when sections are labelled with the lock they are on.
#[unsafe(no_mangle)]
pub(crate) static LABELS: Global<u8> = Global::new(0);

/// 1 when releases cannot be seen: the end of the walk ends the section.
#[unsafe(no_mangle)]
pub(crate) static INFER_END: Global<u8> = Global::new(0);

/// 1 when acquisitions cannot be seen: the begin of the walk begins the section.
#[unsafe(no_mangle)]
pub(crate) static INFER_BEGIN: Global<u8> = Global::new(0);

/// Addresses of the main locks; 0 is none.
#[unsafe(no_mangle)]
pub(crate) static LOCKS: Global<[u64; 4]> = Global::new([0; 4]);

/// Offset of `struct cgroup_subsys_state::ss`.
#[unsafe(no_mangle)]
pub(crate) static CSS_SS: Global<u32> = Global::new(0);

/// Offset of `struct cgroup_subsys::id`.
#[unsafe(no_mangle)]
pub(crate) static SUBSYS_ID: Global<u32> = Global::new(0);

/// Whether `lock` is one of the main locks.
#[inline(always)]
pub(crate) fn is_main_lock(lock: u64) -> bool {
    let locks = LOCKS.load();
    lock != 0 && (lock == locks[0] || lock == locks[1] || lock == locks[2] || lock == locks[3])
}

/// Offset of `struct cgroup::kn`, 0 when unknown.
#[unsafe(no_mangle)]
pub(crate) static CGROUP_KN: Global<u32> = Global::new(0);

/// Offset of `struct kernfs_node::id`.
#[unsafe(no_mangle)]
pub(crate) static KERNFS_NODE_ID: Global<u32> = Global::new(0);

/// Whether user space wants events counted, and in which buffer.
#[inline(always)]
pub(crate) fn control() -> Control {
    // SAFETY: user space writes both words at once; a stale read only shifts the begin or the end of
    // an interval by one event.
    unsafe { (&raw const CONTROL).read_volatile() }
}

/// What the programs with IRQs off work on.
pub(crate) struct State {
    pub(crate) stats: &'static mut SectionStats,
    pub(crate) open: &'static mut OpenSection,
    /// Whether new events count.
    pub(crate) armed: bool,
}

/// This CPU's elements for the main locks.
///
/// # Safety
/// IRQs are off, or nothing else on this CPU writes the words that the caller writes.
#[inline(always)]
pub(crate) unsafe fn state() -> Option<State> {
    let control = control();
    let stats = SECTIONS.get_ptr_mut(control.buffer)?;
    let open = OPEN.get_ptr_mut(OpenKind::Main as u32)?;
    // SAFETY: elements live as long as the map, and the caller promises to be their only writer.
    let (stats, open) = unsafe { (&mut *stats, &mut *open) };
    Some(State { stats, open, armed: control.armed != 0 })
}
