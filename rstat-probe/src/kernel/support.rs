//! Facts about this kernel and this process, read under a root path. No decisions here.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use super::btf::{self, Found, Wanted};

/// Tracepoints that can be used.
pub(crate) const TRACEPOINTS: [&str; 9] = [
    "cgroup_rstat_lock_contended",
    "cgroup_rstat_locked",
    "cgroup_rstat_unlock",
    "cgroup_rstat_cpu_lock_contended",
    "cgroup_rstat_cpu_locked",
    "cgroup_rstat_cpu_unlock",
    "cgroup_rstat_cpu_lock_contended_fastpath",
    "cgroup_rstat_cpu_locked_fastpath",
    "cgroup_rstat_cpu_unlock_fastpath",
];

/// Functions whose presence tells the generation of the flush code, see ARCHITECTURE.md.
pub(crate) const FUNCTIONS: [&str; 3] =
    ["cgroup_rstat_flush_locked", "cgroup_rstat_flush", "css_rstat_flush"];

/// Members whose offsets the programs need.
const MEMBERS: [(&str, &str); 2] = [("cgroup", "kn"), ("kernfs_node", "id")];

/// Prefix of the typedef that BTF has for every tracepoint (include/trace/bpf_probe.h).
const BTF_TRACE: &str = "btf_trace_";
/// Prefix of the function that exists for every tracepoint (include/linux/tracepoint.h).
const TRACEITER: &str = "__traceiter_";

/// Where the names of hooks were looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameSource {
    /// `/sys/kernel/btf/vmlinux`.
    Btf,
    /// `/proc/kallsyms`.
    Kallsyms,
}

/// Hook names that exist on this kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    pub source: NameSource,
    pub tracepoints: Vec<String>,
    /// With their BTF type ids, where BTF is the source.
    pub functions: BTreeMap<String, Option<u32>>,
}

impl Names {
    pub(crate) fn tracepoint(&self, name: &str) -> bool {
        self.tracepoints.iter().any(|other| other == name)
    }

    pub(crate) fn function(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }
}

/// Capabilities that matter, by their bit (include/uapi/linux/capability.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capability {
    SysAdmin = 21,
    Perfmon = 38,
    Bpf = 39,
}

/// Struct offsets from BTF, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offsets {
    pub cgroup_kn: u32,
    pub kernfs_node_id: u32,
}

/// A set of CPU numbers as the kernel writes it, e.g. `0-3,8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuList {
    pub text: String,
    pub cpus: Vec<u32>,
}

/// Everything the plan is made from.
#[derive(Clone, Debug)]
pub(crate) struct KernelSupport {
    pub host: String,
    pub release: String,
    pub version: String,
    pub machine: String,
    pub build_id: Option<String>,
    pub preempt_rt: bool,
    pub possible: CpuList,
    pub online: CpuList,
    /// Effective capabilities, one bit each.
    pub capabilities: u64,
    /// Whether this is the initial user namespace; capabilities of others do not count for BPF.
    pub initial_user_namespace: bool,
    /// `none`, `integrity` or `confidentiality`; `None` when it cannot be read.
    pub lockdown: Option<String>,
    pub tracefs: Option<PathBuf>,
    /// `None` when neither BTF nor kallsyms can be read.
    pub names: Option<Names>,
    /// Why BTF is not used, if it is not.
    pub btf_error: Option<String>,
    pub offsets: Option<Offsets>,
}

impl KernelSupport {
    /// Reads the facts below `root` (`/` but for tests).
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let line = |path: &str| {
            let path = root.join(path);
            fs::read_to_string(&path)
                .map(|text| text.trim_end().to_owned())
                .with_context(|| format!("cannot read {}", path.display()))
        };
        let version = line("proc/sys/kernel/version")?;
        let (names, offsets, btf_error) = names(root);
        let status = line("proc/self/status")?;
        Ok(Self {
            host: line("proc/sys/kernel/hostname")?,
            release: line("proc/sys/kernel/osrelease")?,
            // The model is part of the version string: init/version-timestamp.c, UTS_VERSION.
            preempt_rt: version.contains("PREEMPT_RT"),
            version,
            machine: line("proc/sys/kernel/arch").unwrap_or_else(|_| std::env::consts::ARCH.to_owned()),
            build_id: fs::read(root.join("sys/kernel/notes")).ok().and_then(|notes| build_id(&notes)),
            possible: cpu_list(&line("sys/devices/system/cpu/possible")?)?,
            online: cpu_list(&line("sys/devices/system/cpu/online")?)?,
            capabilities: capabilities(&status).context("no CapEff line in /proc/self/status")?,
            initial_user_namespace: line("proc/self/uid_map")
                .map_or(true, |map| map.split_whitespace().eq(["0", "0", "4294967295"])),
            lockdown: line("sys/kernel/security/lockdown").ok().and_then(|text| chosen(&text)),
            tracefs: mounted_tracefs(&line("proc/self/mounts").unwrap_or_default()),
            names,
            btf_error,
            offsets,
        })
    }

    pub(crate) fn has(&self, capability: Capability) -> bool {
        self.capabilities >> capability as u32 & 1 != 0
    }
}

fn names(root: &Path) -> (Option<Names>, Option<Offsets>, Option<String>) {
    match names_from_btf(root) {
        Ok((names, offsets)) => (Some(names), offsets, None),
        Err(error) => (names_from_kallsyms(root).ok(), None, Some(format!("{error:#}"))),
    }
}

fn names_from_btf(root: &Path) -> anyhow::Result<(Names, Option<Offsets>)> {
    let path = root.join("sys/kernel/btf/vmlinux");
    let data = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let typedefs = TRACEPOINTS.map(|name| format!("{BTF_TRACE}{name}"));
    let typedefs: Vec<&str> = typedefs.iter().map(String::as_str).collect();
    let found: Found =
        btf::find(&data, &Wanted { typedefs: &typedefs, functions: &FUNCTIONS, members: &MEMBERS })
            .with_context(|| format!("cannot read {}", path.display()))?;
    let strip = |name: &String| name.strip_prefix(BTF_TRACE).map(str::to_owned);
    let member = |name| found.members.get(name).copied();
    let offsets = member("cgroup.kn")
        .zip(member("kernfs_node.id"))
        .map(|(cgroup_kn, kernfs_node_id)| Offsets { cgroup_kn, kernfs_node_id });
    let tracepoints = found.typedefs.iter().filter_map(strip).collect();
    let functions = found.functions.into_iter().map(|(name, id)| (name, Some(id))).collect();
    Ok((Names { source: NameSource::Btf, tracepoints, functions }, offsets))
}

fn names_from_kallsyms(root: &Path) -> anyhow::Result<Names> {
    let file = fs::File::open(root.join("proc/kallsyms"))?;
    let mut names = Names { source: NameSource::Kallsyms, tracepoints: vec![], functions: BTreeMap::new() };
    for line in BufReader::new(file).lines() {
        let line = line?;
        // "address type name", with "\t[module]" after it for modules, which are not of interest.
        let Some(name) = line.split(' ').nth(2) else { continue };
        if let Some(tracepoint) = name.strip_prefix(TRACEITER) {
            if TRACEPOINTS.contains(&tracepoint) {
                names.tracepoints.push(tracepoint.to_owned());
            }
        } else if FUNCTIONS.contains(&name) {
            names.functions.insert(name.to_owned(), None);
        }
    }
    Ok(names)
}

fn capabilities(status: &str) -> Option<u64> {
    let hex = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(hex.trim(), 16).ok()
}

/// The bracketed word of `none [integrity] confidentiality`.
fn chosen(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

fn mounted_tracefs(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let (_, path, kind) = (fields.next()?, fields.next()?, fields.next()?);
        (kind == "tracefs").then(|| PathBuf::from(path))
    })
}

/// Parses the kernel's list format (Documentation/admin-guide/cputopology.rst).
fn cpu_list(text: &str) -> anyhow::Result<CpuList> {
    let mut cpus = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<u32>().with_context(|| format!("bad CPU list `{text}`"));
        cpus.extend(number(first)?..=number(last)?);
    }
    Ok(CpuList { text: text.to_owned(), cpus })
}

/// The GNU build id among ELF notes (`/sys/kernel/notes`), as hex.
fn build_id(mut notes: &[u8]) -> Option<String> {
    const NT_GNU_BUILD_ID: u32 = 3;
    loop {
        let word = |at: usize| Some(u32::from_ne_bytes(notes.get(at..at + 4)?.try_into().ok()?));
        let (name_length, length, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let description = 12 + name_length.next_multiple_of(4);
        let name = notes.get(12..12 + name_length)?;
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" {
            let bytes = notes.get(description..description + length)?;
            return Some(bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}")));
        }
        notes = notes.get(description + length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
#[path = "support_tests.rs"]
mod tests;
