//! The time that is measured, the same for all processes of a load, and its early end.
//!
//! A worker is ready, reads one line with the window from stdin, and works from the begin to the end of it. Both are
//! times of the monotonic clock, which is one for the whole machine: nobody starts early because it was told first.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use rustix::time::{ClockId, clock_gettime};

/// A span of the monotonic clock, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

impl Window {
    /// The window that begins `after` from now.
    pub(super) fn after(after: Duration, duration: Duration) -> Self {
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let begin_ns = now_ns().saturating_add(ns(after));
        Self { begin_ns, end_ns: begin_ns.saturating_add(ns(duration)) }
    }

    /// How much of it is over at `now_ns`.
    pub(super) fn elapsed_ns(self, now_ns: u64) -> u64 {
        now_ns.min(self.end_ns).saturating_sub(self.begin_ns)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.begin_ns, self.end_ns)
    }
}

impl FromStr for Window {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> anyhow::Result<Self> {
        let parsed = line
            .trim()
            .split_once(' ')
            .and_then(|(begin, end)| Some(Self { begin_ns: begin.parse().ok()?, end_ns: end.parse().ok()? }));
        parsed
            .filter(|window| window.begin_ns <= window.end_ns)
            .with_context(|| format!("no time window: {line:?}"))
    }
}

/// A worker's view of the window: whether it is still to work.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) window: Window,
    closed: Arc<AtomicBool>,
    /// Waits for the end of the input.
    listener: JoinHandle<()>,
}

/// Body of a worker that is ready: waits for the window on `input`, works in it, gives the figures when `input` ends.
pub(super) fn work(
    input: impl Read + Send + 'static,
    work: impl FnOnce(&Watch) -> anyhow::Result<Done>,
) -> anyhow::Result<Vec<u64>> {
    let Some(watch) = Watch::begin(input)? else { return Ok(Done::default().figures()) };
    let done = work(&watch)?;
    // A worker that ended by itself would look like one that was killed.
    let _ = watch.listener.join();
    Ok(done.figures())
}

impl Watch {
    /// Reads the window, and waits for its begin. `None`: the load ended before.
    ///
    /// From then on a thread waits for the end of `input`, so that the work itself needs no system call for that.
    pub(super) fn begin(input: impl Read + Send + 'static) -> anyhow::Result<Option<Self>> {
        let mut input = BufReader::new(input);
        let mut line = String::new();
        if input.read_line(&mut line).context("cannot hear the load")? == 0 {
            return Ok(None);
        }
        let window: Window = line.parse()?;
        let closed = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&closed);
        let until_end = move || {
            let _ = io::copy(&mut input, &mut io::sink());
            flag.store(true, Ordering::Relaxed);
        };
        let listener = thread::Builder::new().name("rstat-end".to_owned()).spawn(until_end);
        let listener = listener.context("cannot start a thread")?;
        thread::sleep(Duration::from_nanos(window.begin_ns.saturating_sub(now_ns())));
        Ok(Some(Self { window, closed, listener }))
    }

    /// Whether the window is not over, nor the load at its early end.
    pub(super) fn goes_on(&self) -> bool {
        now_ns() < self.window.end_ns && !self.closed.load(Ordering::Relaxed)
    }
}

/// What a worker did in its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Done {
    /// Bytes received or pages charged.
    pub(super) amount: u64,
    /// From the begin of the window to the end of the work.
    pub(super) elapsed_ns: u64,
}

impl Done {
    /// As a worker tells it.
    pub(super) fn figures(self) -> Vec<u64> {
        vec![self.amount, self.elapsed_ns]
    }

    /// What a worker told.
    pub(super) fn from_figures(figures: &[u64]) -> Option<Self> {
        let &[amount, elapsed_ns] = figures else { return None };
        Some(Self { amount, elapsed_ns })
    }

    /// Amount by second; 0 without any time.
    pub(super) fn per_second(self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.amount as f64 * 1e9 / self.elapsed_ns as f64 }
    }
}

/// The monotonic clock, ns.
pub(super) fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let time = Duration::try_from(time).unwrap_or_default();
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn lines_read_as_what_they_were_written_from() {
        let window = Window { begin_ns: 5, end_ns: u64::MAX };
        assert_eq!(format!("{window}\n").parse::<Window>().unwrap(), window);
        let done = Done { amount: u64::MAX, elapsed_ns: 7 };
        assert_eq!(Done::from_figures(&done.figures()), Some(done));
        assert_eq!([&[][..], &[1], &[1, 2, 3]].map(Done::from_figures), [None; 3]);
        for bad in ["", "1", "1 x", "2 1", "-1 5", "1 2 3"] {
            assert!(bad.parse::<Window>().is_err(), "{bad}");
        }
    }

    #[test]
    fn only_what_is_in_the_window_has_elapsed() {
        let window = Window { begin_ns: 100, end_ns: 300 };
        assert_eq!([50, 100, 250, 300, 999].map(|now| window.elapsed_ns(now)), [0, 0, 150, 200, 200]);
        let after = Window::after(Duration::from_secs(1), Duration::MAX);
        assert!(after.begin_ns > now_ns() && after.end_ns == u64::MAX);
    }

    #[test]
    fn rates() {
        let done = |amount, elapsed_ns| Done { amount, elapsed_ns }.per_second();
        assert!((done(500, 250_000_000) - 2000.0).abs() < 1e-9);
        assert!(done(0, 5).abs() < 1e-9 && done(0, 0).abs() < 1e-9);
    }

    #[test]
    fn a_worker_works_in_the_window_and_no_longer() {
        let (input, mut output) = io::pipe().unwrap();
        let window = Window::after(Duration::from_millis(20), Duration::from_millis(50));
        writeln!(output, "{window}").unwrap();
        let watch = Watch::begin(input).unwrap().unwrap();
        assert!(now_ns() >= window.begin_ns);
        while watch.goes_on() {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(now_ns() >= window.end_ns);
    }

    #[test]
    fn the_figures_come_when_the_pipe_is_closed() {
        let (input, mut output) = io::pipe().unwrap();
        writeln!(output, "{}", Window::after(Duration::ZERO, Duration::ZERO)).unwrap();
        let worker = thread::spawn(move || work(input, |_| Ok(Done { amount: 3, elapsed_ns: 4 })).unwrap());
        thread::sleep(Duration::from_millis(30));
        assert!(!worker.is_finished());
        drop(output);
        assert_eq!(worker.join().unwrap(), [3, 4]);
    }

    #[test]
    fn a_closed_pipe_ends_the_work_before() {
        let (input, mut output) = io::pipe().unwrap();
        writeln!(output, "{}", Window::after(Duration::ZERO, Duration::from_hours(1))).unwrap();
        let watch = Watch::begin(input).unwrap().unwrap();
        assert!(watch.goes_on());
        drop(output);
        let limit = now_ns() + 10_000_000_000;
        while watch.goes_on() {
            assert!(now_ns() < limit);
            thread::sleep(Duration::from_millis(1));
        }
        let (input, output) = io::pipe().unwrap();
        drop(output);
        let figures = work(input, |_| panic!("there is no window")).unwrap();
        assert_eq!(Done::from_figures(&figures), Some(Done::default()));
    }
}
