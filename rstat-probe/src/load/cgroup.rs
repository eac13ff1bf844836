//! A cgroup of our own: made, locked so that other runs know it is in use, and removed.
//!
//! The owner holds a `flock` on the cgroup's directory. The kernel drops it when the owner dies in whatever way, so a
//! directory with our name whose lock can be taken is a leftover. That needs no pid to be looked up, hence neither a
//! reused pid nor another pid namespace can mislead it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Every cgroup a load makes is called this, then the pid, then `-N` when one process has several.
const PREFIX: &str = "rstat-probe-load-";
/// How many names one process tries; only parallel runs inside one process need more than one.
const NAMES: u32 = 64;
/// How long a removal waits for the last process to be gone from the cgroup.
const BUSY_FOR: Duration = Duration::from_secs(1);

/// Writes to a file of a cgroup, which the kernel made; none is created.
pub(super) fn set(cgroup: &Path, file: &str, text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;

    let path = cgroup.join(file);
    File::options()
        .write(true)
        .truncate(true)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {text} to {}", path.display()))
}

/// A cgroup that exists as long as this value.
#[derive(Debug)]
pub(crate) struct OwnCgroup {
    path: PathBuf,
    removed: bool,
    /// Never read: it only has to stay open.
    _lock: File,
}

impl OwnCgroup {
    /// Makes a cgroup under `parent` after removing what killed runs left there.
    pub(crate) fn create(parent: &Path) -> anyhow::Result<Self> {
        remove_leftovers(parent);
        let pid = std::process::id();
        for number in 1..=NAMES {
            let path = parent.join(own_name(pid, number));
            match fs::create_dir(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot make the cgroup {}", path.display()));
                }
            }
            // No lock: another run in this process has it, or a cleaning run removed it in this moment.
            let lock =
                try_lock(&path).with_context(|| format!("cannot lock the cgroup {}", path.display()))?;
            if let Some(lock) = lock {
                return Ok(Self { path, removed: false, _lock: lock });
            }
        }
        bail!("cannot make a cgroup under {}: {NAMES} names are in use", parent.display());
    }

    /// The cgroup's directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the cgroup; its processes must have ended or be ending.
    pub(crate) fn remove(mut self) -> anyhow::Result<()> {
        self.removed = true;
        remove_tree(&self.path).with_context(|| format!("cannot remove the cgroup {}", self.path.display()))
    }
}

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        if !self.removed
            && let Err(error) = remove_tree(&self.path)
        {
            log::warn!("cannot remove the cgroup {}: {error}", self.path.display());
        }
    }
}

/// Removes the cgroups that killed runs left under `parent`. A failure is only worth a warning: the new run can work.
pub(super) fn remove_leftovers(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        if owner_pid(&entry.file_name()).is_none() {
            continue;
        }
        let path = entry.path();
        let removed = match try_lock(&path) {
            Ok(Some(_lock)) => remove_tree(&path),
            Ok(None) => continue,
            Err(error) => Err(error),
        };
        match removed {
            Ok(()) => log::info!("removed the cgroup {} of an earlier run", path.display()),
            Err(error) => {
                log::warn!("cannot remove the cgroup {} of an earlier run: {error}", path.display());
            }
        }
    }
}

/// Locks the directory of a cgroup or the like, or `None` when somebody else has it or it vanished meanwhile.
pub(crate) fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let directory = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(None),
        locked => locked?,
    }
    // The lock may be on a directory that a cleaning run removed between our opening and our locking.
    let still_there = fs::metadata(path).is_ok_and(|now| {
        directory.metadata().is_ok_and(|locked| (now.dev(), now.ino()) == (locked.dev(), locked.ino()))
    });
    Ok(still_there.then_some(directory))
}

/// Removes a cgroup and those below it, deepest first.
fn remove_tree(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_tree(&entry.path())?;
        }
    }
    let deadline = Instant::now() + BUSY_FOR;
    loop {
        match fs::remove_dir(path) {
            // A process that has just been waited for can still be on its way out.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(2));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            outcome => return outcome,
        }
    }
}

/// The name of the `number`-th cgroup (from 1) of process `pid`.
fn own_name(pid: u32, number: u32) -> String {
    if number == 1 { format!("{PREFIX}{pid}") } else { format!("{PREFIX}{pid}-{number}") }
}

/// The pid in the name of a load's cgroup; `None` for every other name.
fn owner_pid(name: &OsStr) -> Option<u32> {
    let rest = name.to_str()?.strip_prefix(PREFIX)?;
    let (pid, number) = match rest.split_once('-') {
        Some((pid, number)) => (pid.parse().ok()?, number.parse().ok()?),
        None => (rest.parse().ok()?, 1),
    };
    // Writing it again refuses spellings such as `+7` or `007` that we never make.
    (own_name(pid, number) == name.to_str()?).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_taken_for_leftovers() {
        for (name, pid) in [
            ("rstat-probe-load-1", Some(1)),
            ("rstat-probe-load-4194304", Some(4_194_304)),
            ("rstat-probe-load-77-2", Some(77)),
            ("rstat-probe-load-", None),
            ("rstat-probe-load-+7", None),
            ("rstat-probe-load-007", None),
            ("rstat-probe-load-7-", None),
            ("rstat-probe-load-7-1", None),
            ("rstat-probe-load-7-2-3", None),
            ("rstat-probe-load-7x", None),
            ("rstat-probe-load", None),
            ("my-rstat-probe-load-7", None),
            ("system.slice", None),
        ] {
            assert_eq!(owner_pid(OsStr::new(name)), pid, "{name}");
        }
    }

    // Plain directories behave like cgroup directories for everything below.
    #[test]
    fn a_cgroup_goes_with_its_owner_and_two_owners_get_two() {
        let parent = tempfile::tempdir().unwrap();
        let first = OwnCgroup::create(parent.path()).unwrap();
        let second = OwnCgroup::create(parent.path()).unwrap();
        assert_ne!(first.path(), second.path());
        assert!(first.path().is_dir() && second.path().is_dir());
        let path = first.path().to_owned();
        first.remove().unwrap();
        assert!(!path.exists());
        drop(second);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn leftovers_are_removed_and_others_stay() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["rstat-probe-load-1", "rstat-probe-load-99/deep/er", "other", "rstat-probe-load-5"] {
            fs::create_dir_all(parent.path().join(name)).unwrap();
        }
        let in_use = try_lock(&parent.path().join("rstat-probe-load-5")).unwrap().unwrap();
        let own = OwnCgroup::create(parent.path()).unwrap();
        assert!(!parent.path().join("rstat-probe-load-1").exists());
        assert!(!parent.path().join("rstat-probe-load-99").exists());
        assert!(parent.path().join("rstat-probe-load-5").exists());
        assert!(parent.path().join("other").exists());
        drop((own, in_use));
    }

    #[test]
    fn the_error_names_the_cgroup() {
        let error = OwnCgroup::create(Path::new("/proc/self/fdinfo")).unwrap_err();
        assert!(
            format!("{error:#}").starts_with("cannot make the cgroup /proc/self/fdinfo/rstat-probe-load-")
        );
    }
}
