//! Keeps the number of hogs: starts them, and starts those again that the OOM killer took.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rstat_probe_report::units::bytes;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use rustix::time::Timespec;

use super::super::hog::HogArgs;
use super::super::worker::{Running, Said};

/// A place of a hog is filled again no earlier than this after its last start.
const RESTART_AFTER: Duration = Duration::from_millis(100);
/// How often the keeper looks for what it is told.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// So many more deaths than there are hogs, all before their hog was in place: then none can start.
const IN_VAIN: u32 = 50;

/// What the keeper and the load know of each other.
#[derive(Debug, Default)]
struct Shared {
    go: AtomicBool,
    stop: AtomicBool,
    /// Hogs that ended by SIGKILL, which nobody but the kernel sent.
    killed: AtomicU64,
    /// Hogs that were started.
    starts: AtomicU64,
    failure: Mutex<Option<String>>,
}

/// A thread that keeps hogs. Dropping it ends all of them.
#[derive(Debug)]
pub(super) struct Keeper {
    shared: Arc<Shared>,
    /// Gives the number of hogs that lived when it was told to stop.
    thread: Option<JoinHandle<u64>>,
}

impl Keeper {
    /// Starts the hogs and waits until all are in place, or `stop` is set. They wait for [`Self::go`].
    ///
    /// `limit` is only for an error: what starts fail of.
    pub(super) fn start(hogs: Vec<HogArgs>, limit: u64, stop: &AtomicBool) -> anyhow::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (sender, started) = channel();
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("rstat-keeper".to_owned())
            // The hogs die with this thread, so it is the one that starts them all.
            .spawn(move || keep(&hogs, limit, &for_thread, &sender))
            .context("cannot start a thread")?;
        let keeper = Self { shared, thread: Some(thread) };
        wait_for(&started, stop)?;
        Ok(keeper)
    }

    /// Lets the hogs begin.
    pub(super) fn go(&self) {
        self.shared.go.store(true, Ordering::Release);
    }

    /// Hogs that were seen killed, and hogs that were started, so far.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.shared.killed.load(Ordering::Relaxed), self.shared.starts.load(Ordering::Relaxed))
    }

    /// Why the hogs cannot go on.
    pub(super) fn failure(&self) -> Option<String> {
        self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends all hogs; gives how many were seen killed before, and how many lived until now.
    pub(super) fn stop(mut self) -> (u64, u64) {
        let living = self.end();
        (self.counts().0, living)
    }

    fn end(&mut self) -> u64 {
        self.shared.stop.store(true, Ordering::Release);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or(0)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits until the keeper says that all hogs are in place, or `stop` is set.
fn wait_for(started: &Receiver<anyhow::Result<()>>, stop: &AtomicBool) -> anyhow::Result<()> {
    use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};

    loop {
        match started.recv_timeout(LOOK_EVERY) {
            Ok(outcome) => return outcome,
            Err(Timeout) if stop.load(Ordering::Acquire) => return Ok(()),
            Err(Timeout) => {}
            Err(Disconnected) => bail!("the thread that keeps the hogs ended"),
        }
    }
}

/// The place of one hog.
#[derive(Debug)]
struct Slot<'a> {
    hog: &'a HogArgs,
    running: Option<Running>,
    started: Instant,
}

/// Body of the keeper's thread.
fn keep(hogs: &[HogArgs], limit: u64, shared: &Shared, started: &Sender<anyhow::Result<()>>) -> u64 {
    // Hundreds of hogs and readers share the CPUs, and this thread is to be in time.
    super::super::priority::raise();
    let mut slots = match start_all(hogs, shared) {
        Ok(slots) => slots,
        Err(error) => {
            // Whoever waits is gone only if it does not want to know any more.
            let _ = started.send(Err(error));
            return 0;
        }
    };
    let _ = started.send(Ok(()));
    while !shared.go.load(Ordering::Acquire) && !shared.stop.load(Ordering::Acquire) {
        thread::sleep(Duration::from_millis(1));
    }
    slots.iter_mut().filter_map(|slot| slot.running.as_mut()).for_each(Running::go);
    if let Err(error) = keep_going(&mut slots, limit, shared) {
        *shared.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(format!("{error:#}"));
    }
    // All first, so that they end side by side.
    let living = slots.iter_mut().filter_map(|slot| slot.running.as_mut()).map(Running::kill).count();
    drop(slots);
    living as u64
}

/// Starts all hogs and waits until they are in place, unless the load is to end before.
fn start_all<'a>(hogs: &'a [HogArgs], shared: &Shared) -> anyhow::Result<Vec<Slot<'a>>> {
    let mut slots = Vec::new();
    for hog in hogs {
        if shared.stop.load(Ordering::Acquire) {
            break;
        }
        let running = Some(Running::start(hog)?);
        slots.push(Slot { hog, running, started: Instant::now() });
        shared.starts.fetch_add(1, Ordering::Relaxed);
    }
    for running in slots.iter_mut().filter_map(|slot| slot.running.as_mut()) {
        if shared.stop.load(Ordering::Acquire) {
            break;
        }
        running.wait_until_ready().context("a hog does not start")?;
    }
    Ok(slots)
}

/// Fills places that the OOM killer made empty, until the load is to end.
fn keep_going(slots: &mut [Slot<'_>], limit: u64, shared: &Shared) -> anyhow::Result<()> {
    let most_in_vain = IN_VAIN + u32::try_from(slots.len()).unwrap_or(u32::MAX);
    let mut in_vain = 0;
    while !shared.stop.load(Ordering::Acquire) {
        for index in ended(slots)? {
            let Some(mut running) = slots[index].running.take() else { continue };
            let (status, said) = running.end()?;
            if let Said::Failed(reason) = said {
                bail!("a hog cannot go on: {reason}");
            }
            if status.signal() != Some(Signal::KILL.as_raw()) {
                bail!("a hog ended by itself ({status}), which it never does");
            }
            shared.killed.fetch_add(1, Ordering::Relaxed);
            in_vain = if said == Said::Ready { 0 } else { in_vain + 1 };
            if in_vain > most_in_vain {
                bail!(
                    "the last {in_vain} hogs were killed before they could charge anything: a limit of {} is too \
                     small for {} of them",
                    bytes(limit),
                    slots.len()
                );
            }
        }
        for slot in slots.iter_mut() {
            if slot.running.is_none() && slot.started.elapsed() >= RESTART_AFTER {
                let mut running = Running::start(slot.hog)?;
                running.go();
                *slot = Slot { hog: slot.hog, running: Some(running), started: Instant::now() };
                shared.starts.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    Ok(())
}

/// Waits a moment for ends; gives the places of the hogs that have ended: their output has no writer any more.
fn ended(slots: &[Slot<'_>]) -> anyhow::Result<Vec<usize>> {
    let timeout = Timespec::try_from(LOOK_EVERY).context("the pause is too long")?;
    let living: Vec<(usize, &Running)> = slots
        .iter()
        .enumerate()
        .filter_map(|(index, slot)| slot.running.as_ref().map(|running| (index, running)))
        .collect();
    // No event is asked for: the end of the writer is told always.
    let outputs: Vec<_> = living.iter().map(|(_, running)| running.output()).collect();
    let mut fds: Vec<_> = outputs.iter().map(|output| PollFd::new(output, PollFlags::empty())).collect();
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        Err(error) => return Err(error).context("cannot wait for the end of a hog"),
    }
    let events = living.iter().zip(&fds);
    Ok(events.filter(|(_, fd)| !fd.revents().is_empty()).map(|((index, _), _)| *index).collect())
}
