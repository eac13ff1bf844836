//! The rounds.

use std::thread;
use std::time::{Duration, Instant};

use aya::sys::{Stats, enable_stats};
use serde::Serialize;

use crate::programs::{figures, ns_per_section};
use crate::storm::{Storm, machine, size};
use crate::subject::{Kind, Running, Subject};
use crate::witness::{Own, median};

/// After a start and an end, before anything is measured: both leave work to the kernel.
const PAUSE: Duration = Duration::from_millis(200);

/// Everything that was measured.
#[derive(Serialize)]
pub(crate) struct Results {
    pub(crate) machine: Vec<(&'static str, String)>,
    /// Length of each measurement, ms.
    pub(crate) length_ms: u64,
    pub(crate) subjects: Vec<Measured>,
}

/// One subject, in every round.
#[derive(Serialize)]
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) note: String,
    /// Size of the program, bytes.
    pub(crate) size: Option<u64>,
    pub(crate) rounds: Vec<Round>,
}

/// What one round gave.
#[derive(Serialize, Clone, Copy)]
pub(crate) struct Round {
    /// Reads per second of the one thread that reads.
    pub(crate) reads_per_second: f64,
    /// Run time of all programs for each section by the kernel's BPF statistics, which include what they cost themselves.
    pub(crate) ns_per_section: Option<f64>,
    /// Median length of a section between the begin of the first program on `locked` and the end of the last one on
    /// `unlock`, by a program of our own.
    pub(crate) section_ns: Option<f64>,
    /// From the start of the command until its programs ran.
    pub(crate) start_ms: Option<f64>,
    pub(crate) peak_kib: Option<u64>,
}

/// Measures all subjects in turns.
pub(crate) fn all(subjects: &[Subject], rounds: u32, length: Duration) -> anyhow::Result<Results> {
    let mut own = Own::load()?;
    let storm = Storm::start()?;
    let mut measured: Vec<Measured> = subjects.iter().map(Measured::of).collect();
    for round in 1..=rounds {
        let begin = Instant::now();
        for (subject, measured) in subjects.iter().zip(&mut measured) {
            measured.rounds.push(one(subject, &mut own, &storm, length)?);
        }
        println!("bench: round {round} of {rounds} in {:.0} s", begin.elapsed().as_secs_f64());
    }
    let length_ms = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    Ok(Results { machine: machine(), length_ms, subjects: measured })
}

fn one(subject: &Subject, own: &mut Own, storm: &Storm, length: Duration) -> anyhow::Result<Round> {
    let statistics = enable_stats(Stats::RunTime)?;
    let running = Running::start(subject, own)?;
    drop(statistics);
    thread::sleep(PAUSE);
    let reads_per_second = storm.rate(length);
    let statistics = enable_stats(Stats::RunTime)?;
    let ids = running.ids();
    let before = figures(&ids);
    thread::sleep(length);
    let ns_per_section = ns_per_section(&before, &figures(&ids));
    drop(statistics);
    let round = Round {
        reads_per_second,
        ns_per_section,
        section_ns: None,
        start_ms: running.attached_after().map(|after| after.as_secs_f64() * 1e3),
        peak_kib: running.peak_kib(),
    };
    drop(running);
    thread::sleep(PAUSE);
    Ok(Round { section_ns: witnessed(subject, own, length)?, ..round })
}

/// Starts it once more, between the two programs of the witness.
fn witnessed(subject: &Subject, own: &mut Own, length: Duration) -> anyhow::Result<Option<f64>> {
    let _first = own.attach_one("witness_locked")?;
    let statistics = enable_stats(Stats::RunTime)?;
    let _running = Running::start(subject, own)?;
    drop(statistics);
    let _last = own.attach_one("witness_unlock")?;
    thread::sleep(PAUSE);
    let before = own.witnessed()?;
    thread::sleep(length);
    Ok(median(&before, &own.witnessed()?))
}

impl Measured {
    fn of(subject: &Subject) -> Self {
        let size = match &subject.kind {
            Kind::Command(line) => size(&line.program),
            _ => None,
        };
        Self { name: subject.name, note: subject.note.clone(), size, rounds: Vec::new() }
    }

    /// The median over the rounds of what they all have.
    pub(crate) fn median(&self, figure: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
        let figures: Option<Vec<f64>> = self.rounds.iter().map(figure).collect();
        middle(figures?)
    }
}

/// The median.
pub(crate) fn middle(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    let half = figures.len() / 2;
    if figures.len() % 2 == 1 {
        figures.get(half).copied()
    } else {
        Some((figures.get(half.checked_sub(1)?)? + figures.get(half)?) / 2.0)
    }
}
