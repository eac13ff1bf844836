//! A cgroup hierarchy of three levels, top/middle/leaf, as in the published benchmark of the memory counters.
//!
//! The series "memcg: optimize charge codepath" (Linux 6.1; "mm: page_counter: rearrange struct page_counter fields" is
//! part of it) was measured with all processes in the leaf and with `memory.min` and `memory.low` on the top: every
//! charge goes up three counters, and above the protection the kernel updates what is protected as well.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rstat_probe_report::load_result::Protection;

use super::cgroup::{OwnCgroup, set};
use super::memcg::Memcg;
use super::mounts::Mounts;
use super::target::shown;

/// Levels of cgroups below the one the hierarchy is made in.
pub(super) const LEVELS: u32 = 3;
/// `memory.min` and `memory.low` of the top. The benchmark took the size of the netperf binary and the double of it.
/// Fixed, so that two builds of this program do the same, and little beside what the pairs use: their files alone
/// are 640 KiB each.
const MIN_BYTES: u64 = 512 * 1024;
const LOW_BYTES: u64 = 2 * MIN_BYTES;

/// The hierarchy; it exists as long as this value.
#[derive(Debug)]
pub(super) struct Hierarchy {
    top: OwnCgroup,
    memcg: Memcg,
    leaf: PathBuf,
    shown: String,
}

impl Hierarchy {
    /// Makes the hierarchy where the memory controller is.
    pub(super) fn create(mounts: &Mounts) -> anyhow::Result<Self> {
        mounts.remove_leftovers();
        let (top, memcg) = Memcg::create(mounts)?;
        let leaf = build(top.path(), memcg.version)?;
        Ok(Self { shown: shown(top.path(), mounts), top, memcg, leaf })
    }

    /// The cgroup for the processes.
    pub(super) fn leaf(&self) -> &Path {
        &self.leaf
    }

    /// Version of cgroups and the path of the top as `/proc/PID/cgroup` would show it.
    pub(super) fn place(&self) -> (u8, String) {
        (self.memcg.version, self.shown.clone())
    }

    /// Protects the memory of the top, where the kernel can.
    pub(super) fn protect(&self) -> anyhow::Result<Protection> {
        protect(self.top.path(), self.memcg.version)
    }

    /// Limits the memory of all levels together, without swapping; gives the limit as the kernel rounded it.
    pub(super) fn limit(&self, bytes: u64) -> anyhow::Result<u64> {
        self.memcg.limit(bytes)
    }

    /// Removes all levels; their processes must have ended or be ending. What was measured is good even when this fails.
    pub(super) fn remove_or_warn(self) {
        if let Err(error) = self.top.remove() {
            log::warn!("{error:#}");
        }
    }
}

/// Makes the levels below `top`; gives the leaf.
fn build(top: &Path, version: u8) -> anyhow::Result<PathBuf> {
    let middle = top.join("middle");
    let leaf = middle.join("leaf");
    // Before 5.11 cgroups of v1 charge upwards only where they are told to, and their children do as they do.
    if version == 1
        && fs::read_to_string(top.join("memory.use_hierarchy")).is_ok_and(|text| text.trim() == "0")
    {
        set(top, "memory.use_hierarchy", "1")?;
    }
    for (parent, child) in [(top, &middle), (&middle, &leaf)] {
        if version == 2 {
            // On v1 every cgroup has all controllers of its hierarchy.
            set(parent, "cgroup.subtree_control", "+memory")
                .context("the memory controller is not there for the hierarchy")?;
        }
        fs::create_dir(child).with_context(|| format!("cannot make the cgroup {}", child.display()))?;
    }
    Ok(leaf)
}

fn protect(top: &Path, version: u8) -> anyhow::Result<Protection> {
    if version == 1 {
        let reason = "memory.min and memory.low exist on cgroup v2 only".to_owned();
        return Ok(Protection::Unset { reason });
    }
    set(top, "memory.min", &MIN_BYTES.to_string())?;
    set(top, "memory.low", &LOW_BYTES.to_string())?;
    Ok(Protection::Set { min_bytes: MIN_BYTES, low_bytes: LOW_BYTES })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn read(folder: &Path, name: &str) -> String {
        fs::read_to_string(folder.join(name)).unwrap()
    }

    #[test]
    fn v2_has_three_levels_and_its_top_is_protected() {
        let top = folder(&[("cgroup.subtree_control", ""), ("memory.min", "0\n"), ("memory.low", "0\n")]);
        // What the kernel does when the middle is made; a plain folder gets no files.
        let error = format!("{:#}", build(top.path(), 2).unwrap_err());
        assert!(error.starts_with("the memory controller is not there for the hierarchy: "), "{error}");
        assert_eq!(read(top.path(), "cgroup.subtree_control"), "+memory");

        let protection = protect(top.path(), 2).unwrap();
        assert_eq!(protection, Protection::Set { min_bytes: 524_288, low_bytes: 1_048_576 });
        assert_eq!(read(top.path(), "memory.min"), "524288");
        assert_eq!(read(top.path(), "memory.low"), "1048576");
    }

    #[test]
    fn v1_has_three_levels_without_protection() {
        let top = folder(&[("memory.use_hierarchy", "0\n")]);
        let leaf = build(top.path(), 1).unwrap();
        assert_eq!(leaf, top.path().join("middle/leaf"));
        assert!(leaf.is_dir());
        assert!(read(top.path(), "memory.use_hierarchy").starts_with('1'));
        let Protection::Unset { reason } = protect(top.path(), 1).unwrap() else {
            panic!("v1 protects nothing")
        };
        assert!(reason.contains("cgroup v2 only"), "{reason}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let top = folder(&[]);
        let error = format!("{:#}", protect(top.path(), 2).unwrap_err());
        assert!(
            error.starts_with("cannot write 524288 to /") && error.contains("memory.min: No such"),
            "{error}"
        );
        assert!(!top.path().join("memory.min").exists());
    }
}
