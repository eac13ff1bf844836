//! The cgroups of `load sendfile` and `load charge`, as other processes see them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where the memory controller is mounted, and whether that is cgroup v2.
pub(super) fn memory_mount() -> Option<(PathBuf, bool)> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let of = |kind: &str, has: &dyn Fn(&str, &str) -> bool| {
        mounts.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            (fields[2] == kind && has(fields[1], fields[3])).then(|| PathBuf::from(fields[1]))
        })
    };
    let on = |path: &str, _: &str| {
        fs::read_to_string(Path::new(path).join("cgroup.subtree_control"))
            .is_ok_and(|text| text.split_whitespace().any(|word| word == "memory"))
    };
    let v2 = of("cgroup2", &on).map(|path| (path, true));
    v2.or_else(|| {
        of("cgroup", &|_, options| options.split(',').any(|word| word == "memory")).map(|path| (path, false))
    })
}

/// The top of the load with this pid.
pub(super) fn top(pid: u32) -> PathBuf {
    memory_mount().unwrap().0.join(format!("rstat-probe-load-{pid}"))
}

/// The processes of a cgroup; none when it is not there.
pub(super) fn processes(cgroup: &Path) -> Vec<u32> {
    let text = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// A file of a cgroup, without the newline at its end.
pub(super) fn file(cgroup: &Path, name: &str) -> String {
    let path = cgroup.join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.trim_end().to_owned()
}

/// Whether a process is running, as its pid was not used again meanwhile.
pub(super) fn is_there(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// TCP connections through ::1, in whatever state.
pub(super) fn loopback_connections() -> usize {
    let text = fs::read_to_string("/proc/net/tcp6").unwrap();
    let one = "00000000000000000000000001000000:";
    text.lines()
        .filter(|line| {
            let mut addresses = line.split_whitespace().skip(1);
            addresses.next().is_some_and(|local| local.starts_with(one))
                && addresses.next().is_some_and(|remote| remote.starts_with(one))
        })
        .count()
}
