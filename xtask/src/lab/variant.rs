//! The pair of kernels: one source, of which one loop is written in two ways.

use anyhow::{Result, bail};

/// The file that has the loop.
pub(crate) const FILE: &str = "kernel/cgroup/rstat.c";

/// When the flush gives up its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// As before the patch: when somebody else wants the lock or the CPU.
    UnderContention,
    /// As after it: after every CPU (Linux commit 0efc297a3c49, in 6.15 and 6.12.31).
    EveryCpu,
}

/// The end of the loop in `cgroup_rstat_flush_locked` with the patch.
const EVERY_CPU: &str = "\
\t\t/* play nice and avoid disabling interrupts for a long time */
\t\t__cgroup_rstat_unlock(cgrp, cpu);
\t\tif (!cond_resched())
\t\t\tcpu_relax();
\t\t__cgroup_rstat_lock(cgrp, cpu);
";

/// The same without it, as 6.12.30 has it.
const UNDER_CONTENTION: &str = "\
\t\t/* play nice and yield if necessary */
\t\tif (need_resched() || spin_needbreak(&cgroup_rstat_lock)) {
\t\t\t__cgroup_rstat_unlock(cgrp, cpu);
\t\t\tif (!cond_resched())
\t\t\t\tcpu_relax();
\t\t\t__cgroup_rstat_lock(cgrp, cpu);
\t\t}
";

impl Variant {
    pub(crate) const BOTH: [Self; 2] = [Self::UnderContention, Self::EveryCpu];

    /// As users name it, and the end of `uname -r`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::UnderContention => "under-contention",
            Self::EveryCpu => "every-cpu",
        }
    }

    /// The yield behaviour that the tool must find, as its reports name it.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::UnderContention => "under contention",
            Self::EveryCpu => "every CPU",
        }
    }

    /// In a sentence, after "yields".
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::UnderContention => "only under contention",
            Self::EveryCpu => "after every CPU",
        }
    }

    /// How the loop ends in this variant.
    pub(crate) const fn loop_end(self) -> &'static str {
        match self {
            Self::UnderContention => UNDER_CONTENTION,
            Self::EveryCpu => EVERY_CPU,
        }
    }

    /// The source of [`FILE`] with this variant's loop, whichever it has.
    ///
    /// # Errors
    /// It has neither, or more than one: then the kernel is none that this pair can be made of.
    pub(crate) fn apply(self, source: &str) -> Result<String> {
        let found: Vec<Self> =
            Self::BOTH.into_iter().filter(|variant| source.contains(variant.loop_end())).collect();
        let [present] = found[..] else {
            bail!("{FILE} has not the flush loop of 6.12 (with or without the yield after every CPU) in it");
        };
        if source.matches(present.loop_end()).count() != 1 {
            bail!("{FILE} has the flush loop more than once");
        }
        Ok(source.replacen(present.loop_end(), self.loop_end(), 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(loop_end: &str) -> String {
        format!("before\n\tfor_each_possible_cpu(cpu) {{\n\t\twork();\n\n{loop_end}\t}}\nafter\n")
    }

    #[test]
    fn the_pair_differs_in_the_loop_only() {
        for given in [EVERY_CPU, UNDER_CONTENTION] {
            let given = source(given);
            assert_eq!(Variant::EveryCpu.apply(&given).unwrap(), source(EVERY_CPU));
            assert_eq!(Variant::UnderContention.apply(&given).unwrap(), source(UNDER_CONTENTION));
        }
    }

    #[test]
    fn another_source_is_refused() {
        for other in [
            String::new(),
            source("\t\tschedule();\n"),
            source(EVERY_CPU) + UNDER_CONTENTION,
            source(EVERY_CPU).repeat(2),
        ] {
            let error = Variant::EveryCpu.apply(&other).unwrap_err().to_string();
            assert!(error.starts_with("kernel/cgroup/rstat.c has "), "{error}");
        }
    }
}
