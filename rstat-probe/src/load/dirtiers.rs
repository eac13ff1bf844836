//! The load's side of the dirtier processes: which there are, and what they did.

use std::path::Path;

use rustix::thread::{CpuSet, sched_getaffinity};

use super::dirtier::DirtierArgs;
use super::worker::{Crew, Home};

/// More processes than this would take long to start; with more CPUs each visits several.
const MOST: usize = 128;

/// Running dirtiers; dropping it kills them and waits for them.
#[derive(Debug, Default)]
pub(super) struct Dirtiers(Crew);

impl Dirtiers {
    /// Starts dirtiers in the cgroup at `cgroup` on all CPUs this process may use, and waits until they are in it.
    ///
    /// The calling thread must stay alive as long as they: the kernel kills them when it ends.
    pub(super) fn start(cgroup: &Path) -> anyhow::Result<Self> {
        Ok(Self(Crew::start(&plan(cgroup, &allowed_cpus()))?))
    }

    /// Ends all of them and gives the number of pages they allocated. Nothing fails here: what does not end is killed.
    pub(super) fn stop(self) -> u64 {
        self.0.stop().into_iter().flatten().flatten().sum()
    }
}

/// What each dirtier is told: one per CPU, or `MOST` that share the CPUs.
fn plan(cgroup: &Path, cpus: &[usize]) -> Vec<DirtierArgs> {
    let count = cpus.len().clamp(1, MOST);
    let of = u32::try_from(count).unwrap_or(u32::MAX);
    let one = |index| {
        let visited = cpus.iter().copied().skip(index).step_by(count).collect();
        DirtierArgs::new(Home::in_cgroups([cgroup]), visited, of)
    };
    (0..count).map(one).collect()
}

/// CPUs this thread may run on; empty when the kernel does not say.
fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_is_visited_by_exactly_one_dirtier() {
        for count in [1, 2, 127, 128, 129, 400, 1024] {
            let cpus: Vec<usize> = (0..count).map(|cpu| cpu * 3).collect();
            let plan = plan(Path::new("/cg"), &cpus);
            assert!(plan.len() <= MOST && plan.iter().all(|args| args.of as usize == plan.len()));
            let mut visited: Vec<usize> = plan.into_iter().flat_map(|args| args.cpus).collect();
            visited.sort_unstable();
            assert_eq!(visited, cpus);
        }
        assert_eq!(plan(Path::new("/cg"), &[]).len(), 1);
    }
}
