//! What a plan is made of.

use std::collections::BTreeMap;

use rstat_probe_report::metric::Metric;

/// How a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttachKind {
    RawTracepoint,
    Fentry,
    Fexit,
    Kprobe,
    Kretprobe,
}

impl AttachKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RawTracepoint => "raw_tracepoint",
            Self::Fentry => "fentry",
            Self::Fexit => "fexit",
            Self::Kprobe => "kprobe",
            Self::Kretprobe => "kretprobe",
        }
    }

    /// Whether it needs BPF trampolines.
    pub(crate) fn is_trampoline(self) -> bool {
        matches!(self, Self::Fentry | Self::Fexit)
    }
}

/// One program on one hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    /// Name of the program in the eBPF object.
    pub program: &'static str,
    pub hook: &'static str,
    pub attach: AttachKind,
    pub serves: &'static [Metric],
}

/// What a group of programs adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// Sections, and with them everything else.
    Sections,
    /// The flush function's own call and return.
    Flush,
    /// The exact begin of the time with IRQs off.
    Spin,
    /// How much an inferred end of a section is too early.
    Bound,
    /// The per-CPU locks.
    CpuLocks,
}

/// Programs that are attached together or not at all. Of several groups for one feature the first
/// that the kernel accepts is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// In the order of attachment: ends before begins, so that no begin lacks its end.
    pub programs: Vec<Planned>,
    pub feature: Feature,
    /// Whether the strategy fails without it.
    pub required: bool,
}

impl Group {
    pub(super) fn optional(feature: Feature, programs: impl Into<Vec<Planned>>) -> Self {
        Self { programs: programs.into(), feature, required: false }
    }

    /// Whether the group hooks functions.
    pub(crate) fn is_function(&self) -> bool {
        self.programs.iter().any(|planned| planned.attach != AttachKind::RawTracepoint)
    }

    /// Whether it needs BPF trampolines.
    pub(crate) fn is_trampoline(&self) -> bool {
        self.programs.iter().any(|planned| planned.attach.is_trampoline())
    }
}

/// A hook that exists or could, and is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotUsed {
    pub hook: String,
    pub attach: AttachKind,
    pub reason: String,
}

/// What a metric rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// Measured, and how.
    From(String),
    /// Exists on this kernel, but cannot be measured.
    Unavailable(String),
    /// This kernel has no such thing.
    Absent(String),
}

/// A way to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StrategyKind {
    /// The rstat tracepoints, and function hooks beside them where they attach (6.10 and later).
    Tracepoints,
    /// Return of the lock function, call of the unlock function.
    LockFunctions,
    /// Return of the lock function; releases are inlined and inferred.
    InferredRelease,
    /// The walk over the CPUs stands in for the sections.
    Walk,
    /// The same without BPF trampolines.
    WalkByKprobes,
}

impl StrategyKind {
    /// In a few words.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Tracepoints => "tracepoints",
            Self::LockFunctions => "lock functions",
            Self::InferredRelease => "lock function, inferred releases",
            Self::Walk => "walk",
            Self::WalkByKprobes => "walk by kprobes",
        }
    }
}

/// Ends of sections that no hook sees and the walk over the CPUs stands in for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Inferred {
    #[default]
    Nothing,
    /// The end of the walk ends a section.
    Releases,
    /// And its begin begins one.
    Both,
}

/// Constants of the programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Globals {
    /// The tracepoint's `cpu` argument at the first acquisition of a flush.
    pub first_cpu: i32,
    /// The tracepoint's `cpu` argument at the last release of a flush.
    pub last_cpu: i32,
    /// Sections belong to threads (PREEMPT_RT).
    pub by_thread: bool,
    /// Which ends of sections the walk stands in for.
    pub inferred: Inferred,
    /// Without tracepoints: the flush function's programs count the flushes.
    pub flush_by_function: bool,
    /// Addresses of the main locks, 0 for none.
    pub locks: [u64; 4],
    /// Offsets of `cgroup_subsys_state.ss` and `cgroup_subsys.id`, where sections can be labelled
    /// with their lock.
    pub label: Option<(u32, u32)>,
}

/// A way to measure on this kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Strategy {
    pub kind: StrategyKind,
    /// Why it comes into question.
    pub why: String,
    pub groups: Vec<Group>,
    /// What each metric rests on when only the required groups attach.
    pub basis: BTreeMap<Metric, Basis>,
    /// What it rests on instead when a feature is there.
    pub refined: Vec<(Feature, Metric, String)>,
    pub globals: Globals,
}

impl Strategy {
    /// What each metric rests on when these features are there.
    pub(crate) fn basis_with(&self, features: &[Feature]) -> BTreeMap<Metric, Basis> {
        let mut basis = self.basis.clone();
        for (feature, metric, text) in &self.refined {
            if features.contains(feature) && matches!(basis.get(metric), Some(Basis::From(_))) {
                basis.insert(*metric, Basis::From(text.clone()));
            }
        }
        basis
    }
}

/// What the user or a test insists on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Force {
    /// Tracepoints, and nothing beside them.
    Tracepoints,
    /// The lock's functions.
    LockFunctions,
    /// The lock's functions but for the trylock, to see what that misses.
    LockFunctionsWithoutTrylock,
    /// The walk over the CPUs.
    Walk,
    /// The walk, by kprobes.
    Kprobes,
}
