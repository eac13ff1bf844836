//! What measuring costs: the kernel's BPF statistics, switched on for a short while, because they
//! cost two clock reads a run themselves.

use std::{os::fd::OwnedFd, time::Duration};

use aya::sys::{Stats, enable_stats};
use rstat_probe_report::recording::{Overhead, OverheadSample, ProgramCost};

use crate::kernel::{cost::ProgramFigures, session::Session};

/// Length of one sample.
const SAMPLE: Duration = Duration::from_millis(100);
/// A sample of this many sections is good enough.
const ENOUGH_SECTIONS: u64 = 1000;
/// Longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

const NOTE: &str = "run time of all programs by the kernel's BPF statistics, an upper bound: it includes about one clock read a run that the statistics themselves cost";

/// Takes samples until one is good enough. Driven by [`Sampler::next`] and [`Sampler::step`].
pub(crate) struct Sampler {
    pause: Duration,
    /// Statistics are on while this is some.
    running: Option<Running>,
    best: Option<OverheadSample>,
    /// Samples that ended.
    taken: u32,
    unavailable: Option<String>,
    done: bool,
}

struct Running {
    statistics: OwnedFd,
    figures: Vec<ProgramFigures>,
    sections: u64,
    begin_ns: u64,
}

impl Sampler {
    /// For a measurement of `duration`.
    pub(crate) fn new(duration: Option<Duration>) -> Self {
        let first = duration.map_or(Duration::from_secs(1), |d| (d / 5).min(Duration::from_secs(1)));
        Self { pause: first, running: None, best: None, taken: 0, unavailable: None, done: false }
    }

    /// How long to wait before the next [`Sampler::step`], `None` when there is none.
    pub(crate) fn next(&self) -> Option<Duration> {
        if self.done {
            None
        } else if self.running.is_some() {
            Some(SAMPLE)
        } else {
            Some(self.pause)
        }
    }

    /// Begins or ends a sample.
    pub(crate) fn step(&mut self, session: &mut Session, now_ns: u64) -> anyhow::Result<()> {
        let Some(running) = self.running.take() else {
            match enable_stats(Stats::RunTime) {
                Ok(statistics) => {
                    self.running = Some(Running {
                        statistics,
                        figures: session.figures()?,
                        sections: session.read()?.sections,
                        begin_ns: now_ns,
                    });
                }
                Err(error) => {
                    // kernel/bpf/syscall.c, bpf_enable_stats: CAP_SYS_ADMIN, nothing less.
                    self.unavailable =
                        Some(format!("the kernel's BPF statistics need CAP_SYS_ADMIN: {}", error.io_error));
                    self.done = true;
                }
            }
            return Ok(());
        };
        let sections = session.read()?.sections - running.sections;
        let figures = session.figures()?;
        drop(running.statistics);
        let programs: Vec<ProgramCost> = session
            .attached()
            .iter()
            .zip(figures.iter().zip(&running.figures))
            .map(|(planned, (now, then))| ProgramCost {
                program: planned.program.to_owned(),
                run_count: now.run_count - then.run_count,
                run_time_ns: now.run_time_ns - then.run_time_ns,
            })
            .collect();
        let run_time: u64 = programs.iter().map(|program| program.run_time_ns).sum();
        if sections > self.best.as_ref().map_or(0, |best| best.sections) {
            self.best = Some(OverheadSample {
                length_ns: now_ns - running.begin_ns,
                sections,
                programs,
                ns_per_section: run_time as f64 / sections as f64,
            });
        }
        self.taken += 1;
        self.done = sections >= ENOUGH_SECTIONS;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }

    /// The figures for a measurement of `duration_ns` with `sections` sections.
    pub(crate) fn overhead(self, sections: u64, duration_ns: u64) -> Overhead {
        let percent = self
            .best
            .as_ref()
            .filter(|_| duration_ns > 0)
            .map(|sample| sample.ns_per_section * sections as f64 / duration_ns as f64 * 100.0);
        let unavailable = self.unavailable.or_else(|| match (&self.best, self.taken) {
            (Some(_), _) => None,
            (None, 0) => Some("the measurement ended before it was sampled".to_owned()),
            (None, _) => Some("no section fell into the time when it was sampled".to_owned()),
        });
        Overhead { sampled: self.best, percent_of_one_cpu: percent, unavailable, note: NOTE.to_owned() }
    }
}
