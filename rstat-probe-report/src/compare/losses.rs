//! What is known to be missed on one side, by metric.

use super::part::Part;
use super::side::Side;
use super::words;
use crate::metric::{Counter, Loss, Metric};

/// Smaller losses are in the recordings' own reports.
const WORTH_A_WARNING: f64 = 0.001;

impl Side {
    /// Share of the events of `metric` that are known to be lost, and what these are.
    pub(super) fn lost_share(&self, metric: Metric) -> (f64, &'static str) {
        let lost = |losses: &[Loss]| -> u64 {
            losses.iter().map(|loss| self.losses.get(loss).copied().unwrap_or(0)).sum()
        };
        let counted = |counter| self.counters.get(&counter).copied().unwrap_or(0);
        let any = [Loss::ClockBackwards, Loss::RecursionMisses];
        let waits = [Loss::WaitStartMissing, Loss::WaitOverwritten];
        let sections = [Loss::SectionOverwritten, Loss::TaskMismatch];
        let (lost, all, of) = match metric {
            Metric::LockWait => (lost(&waits) + lost(&any), counted(Counter::Contended), "waits"),
            Metric::IrqsOff => {
                (lost(&waits) + lost(&sections) + lost(&any), counted(Counter::Sections), "sections")
            }
            Metric::LockHold => (lost(&sections) + lost(&any), counted(Counter::Sections), "sections"),
            Metric::Flush => (lost(&[Loss::FlushMapFull]) + lost(&any), counted(Counter::Flushes), "flushes"),
            Metric::CpuLockWait | Metric::CpuLockHold => {
                let seen: u64 = self
                    .measures
                    .iter()
                    .filter(|(name, _)| name == metric.name())
                    .flat_map(|(_, series)| series.wholes())
                    .map(Part::events)
                    .sum();
                let lost = lost(&[Loss::CpuLockUnpaired]) + lost(&any);
                (lost, seen.saturating_add(lost), "acquisitions")
            }
        };
        (if lost == 0 { 0.0 } else { lost as f64 / all.max(lost) as f64 }, of)
    }

    /// What of each metric is known to be lost, a sentence each.
    pub(super) fn losses_in_words(&self) -> Vec<String> {
        let metrics =
            Metric::ALL.iter().filter(|metric| self.measures.iter().any(|(name, _)| name == metric.name()));
        metrics
            .filter_map(|metric| {
                let (share, of) = self.lost_share(*metric);
                let share = (share > WORTH_A_WARNING).then(|| words::percent(share))?;
                Some(format!("{metric}: {share} of the {of} are known to be lost"))
            })
            .collect()
    }
}
