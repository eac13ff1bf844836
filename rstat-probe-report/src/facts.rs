//! What two recordings must have in common before their figures mean the same: kernel, CPUs,
//! hooks, yield behaviour, load. Sets of values, because one side of a comparison, or one fleet,
//! may be many recordings.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::load_result::LoadResult;
use crate::recording::{Recording, Workload};

/// Value of [`Fact::CrossCheck`] where no tracer was on; files of earlier versions say nothing.
pub(crate) const NO_TRACER: &str = "none";

/// One thing that recordings can differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Kernel release, as `6.12.1-amd64`.
    Kernel,
    /// Kernel version string and build id: two builds of one release differ here.
    KernelBuild,
    /// Machine, as `x86_64`.
    Machine,
    /// `yes` on PREEMPT_RT, where IRQs stay on in sections.
    PreemptRt,
    /// Number of possible CPUs: what a flush walks over.
    PossibleCpus,
    /// Number of online CPUs.
    OnlineCpus,
    /// When flushes gave up the lock, by what was measured.
    Yield,
    /// What each metric rests on, as `flush: fentry and fexit on ...`.
    Hooks,
    /// What ran meanwhile, when the tool started it.
    Load,
    /// Whether the irqsoff tracer was on, which lengthens every time with IRQs off.
    CrossCheck,
    /// Version of rstat-probe.
    Tool,
}

impl Fact {
    /// Every fact, the ones that explain a difference first.
    pub const ALL: &'static [Self] = &[
        Self::Yield,
        Self::Kernel,
        Self::KernelBuild,
        Self::Machine,
        Self::PreemptRt,
        Self::PossibleCpus,
        Self::OnlineCpus,
        Self::Load,
        Self::Hooks,
        Self::CrossCheck,
        Self::Tool,
    ];

    /// A few words for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::KernelBuild => "kernel build",
            Self::Machine => "machine",
            Self::PreemptRt => "PREEMPT_RT",
            Self::PossibleCpus => "possible CPUs",
            Self::OnlineCpus => "online CPUs",
            Self::Yield => "yield behaviour",
            Self::Hooks => "hooks",
            Self::Load => "load",
            Self::CrossCheck => "cross-check",
            Self::Tool => "rstat-probe",
        }
    }
}

/// The facts of any number of recordings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Facts(BTreeMap<Fact, BTreeSet<String>>);

impl Facts {
    /// Those of one recording.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        let at = &recording.provenance;
        let build = match &at.kernel.build_id {
            Some(id) => format!("{} build id {id}", at.kernel.version),
            None => at.kernel.version.clone(),
        };
        let mut facts = Self::default();
        facts.add(Fact::Kernel, at.kernel.release.clone());
        facts.add(Fact::KernelBuild, build);
        facts.add(Fact::Machine, at.kernel.machine.clone());
        facts.add(Fact::PreemptRt, if at.kernel.preempt_rt { "yes" } else { "no" }.to_owned());
        facts.add(Fact::PossibleCpus, at.cpus.possible.to_string());
        facts.add(Fact::OnlineCpus, at.cpus.online.to_string());
        facts.add(Fact::Yield, at.yield_behaviour.behaviour.title().to_owned());
        facts.add(Fact::Load, load(recording.workload.as_ref()));
        let tracer = recording.cross_check.as_ref().map_or(NO_TRACER, |_| "irqsoff tracer");
        facts.add(Fact::CrossCheck, tracer.to_owned());
        facts.add(Fact::Tool, recording.tool.version.clone());
        for (metric, basis) in &at.metrics {
            if let Some(basis) = &basis.basis {
                facts.add(Fact::Hooks, format!("{metric}: {basis}"));
            }
        }
        facts
    }

    /// The one that the result of a load alone has.
    #[must_use]
    pub fn of_load(result: &LoadResult) -> Self {
        let mut facts = Self::default();
        facts.add(Fact::Load, result.identity());
        facts
    }

    /// Adds one value; one that is there already changes nothing.
    pub fn add(&mut self, fact: Fact, value: String) {
        self.0.entry(fact).or_default().insert(value);
    }

    /// Adds those of other recordings.
    pub fn merge(&mut self, other: &Self) {
        for (fact, values) in &other.0 {
            self.0.entry(*fact).or_default().extend(values.iter().cloned());
        }
    }

    /// The values of `fact`, ascending; empty when nothing is known of it.
    #[must_use]
    pub fn values(&self, fact: Fact) -> Vec<&str> {
        self.0.get(&fact).map(|values| values.iter().map(String::as_str).collect()).unwrap_or_default()
    }

    /// Whether nothing at all is known, as of a file of another tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What ran meanwhile. Two runs of one load differ in their process ids and times, so of a load of
/// ours only what defines it is taken.
fn load(workload: Option<&Workload>) -> String {
    let Some(workload) = workload else { return "not started by rstat-probe".to_owned() };
    let result = workload.result.clone().and_then(|json| serde_json::from_value::<LoadResult>(json).ok());
    match result {
        Some(load) => load.identity(),
        None => workload.command.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::tests::sample;

    #[test]
    fn facts_of_a_recording() {
        let facts = Facts::of(&sample());
        assert_eq!(facts.values(Fact::Kernel), ["6.12.1-amd64"]);
        assert_eq!(facts.values(Fact::PossibleCpus), ["4"]);
        assert_eq!(facts.values(Fact::Yield), ["unknown"]);
        assert_eq!(facts.values(Fact::Hooks).len(), 4);
        assert!(Fact::ALL.iter().all(|fact| !facts.values(*fact).is_empty()));
    }

    #[test]
    fn merging_keeps_each_value_once() {
        let mut facts = Facts::of(&sample());
        let mut other = sample();
        other.provenance.cpus.possible = 8;
        facts.merge(&Facts::of(&other));
        facts.merge(&Facts::of(&other));
        assert_eq!(facts.values(Fact::PossibleCpus), ["4", "8"]);
        assert_eq!(facts.values(Fact::Kernel).len(), 1);
        let json = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&json).unwrap(), facts);
    }
}
