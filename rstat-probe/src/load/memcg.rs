//! A cgroup whose memory can be limited: the one that hogs live and die below.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::cgroup::{OwnCgroup, set};
use super::mounts::Mounts;
use super::target::has_memory;

/// A cgroup with a memory controller, of version 1 or 2.
#[derive(Debug, Clone)]
pub(super) struct Memcg {
    pub(super) path: PathBuf,
    /// 1 or 2.
    pub(super) version: u8,
}

impl Memcg {
    /// This cgroup, if it has a memory limit that can be set.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let version = [(2, "memory.max"), (1, "memory.limit_in_bytes")]
            .into_iter()
            .find_map(|(version, file)| path.join(file).exists().then_some(version))?;
        Some(Self { path: path.to_owned(), version })
    }

    /// A new cgroup in the hierarchy that has the memory controller.
    pub(super) fn create(mounts: &Mounts) -> anyhow::Result<(OwnCgroup, Self)> {
        let own = OwnCgroup::create(&parent(mounts)?)?;
        match Self::of(own.path()) {
            Some(memcg) => Ok((own, memcg)),
            None => bail!("the cgroup {} has no memory limit to set", own.path().display()),
        }
    }

    /// Limits memory and swap together to about `bytes`; gives the limit as the kernel rounded it.
    ///
    /// Nothing in the cgroup is ever swapped out: the host's swap is not for a load to use.
    pub(super) fn limit(&self, bytes: u64) -> anyhow::Result<u64> {
        let limit = bytes.to_string();
        let (name, files) = if self.version == 2 {
            ("memory.max", [("memory.swap.max", "0", false), ("memory.max", &limit, true)].to_vec())
        } else {
            let files = [
                ("memory.swappiness", "0", true),
                ("memory.limit_in_bytes", &limit, true),
                // Only where swap is accounted. It may not be below the limit of memory: that one first.
                ("memory.memsw.limit_in_bytes", &limit, false),
            ];
            ("memory.limit_in_bytes", files.to_vec())
        };
        for (file, value, is_needed) in files {
            if is_needed || self.path.join(file).exists() {
                set(&self.path, file, value)?;
            }
        }
        self.number(name)
    }

    /// OOM kills so far.
    pub(super) fn oom_kills(&self) -> anyhow::Result<u64> {
        let path = self.path.join(if self.version == 2 { "memory.events" } else { "memory.oom_control" });
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        keyed(&text, "oom_kill").with_context(|| format!("{} does not count OOM kills", path.display()))
    }

    /// Most that was ever charged, bytes; `None` where the kernel does not count it (v2 before 5.19).
    pub(super) fn peak(&self) -> Option<u64> {
        self.number(if self.version == 2 { "memory.peak" } else { "memory.max_usage_in_bytes" }).ok()
    }

    fn number(&self, file: &str) -> anyhow::Result<u64> {
        let path = self.path.join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        text.trim().parse().with_context(|| format!("{} has no number", path.display()))
    }
}

/// Where cgroups have a memory limit.
fn parent(mounts: &Mounts) -> anyhow::Result<PathBuf> {
    match (&mounts.v2, &mounts.v1_memory) {
        (Some(v2), _) if has_memory(&v2.join("cgroup.subtree_control")) => Ok(v2.clone()),
        (_, Some(v1)) => Ok(v1.clone()),
        (Some(v2), None) if has_memory(&v2.join("cgroup.controllers")) => bail!(
            "the memory controller is off for the cgroups in {mount}: turn it on with \
             'echo +memory > {mount}/cgroup.subtree_control'",
            mount = v2.display()
        ),
        (Some(_), None) => bail!("this host has no memory controller, which this load needs"),
        (None, None) => bail!("neither cgroup v2 nor a cgroup v1 memory controller is mounted"),
    }
}

/// The number behind a word at the begin of a line.
fn keyed(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        if name == key { value.trim().parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oom_kills_are_read_from_both_versions() {
        let folder = tempfile::tempdir().unwrap();
        for (version, file, text) in [
            (2, "memory.events", "low 0\nhigh 0\nmax 9\noom 8\noom_kill 7\noom_group_kill 0\n"),
            (1, "memory.oom_control", "oom_kill_disable 0\nunder_oom 1\noom_kill 7\n"),
        ] {
            fs::write(folder.path().join(file), text).unwrap();
            let memcg = Memcg { path: folder.path().to_owned(), version };
            assert_eq!(memcg.oom_kills().unwrap(), 7);
            fs::write(folder.path().join(file), "oom_kill_disable 0\nunder_oom 0\n").unwrap();
            assert!(memcg.oom_kills().unwrap_err().to_string().ends_with("does not count OOM kills"));
        }
    }

    #[test]
    fn swap_is_closed_before_memory_is_limited_and_memsw_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), "max").unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        write("memory.max");
        let memcg = Memcg::of(folder.path()).unwrap();
        assert_eq!((memcg.version, memcg.limit(4096).unwrap()), (2, 4096));
        // Without swap accounting the file is not there, and must not be made.
        assert!(!folder.path().join("memory.swap.max").exists());
        write("memory.swap.max");
        memcg.limit(8192).unwrap();
        assert_eq!((read("memory.max"), read("memory.swap.max")), ("8192".to_owned(), "0".to_owned()));
        fs::remove_file(folder.path().join("memory.max")).unwrap();
        for name in ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.swappiness"] {
            write(name);
        }
        let memcg = Memcg::of(folder.path()).unwrap();
        assert_eq!((memcg.version, memcg.limit(4096).unwrap()), (1, 4096));
        assert_eq!(
            (read("memory.memsw.limit_in_bytes"), read("memory.swappiness")),
            ("4096".into(), "0".into())
        );
    }

    #[test]
    fn the_hierarchy_is_the_one_with_the_memory_controller() {
        let v2 = tempfile::tempdir().unwrap();
        let v1 = PathBuf::from("/v1");
        let mounts = |v1_memory: Option<&PathBuf>| Mounts {
            v2: Some(v2.path().to_owned()),
            v1_memory: v1_memory.cloned(),
        };
        let control = |text| fs::write(v2.path().join("cgroup.subtree_control"), text).unwrap();
        fs::write(v2.path().join("cgroup.controllers"), "cpu\n").unwrap();
        control("cpu\n");
        assert_eq!(parent(&mounts(Some(&v1))).unwrap(), v1);
        assert!(parent(&mounts(None)).unwrap_err().to_string().contains("no memory controller"));
        fs::write(v2.path().join("cgroup.controllers"), "cpu memory\n").unwrap();
        assert!(parent(&mounts(None)).unwrap_err().to_string().contains("echo +memory > "));
        control("cpu memory\n");
        assert_eq!(parent(&mounts(Some(&v1))).unwrap(), v2.path());
        assert!(parent(&Mounts::default()).is_err());
    }
}
