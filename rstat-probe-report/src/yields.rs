//! Whether the rstat lock is yielded for every CPU or only under contention, read off the
//! counters: kernels carry the yield patch under old version numbers, so a version test lies.

use serde::{Deserialize, Serialize};

/// Below this number of flushes the ratio says nothing.
const MIN_FLUSHES: u64 = 10;

/// When a flush gives up the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behaviour {
    /// After each CPU.
    EveryCpu,
    /// Only when somebody else wants the lock or the CPU.
    UnderContention,
    /// Neither: after some CPUs.
    Mixed,
    /// Too few flushes were seen.
    Unknown,
}

impl Behaviour {
    /// The name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EveryCpu => "every_cpu",
            Self::UnderContention => "under_contention",
            Self::Mixed => "mixed",
            Self::Unknown => "unknown",
        }
    }

    /// The finding in a few words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::EveryCpu => "every CPU",
            Self::UnderContention => "under contention",
            Self::Mixed => "some CPUs",
            Self::Unknown => "unknown",
        }
    }
}

/// The yield behaviour that a recording saw, with the figures it was read from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct YieldBehaviour {
    /// The finding.
    pub behaviour: Behaviour,
    /// Flushes it rests on.
    pub flushes: u64,
    /// Yields per flush, absent without flushes.
    pub yields_per_flush: Option<f64>,
    /// Sections per flush, absent without flushes.
    pub sections_per_flush: Option<f64>,
    /// Possible CPUs.
    pub possible_cpus: u32,
    /// Whether the kernel has `cgroup_rstat_flush_locked` (up to 6.14): there one flush is a
    /// section and its yields, while later kernels take the lock once for each CPU.
    pub flush_locked_symbol: bool,
}

impl YieldBehaviour {
    /// Reads the behaviour off the counters of a recording.
    ///
    /// `sections` are all sections. Without `cgroup_rstat_flush_locked` those with `cpu` -1 are
    /// reads of `cpu.stat` after a flush and belong to none, so that there the yields are the
    /// sections of the flushes.
    #[must_use]
    pub fn from_counters(
        flushes: u64,
        yields: u64,
        sections: u64,
        possible_cpus: u32,
        flush_locked_symbol: bool,
    ) -> Self {
        let per_flush = |count: u64| (flushes > 0).then(|| count as f64 / flushes as f64);
        let yields_per_flush = per_flush(yields);
        let behaviour = match yields_per_flush {
            Some(yields) if flushes >= MIN_FLUSHES && possible_cpus > 0 => {
                match yields / f64::from(possible_cpus) {
                    0.9.. => Behaviour::EveryCpu,
                    ..=0.1 => Behaviour::UnderContention,
                    _ => Behaviour::Mixed,
                }
            }
            _ => Behaviour::Unknown,
        };
        let sections_per_flush = per_flush(if flush_locked_symbol { sections } else { yields });
        Self { behaviour, flushes, yields_per_flush, sections_per_flush, possible_cpus, flush_locked_symbol }
    }

    /// The finding in one line, without a full stop.
    #[must_use]
    pub fn sentence(&self) -> String {
        let finding = match self.behaviour {
            Behaviour::Unknown => {
                return format!("too few flushes ({}) to tell whether the lock is yielded", self.flushes);
            }
            Behaviour::EveryCpu if self.possible_cpus == 1 && !self.flush_locked_symbol => {
                "yields for every CPU, but there is only one"
            }
            Behaviour::EveryCpu => "yields for every CPU",
            Behaviour::UnderContention => "yields only under contention",
            Behaviour::Mixed => "yields for some CPUs",
        };
        let plural = if self.possible_cpus == 1 { "" } else { "s" };
        let sections = self.sections_per_flush.unwrap_or(0.0);
        format!("sections per flush {sections:.1} on {} possible CPU{plural}: {finding}", self.possible_cpus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(flushes: u64, yields: u64, sections: u64, cpus: u32, symbol: bool) -> (Behaviour, String) {
        let seen = YieldBehaviour::from_counters(flushes, yields, sections, cpus, symbol);
        (seen.behaviour, seen.sentence())
    }

    #[test]
    fn names_are_those_in_files() {
        for behaviour in
            [Behaviour::EveryCpu, Behaviour::UnderContention, Behaviour::Mixed, Behaviour::Unknown]
        {
            assert_eq!(serde_json::to_value(behaviour).unwrap(), behaviour.name());
        }
    }

    #[test]
    fn one_section_per_cpu() {
        // 50 flushes on 2 CPUs, and 50 reads of cpu.stat that are no part of them.
        let (behaviour, sentence) = of(50, 100, 150, 2, false);
        assert_eq!(behaviour, Behaviour::EveryCpu);
        assert_eq!(sentence, "sections per flush 2.0 on 2 possible CPUs: yields for every CPU");
    }

    #[test]
    fn one_section_per_flush() {
        let (behaviour, sentence) = of(50, 0, 50, 64, true);
        assert_eq!(behaviour, Behaviour::UnderContention);
        assert_eq!(sentence, "sections per flush 1.0 on 64 possible CPUs: yields only under contention");
    }

    #[test]
    fn between_and_at_the_limits() {
        assert_eq!(of(10, 5, 15, 1, true).0, Behaviour::Mixed);
        assert_eq!(of(10, 90, 100, 10, true).0, Behaviour::EveryCpu);
        assert_eq!(of(10, 89, 99, 10, true).0, Behaviour::Mixed);
        assert_eq!(of(10, 10, 20, 10, true).0, Behaviour::UnderContention);
        assert_eq!(of(10, 11, 21, 10, true).0, Behaviour::Mixed);
    }

    #[test]
    fn too_few_flushes() {
        let (behaviour, sentence) = of(3, 6, 9, 2, true);
        assert_eq!(behaviour, Behaviour::Unknown);
        assert_eq!(sentence, "too few flushes (3) to tell whether the lock is yielded");
        assert_eq!(of(0, 0, 0, 2, true).0, Behaviour::Unknown);
        assert_eq!(of(100, 0, 100, 0, true).0, Behaviour::Unknown, "no CPUs is no fact");
    }

    #[test]
    fn one_cpu_proves_nothing() {
        let (behaviour, sentence) = of(20, 20, 20, 1, false);
        assert_eq!(behaviour, Behaviour::EveryCpu);
        assert_eq!(
            sentence,
            "sections per flush 1.0 on 1 possible CPU: yields for every CPU, but there is only one"
        );
    }
}
