//! One side of a comparison: any number of recordings, merged files, load results and files of
//! other tools, added one after the other and kept as sums.

use std::collections::{BTreeMap, BTreeSet};

use super::part::Part;
use super::rows;
use super::series::{Level, Quantity, Series};
use super::{SideSummary, Span};
use crate::facts::{Fact, Facts};
use crate::fleet::{Fleet, FleetUnit, UnitKind};
use serde_json::Value;

use crate::import::{Imported, ImportedHistogram, Unit};
use crate::input::Input;
use crate::load_result::{LoadResult, Rate};
use crate::metric::{Counter, Loss, Metric};
use crate::recording::{EndedBy, Recording};
use crate::render::text::escaped;

/// Name of the measure that a load's latencies are compared under.
pub(super) const LOAD_LATENCY: &str = "load.latency";

/// One side of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// What the user calls it.
    pub label: String,
    /// Measures in the order in which they came.
    pub(super) measures: Vec<(String, Series)>,
    /// Measures that a recording could not measure, with the reason.
    pub(super) unavailable: BTreeMap<String, String>,
    pub(super) facts: Facts,
    pub(super) hosts: BTreeSet<String>,
    pub(super) losses: BTreeMap<Loss, u64>,
    pub(super) counters: BTreeMap<Counter, u64>,
    pub(super) inputs: usize,
    /// What one should know of the inputs, a sentence each.
    pub(super) warnings: Vec<String>,
    /// What is there is there because the user picked it, and may be compared under another name.
    pub(super) is_picked: bool,
    /// Keep the intervals of many runs, because they are to be resampled.
    keep_intervals: bool,
    /// Recordings by host and start, with their files.
    seen: BTreeMap<(String, String), String>,
}

impl Side {
    /// A side without data. `keep_intervals` makes memory grow with the intervals instead of the runs.
    #[must_use]
    pub fn new(label: &str, keep_intervals: bool) -> Self {
        Self { label: label.to_owned(), keep_intervals, ..Self::default() }
    }

    /// Adds a file. `name` picks one measure of it.
    ///
    /// # Errors
    /// If `name` is not in it, or it holds nothing that can be compared: one line, without the
    /// file's name where `what` has been given to what made `input`.
    pub fn add(&mut self, input: Input, what: &str, name: Option<&str>) -> Result<(), String> {
        self.inputs += 1;
        self.is_picked |= name.is_some() || matches!(input, Input::Foreign(_));
        match input {
            Input::Recording(recording) => self.add_recording(&recording, what, name),
            Input::Fleet(fleet) => self.add_fleet(&fleet, what, name),
            Input::Load(load) => {
                self.facts.merge(&Facts::of_load(&load));
                let known = self.add_load(&load, None, name)?;
                check_name(name, &known, what)
            }
            Input::Foreign(imported) => self.add_imported(&imported, what, name),
        }
    }

    /// Names of the measures.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.measures.iter().map(|(name, _)| name.as_str())
    }

    /// Drops all measures but `names`, and returns those that there are not.
    pub fn keep_only(&mut self, names: &[String]) -> Vec<String> {
        self.measures.retain(|(name, _)| names.contains(name));
        let missing = |name: &&String| !self.measures.iter().any(|(other, _)| other == *name);
        names.iter().filter(missing).cloned().collect()
    }

    /// The series called `name`.
    ///
    /// # Errors
    /// It is there already, and is of another quantity.
    fn series(
        &mut self,
        name: &str,
        quantity: &Quantity,
        higher_is_better: bool,
    ) -> Result<&mut Series, String> {
        let found = self.measures.iter().position(|(other, _)| other == name);
        let index = found.unwrap_or_else(|| {
            self.measures.push((name.to_owned(), Series::new(quantity.clone(), higher_is_better)));
            self.measures.len() - 1
        });
        let series = &mut self.measures[index].1;
        if series.quantity != *quantity {
            return Err(format!("the unit of {} is not that of the files before; say --unit", escaped(name)));
        }
        Ok(series)
    }

    fn add_recording(&mut self, recording: &Recording, what: &str, name: Option<&str>) -> Result<(), String> {
        let at = &recording.provenance;
        let identity = (at.host.clone(), at.started.clone());
        if let Some(before) = self.seen.insert(identity, what.to_owned()) {
            return Err(format!("{before} and {what} are the same recording; it would count twice"));
        }
        if let EndedBy::Error { message } = &recording.ended_by {
            self.warnings.push(format!("{what} was cut short by an error: {message}"));
        }
        self.hosts.insert(at.host.clone());
        self.facts.merge(&Facts::of(recording));
        add_counts(&mut self.losses, &recording.losses);
        add_counts(&mut self.counters, &recording.totals.counters);
        for (metric, basis) in &at.metrics {
            if let Some(reason) = &basis.unavailable {
                self.unavailable.insert(metric.name().to_owned(), reason.clone());
            }
        }
        let keep = self.keep_intervals;
        for (metric, histogram) in &recording.totals.metrics {
            if name.is_some_and(|name| name != metric.name()) {
                continue;
            }
            let intervals = || {
                let parts = recording.intervals.iter();
                parts
                    .filter_map(|interval| Some((interval.metrics.get(metric)?, interval.length_ns)))
                    .map(|(histogram, length_ns)| Part::of_histogram(histogram, length_ns))
                    .collect()
            };
            let whole = Part::of_histogram(histogram, recording.duration_ns);
            let series = self.series(metric.name(), &Quantity::Time, false)?;
            series.add_run(Some(&at.host), whole, intervals, keep);
        }
        let mut known: Vec<&str> = recording.totals.metrics.keys().map(|metric| metric.name()).collect();
        let result = recording.workload.as_ref().and_then(|workload| workload.result.clone());
        if let Some(load) = result.and_then(|json| serde_json::from_value::<LoadResult>(json).ok()) {
            known.extend(self.add_load(&load, Some(&at.host), name)?);
        }
        check_name(name, &known, what)
    }

    fn add_fleet(&mut self, fleet: &Fleet, what: &str, name: Option<&str>) -> Result<(), String> {
        self.facts.merge(&fleet.facts);
        add_counts(&mut self.losses, &fleet.losses);
        add_counts(&mut self.counters, &fleet.totals.counters);
        self.warnings.extend(fleet.warnings.iter().map(|warning| format!("{what}: {warning}")));
        let level = match fleet.unit {
            UnitKind::Host => Level::Host,
            UnitKind::Run => Level::Run,
        };
        for FleetUnit { host, totals, duration_ns, .. } in &fleet.units {
            self.hosts.insert(host.clone());
            let chosen =
                totals.metrics.iter().filter(|(metric, _)| name.is_none_or(|name| name == metric.name()));
            for (metric, histogram) in chosen {
                let whole = Part::of_histogram(histogram, *duration_ns);
                self.series(metric.name(), &Quantity::Time, false)?.add_unit(host, whole, level);
            }
        }
        let known: Vec<&str> = fleet.totals.metrics.keys().map(|metric| metric.name()).collect();
        check_name(name, &known, what)
    }

    /// Adds what a load measured itself, and returns the names of all of it.
    fn add_load(
        &mut self,
        load: &LoadResult,
        host: Option<&str>,
        name: Option<&str>,
    ) -> Result<Vec<&'static str>, String> {
        let mut known = Vec::new();
        for Rate { name: rate, value, unit } in load.rates() {
            known.push(rate);
            if name.is_none_or(|name| name == rate) {
                let unit = Quantity::Other(Some(unit.to_owned()));
                let part = Part::of_values(vec![value]);
                self.series(rate, &unit, true)?.add_run(host, part, Vec::new, false);
            }
        }
        let Some(reader) = &load.stat_reader else { return Ok(known) };
        known.push(LOAD_LATENCY);
        if name.is_none_or(|name| name == LOAD_LATENCY)
            && let Ok(mut latency) = Part::of_foreign(&reader.latency.histogram())
        {
            // The load knows more than its histogram.
            latency.length_s = (load.duration_ns > 0).then(|| load.duration_ns as f64 / 1e9);
            if reader.latency.count > 0 {
                latency.min = Some(reader.latency.min as f64);
                latency.max = Some(Span::exact(reader.latency.max as f64));
            }
            self.series(LOAD_LATENCY, &Quantity::Time, false)?.add_run(host, latency, Vec::new, false);
        }
        Ok(known)
    }

    fn add_imported(&mut self, imported: &Imported, what: &str, name: Option<&str>) -> Result<(), String> {
        self.warnings.extend(imported.warnings.iter().map(|warning| format!("{what}: {warning}")));
        let (values, unit) = samples(imported);
        if imported.histograms.is_empty() && !values.is_empty() {
            let quantity = unit.map_or(Quantity::Other(None), |_| Quantity::Time);
            let scale = unit.map_or(1.0, |unit| unit.nanoseconds() as f64);
            let values = values.iter().map(|value| value * scale).collect();
            self.series(name.unwrap_or("samples"), &quantity, false)?.add_run(
                None,
                Part::of_values(values),
                Vec::new,
                false,
            );
            return Ok(());
        }
        if imported.histograms.iter().any(|histogram| histogram.upper_inclusive) {
            let what = escaped(what);
            self.warnings
                .push(format!("{what}: its buckets are (low, high]; a value on an edge counts below it"));
        }
        let names = imported.unique_names();
        if imported.histograms.is_empty() {
            return self.add_rows(imported, what, name);
        }
        let chosen: Vec<usize> = match name {
            Some(name) => vec![imported.select(name).map_err(|error| error.in_file(what).to_string())?],
            None => (0..imported.histograms.len()).collect(),
        };
        for index in chosen {
            let histogram: &ImportedHistogram = &imported.histograms[index];
            let part =
                Part::of_foreign(histogram).map_err(|error| format!("{what}: {}: {error}", names[index]))?;
            let quantity = histogram.unit.map_or(Quantity::Other(None), |_| Quantity::Time);
            self.series(&names[index], &quantity, false)?.add_run(None, part, Vec::new, false);
        }
        Ok(())
    }

    fn add_rows(&mut self, imported: &Imported, what: &str, name: Option<&str>) -> Result<(), String> {
        let (parts, warnings) = rows::parts(&imported.rows);
        if parts.is_empty() {
            let format = &imported.format;
            return Err(format!(
                "{what}: {format} without a histogram, samples or a table: there is nothing to compare"
            ));
        }
        self.warnings.extend(warnings.into_iter().map(|warning| format!("{what}: {warning}")));
        let known: Vec<String> = parts.iter().map(|(name, _)| name.clone()).collect();
        for (row, part) in parts {
            if name.is_none_or(|name| name == row) {
                self.series(&row, &Quantity::Time, false)?.add_run(None, part, Vec::new, false);
            }
        }
        check_name(name, &known.iter().map(String::as_str).collect::<Vec<_>>(), what)
    }

    pub(super) fn summary(&self) -> SideSummary {
        SideSummary {
            label: self.label.clone(),
            inputs: self.inputs,
            hosts: self.hosts.len(),
            losses: self.losses_in_words(),
            yields: self.facts.values(Fact::Yield).into_iter().map(str::to_owned).collect(),
            sections_per_flush: self.sections_per_flush(),
            cpus_per_section: self.cpus_per_section(),
            warnings: self.warnings.clone(),
        }
    }

    fn sections_per_flush(&self) -> Option<f64> {
        let counter = |counter| self.counters.get(&counter).copied().unwrap_or(0) as f64;
        let flushes = counter(Counter::Flushes);
        (flushes > 0.0).then(|| counter(Counter::Sections) / flushes)
    }

    fn cpus_per_section(&self) -> Option<f64> {
        let sections = self.sections_per_flush().filter(|sections| *sections > 0.0)?;
        let [possible] = self.facts.values(Fact::PossibleCpus)[..] else { return None };
        Some(possible.parse::<f64>().ok()? / sections)
    }
}

/// Plain values of a file of samples, or the latencies of traces of the irqsoff tracer, and their
/// unit.
fn samples(imported: &Imported) -> (Vec<f64>, Option<Unit>) {
    let number = |row: &serde_json::Map<String, Value>, key: &str| row.get(key).and_then(Value::as_f64);
    if imported.format == "irqsoff-trace" {
        // The head of a trace has it in whole microseconds, one without a head in its last line.
        let latency = |row| number(row, "latency_us").or_else(|| number(row, "latency_us_last_line"));
        return (imported.rows.iter().filter_map(latency).collect(), Some(Unit::Us));
    }
    let unit = imported.scalars.get("unit").and_then(Value::as_str).and_then(Unit::from_word);
    let plain = imported.rows.iter().all(|row| row.len() == 1);
    let values = imported.rows.iter().filter(|_| plain).filter_map(|row| number(row, "value"));
    (values.collect(), unit)
}

fn check_name(name: Option<&str>, known: &[&str], what: &str) -> Result<(), String> {
    match name {
        Some(name) if !known.contains(&name) => {
            Err(format!("{what} has no {}; it has {}", escaped(name), escaped(&known.join(", "))))
        }
        _ => Ok(()),
    }
}

fn add_counts<K: Copy + Ord>(sums: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (key, count) in more {
        let sum = sums.entry(*key).or_default();
        *sum = sum.saturating_add(*count);
    }
}

/// Whether a measure is one of ours.
pub(super) fn metric(name: &str) -> Option<Metric> {
    name.parse().ok()
}
