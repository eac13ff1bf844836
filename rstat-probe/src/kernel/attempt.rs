//! Tries the strategies of a plan until the kernel accepts one, and with it as many of the optional
//! hooks as it accepts.
//!
//! Which programs run beside which others is a constant in all of them, so every refusal costs
//! another load.

use std::collections::BTreeSet;

use aya::{EbpfLoader, programs::ProgramError};
use rstat_probe_common::wire::{THREADS, flush_begin};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{
    plan::{AttachPlan, Feature, Globals, Group, Inferred, NotUsed, Planned, Strategy},
    session::{Options, Session},
    support::Names,
};

/// The eBPF object, built from source by build.rs.
pub(super) static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/rstat-probe"));

/// `warn` in aya-log's numbering (aya_log_common::Level).
const LOG_WARNINGS: u8 = 2;

/// EPERM, ENOTSUPP (of the kernel's own, 524) and EOPNOTSUPP: what is said of trampolines as such,
/// not of one function.
pub(super) const NO_TRAMPOLINES: [i32; 3] = [1, 524, 95];

/// What the kernel, or the loader, did not accept.
pub(super) struct Refused {
    /// The group, by its place in the strategy; nothing at all could be loaded when absent.
    pub(super) group: Option<usize>,
    pub(super) planned: Option<Planned>,
    pub(super) error: anyhow::Error,
}

impl Refused {
    pub(super) fn of_everything(error: anyhow::Error) -> Self {
        Self { group: None, planned: None, error }
    }

    /// Whether trampolines are refused altogether.
    fn is_about_trampolines(&self) -> bool {
        let code = self
            .error
            .chain()
            .find_map(|cause| cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error));
        self.planned.is_some_and(|planned| planned.attach.is_trampoline())
            && code.is_some_and(|code| NO_TRAMPOLINES.contains(&code))
    }

    /// Whether the program was refused, not its hook.
    fn is_of_the_verifier(&self) -> bool {
        self.error.chain().any(|cause| matches!(cause.downcast_ref(), Some(ProgramError::LoadError { .. })))
    }

    fn note(&self, what: &str) -> Option<NotUsed> {
        let planned = self.planned?;
        Some(NotUsed {
            hook: planned.hook.to_owned(),
            attach: planned.attach,
            reason: format!("{what}: {}", self.error.root_cause()),
        })
    }
}

/// See [`Session::start`].
pub(super) fn start(plan: &AttachPlan, names: Option<&Names>, options: Options) -> anyhow::Result<Session> {
    let mut not_used = plan.not_used.clone();
    let mut first_error = None;
    let memory = MemoryLimit::lift();
    let mut loader = loader_without_btf();
    for strategy in &plan.strategies {
        match start_strategy(&mut loader, plan, strategy, names, options, &memory, &mut not_used) {
            Ok(mut session) => {
                session.set_not_used(not_used);
                return Ok(session);
            }
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| anyhow::anyhow!("the plan has no hooks")))
}

/// A loader that has not read the kernel's BTF: there is nothing to relocate, and it would take three times the memory
/// of everything else. aya 0.14 reads it whenever a loader is made, and goes on without it where it cannot be opened;
/// so for this moment nothing can be opened. This thread is the only one, and the limit is of new files alone.
pub(super) fn loader_without_btf() -> EbpfLoader<'static> {
    let before = getrlimit(Resource::Nofile);
    let limited = setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..before });
    let mut loader = EbpfLoader::new();
    if limited.is_ok() {
        // Back to what it was, which is always allowed.
        let _ = setrlimit(Resource::Nofile, before);
    }
    loader.btf(None);
    loader
}

/// Kernels before 5.11 count maps as locked memory. The limit is put back on drop: the command that
/// is measured shall not find another one than without us.
struct MemoryLimit {
    before: Rlimit,
    /// Bytes, when it could not be lifted.
    left: Option<u64>,
}

impl MemoryLimit {
    fn lift() -> Self {
        let before = getrlimit(Resource::Memlock);
        // Raising the hard limit takes CAP_SYS_RESOURCE, which newer kernels do not need for BPF.
        let lifted = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None }).is_ok()
            || setrlimit(Resource::Memlock, Rlimit { current: before.maximum, ..before }).is_ok()
                && before.maximum.is_none();
        let left = if lifted { None } else { getrlimit(Resource::Memlock).current };
        Self { before, left }
    }

    /// Adds to a refusal of the maps that this can be the cause.
    fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        match self.left {
            Some(limit) => error.context(format!(
                "locked memory is limited to {} KiB, which kernels before 5.11 apply to BPF maps: run `ulimit -l unlimited` before (systemd: LimitMEMLOCK=infinity)",
                limit / 1024
            )),
            None => error,
        }
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // Lowering needs no privilege.
        let _ = setrlimit(Resource::Memlock, self.before);
    }
}

fn start_strategy(
    loader: &mut EbpfLoader<'static>,
    plan: &AttachPlan,
    strategy: &Strategy,
    names: Option<&Names>,
    options: Options,
    memory: &MemoryLimit,
    not_used: &mut Vec<NotUsed>,
) -> anyhow::Result<Session> {
    let mut refused: BTreeSet<usize> = BTreeSet::new();
    // Groups whose programs the kernel refuses as long as they read its memory for labels.
    let mut unlabelled: BTreeSet<usize> = BTreeSet::new();
    loop {
        let groups = chosen(&strategy.groups, &refused);
        let features: Vec<Feature> = groups.iter().map(|(_, group)| group.feature).collect();
        let mut globals = strategy.globals;
        if groups.iter().any(|(index, _)| unlabelled.contains(index)) {
            globals.label = None;
        }
        // The loader keeps references, and there is one loader for a handful of attempts.
        let constants = Box::leak(Box::new(Constants::new(plan, globals, &features, options)));
        constants.give_to(loader);
        if let Some(threads) = options.threads {
            for map in ["WAIT_STARTS", "FLUSH_STARTS", "OPEN_BY_THREAD"] {
                loader.map_max_entries(map, threads);
            }
            loader.map_max_entries("FLUSH_BEGINS", constants.flush_places);
        }
        let refusal = match Session::load(loader, strategy, &groups, names) {
            Ok(mut session) => {
                session.set_labels(constants.labels != 0);
                return Ok(session);
            }
            Err(refusal) => refusal,
        };
        let Some(index) = refusal.group else { return Err(memory.explain(refusal.error)) };
        let group = &strategy.groups[index];
        if constants.labels != 0 && group.feature == Feature::Flush && refusal.is_of_the_verifier() {
            // A lockdown that nobody told us of may forbid to read kernel memory.
            unlabelled.insert(index);
            not_used.extend(refusal.note("not with the names of locks"));
            continue;
        }
        not_used.extend(refusal.note("the kernel refused it"));
        refused.insert(index);
        if refusal.is_about_trampolines() {
            let all = strategy.groups.iter().enumerate();
            refused.extend(all.filter(|(_, group)| group.is_trampoline()).map(|(index, _)| index));
        }
        let left = strategy
            .groups
            .iter()
            .enumerate()
            .any(|(index, other)| other.feature == group.feature && !refused.contains(&index));
        if group.required && !left {
            return Err(refusal.error);
        }
    }
}

/// The first group of each feature that was not refused, with its place.
fn chosen<'a>(groups: &'a [Group], refused: &BTreeSet<usize>) -> Vec<(usize, &'a Group)> {
    let mut chosen: Vec<(usize, &Group)> = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let taken = chosen.iter().any(|(_, other)| other.feature == group.feature);
        if !taken && !refused.contains(&index) {
            chosen.push((index, group));
        }
    }
    chosen
}

/// Values of the programs' constants.
struct Constants {
    first_cpu: i32,
    last_cpu: i32,
    by_thread: u8,
    exact_spin: u8,
    labels: u8,
    infer_begin: u8,
    infer_end: u8,
    flush_by_function: u8,
    flush_places: u32,
    locks: [u64; 4],
    css_ss: u32,
    subsys_id: u32,
    cgroup_kn: u32,
    kernfs_node_id: u32,
    log_level: u8,
}

impl Constants {
    fn new(plan: &AttachPlan, globals: Globals, features: &[Feature], options: Options) -> Self {
        let offsets = plan.offsets.filter(|_| options.log_faults);
        let has = |feature| features.contains(&feature);
        let label = globals.label.filter(|_| has(Feature::Flush));
        Self {
            first_cpu: globals.first_cpu,
            last_cpu: globals.last_cpu,
            by_thread: globals.by_thread.into(),
            exact_spin: has(Feature::Spin).into(),
            labels: label.is_some().into(),
            infer_begin: (globals.inferred == Inferred::Both).into(),
            infer_end: (globals.inferred != Inferred::Nothing).into(),
            flush_by_function: (globals.flush_by_function || has(Feature::Flush)).into(),
            flush_places: flush_begin::places(options.threads.unwrap_or(THREADS)),
            locks: globals.locks,
            css_ss: label.map_or(0, |(css_ss, _)| css_ss),
            subsys_id: label.map_or(0, |(_, subsys_id)| subsys_id),
            cgroup_kn: offsets.map_or(0, |offsets| offsets.cgroup_kn),
            kernfs_node_id: offsets.map_or(0, |offsets| offsets.kernfs_node_id),
            log_level: if options.log_faults { LOG_WARNINGS } else { 0 },
        }
    }

    fn give_to<'a>(&'a self, loader: &mut EbpfLoader<'a>) {
        loader
            .override_global("FIRST_CPU", &self.first_cpu, true)
            .override_global("LAST_CPU", &self.last_cpu, true)
            .override_global("BY_THREAD", &self.by_thread, true)
            .override_global("EXACT_SPIN", &self.exact_spin, true)
            .override_global("LABELS", &self.labels, true)
            .override_global("INFER_BEGIN", &self.infer_begin, true)
            .override_global("INFER_END", &self.infer_end, true)
            .override_global("FLUSH_BY_FUNCTION", &self.flush_by_function, true)
            .override_global("FLUSH_PLACES", &self.flush_places, true)
            .override_global("LOCKS", &self.locks[..], true)
            .override_global("CSS_SS", &self.css_ss, true)
            .override_global("SUBSYS_ID", &self.subsys_id, true)
            .override_global("CGROUP_KN", &self.cgroup_kn, true)
            .override_global("KERNFS_NODE_ID", &self.kernfs_node_id, true)
            .override_global("AYA_LOG_LEVEL", &self.log_level, true);
    }
}
