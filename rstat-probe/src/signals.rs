//! The signals that end a measurement or a load: SIGINT, SIGTERM, SIGHUP.

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for the signals.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// Absent where the caller ignores it, so that `nohup` works.
    hang_up: Option<Signal>,
}

impl Signals {
    /// From now on these signals no longer end the process. Needs a tokio runtime around it.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: (!ignored(SignalKind::hangup())).then(|| listen(SignalKind::hangup())).transpose()?,
        })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> SignalKind {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = hang_up => SignalKind::hangup(),
        }
    }
}

/// Name of one of the three.
pub(crate) fn name(kind: SignalKind) -> Option<&'static str> {
    match kind {
        kind if kind == SignalKind::interrupt() => Some("SIGINT"),
        kind if kind == SignalKind::terminate() => Some("SIGTERM"),
        kind if kind == SignalKind::hangup() => Some("SIGHUP"),
        _ => None,
    }
}

/// Whether this process was started with `kind` ignored.
fn ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_in(&status, kind.as_raw_value())
}

/// Whether the `SigIgn` mask of a `/proc/PID/status` text has this signal number.
fn ignored_in(status: &str, number: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(number - 1).ok().and_then(|shift| mask.checked_shr(shift)).is_some_and(|bits| bits & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ignored_mask_is_read_by_signal_number() {
        let status = "Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        assert!(ignored_in(status, 1) && ignored_in(status, 13));
        assert!(!ignored_in(status, 2) && !ignored_in(status, 15) && !ignored_in(status, 0));
        assert!(!ignored_in("", 1) && !ignored_in("SigIgn:\tzz", 1));
    }
}
