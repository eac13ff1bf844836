//! Sums recordings one at a time, so that any number of them needs the memory of the sums only.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use super::runs::overlap_warning;
use super::sums::Sums;
use super::{Fleet, FleetError, FleetRun, FleetUnit, SCHEMA, UnitKind, spread};
use crate::metric::Metric;
use crate::recording::{Recording, Tool};

/// Adds up recordings and fleets, in any order and grouping, to the same [`Fleet`].
///
/// After an error a part of what was added may be in: give it up.
#[derive(Debug)]
pub struct FleetBuilder {
    tool: Tool,
    /// The metrics that were asked for; else those of the first recording.
    only: Option<BTreeSet<Metric>>,
    first: Option<First>,
    /// Names of what was added.
    sources: Vec<String>,
    /// By host every recording, with the index of what it came in.
    runs: BTreeMap<String, BTreeMap<FleetRun, usize>>,
    /// By host; by host and run as long as all are from one host, since that may stay so.
    units: BTreeMap<(String, Option<FleetRun>), Sums>,
    by_run: bool,
    total: Sums,
}

/// What all others are measured against.
#[derive(Debug)]
struct First {
    what: String,
    metrics: Vec<Metric>,
    /// Why it lacks the metrics it lacks.
    reasons: BTreeMap<Metric, String>,
}

impl FleetBuilder {
    /// Nothing yet. `tool` is what the fleet will be said to be written by.
    #[must_use]
    pub fn new(tool: Tool) -> Self {
        Self {
            tool,
            only: None,
            first: None,
            sources: Vec::new(),
            runs: BTreeMap::new(),
            units: BTreeMap::new(),
            by_run: true,
            total: Sums::default(),
        }
    }

    /// Sums these metrics only, and leaves others out of what is added. Counters and losses are not
    /// by metric and stay whole.
    #[must_use]
    pub fn only(mut self, metrics: impl IntoIterator<Item = Metric>) -> Self {
        self.only = Some(metrics.into_iter().collect());
        self
    }

    /// Adds a recording, which `what` names in errors.
    ///
    /// # Errors
    /// If its metrics are not those of the others, if it is already in, if a sum gets too large.
    pub fn add_recording(&mut self, recording: &Recording, what: &str) -> Result<(), FleetError> {
        let reasons = &recording.provenance.metrics;
        let reasons =
            reasons.iter().filter_map(|(&metric, basis)| Some((metric, basis.unavailable.clone()?)));
        let run =
            FleetRun { started: recording.provenance.started.clone(), duration_ns: recording.duration_ns };
        self.sources.push(what.to_owned());
        let mut sums = Sums::of_recording(recording);
        self.select(&mut sums, what, reasons.collect())?;
        self.add(&recording.provenance.host, &[run], &sums)
    }

    /// Adds all that is in a fleet, which `what` names in errors.
    ///
    /// # Errors
    /// As [`Self::add_recording`].
    pub fn add_fleet(&mut self, fleet: &Fleet, what: &str) -> Result<(), FleetError> {
        self.sources.push(what.to_owned());
        if fleet.unit == UnitKind::Host {
            self.fold()?;
        }
        for unit in &fleet.units {
            let mut sums = Sums::of_unit(unit)
                .ok_or_else(|| FleetError::TooMany { what: what.to_owned(), name: "duration_ns" })?;
            self.select(&mut sums, what, BTreeMap::new())?;
            self.add(&unit.host, &unit.runs, &sums)?;
        }
        Ok(())
    }

    /// The sum of what was added.
    ///
    /// # Errors
    /// If that was nothing.
    pub fn finish(self) -> Result<Fleet, FleetError> {
        let Self { tool, runs, units, by_run, total, .. } = self;
        if units.is_empty() {
            return Err(FleetError::Nothing);
        }
        let runs: BTreeMap<String, Vec<FleetRun>> = runs
            .into_iter()
            .map(|(host, runs)| {
                let mut runs: Vec<FleetRun> = runs.into_keys().collect();
                runs.sort_by_cached_key(FleetRun::order);
                (host, runs)
            })
            .collect();
        let warnings = runs.iter().filter_map(|(host, runs)| overlap_warning(host, runs)).collect();
        let mut units: Vec<FleetUnit> = units
            .into_iter()
            .map(|((host, run), sums)| {
                let runs = match run {
                    Some(run) => vec![run],
                    None => runs.get(&host).cloned().unwrap_or_default(),
                };
                unit(host, runs, sums)
            })
            .collect();
        if by_run {
            units.sort_by_cached_key(|unit| unit.runs.first().map(FleetRun::order));
        }
        Ok(Fleet {
            schema: SCHEMA.to_owned(),
            tool,
            recordings: total.recordings,
            unit: if by_run { UnitKind::Run } else { UnitKind::Host },
            duration_ns: total.duration_ns,
            outliers: spread::of_units(&total.metrics(), &units),
            totals: total.totals,
            losses: total.losses,
            open: total.open,
            facts: total.facts,
            units,
            warnings,
        })
    }

    /// Leaves the metrics in `sums` that are to be summed, and refuses it when it lacks one or has
    /// one that others lack.
    fn select(
        &mut self,
        sums: &mut Sums,
        what: &str,
        mut reasons: BTreeMap<Metric, String>,
    ) -> Result<(), FleetError> {
        let mut metrics = sums.metrics();
        let lacking = |wanted: &mut dyn Iterator<Item = Metric>, had: &[Metric]| -> Vec<Metric> {
            wanted.filter(|metric| !had.contains(metric)).collect()
        };
        if let Some(only) = &self.only {
            let missing = lacking(&mut only.iter().copied(), &metrics);
            if let Some(metric) = missing.first() {
                let reason = reasons.remove(metric);
                return Err(FleetError::Only { what: what.to_owned(), missing, reason });
            }
            sums.totals.metrics.retain(|metric, _| only.contains(metric));
            metrics = sums.metrics();
        }
        let Some(first) = &self.first else {
            self.first = Some(First { what: what.to_owned(), metrics, reasons });
            return Ok(());
        };
        let common = || metrics.iter().copied().filter(|metric| first.metrics.contains(metric)).collect();
        let missing = lacking(&mut first.metrics.iter().copied(), &metrics);
        if let Some(metric) = missing.first() {
            let reason = reasons.remove(metric);
            let (what, other) = (what.to_owned(), first.what.clone());
            return Err(FleetError::Metrics { what, missing, other, reason, common: common() });
        }
        let missing = lacking(&mut metrics.iter().copied(), &first.metrics);
        if let Some(metric) = missing.first() {
            let reason = first.reasons.get(metric).cloned();
            let (what, other) = (first.what.clone(), what.to_owned());
            return Err(FleetError::Metrics { what, missing, other, reason, common: common() });
        }
        Ok(())
    }

    /// Adds one unit, which came in the last of the sources.
    fn add(&mut self, host: &str, runs: &[FleetRun], sums: &Sums) -> Result<(), FleetError> {
        let source = self.sources.len() - 1;
        if self.runs.keys().any(|other| other != host) {
            self.fold()?;
        }
        let seen = self.runs.entry(host.to_owned()).or_default();
        for run in runs {
            if let Some(other) = seen.insert(run.clone(), source) {
                return Err(FleetError::Twice {
                    what: self.sources[source].clone(),
                    other: self.sources[other].clone(),
                    host: host.to_owned(),
                    started: run.started.clone(),
                });
            }
        }
        let too_many = |name| FleetError::TooMany { what: self.sources[source].clone(), name };
        let run = if self.by_run { runs.first().cloned() } else { None };
        self.total.add(sums).map_err(too_many)?;
        self.units.entry((host.to_owned(), run)).or_default().add(sums).map_err(too_many)
    }

    /// Makes hosts of runs: there is more than one host.
    fn fold(&mut self) -> Result<(), FleetError> {
        if !mem::replace(&mut self.by_run, false) {
            return Ok(());
        }
        for ((host, _), sums) in mem::take(&mut self.units) {
            let what = || self.sources.last().cloned().unwrap_or_default();
            let too_many = |name| FleetError::TooMany { what: what(), name };
            self.units.entry((host, None)).or_default().add(&sums).map_err(too_many)?;
        }
        Ok(())
    }
}

fn unit(host: String, runs: Vec<FleetRun>, sums: Sums) -> FleetUnit {
    FleetUnit {
        host,
        started: runs.first().map(|run| run.started.clone()).unwrap_or_default(),
        recordings: sums.recordings,
        duration_ns: sums.duration_ns,
        totals: sums.totals,
        losses: sums.losses,
        open: sums.open,
        facts: sums.facts,
        runs,
    }
}
