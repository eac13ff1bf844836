//! Messages of the cold paths, for `-v`. With logging off the level is a frozen 0 and the
//! verifier removes the calls.

use aya_ebpf::helpers::bpf_probe_read_kernel;
use aya_log_ebpf::warn;

use crate::maps::{CGROUP_KN, KERNFS_NODE_ID};

/// What went wrong; the numbers are shown by user space as they are.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    WaitStartMissing,
    WaitNotStored,
    WaitOverwritten,
    SectionOverwritten,
    TaskMismatch,
    FlushNotStored,
    ClockBackwards,
}

/// Id of the cgroup (`cgroup.kn->id`), 0 when it cannot be read.
///
/// Probe reads only: `kn` is NULL in a failed mkdir and the cgroup may be half gone
/// (`cgroup_create` and `css_free_rwork_fn` in kernel/cgroup/cgroup.c).
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "the offsets come from BTF and are those of aligned members")]
fn cgroup_id(cgroup: *const u8) -> u64 {
    let offset = CGROUP_KN.load();
    if offset == 0 || cgroup.is_null() {
        return 0;
    }
    // SAFETY: the helper checks the address; user space took the offset from the kernel's BTF.
    let kn = unsafe { bpf_probe_read_kernel(cgroup.add(offset as usize).cast::<*const u8>()) };
    match kn {
        Ok(kn) if !kn.is_null() => {
            // SAFETY: as above.
            unsafe { bpf_probe_read_kernel(kn.add(KERNFS_NODE_ID.load() as usize).cast::<u64>()) }
                .unwrap_or(0)
        }
        _ => 0,
    }
}

/// Reports one fault on the lock of `cgroup`. A subprogram: the messages would fill the programs
/// otherwise.
#[inline(never)]
pub(crate) fn fault(fault: Fault, cgroup: *const u8, thread: u32) {
    let what = match fault {
        Fault::WaitStartMissing => "contended, but no begin of the wait",
        Fault::WaitNotStored => "begin of a wait not stored",
        Fault::WaitOverwritten => "wait without acquisition",
        Fault::SectionOverwritten => "acquired twice without release",
        Fault::TaskMismatch => "released by another",
        Fault::FlushNotStored => "begin of a flush not stored",
        Fault::ClockBackwards => "clock went backwards",
    };
    // The macro takes a context for the sake of later versions and does not use it.
    warn!((), "{}: thread {}, cgroup id {}", what, thread, cgroup_id(cgroup));
}
