//! `--cross-check`: the irqsoff tracer beside the programs, window by window.
//!
//! A window ends with a reading of ours (A), a pause of the tracer in which its maximum is taken and forgotten, and
//! another reading (B). The tracer traced from before B of one window to after A of the next: what we counted in
//! between it saw, and what it saw we counted between the A before and the B after. The two differ by little, and that
//! goes into the result as a range.

use std::{
    mem, thread,
    time::{Duration, Instant},
};

use rstat_probe_report::{
    Histogram,
    cross_check::{self, Tally},
};

use super::tracer::Tracer;
use crate::kernel::session::Session;

/// Length of a window, whatever the intervals: the tracer keeps one span of each, so short ones show more; shorter
/// ones would have more of it in the pauses.
pub(crate) const WINDOW: Duration = Duration::from_secs(1);
/// Spans that were open when the tracer went on are not in its window and must not be in ours: twice as long as the
/// longest so far, but for these limits, B waits for them to end. That leaves out little of a window, and even a new
/// longest time is known to have begun in it. It also ends the tracer's time of many new maxima, each of
/// which makes it leave out the spans that other CPUs are in (`max_sequence` in kernel/trace/trace_irqsoff.c).
const SETTLE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(100));

/// The cross-check as it goes on.
pub(crate) struct CrossCheck {
    /// `None` once it failed.
    tracer: Option<Tracer>,
    tally: Tally,
    start_ns: u64,
    /// A and B of the window before: `irqs_off` since the start.
    before: Histogram,
    after: Histogram,
    /// How long after the tracer went on B was read, ns, at least.
    settled_ns: u64,
}

impl CrossCheck {
    /// Begins the first window. The programs count already, since `start_ns`.
    pub(crate) fn begin(tracer: Tracer, session: &mut Session, start_ns: u64) -> anyhow::Result<Self> {
        let mut check = Self {
            tracer: Some(tracer),
            tally: Tally::default(),
            start_ns,
            before: session.read()?.irqs_off,
            after: Histogram::new(),
            settled_ns: 0,
        };
        // What the tracer saw so far was before the start.
        check.with_tracer(|tracer| {
            tracer.pause()?;
            tracer.take()?;
            tracer.go_on()
        });
        check.settled_ns = check.settle();
        check.after = session.read()?.irqs_off;
        Ok(check)
    }

    /// Ends a window and begins the next.
    pub(crate) fn window(&mut self, session: &mut Session, at_ns: u64) -> anyhow::Result<()> {
        if self.tracer.is_none() {
            return Ok(());
        }
        let end = session.read()?.irqs_off;
        let span = self.with_tracer(|tracer| {
            tracer.pause()?;
            let span = tracer.take()?;
            tracer.go_on()?;
            Ok(span)
        });
        let inner = end.since(&self.after)?;
        let before = mem::replace(&mut self.before, end);
        let next_settled = self.settle();
        let settled_ns = mem::replace(&mut self.settled_ns, next_settled);
        self.after = session.read()?.irqs_off;
        if let Some(span) = span {
            let outer = self.after.since(&before)?;
            self.tally.add(at_ns.saturating_sub(self.start_ns), span, &inner, &outer, settled_ns);
        }
        Ok(())
    }

    /// Ends tracing; the programs still count. Returns A of the last window.
    pub(crate) fn stop(&mut self, session: &mut Session) -> anyhow::Result<Histogram> {
        let end = session.read()?.irqs_off;
        self.with_tracer(Tracer::pause);
        Ok(end)
    }

    /// What came out. `end` is from [`Self::stop`], `last` the last reading of all. Removes the tracer.
    pub(crate) fn finish(
        mut self,
        end: &Histogram,
        last: &Histogram,
        at_ns: u64,
    ) -> anyhow::Result<cross_check::CrossCheck> {
        if let Some(span) = self.with_tracer(Tracer::take) {
            let (inner, outer) = (end.since(&self.after)?, last.since(&self.before)?);
            self.tally.add(at_ns.saturating_sub(self.start_ns), span, &inner, &outer, self.settled_ns);
        }
        Ok(self.tally.finish())
    }

    /// What `act` gives; `None` when the tracer fails or failed before, which ends the cross-check but not the run.
    fn with_tracer<T>(&mut self, act: impl FnOnce(&Tracer) -> anyhow::Result<T>) -> Option<T> {
        match act(self.tracer.as_ref()?) {
            Ok(value) => Some(value),
            Err(error) => {
                self.tally.end_early(format!("{error:#}"));
                self.tracer = None;
                None
            }
        }
    }

    /// Waits, and returns for how long, ns.
    fn settle(&self) -> u64 {
        let begin = Instant::now();
        let longest = Duration::from_nanos(self.before.max().unwrap_or(0).saturating_mul(2));
        thread::sleep(longest.clamp(SETTLE.0, SETTLE.1));
        u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
