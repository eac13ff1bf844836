//! Reading a fleet, and whether it contradicts itself.

use std::io::Read;

use super::sums::difference;
use super::{Fleet, FleetBuilder, FleetError, FleetUnit, UnitKind};
use crate::document::{self, Kind, ReadError};

impl Fleet {
    /// Reads and checks a fleet. `what` names it in errors, usually the file name. Fields that are
    /// not known are skipped; `outliers` and `warnings` are derived anew.
    ///
    /// # Errors
    /// If it cannot be read, is no fleet, is newer than [`super::SCHEMA`], or contradicts itself.
    pub fn read(reader: impl Read, what: &str) -> Result<Self, ReadError> {
        let (text, _) = document::read_text(reader, what, &[&Kind::FLEET])?;
        Self::from_text(&text, what)
    }

    /// Checks and takes over what is known to be a fleet.
    pub(crate) fn from_text(text: &[u8], what: &str) -> Result<Self, ReadError> {
        let stated: Self = document::parse(text, what, &Kind::FLEET)?;
        stated.summed_again().map_err(|message| ReadError::contradiction(what, &Kind::FLEET, message))
    }

    /// The fleet that its units give, when that is the same; else what differs.
    fn summed_again(self) -> Result<Self, String> {
        if self.units.is_empty() {
            return Err("there are no units".to_owned());
        }
        for (index, unit) in self.units.iter().enumerate() {
            check_runs(unit, self.unit).map_err(|fault| format!("unit {index}: {fault}"))?;
        }
        let first = &self.units[0].host;
        if self.units.iter().all(|unit| unit.host == *first) != (self.unit == UnitKind::Run) {
            return Err("the units have to be hosts when there are several, and else runs".to_owned());
        }
        let mut builder = FleetBuilder::new(self.tool.clone());
        builder.add_fleet(&self, "").map_err(|error| fault(&error))?;
        let held = builder.finish().map_err(|error| fault(&error))?;
        if let Some(name) = difference(&self, &held) {
            return Err(format!("totals and units differ in {name}"));
        }
        let place = |unit: &FleetUnit| (unit.host.clone(), unit.started.clone(), unit.runs.clone());
        if let Some(index) = self.units.iter().zip(&held.units).position(|(a, b)| place(a) != place(b)) {
            return Err(format!("unit {index}: units and runs have to be in order, each once"));
        }
        Ok(held)
    }
}

/// Checks what a unit says of its runs.
fn check_runs(unit: &FleetUnit, kind: UnitKind) -> Result<(), String> {
    let runs = unit.runs.len() as u64;
    let time: u128 = unit.runs.iter().map(|run| u128::from(run.duration_ns)).sum();
    if runs == 0 || (kind == UnitKind::Run && runs != 1) {
        return Err(format!("a {} with {runs} runs", kind.nouns().0));
    }
    if unit.recordings != runs {
        return Err(format!("recordings is {}, but there are {runs} runs", unit.recordings));
    }
    if u128::from(unit.duration_ns) != time {
        return Err(format!("duration_ns is {}, but the runs have {time}", unit.duration_ns));
    }
    Ok(())
}

/// What an error in summing the units says about the file. The names of files in it mean nothing.
fn fault(error: &FleetError) -> String {
    match error {
        FleetError::Metrics { missing, .. } => {
            let names: Vec<&str> = missing.iter().map(|metric| metric.name()).collect();
            format!("some units have {}, others lack it", names.join(", "))
        }
        FleetError::Twice { host, started, .. } => {
            format!("the recording of {host} started {started} is in it twice")
        }
        FleetError::TooMany { name, .. } => format!("the units' {name} is more than 2^64 - 1"),
        FleetError::Only { .. } | FleetError::Nothing => "the units have no sum".to_owned(),
    }
}
