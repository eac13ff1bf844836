//! Which file the readers read, and which cgroup is kept dirty for it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use super::cgroup::OwnCgroup;
use super::mounts::Mounts;
use super::stat_reader::{StatFile, StatReaderOptions};

/// `f_type` of the two cgroup file systems (linux/magic.h).
const CGROUP1_MAGIC: u64 = 0x0027_e0eb;
const CGROUP2_MAGIC: u64 = 0x6367_7270;

/// The file to read and what was made for it.
#[derive(Debug)]
pub(super) struct Target {
    /// The file the readers read.
    pub(super) file: PathBuf,
    /// 1 or 2.
    pub(super) version: u8,
    /// The cgroup of the file, as a path from the mount point where it is below one.
    pub(super) cgroup: String,
    /// The cgroup the dirtiers live in: the one that is read, or a child of an existing one. `None`: no dirtiers.
    pub(super) dirty: Option<OwnCgroup>,
    /// Whether reading makes sense without dirtiers, because others may keep an existing cgroup dirty.
    pub(super) existing: bool,
}

impl Target {
    pub(super) fn resolve(options: &StatReaderOptions, mounts: &Mounts) -> anyhow::Result<Self> {
        let name = options.stat.file_name();
        match (&options.file, &options.cgroup) {
            (Some(_), Some(_)) => bail!("--file and --cgroup exclude each other"),
            (Some(file), None) => Self::existing(file, mounts),
            (None, Some(cgroup)) => {
                Self::existing(&find_cgroup(cgroup, options.stat, mounts)?.join(name), mounts)
            }
            (None, None) => {
                let (version, parent) = place(options.stat, mounts)?;
                let own = OwnCgroup::create(&parent).context(
                    "the load needs a cgroup of its own; to read an existing one use --file or --cgroup",
                )?;
                let file = own.path().join(name);
                check(&file)?;
                Ok(Self {
                    cgroup: shown(own.path(), mounts),
                    file,
                    version,
                    dirty: Some(own),
                    existing: false,
                })
            }
        }
    }

    /// A file of a cgroup that exists already.
    fn existing(file: &Path, mounts: &Mounts) -> anyhow::Result<Self> {
        // A link elsewhere must not hide which cgroup it is.
        let file = fs::canonicalize(file).with_context(|| format!("cannot read {}", file.display()))?;
        let version = check(&file)?;
        let directory = file.parent().context("the file is in no cgroup")?;
        // `cpu.stat` flushes at every read whether dirty or not; all others only when enough has changed.
        let dirty = if file.ends_with(StatFile::CpuStat.file_name()) {
            None
        } else {
            let made = OwnCgroup::create(directory);
            made.inspect_err(|error| {
                log::warn!("the cgroup is not kept dirty, few reads may flush: {error:#}");
            })
            .ok()
        };
        Ok(Self { cgroup: shown(directory, mounts), version, dirty, existing: true, file })
    }
}

/// The hierarchy in which a cgroup of our own has this file and reading it flushes: its version and mount point.
fn place(stat: StatFile, mounts: &Mounts) -> anyhow::Result<(u8, PathBuf)> {
    match (stat, &mounts.v2, &mounts.v1_memory) {
        (StatFile::CpuStat, Some(v2), _) => Ok((2, v2.clone())),
        (StatFile::CpuStat, None, Some(_)) => {
            bail!("cpu.stat only flushes on cgroup v2, which is not mounted: use --stat memory.stat")
        }
        (StatFile::MemoryStat, Some(v2), _) if has_memory(&v2.join("cgroup.subtree_control")) => {
            Ok((2, v2.clone()))
        }
        (StatFile::MemoryStat, _, Some(v1)) => Ok((1, v1.clone())),
        (StatFile::MemoryStat, Some(v2), None) if has_memory(&v2.join("cgroup.controllers")) => bail!(
            "the memory controller is off for the cgroups in {mount}: use --stat cpu.stat, or turn it on with \
             'echo +memory > {mount}/cgroup.subtree_control'",
            mount = v2.display()
        ),
        (StatFile::MemoryStat, Some(_), None) => {
            bail!("this host has no memory controller: use --stat cpu.stat")
        }
        (_, None, None) => bail!("neither cgroup v2 nor a cgroup v1 memory controller is mounted"),
    }
}

/// Whether a list of controllers has the memory controller.
pub(super) fn has_memory(controllers: &Path) -> bool {
    fs::read_to_string(controllers).is_ok_and(|text| text.split_whitespace().any(|word| word == "memory"))
}

/// The directory of an existing cgroup: its path in the file system, or one from a mount point.
fn find_cgroup(name: &str, stat: StatFile, mounts: &Mounts) -> anyhow::Result<PathBuf> {
    let v1 = mounts.v1_memory.as_ref().filter(|_| stat == StatFile::MemoryStat);
    let searched: Vec<&PathBuf> = mounts.v2.iter().chain(v1).collect();
    // `/a/b` can also be what /proc/PID/cgroup shows: then it is below a mount point, not below the root.
    let itself = Path::new(name);
    let itself = (itself.is_absolute() && cgroup_version(itself).is_some()).then(|| itself.to_owned());
    let relative = name.trim_start_matches('/');
    let below = searched.iter().map(|mount| mount.join(relative)).filter(|path| path.is_dir());
    let found: Vec<PathBuf> = itself.into_iter().chain(below).collect();
    if let Some(with_file) = found.iter().find(|path| path.join(stat.file_name()).exists()) {
        return Ok(with_file.clone());
    }
    if let Some(without) = found.first() {
        let other = if stat == StatFile::MemoryStat { "cpu.stat" } else { "memory.stat" };
        bail!("the cgroup {} has no {}: use --stat {other}", without.display(), stat.file_name());
    }
    let searched: Vec<String> = searched.iter().map(|mount| mount.display().to_string()).collect();
    bail!("there is no cgroup {name} under {}", searched.join(" or "));
}

/// The cgroup version of a file or folder; `None`: it is in no cgroup file system.
fn cgroup_version(path: &Path) -> Option<u8> {
    match u64::try_from(rustix::fs::statfs(path).ok()?.f_type) {
        Ok(CGROUP1_MAGIC) => Some(1),
        Ok(CGROUP2_MAGIC) => Some(2),
        _ => None,
    }
}

/// The cgroup version of a file, after making sure that it can be read and that reading it can flush.
fn check(path: &Path) -> anyhow::Result<u8> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("cannot read {shown}"))?;
    let version = cgroup_version(path).with_context(|| format!("{shown} is not a file of a cgroup"))?;
    ensure!(file.metadata().is_ok_and(|it| it.is_file()), "{shown} is a folder, not a file of a cgroup");
    if path.ends_with(StatFile::CpuStat.file_name()) {
        ensure!(version == 2, "{shown} is of cgroup v1, where cpu.stat does not flush: use a cgroup v2");
        // Only the root has no cgroup.events.
        let events = path.with_file_name("cgroup.events");
        ensure!(
            events.exists(),
            "{shown} is of the root cgroup, where it does not flush: use another cgroup"
        );
    }
    Ok(version)
}

/// The path of a cgroup as `/proc/PID/cgroup` would show it.
pub(super) fn shown(directory: &Path, mounts: &Mounts) -> String {
    let below =
        mounts.v2.iter().chain(&mounts.v1_memory).find_map(|mount| directory.strip_prefix(mount).ok());
    below.map_or_else(|| directory.display().to_string(), |path| format!("/{}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(v2: Option<&Path>, v1_memory: Option<&Path>) -> Mounts {
        Mounts { v2: v2.map(Path::to_owned), v1_memory: v1_memory.map(Path::to_owned) }
    }

    #[test]
    fn the_hierarchy_is_the_one_whose_reads_flush() {
        let v2 = tempfile::tempdir().unwrap();
        let v1 = Path::new("/v1");
        let both = mounts(Some(v2.path()), Some(v1));
        let only_v2 = mounts(Some(v2.path()), None);
        let fails = |stat, mounts: &Mounts| format!("{:#}", place(stat, mounts).unwrap_err());

        assert_eq!(place(StatFile::CpuStat, &both).unwrap(), (2, v2.path().to_owned()));
        // Hybrid: the v2 side has no memory controller.
        fs::write(v2.path().join("cgroup.controllers"), "hugetlb\n").unwrap();
        assert_eq!(place(StatFile::MemoryStat, &both).unwrap(), (1, v1.to_owned()));
        assert!(fails(StatFile::MemoryStat, &only_v2).contains("use --stat cpu.stat"));
        // There but off.
        fs::write(v2.path().join("cgroup.controllers"), "cpu memory io\n").unwrap();
        fs::write(v2.path().join("cgroup.subtree_control"), "cpu\n").unwrap();
        assert!(fails(StatFile::MemoryStat, &only_v2).contains("echo +memory > "));
        fs::write(v2.path().join("cgroup.subtree_control"), "cpu memory\n").unwrap();
        assert_eq!(place(StatFile::MemoryStat, &only_v2).unwrap().0, 2);

        assert!(fails(StatFile::CpuStat, &mounts(None, Some(v1))).contains("use --stat memory.stat"));
        assert!(fails(StatFile::MemoryStat, &mounts(None, None)).contains("neither"));
    }

    #[test]
    fn a_cgroup_is_found_by_path_from_the_mount_with_or_without_a_slash() {
        let v2 = tempfile::tempdir().unwrap();
        let unit = v2.path().join("system.slice/a.service");
        fs::create_dir_all(&unit).unwrap();
        fs::write(unit.join("cpu.stat"), "").unwrap();
        let mounts = mounts(Some(v2.path()), None);
        for name in ["system.slice/a.service", "/system.slice/a.service"] {
            assert_eq!(find_cgroup(name, StatFile::CpuStat, &mounts).unwrap(), unit, "{name}");
        }
        let without = find_cgroup("system.slice/a.service", StatFile::MemoryStat, &mounts).unwrap_err();
        assert!(without.to_string().ends_with("has no memory.stat: use --stat cpu.stat"), "{without}");
        let nowhere = find_cgroup("nowhere", StatFile::CpuStat, &mounts).unwrap_err();
        assert!(nowhere.to_string().starts_with("there is no cgroup nowhere under /"), "{nowhere}");
    }

    #[test]
    fn other_files_are_refused() {
        for (path, reason) in [
            ("/proc/self/stat", "is not a file of a cgroup"),
            ("/nonexistent", "cannot read /nonexistent: No such"),
        ] {
            let error = format!("{:#}", Target::existing(Path::new(path), &Mounts::default()).unwrap_err());
            assert!(error.contains(reason), "{error}");
        }
    }
}
