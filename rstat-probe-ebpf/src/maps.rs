//! Every map and every read-only global, with key, value and writer.

use aya_ebpf::{
    Global,
    macros::map,
    maps::{Array, HashMap, PerCpuArray},
};
use rstat_probe_common::wire::{
    BUFFERS, Control, CpuLockStats, FlushStart, FlushStats, OpenKind, OpenSection, SectionStats, WaitKey,
    WaitKind, WaitStats,
};

/// Threads that may wait or flush at the same time. User space can raise it before load.
const THREADS: u32 = 16384;

/// Key 0, written by user space.
#[map]
pub(crate) static CONTROL: Array<Control> = Array::with_max_entries(1, 0);

/// Key: buffer, of this CPU, written by the programs on `cgroup_rstat_locked` and `_unlock`.
#[map]
pub(crate) static SECTIONS: PerCpuArray<SectionStats> = PerCpuArray::with_max_entries(BUFFERS, 0);

/// Key: buffer, of this CPU, written by the programs on `cgroup_rstat_cpu_locked*` and
/// `_cpu_unlock*`.
#[map]
pub(crate) static CPU_LOCKS: PerCpuArray<CpuLockStats> = PerCpuArray::with_max_entries(BUFFERS, 0);

/// Key: buffer, of this CPU, written by the flush function's fexit program.
#[map]
pub(crate) static FLUSHES: PerCpuArray<FlushStats> = PerCpuArray::with_max_entries(BUFFERS, 0);

/// Key: `OpenKind`, of this CPU: the section it is in, written by the `locked` and `unlock`
/// programs.
#[map]
pub(crate) static OPEN: PerCpuArray<OpenSection> = PerCpuArray::with_max_entries(OpenKind::COUNT, 0);

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

/// The tracepoint's `cpu` argument at the first acquisition of a flush.
#[unsafe(no_mangle)]
pub(crate) static FIRST_CPU: Global<i32> = Global::new(-1);

/// The tracepoint's `cpu` argument at the last release of a flush.
#[unsafe(no_mangle)]
pub(crate) static LAST_CPU: Global<i32> = Global::new(-1);

/// 1 when fentry and fexit programs time the flush function.
#[unsafe(no_mangle)]
pub(crate) static FLUSH_BY_FUNCTION: Global<u8> = Global::new(0);

/// Offset of `struct cgroup::kn`, 0 when unknown.
#[unsafe(no_mangle)]
pub(crate) static CGROUP_KN: Global<u32> = Global::new(0);

/// Offset of `struct kernfs_node::id`.
#[unsafe(no_mangle)]
pub(crate) static KERNFS_NODE_ID: Global<u32> = Global::new(0);

/// Whether user space wants events counted, and in which buffer.
#[inline(always)]
pub(crate) fn control() -> Control {
    match CONTROL.get_ptr(0) {
        // SAFETY: user space writes both words at once; a stale read only shifts the begin or
        // the end of an interval by one event.
        Some(control) => unsafe { *control },
        None => Control { armed: 0, buffer: 0 },
    }
}
