//! `load sendfile`: the published benchmark of the memory counters, pairs that send through IPv6 loopback.
//!
//! `netperf -6 -H ::1 -t TCP_SENDFILE -- -m 10K`, 36 of it and their servers in the leaf of a three-level cgroup
//! hierarchy on a machine with 72 CPUs: "memcg: optimize charge codepath", Linux 6.1. What was published is the
//! average of the 36.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::ensure;
use rstat_probe_report::load_result::{LoadResult, Protection, SendfileResult};

use super::ending::check_duration;
use super::hierarchy::{Hierarchy, LEVELS};
use super::measured::{Measured, measure};
use super::mounts::Mounts;
use super::pair::{check_loopback, file_bytes};
use super::sendfile_worker::{ClientArgs, PORT, ServerArgs};
use super::window::Done;
use super::worker::{Crew, FILES_EACH, Home, Running};
use super::{cpus, open_files};

/// More pairs than this are taken for a mistake.
const MOST_PAIRS: u32 = 1000;
/// A longer message is taken for a mistake: the file would be as long, once for each pair.
const LONGEST_MESSAGE: u64 = 1024 * 1024;

/// What to send and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SendfileOptions {
    /// Pairs; `None`: one for each online CPU.
    pub(crate) pairs: Option<u32>,
    /// Bytes of a message.
    pub(crate) message: u64,
    /// Length of the measured window.
    pub(crate) duration: Duration,
}

/// Sends until the duration is over or `stop` is set, and cleans up. See [`super::stat_reader()`] for the calling thread.
pub(crate) fn sendfile(options: &SendfileOptions, stop: &AtomicBool) -> anyhow::Result<LoadResult> {
    check_duration(options.duration)?;
    let pairs = cpus::count(options.pairs, 1, MOST_PAIRS, ("pairs", "send"))?;
    let message = options.message;
    ensure!(message > 0, "messages of 0 bytes send nothing: --message must be at least 1");
    ensure!(
        message <= LONGEST_MESSAGE,
        "messages of {message} bytes are too long: --message must be at most 1M"
    );
    check_loopback()?;

    // Two processes a pair.
    open_files::allow(2 * u64::from(pairs) * FILES_EACH)?;
    let hierarchy = Hierarchy::create(&Mounts::read()?)?;
    let protection = hierarchy.protect()?;
    // Declared after its cgroup, so that an early return ends the processes before the cgroup is removed.
    let crew = start(&hierarchy, pairs, message)?;
    let counting = usize::try_from(pairs).unwrap_or(usize::MAX);
    let measured = measure(crew, counting, options.duration, stop)?;
    let result = result(&hierarchy, (pairs, message), protection, measured);
    hierarchy.remove_or_warn();
    Ok(result)
}

/// Starts the servers, then a client for each, and waits until all are connected. The servers are the first ones.
fn start(hierarchy: &Hierarchy, pairs: u32, message: u64) -> anyhow::Result<Crew> {
    let home = || Home::in_cgroups([hierarchy.leaf()]);
    let mut crew = Crew::default();
    for _ in 0..pairs {
        crew.push(Running::start(&ServerArgs { home: home() })?);
    }
    let mut clients = Vec::new();
    for server in crew.iter_mut() {
        let port = server.hear(PORT)?.parse()?;
        clients.push(Running::start(&ClientArgs { home: home(), port, message })?);
    }
    for client in clients {
        crew.push(client);
    }
    crew.wait_until_ready()?;
    Ok(crew)
}

fn result(
    hierarchy: &Hierarchy,
    (pairs, message_bytes): (u32, u64),
    protection: Protection,
    measured: Measured,
) -> LoadResult {
    let rates = Rates::of(&measured.done);
    LoadResult {
        sendfile: Some(SendfileResult {
            pairs,
            message_bytes,
            file_bytes: file_bytes(message_bytes),
            levels: LEVELS,
            protection,
            bytes: measured.done.iter().map(|done| done.amount).sum(),
            megabits_per_second: rates.mean,
            slowest_megabits_per_second: rates.slowest,
            fastest_megabits_per_second: rates.fastest,
            total_megabits_per_second: rates.total,
        }),
        ..LoadResult::without_figures(
            "sendfile",
            (measured.started, measured.duration_ns),
            hierarchy.place(),
            measured.ended_by,
        )
    }
}

/// Mbit/s of the pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rates {
    mean: f64,
    slowest: f64,
    fastest: f64,
    total: f64,
}

impl Rates {
    /// Of the pairs that have figures, of which there is at least one.
    fn of(done: &[Done]) -> Self {
        // 10^6 bits.
        let rates: Vec<f64> = done.iter().map(|done| done.per_second() * 8.0 / 1e6).collect();
        let total: f64 = rates.iter().sum();
        Self {
            mean: total / rates.len().max(1) as f64,
            slowest: rates.iter().copied().reduce(f64::min).unwrap_or(0.0),
            fastest: rates.iter().copied().reduce(f64::max).unwrap_or(0.0),
            total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn megabits_are_a_million_bits_and_the_average_is_that_of_the_pairs() {
        let done = |amount, elapsed_ns| Done { amount, elapsed_ns };
        // 1,000,000 bytes in half a second are 16 Mbit/s.
        let rates = Rates::of(&[
            done(1_000_000, 500_000_000),
            done(1_000_000, 1_000_000_000),
            done(0, 1_000_000_000),
        ]);
        assert_eq!(rates, Rates { mean: 8.0, slowest: 0.0, fastest: 16.0, total: 24.0 });
        // Ended before its begin.
        let nothing = Rates { mean: 0.0, slowest: 0.0, fastest: 0.0, total: 0.0 };
        assert_eq!((Rates::of(&[done(0, 0)]), Rates::of(&[])), (nothing, nothing));
    }

    #[test]
    fn absurd_options_are_refused_before_anything_is_made() {
        let second = Duration::from_secs(1);
        for (pairs, message, duration, text) in [
            (Some(0), 10, second, "--pairs must be at least 1"),
            (Some(1001), 10, second, "--pairs must be at most 1000"),
            (None, 0, second, "--message must be at least 1"),
            (None, 1024 * 1024 + 1, second, "--message must be at most 1M"),
            (None, 10, Duration::ZERO, "--duration must be longer"),
            (None, 10, Duration::MAX, "--duration must be shorter"),
        ] {
            let options = SendfileOptions { pairs, message, duration };
            let error = sendfile(&options, &AtomicBool::new(false)).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
