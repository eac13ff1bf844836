//! Turns the signals that end a load into a flag, so that every end goes the same way and cleans up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Number of the first signal that came, 0 before: signals reach the process, so there is one for the process.
static FIRST: AtomicI32 = AtomicI32::new(0);

/// Name of the first signal that set the flag of [`stop_flag_on_signals`].
pub(crate) fn first_signal() -> Option<&'static str> {
    match SignalKind::from_raw(FIRST.load(Ordering::Relaxed)) {
        kind if kind == SignalKind::interrupt() => Some("SIGINT"),
        kind if kind == SignalKind::terminate() => Some("SIGTERM"),
        kind if kind == SignalKind::hangup() => Some("SIGHUP"),
        _ => None,
    }
}

/// From now on SIGINT, SIGTERM and SIGHUP set the returned flag instead of ending the process.
///
/// Later signals change nothing: the load is already on its shortest way out. SIGHUP stays ignored where the caller
/// ignores it, so that `nohup` works. Call it before anything that must be cleaned up exists.
pub(crate) fn stop_flag_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context("cannot start the signal handling")?;
    let stop = Arc::new(AtomicBool::new(false));
    let context = runtime.enter();
    // Registered here and not in the thread: a signal right after the return must already find its handler.
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot handle SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot handle SIGTERM")?;
    let mut hangup = (!ignored(SignalKind::hangup()))
        .then(|| signal(SignalKind::hangup()))
        .transpose()
        .context("cannot handle SIGHUP")?;
    drop(context);
    let flag = Arc::clone(&stop);
    let listen = move || {
        super::priority::raise();
        runtime.block_on(async {
            loop {
                let kind = tokio::select! {
                    _ = interrupt.recv() => SignalKind::interrupt(),
                    _ = terminate.recv() => SignalKind::terminate(),
                    () = next(hangup.as_mut()) => SignalKind::hangup(),
                };
                let _ = FIRST.compare_exchange(0, kind.as_raw_value(), Ordering::Relaxed, Ordering::Relaxed);
                flag.store(true, Ordering::Release);
            }
        });
    };
    thread::Builder::new()
        .name("rstat-signals".to_owned())
        .spawn(listen)
        .context("cannot start the signal thread")?;
    Ok(stop)
}

/// The next arrival of a signal; never, of one that is not listened to.
async fn next(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => _ = signal.recv().await,
        None => std::future::pending().await,
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
