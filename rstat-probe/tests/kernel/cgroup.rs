//! cgroups of the tests.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Where cgroup v2 is mounted.
pub(super) fn v2_mount() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (path, kind) = (fields.next()?, fields.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(path))
    })
}

/// A v2 cgroup without processes, removed at the end.
pub(super) struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    pub(super) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("rstat-probe-test-{}-{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = v2_mount().unwrap().join(name);
        fs::create_dir(&path).unwrap();
        Self { path }
    }

    /// A cgroup in calm: the kernel flushes a removed one some time later, and here the last such flush is over.
    pub(super) fn in_calm() -> Self {
        let cgroup = Self::new();
        thread::sleep(Duration::from_millis(500));
        cgroup
    }

    /// As `load --cgroup` takes it.
    pub(super) fn name(&self) -> &str {
        self.path.file_name().unwrap().to_str().unwrap()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(1);
        while fs::remove_dir(&self.path).is_err() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
    }
}
