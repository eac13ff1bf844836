//! Facts about this kernel and this process, read under a root path. No decisions here.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use rstat_probe_report::cross_check::TRACER;

use super::{
    formats::{build_id, capabilities, chosen, cpu_list, mounted_tracefs, tracers_file},
    kallsyms, locks,
    names::{BtfFacts, names_from_kallsyms, read_symbols},
};

pub(crate) use super::{
    formats::CpuList,
    locks::LockAddress,
    names::{NameSource, Names, Offsets, TRACEPOINTS},
};

/// Capabilities that matter, by their bit (include/uapi/linux/capability.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capability {
    SysAdmin = 21,
    /// Shows the addresses in /proc/kallsyms.
    Syslog = 34,
    Perfmon = 38,
    Bpf = 39,
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
    /// Whether the kernel has the irqsoff tracer; `None` when that cannot be read.
    pub irqsoff: Option<bool>,
    /// `None` when neither BTF nor kallsyms can be read.
    pub names: Option<Names>,
    /// Why BTF is not used, if it is not.
    pub btf_error: Option<String>,
    pub offsets: Option<Offsets>,
    /// Offset of `cgroup_subsys.rstat_ss_lock`, bytes; Linux has it from 6.16 on.
    pub rstat_ss_lock: Option<u32>,
    /// Names of cgroup subsystems by their id in the kernel, from BTF; empty without it. They are
    /// the kernel's identifiers: `io`, `memory`, `perf_event`.
    pub subsystems: BTreeMap<u32, String>,
    /// Whether kprobes can be attached without tracefs: whether the kernel has that PMU
    /// (`CONFIG_KPROBE_EVENTS`).
    pub kprobes: bool,
    /// `kernel.kptr_restrict`; `None` when it cannot be read.
    pub kptr_restrict: Option<u32>,
    /// Why no function can be hooked, where that was tried out.
    pub no_function_hooks: Option<String>,
    /// The main rstat locks whose address is known; never with address 0.
    pub locks: Vec<LockAddress>,
    /// Why `locks` is empty, if it is.
    pub locks_error: Option<String>,
}

impl KernelSupport {
    /// Reads all facts below `root` (`/` but for tests).
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut support = Self::without_locks(root)?;
        support.read_locks(root);
        Ok(support)
    }

    /// All facts but the addresses of the locks, which take longer than everything else.
    pub(crate) fn without_locks(root: &Path) -> anyhow::Result<Self> {
        let line = |path: &str| {
            let path = root.join(path);
            fs::read_to_string(&path)
                .map(|text| text.trim_end().to_owned())
                .with_context(|| format!("cannot read {}", path.display()))
        };
        let version = line("proc/sys/kernel/version")?;
        let (btf, btf_error) = match BtfFacts::read(root) {
            Ok(btf) => (btf, None),
            Err(error) => (BtfFacts::default(), Some(format!("{error:#}"))),
        };
        let status = line("proc/self/status")?;
        let tracefs = mounted_tracefs(&line("proc/self/mounts").unwrap_or_default());
        let listed = tracefs.as_deref().and_then(|path| line(&tracers_file(path)).ok());
        let mut support = Self {
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
            irqsoff: listed.map(|text| text.split_whitespace().any(|tracer| tracer == TRACER)),
            tracefs,
            names: btf.names,
            btf_error,
            offsets: btf.offsets,
            rstat_ss_lock: btf.rstat_ss_lock,
            subsystems: btf.subsystems,
            kprobes: root.join("sys/bus/event_source/devices/kprobe/type").exists(),
            kptr_restrict: line("proc/sys/kernel/kptr_restrict").ok().and_then(|text| text.parse().ok()),
            no_function_hooks: None,
            locks: Vec::new(),
            locks_error: None,
        };
        if support.names.is_none() {
            support.read_locks(root);
        }
        Ok(support)
    }

    /// Reads the addresses of the locks, and the names of hooks where BTF did not give them. Does
    /// nothing when that was done.
    pub(crate) fn read_locks(&mut self, root: &Path) {
        if !self.locks.is_empty() || self.locks_error.is_some() {
            return;
        }
        match read_symbols(root) {
            Ok(symbols) => {
                match locks::locks(&symbols, self.rstat_ss_lock, self) {
                    Ok(locks) => self.locks = locks,
                    Err(reason) => self.locks_error = Some(reason),
                }
                self.names.get_or_insert_with(|| names_from_kallsyms(&symbols));
            }
            Err(error) => {
                self.locks_error = Some(format!(
                    "the locks' addresses are unknown: cannot read /{}: {error}",
                    kallsyms::PATH
                ));
            }
        }
    }

    /// Whether programs may read kernel memory (LOCKDOWN_BPF_READ_KERNEL in
    /// kernel/trace/bpf_trace.c), as far as is known.
    pub(crate) fn programs_may_read_memory(&self) -> bool {
        self.lockdown.as_deref() != Some("confidentiality")
    }

    pub(crate) fn has(&self, capability: Capability) -> bool {
        self.capabilities >> capability as u32 & 1 != 0
    }
}

#[cfg(test)]
#[path = "support_tests.rs"]
mod tests;
