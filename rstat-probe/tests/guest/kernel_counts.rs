//! What the tool counts, counted by ftrace.

use std::path::PathBuf;

use super::{
    ftrace::{Count, Counted, Ftrace},
    machine,
};

/// Counters for everything that is compared.
pub(super) struct Counters<'a> {
    /// All acquisitions.
    sections: Vec<Count<'a>>,
    /// Those with IRQs off already, counted again: this probe is hit all the time, even by other probes, and
    /// misses much.
    irqsave: Option<Count<'a>>,
    /// Flushes that take a lock; see [`KernelCounts::flushes`].
    flushes: Vec<(&'static str, Count<'a>)>,
    /// Acquisitions for no CPU, where the tracepoints say so and the locks are several.
    reads: Option<Count<'a>>,
}

/// What was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KernelCounts {
    pub(super) sections: u64,
    /// By the lock that they take, as a recording calls it; all by one name up to 6.14.
    pub(super) flushes: Vec<(&'static str, u64)>,
    pub(super) reads: u64,
    pub(super) irqsave: Option<IrqSave>,
    /// Calls that ftrace's kprobes missed: of the lock functions (for whatever lock), of the flush functions.
    pub(super) misses: (u64, u64),
}

/// Acquisitions with IRQs off already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IrqSave {
    /// Seen at the lock function.
    hits: u64,
    /// Calls of the lock function, for any lock, that were not seen.
    misses: u64,
    /// Of the flush function that takes the lock in this way.
    calls: u64,
}

impl KernelCounts {
    /// Whether two independent counts of the acquisitions with IRQs off already are one.
    pub(super) fn irqsave_is_right(&self) -> bool {
        self.irqsave.is_none_or(|IrqSave { hits, misses, calls }| (hits..=hits + misses).contains(&calls))
    }

    pub(super) fn all_flushes(&self) -> u64 {
        self.flushes.iter().map(|(_, count)| count).sum()
    }

    /// The same but for the misses, which are of other locks as well.
    pub(super) fn same(&self, other: &Self) -> bool {
        (self.sections, &self.flushes, self.reads) == (other.sections, &other.flushes, other.reads)
    }
}

impl<'a> Counters<'a> {
    /// Counters that stand still.
    pub(super) fn new(ftrace: &'a Ftrace) -> Self {
        let lock = |function| ftrace.lock(function, "cgroup_rstat_lock", "");
        let (sections, irqsave) = if machine::has_tracepoints() {
            (vec![ftrace.event("cgroup/cgroup_rstat_locked", "")], None)
        } else {
            // memcg of 6.1 flushes with IRQs off, and takes the lock once for that.
            let once = ftrace.function("cgroup_rstat_flush_irqsafe", "", "");
            (vec![lock("_raw_spin_lock_irq"), once], Some(lock("_raw_spin_lock_irqsave")))
        };
        if machine::has("cgroup_rstat_flush_locked") {
            let flushes = vec![("all", ftrace.function("cgroup_rstat_flush_locked", "", ""))];
            return Self { sections, irqsave, flushes, reads: None };
        }
        // A css of another subsystem has nothing to flush and takes no lock.
        let subsystem = |symbol| machine::address(symbol).unwrap();
        let with_lock =
            [("base", 0), ("memory", subsystem("memory_cgrp_subsys")), ("io", subsystem("io_cgrp_subsys"))];
        let flushes = with_lock.map(|(lock, address)| {
            let filter = format!("ss == {address:#x}");
            (lock, ftrace.function("css_rstat_flush", "ss=+8($arg1):x64", &filter))
        });
        let reads = ftrace.event("cgroup/cgroup_rstat_locked", "cpu == -1");
        Self { sections, irqsave, flushes: flushes.into(), reads: Some(reads) }
    }

    pub(super) fn started(self) -> Self {
        Self {
            sections: self.sections.into_iter().map(Count::started).collect(),
            irqsave: self.irqsave.map(Count::started),
            flushes: self.flushes.into_iter().map(|(lock, count)| (lock, count.started())).collect(),
            reads: self.reads.map(Count::started),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Count<'a>> {
        let flushes = self.flushes.iter().map(|(_, count)| count);
        self.sections.iter().chain(&self.irqsave).chain(flushes).chain(&self.reads)
    }

    /// The files that take 1 to start and 0 to stop.
    pub(super) fn switches(&self) -> Vec<PathBuf> {
        self.all().map(Count::switch_path).collect()
    }

    /// Stops, and returns the counts.
    pub(super) fn finish(self) -> KernelCounts {
        self.all().for_each(Count::stop);
        let sections: Vec<_> = self.sections.iter().map(Count::counted).collect();
        let flushes: Vec<_> = self.flushes.iter().map(|(lock, count)| (*lock, count.counted())).collect();
        let irqsave = self.irqsave.as_ref().map(|count| {
            let Counted { hits, misses } = count.counted();
            IrqSave { hits, misses, calls: sections[1].hits }
        });
        KernelCounts {
            irqsave,
            sections: sections.iter().map(|counted| counted.hits).sum(),
            misses: (
                sections.iter().map(|counted| counted.misses).sum(),
                flushes.iter().map(|(_, counted)| counted.misses).sum(),
            ),
            flushes: flushes.into_iter().map(|(lock, counted)| (lock, counted.hits)).collect(),
            reads: self.reads.map_or(0, |count| count.counted().hits),
        }
    }
}
