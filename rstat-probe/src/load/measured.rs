//! Workers through one measured window: told when it is, watched, ended, asked what they did.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::ensure;
use rstat_probe_report::recording::EndedBy;

use super::ending::{in_a_while, wait};
use super::priority::Raised;
use super::window::{Done, Window};
use super::worker::Crew;

/// From telling the window to its begin: until then every worker has read it, on an emulated CPU too.
const LEAD: Duration = Duration::from_millis(50);
const LEAD_EACH: Duration = Duration::from_millis(2);
/// How often it is looked whether a worker was lost.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What came of a window.
#[derive(Debug)]
pub(super) struct Measured {
    /// Its begin, RFC 3339 in UTC.
    pub(super) started: String,
    /// The longest time that a worker worked in it, ns: its length, unless it ended early.
    pub(super) duration_ns: u64,
    /// Of each worker that counts, in the order of the crew.
    pub(super) done: Vec<Done>,
    pub(super) ended_by: EndedBy,
}

/// Lets the crew work for `duration`, or until `stop` is set, and ends it. Only its first `counting` workers count
/// anything.
pub(super) fn measure(
    mut crew: Crew,
    counting: usize,
    duration: Duration,
    stop: &AtomicBool,
) -> anyhow::Result<Measured> {
    let _raised = Raised::new();
    let lead = LEAD + LEAD_EACH.saturating_mul(u32::try_from(crew.len()).unwrap_or(u32::MAX));
    let started = in_a_while(lead)?;
    let (begin, window) = (Instant::now() + lead, Window::after(lead, duration));
    crew.tell(&window.to_string());
    let mut next_look = begin;
    let mut ended_by = wait(begin, duration, stop, || {
        if Instant::now() < next_look {
            return None;
        }
        next_look = Instant::now() + LOOK_EVERY;
        crew.why_lost()
    });
    let figures = crew.stop();
    let done: Vec<Done> =
        figures.into_iter().take(counting).filter_map(|figures| Done::from_figures(&figures?)).collect();
    if done.len() < counting && !matches!(ended_by, EndedBy::Error { .. }) {
        let message = format!("{} of {counting} processes gave no figures", counting - done.len());
        ended_by = EndedBy::Error { message };
    }
    if let EndedBy::Error { message } = &ended_by {
        ensure!(!done.is_empty(), "{message}");
        log::warn!("{message}");
    }
    let duration_ns = done.iter().map(|done| done.elapsed_ns).max().unwrap_or(0);
    Ok(Measured { started, duration_ns, done, ended_by })
}
