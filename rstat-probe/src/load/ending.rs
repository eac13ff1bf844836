//! When a load begins and ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rstat_probe_report::recording::EndedBy;
use rustix::process::getppid;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::signals::first_signal;

/// A longer load than this is taken for a mistake.
const LONGEST: Duration = Duration::from_hours(366 * 24);
/// How often the end of the load is looked for. It bounds how promptly a signal ends it.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Set by `run` for the load it starts: the file the result goes to.
pub(crate) const RESULT_FILE_VARIABLE: &str = "RSTAT_PROBE_RESULT_FILE";

/// Refuses what cannot be meant.
pub(super) fn check_duration(duration: Duration) -> anyhow::Result<()> {
    ensure!(!duration.is_zero(), "a load of duration 0 does nothing: --duration must be longer");
    ensure!(
        duration <= LONGEST,
        "a load of more than a year is taken for a mistake: --duration must be shorter"
    );
    Ok(())
}

/// The time as a result has it.
pub(super) fn now() -> anyhow::Result<String> {
    in_a_while(Duration::ZERO)
}

/// A length as a result has it.
pub(super) fn nanoseconds(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// As [`now`], for a begin that is still to come.
pub(super) fn in_a_while(after: Duration) -> anyhow::Result<String> {
    (OffsetDateTime::now_utc() + after).format(&Rfc3339).context("cannot format the time")
}

/// Sleeps until the load is to end, and says why it does. `trouble` gives a reason for ending before.
///
/// With [`RESULT_FILE_VARIABLE`] set it also ends when the process that started this one is gone.
pub(super) fn wait(
    begin: Instant,
    duration: Duration,
    stop: &AtomicBool,
    mut trouble: impl FnMut() -> Option<String>,
) -> EndedBy {
    let parent = std::env::var_os(RESULT_FILE_VARIABLE).and_then(|_| getppid());
    loop {
        let left = duration.saturating_sub(begin.elapsed());
        if stop.load(Ordering::Acquire) {
            return EndedBy::Signal { name: first_signal().unwrap_or("stop").to_owned() };
        } else if left.is_zero() {
            return EndedBy::Duration;
        } else if parent.is_some() && getppid() != parent {
            return EndedBy::Error { message: "the process that started the load is gone".to_owned() };
        } else if let Some(message) = trouble() {
            return EndedBy::Error { message };
        }
        thread::sleep(left.min(LOOK_EVERY));
    }
}
