//! What the user asked `run` for, checked before anything is measured.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};

use crate::{
    args::RunArguments,
    whole_file::{check_writable, is_same_file},
};

/// Length of the intervals in a recording when the user names none.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);

/// Longest duration and interval. Times beyond some centuries would overflow the clock.
const LONGEST: Duration = Duration::from_hours(366 * 24);

/// Where something goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Stdout,
    File(PathBuf),
}

impl Target {
    fn from_path(path: &Path) -> Self {
        if path.as_os_str() == "-" { Self::Stdout } else { Self::File(path.to_owned()) }
    }
}

/// Checked settings.
#[derive(Debug)]
pub(crate) struct Settings {
    pub duration: Option<Duration>,
    pub interval: Duration,
    /// The user asked for intervals: print them, and never join them.
    pub interval_given: bool,
    pub output: Option<Target>,
    pub stream: Option<Target>,
    pub cross_check: bool,
    pub command: Vec<OsString>,
}

impl Settings {
    /// Checks `arguments`.
    ///
    /// # Errors
    /// If they contradict each other or a file could not be written at the end.
    pub(crate) fn from_args(arguments: &RunArguments) -> anyhow::Result<Self> {
        if let Some(duration) = arguments.duration {
            ensure!(
                !duration.is_zero(),
                "-d 0: nothing can be measured in no time; give a duration such as 10s"
            );
        }
        for (option, time) in [("-d", arguments.duration), ("-i", arguments.interval)] {
            ensure!(
                time.is_none_or(|time| time <= LONGEST),
                "{option} is longer than a year; without -d it goes on until Ctrl-C"
            );
        }
        if let Some(interval) = arguments.interval {
            ensure!(
                interval >= Duration::from_millis(10),
                "-i {}: intervals have to be at least 10ms long",
                humantime::format_duration(interval)
            );
            if let Some(duration) = arguments.duration {
                ensure!(
                    interval <= duration,
                    "-i {} is longer than -d {}: no interval would end",
                    humantime::format_duration(interval),
                    humantime::format_duration(duration)
                );
            }
        }
        let target = |path: &Option<PathBuf>| path.as_deref().map(Target::from_path);
        let (output, stream) = (target(&arguments.output), target(&arguments.stream));
        if output == Some(Target::Stdout) && stream == Some(Target::Stdout) {
            bail!("-o - and --stream - both want stdout; give one of them a file");
        }
        for (option, target) in [("-o", &output), ("--stream", &stream)] {
            if let Some(Target::File(path)) = target {
                check_writable(path)
                    .with_context(|| format!("{option} {}: nothing was measured", path.display()))?;
            }
        }
        if let (Some(Target::File(output)), Some(Target::File(stream))) = (&output, &stream) {
            ensure!(!is_same_file(output, stream), "-o and --stream name the same file {}", output.display());
        }
        Ok(Self {
            duration: arguments.duration,
            interval: arguments
                .interval
                .unwrap_or(DEFAULT_INTERVAL.min(arguments.duration.unwrap_or(DEFAULT_INTERVAL))),
            interval_given: arguments.interval.is_some(),
            output,
            stream,
            cross_check: arguments.cross_check,
            command: arguments.command.clone(),
        })
    }

    /// Whether the report goes to stdout, or something that programs read.
    pub(crate) fn prints_report(&self) -> bool {
        self.output != Some(Target::Stdout) && self.stream != Some(Target::Stdout)
    }
}
