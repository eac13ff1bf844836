//! Processes that begin in a cgroup.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use anyhow::Context;
use rustix::process::Pid;

use super::super::memcg::Memcg;

/// include/uapi/linux/sched.h; what libc has is cut off.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// The way into a cgroup that takes no lock of all processes. Linux has one for each version.
#[derive(Debug)]
pub(super) enum Entry {
    /// `tasks`: a thread that moves itself alone is let through (Linux 5.4, commit 9a3284fad42f).
    Version1 { tasks: File },
    /// The folder: a process can be made in it (`CLONE_INTO_CGROUP`, Linux 5.7).
    Version2 { folder: File },
}

impl Entry {
    pub(super) fn open(memcg: &Memcg) -> anyhow::Result<Self> {
        let cannot = |path: &Path| format!("cannot open {}", path.display());
        if memcg.version == 2 {
            let folder = File::open(&memcg.path).with_context(|| cannot(&memcg.path))?;
            return Ok(Self::Version2 { folder });
        }
        let path = memcg.path.join("tasks");
        let tasks = File::options().write(true).open(&path).with_context(|| cannot(&path))?;
        Ok(Self::Version1 { tasks })
    }

    /// In a process that [`fork`] made: after this it is in the cgroup.
    pub(super) fn enter(&self) -> anyhow::Result<()> {
        match self {
            Self::Version2 { .. } => Ok(()),
            // 0 is whoever writes.
            Self::Version1 { tasks } => {
                io::Write::write_all(&mut &*tasks, b"0").context("a hog cannot join its cgroup")
            }
        }
    }
}

/// In which of the two processes a call of [`fork`] returned.
#[derive(Debug)]
pub(super) enum Forked {
    Parent { child: Pid },
    Child,
}

/// Forks this process, which must have one thread, into the cgroup.
pub(super) fn fork(entry: &Entry) -> io::Result<Forked> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("the process has more than one thread"));
    }
    // SAFETY: All bytes zero is a value of these numbers, and means: none of it.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.exit_signal = libc::SIGCHLD as u64;
    if let Entry::Version2 { folder } = entry {
        args.flags = CLONE_INTO_CGROUP;
        args.cgroup = u64::try_from(folder.as_raw_fd()).map_err(io::Error::other)?;
    }
    // SAFETY: The arguments are of this size and live through the call. Without CLONE_VM and a stack it is a fork: the
    // child goes on with a copy of everything, and no other thread, as was just looked up, could hold a lock in it.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)) };
    match i32::try_from(pid).ok().and_then(Pid::from_raw) {
        _ if pid < 0 => Err(io::Error::last_os_error()),
        Some(child) => Ok(Forked::Parent { child }),
        None => Ok(Forked::Child),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_is_not_forked() {
        std::thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || receiver.recv());
            let entry = Entry::Version1 { tasks: File::open("/dev/null").unwrap() };
            let error = fork(&entry).unwrap_err();
            assert!(error.to_string().contains("more than one thread"), "{error}");
            drop(sender);
        });
    }
}
