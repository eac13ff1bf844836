//! What the processes of the load count, in a file that all of them have: native 64-bit numbers.
//!
//! A file, because a hog that is killed outright can tell nothing, and what it has written stays.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::fs::{MemfdFlags, memfd_create};

/// Numbers before those of the slots: hogs that were killed, hogs that were started.
const HEAD: u64 = 2;
/// Bytes of a number.
const NUMBER: u64 = 8;

/// The file.
#[derive(Debug)]
pub(super) struct Counters(File);

/// All of it at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    /// Hogs that ended by SIGKILL, which nobody but the kernel sent.
    pub(super) killed: u64,
    /// Hogs that were started.
    pub(super) starts: u64,
    /// Bytes that hogs touched for the first time.
    pub(super) touched: u64,
}

impl Counters {
    /// Zeros for so many slots.
    pub(super) fn create(slots: u32) -> anyhow::Result<Self> {
        let file = memfd_create("rstat-hogs", MemfdFlags::CLOEXEC).context("cannot make a memory file")?;
        let file = File::from(file);
        // Written here, so that the pages are this process's and no hog's.
        let zeros = vec![0; usize::try_from((HEAD + u64::from(slots)) * NUMBER)?];
        file.write_all_at(&zeros, 0).context("cannot write a memory file")?;
        Ok(Self(file))
    }

    /// The file of [`Self::path`].
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let file = File::options().read(true).write(true).open(path);
        Ok(Self(file.context("cannot open the counters of the hogs")?))
    }

    /// Where other processes find it as long as this value lives.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()))
    }

    /// Everything, up to now.
    pub(super) fn read(&self) -> anyhow::Result<Counted> {
        let cannot = "cannot read the counters of the hogs";
        let length = self.0.metadata().context(cannot)?.len();
        let mut bytes = vec![0; usize::try_from(length)?];
        self.0.read_exact_at(&mut bytes, 0).context(cannot)?;
        let (numbers, _) = bytes.as_chunks();
        let mut numbers = numbers.iter().map(|number| u64::from_ne_bytes(*number));
        let [killed, starts] = [numbers.next(), numbers.next()].map(Option::unwrap_or_default);
        Ok(Counted { killed, starts, touched: numbers.sum() })
    }

    /// Hogs that were killed and that were started, so far.
    pub(super) fn set_lives(&self, killed: u64, starts: u64) -> anyhow::Result<()> {
        self.set(0, killed)?;
        self.set(1, starts)
    }

    /// Bytes touched by all hogs of this slot.
    pub(super) fn touched(&self, slot: u32) -> anyhow::Result<u64> {
        let mut number = [0; size_of::<u64>()];
        let offset = (HEAD + u64::from(slot)) * NUMBER;
        self.0.read_exact_at(&mut number, offset).context("cannot read the counter of a hog")?;
        Ok(u64::from_ne_bytes(number))
    }

    /// As [`Self::touched`] will give it.
    pub(super) fn set_touched(&self, slot: u32, bytes: u64) -> anyhow::Result<()> {
        self.set(HEAD + u64::from(slot), bytes)
    }

    fn set(&self, index: u64, number: u64) -> anyhow::Result<()> {
        self.0
            .write_all_at(&number.to_ne_bytes(), index * NUMBER)
            .context("cannot write the counters of the hogs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_process_writes_another_reads() {
        let ours = Counters::create(3).unwrap();
        assert_eq!(ours.read().unwrap(), Counted { killed: 0, starts: 0, touched: 0 });
        let theirs = Counters::open(&ours.path()).unwrap();
        theirs.set_lives(4, 7).unwrap();
        theirs.set_touched(0, 4096).unwrap();
        theirs.set_touched(2, u64::from(u32::MAX) + 1).unwrap();
        assert_eq!((ours.touched(0).unwrap(), ours.touched(1).unwrap()), (4096, 0));
        assert_eq!(ours.read().unwrap(), Counted { killed: 4, starts: 7, touched: 4096 + (1 << 32) });
        assert!(ours.touched(3).is_err(), "there are three slots");
    }
}
