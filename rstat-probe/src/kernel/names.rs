//! What the kernel can be hooked by and where its structs have what: from BTF, and from kallsyms
//! where there is none.

use std::{collections::BTreeMap, fs, io, path::Path};

use anyhow::Context as _;

use super::{
    btf::{self, Found, Wanted},
    kallsyms::{self, Symbols},
    locks,
    name_set::NameSet,
};

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

/// Functions that can be hooked or whose presence tells the generation of the flush code, see
/// ARCHITECTURE.md. A kprobe needs the exact symbol, fentry the function of that name in BTF.
pub(crate) const FUNCTIONS: [&str; 12] = [
    "cgroup_rstat_flush_locked",
    "cgroup_rstat_flush",
    "css_rstat_flush",
    "cgroup_base_stat_cputime_show",
    "_raw_spin_lock_irq",
    "_raw_spin_unlock_irq",
    "_raw_spin_trylock",
    "native_queued_spin_lock_slowpath",
    "__pv_queued_spin_lock_slowpath",
    "queued_spin_lock_slowpath",
    "rt_spin_lock",
    "rt_spin_unlock",
];

/// Members whose offsets the programs need.
const MEMBERS: [(&str, &str); 5] = [
    ("cgroup", "kn"),
    ("kernfs_node", "id"),
    ("cgroup_subsys_state", "ss"),
    ("cgroup_subsys", "id"),
    ("cgroup_subsys", "rstat_ss_lock"),
];

/// The enum of subsystem ids (include/linux/cgroup-defs.h), with enumerators like `memory_cgrp_id`.
const SUBSYSTEM_IDS: &str = "cgroup_subsys_id";
const SUBSYSTEM_ID: &str = "_cgrp_id";

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

    /// Whether the main locks have theirs.
    pub(crate) fn has_lock_tracepoints(&self) -> bool {
        TRACEPOINTS[..3].iter().all(|name| self.tracepoint(name))
    }

    pub(crate) fn function(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// The BTF type id of a function, where BTF is the source.
    pub(crate) fn btf_id(&self, name: &str) -> Option<u32> {
        self.functions.get(name).copied().flatten()
    }
}

/// Struct offsets from BTF, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offsets {
    pub cgroup_kn: u32,
    pub kernfs_node_id: u32,
    /// `cgroup_subsys_state.ss`.
    pub css_ss: Option<u32>,
    /// `cgroup_subsys.id`.
    pub subsys_id: Option<u32>,
}

/// What BTF says.
#[derive(Default)]
pub(super) struct BtfFacts {
    pub names: Option<Names>,
    pub offsets: Option<Offsets>,
    pub rstat_ss_lock: Option<u32>,
    pub subsystems: BTreeMap<u32, String>,
}

impl BtfFacts {
    pub(super) fn read(root: &Path) -> anyhow::Result<Self> {
        let found = read_btf(root)?;
        let member = |name| found.members.get(name).copied();
        let offsets =
            member("cgroup.kn").zip(member("kernfs_node.id")).map(|(cgroup_kn, kernfs_node_id)| Offsets {
                cgroup_kn,
                kernfs_node_id,
                css_ss: member("cgroup_subsys_state.ss"),
                subsys_id: member("cgroup_subsys.id"),
            });
        let rstat_ss_lock = member("cgroup_subsys.rstat_ss_lock");
        let ids = found.enums.get(SUBSYSTEM_IDS).into_iter().flatten();
        // CGROUP_SUBSYS_COUNT has another ending.
        let subsystems = ids.filter_map(|(name, id)| {
            Some((u32::try_from(*id).ok()?, name.strip_suffix(SUBSYSTEM_ID)?.to_owned()))
        });
        let subsystems = subsystems.collect();
        let strip = |name: &String| name.strip_prefix(BTF_TRACE).map(str::to_owned);
        let tracepoints = found.typedefs.iter().filter_map(strip).collect();
        let functions = found.functions.into_iter().map(|(name, id)| (name, Some(id))).collect();
        let names = Names { source: NameSource::Btf, tracepoints, functions };
        Ok(Self { names: Some(names), offsets, rstat_ss_lock, subsystems })
    }
}

/// Below the root.
pub(crate) const BTF: &str = "sys/kernel/btf/vmlinux";

/// Looks everything of interest up in BTF.
pub(crate) fn read_btf(root: &Path) -> anyhow::Result<Found> {
    let path = root.join(BTF);
    let data = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let typedefs = TRACEPOINTS.map(|name| format!("{BTF_TRACE}{name}"));
    let typedefs: Vec<&str> = typedefs.iter().map(String::as_str).collect();
    let wanted =
        Wanted { typedefs: &typedefs, functions: &FUNCTIONS, members: &MEMBERS, enums: &[SUBSYSTEM_IDS] };
    btf::find(&data, &wanted).with_context(|| format!("cannot read {}", path.display()))
}

/// Symbols of interest.
pub(crate) fn wanted_symbols() -> Vec<String> {
    let tracepoints = TRACEPOINTS.iter().map(|name| format!("{TRACEITER}{name}"));
    let functions = FUNCTIONS.iter().map(|name| (*name).to_owned());
    tracepoints.chain(functions).chain(locks::symbols()).collect()
}

/// Looks everything of interest up in kallsyms.
pub(super) fn read_symbols(root: &Path) -> io::Result<Symbols> {
    let wanted = wanted_symbols();
    kallsyms::read(root, &NameSet::new(wanted.iter().map(String::as_str)))
}

pub(super) fn names_from_kallsyms(symbols: &Symbols) -> Names {
    let tracepoints = symbols.keys().filter_map(|name| name.strip_prefix(TRACEITER)).map(str::to_owned);
    let functions = FUNCTIONS.iter().filter(|name| symbols.contains_key(**name));
    Names {
        source: NameSource::Kallsyms,
        tracepoints: tracepoints.collect(),
        functions: functions.map(|name| ((*name).to_owned(), None)).collect(),
    }
}
