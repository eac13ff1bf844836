//! One measure of one side: its runs, and which of hosts, runs, intervals or values are the units
//! that are resampled.

use std::collections::BTreeMap;

use serde::Serialize;

use super::part::{Counts, Part};

/// What is resampled: never the single event of a run, because events in a burst depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Single values of a file of samples.
    Sample,
    /// Intervals of one recording. Says nothing of differences between runs.
    Interval,
    /// Recordings, or files of other tools.
    Run,
    /// Hosts, with all their recordings.
    Host,
}

impl Level {
    /// Its name, for one and for many.
    #[must_use]
    pub const fn words(self) -> [&'static str; 2] {
        match self {
            Self::Sample => ["value", "values"],
            Self::Interval => ["interval", "intervals"],
            Self::Run => ["run", "runs"],
            Self::Host => ["host", "hosts"],
        }
    }
}

/// What the values are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Times, in ns.
    Time,
    /// Anything else, with its unit where it is known.
    Other(Option<String>),
}

/// One recording or file.
#[derive(Clone, Debug)]
struct Run {
    host: Option<String>,
    whole: Part,
    /// Empty when it is not divided, or when other runs make its intervals needless.
    intervals: Vec<Part>,
    /// Such as a host's sum in a fleet: `whole` is already a unit of this level.
    level: Level,
}

/// One measure of one side.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) quantity: Quantity,
    pub(super) higher_is_better: bool,
    runs: Vec<Run>,
}

impl Series {
    pub(super) fn new(quantity: Quantity, higher_is_better: bool) -> Self {
        Self { quantity, higher_is_better, runs: Vec::new() }
    }

    /// Adds a run. With `keep_intervals` false its intervals, and those of the run before, are
    /// dropped as soon as runs can be resampled instead: memory then grows with their sums only.
    pub(super) fn add_run(
        &mut self,
        host: Option<&str>,
        whole: Part,
        intervals: impl FnOnce() -> Vec<Part>,
        keep_intervals: bool,
    ) {
        let first = self.runs.is_empty();
        if !first && !keep_intervals {
            self.runs.iter_mut().for_each(|run| run.intervals = Vec::new());
        }
        let intervals = if first || keep_intervals { intervals() } else { Vec::new() };
        self.runs.push(Run { host: host.map(ToOwned::to_owned), whole, intervals, level: Level::Run });
    }

    /// Adds a unit of a merged file.
    pub(super) fn add_unit(&mut self, host: &str, whole: Part, level: Level) {
        self.runs.push(Run { host: Some(host.to_owned()), whole, intervals: Vec::new(), level });
    }

    /// The coarsest level at which this side has more than one unit, and at least `least`.
    pub(super) fn natural_level(&self) -> Level {
        if self.has_values() && self.runs.len() == 1 {
            return Level::Sample;
        }
        let merged = self.runs.iter().any(|run| run.level == Level::Host);
        if merged || self.hosts().len() > 1 {
            Level::Host
        } else if self.runs.len() > 1 {
            Level::Run
        } else {
            Level::Interval
        }
    }

    /// Whether it is a file of samples, not one value per run.
    pub(super) fn has_values(&self) -> bool {
        let value = |run: &Run| matches!(&run.whole.counts, Counts::Values(values) if values.len() != 1);
        self.runs.iter().any(value)
    }

    /// Whether it has a shape that too few events do not fill: a histogram, and not values or the sums
    /// of a table.
    pub(super) fn is_histogram(&self) -> bool {
        self.runs.iter().any(|run| match &run.whole.counts {
            Counts::Slots(_) => true,
            Counts::Rows(rows) => rows.len() > 1,
            Counts::Values(_) => false,
        })
    }

    fn hosts(&self) -> BTreeMap<Option<&str>, Vec<&Part>> {
        let mut hosts: BTreeMap<Option<&str>, Vec<&Part>> = BTreeMap::new();
        for run in &self.runs {
            hosts.entry(run.host.as_deref()).or_default().push(&run.whole);
        }
        hosts
    }

    /// The units at `level`, each one or more parts that belong together. A run without intervals
    /// is one unit.
    pub(super) fn units(&self, level: Level) -> Vec<Vec<&Part>> {
        match level {
            Level::Host => self.hosts().into_values().collect(),
            Level::Run | Level::Sample => self.runs.iter().map(|run| vec![&run.whole]).collect(),
            Level::Interval => self
                .runs
                .iter()
                .flat_map(|run| {
                    let parts: Vec<&Part> = if run.intervals.is_empty() {
                        vec![&run.whole]
                    } else {
                        run.intervals.iter().collect()
                    };
                    parts.into_iter().map(|part| vec![part])
                })
                .collect(),
        }
    }

    /// Number of plain values.
    pub(super) fn values(&self) -> usize {
        let values = |run: &Run| match &run.whole.counts {
            Counts::Values(values) => values.len(),
            _ => 0,
        };
        self.runs.iter().map(values).sum()
    }

    /// All values of a file of samples as parts of one value each.
    pub(super) fn single_values(&self) -> Vec<Part> {
        let values = self.runs.iter().filter_map(|run| match &run.whole.counts {
            Counts::Values(values) => Some(values),
            _ => None,
        });
        values.flatten().map(|value| Part::of_values(vec![*value])).collect()
    }

    /// The runs as wholes.
    pub(super) fn wholes(&self) -> impl Iterator<Item = &Part> {
        self.runs.iter().map(|run| &run.whole)
    }
}
