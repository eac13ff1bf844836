//! Turns the signals that end a load into a flag, so that every end goes the same way and cleans up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

use anyhow::Context;
use tokio::signal::unix::SignalKind;

use crate::signals::{Signals, name};

/// Number of the first signal that came, 0 before: signals reach the process, so there is one for the process.
static FIRST: AtomicI32 = AtomicI32::new(0);

/// Name of the first signal that set the flag of [`stop_flag_on_signals`].
pub(crate) fn first_signal() -> Option<&'static str> {
    name(SignalKind::from_raw(FIRST.load(Ordering::Relaxed)))
}

/// From now on SIGINT, SIGTERM and SIGHUP set the returned flag instead of ending the process.
///
/// Later signals change nothing: the load is already on its shortest way out. Call it before anything that must be
/// cleaned up exists.
pub(crate) fn stop_flag_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context("cannot start the signal handling")?;
    let stop = Arc::new(AtomicBool::new(false));
    let context = runtime.enter();
    // Registered here and not in the thread: a signal right after the return must already find its handler.
    let mut signals = Signals::new()?;
    drop(context);
    let flag = Arc::clone(&stop);
    let listen = move || {
        super::priority::raise();
        runtime.block_on(async {
            loop {
                let kind = signals.next().await;
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
