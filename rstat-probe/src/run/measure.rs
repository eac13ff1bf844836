//! The measurement itself: from arming to the last reading, and the recording made of it.

use std::{io, path::Path, time::Duration};

use anyhow::Context as _;
use aya_log::EbpfLogger;
use rstat_probe_report::{
    Counter, Interval, Metric, Recording, Snapshot,
    recording::{EndedBy, Open, SCHEMA, Tool, Totals},
    render::text::{interval_header, write_interval_line},
};
use rustix::time::{ClockId, clock_gettime};
use time::OffsetDateTime;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::{
    child::Child,
    cross_check::{CrossCheck, WINDOW},
    deliver,
    outlet::Outlet,
    own_cost::Sampler,
    progress::Progress,
    provenance::{locks, provenance},
    recorder::{Recorder, snapshot},
    settings::{Settings, Target},
    stream::Stream,
    tracer::Tracer,
};
use crate::{
    kernel::{
        plan::AttachPlan,
        reader::Reading,
        session::{OpenAtEnd, Session},
        support::KernelSupport,
    },
    signals::{self, Signals},
};

/// What interval lines show.
const LINE_METRICS: [Metric; 1] = [Metric::IrqsOff];
/// How often the progress line, the log of the programs and stdout are looked after.
const LOOK: Duration = Duration::from_millis(500);

/// CLOCK_MONOTONIC in ns, the clock of the programs.
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// Everything that a measurement needs while it goes on.
struct Measurement<'a> {
    settings: &'a Settings,
    support: &'a KernelSupport,
    plan: &'a AttachPlan,
    session: Session,
    started: OffsetDateTime,
    recorder: Recorder,
    sampler: Sampler,
    cross_check: Option<CrossCheck>,
    logger: Option<EbpfLogger<&'static dyn log::Log>>,
    progress: Progress,
    prints_lines: bool,
    stream: Option<Stream>,
    stdout: Outlet,
}

/// Measures with `session`, and with the tracer in `tracefs` if that is given. Returns the exit code.
pub(crate) async fn measure(
    settings: &Settings,
    support: &KernelSupport,
    plan: &AttachPlan,
    session: Session,
    tracefs: Option<&Path>,
    verbose: bool,
) -> anyhow::Result<u8> {
    // Before the signals are taken over: a pipe without a reader makes this wait.
    let stream = settings.stream.as_ref().map(Stream::open).transpose()?;
    let mut signals = Signals::new()?;
    // After the signals, none of which may leave the tracer behind.
    let tracer = tracefs.map(Tracer::start).transpose().context("--cross-check")?;
    let mut measurement = Measurement::start(settings, support, plan, session, tracer, stream, verbose)?;
    let mut child = match Child::spawn_if_any(&settings.command) {
        Ok(child) => child,
        Err(refused) => {
            log::error!("cannot run {}: {}", settings.command[0].to_string_lossy(), refused.error);
            return Ok(refused.exit_code);
        }
    };
    let ended_by = measurement.until_end(&mut signals, child.as_mut()).await;
    let (mut recording, stream, stdout) = measurement.finish(ended_by)?;
    if let Some(child) = &mut child {
        if recording.ended_by != EndedBy::Command {
            deliver::stop(child, &recording.ended_by, &mut signals).await;
        }
        recording.workload = Some(child.workload());
    }
    deliver::deliver(settings, recording, stream, stdout, signals, child.as_ref().map(Child::exit_code)).await
}

impl<'a> Measurement<'a> {
    /// Begins to count.
    fn start(
        settings: &'a Settings,
        support: &'a KernelSupport,
        plan: &'a AttachPlan,
        mut session: Session,
        tracer: Option<Tracer>,
        stream: Option<Stream>,
        verbose: bool,
    ) -> anyhow::Result<Self> {
        let stdout = Outlet::start(io::stdout());
        let logger = verbose.then(|| EbpfLogger::init(session.ebpf())).transpose()?;
        session.prepare()?;
        let started = OffsetDateTime::now_utc();
        // Before arming, so that every section of the totals is in an interval, too.
        let first = take(&mut session, monotonic_ns())?;
        session.arm()?;
        let cross_check =
            tracer.map(|tracer| CrossCheck::begin(tracer, &mut session, first.at_ns)).transpose()?;
        let prints_lines = settings.interval_given && settings.prints_report();
        let mut measurement = Self {
            settings,
            support,
            plan,
            session,
            started,
            // Intervals that nobody gets to see need not be kept apart.
            recorder: Recorder::new(first, !settings.interval_given || settings.output.is_none()),
            sampler: Sampler::new(settings.duration),
            cross_check,
            logger,
            progress: Progress::new(!prints_lines),
            prints_lines,
            stream,
            stdout,
        };
        if let Some(stream) = &mut measurement.stream {
            let last = measurement.recorder.last();
            let provenance = provenance(support, plan, &measurement.session, started, last);
            stream.start(&provenance, &mut measurement.stdout);
        }
        if prints_lines {
            measurement.stdout.print(format!("{}\n", interval_header(&LINE_METRICS)).into_bytes());
        }
        Ok(measurement)
    }

    /// Goes on until something ends it.
    async fn until_end(&mut self, signals: &mut Signals, mut child: Option<&mut Child>) -> EndedBy {
        let begin = Instant::now();
        let every = |period| {
            let mut ticks = interval_at(begin + period, period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            ticks
        };
        let (mut ticks, mut looks) = (every(self.settings.interval), every(LOOK));
        let end = self.settings.duration.map(|duration| begin + duration);
        let mut sample_at = self.sampler.next().map(|pause| Instant::now() + pause);
        let mut window_at = self.cross_check.is_some().then(|| begin + WINDOW);
        loop {
            let step = tokio::select! {
                biased;
                kind = signals.next() => {
                    return EndedBy::Signal { name: signals::name(kind).unwrap_or("signal").to_owned() };
                }
                result = ended(child.as_deref_mut()) => match result {
                    Ok(()) => return EndedBy::Command,
                    Err(error) => Err(error).context("cannot wait for the command"),
                },
                () = until(end) => return EndedBy::Duration,
                () = until(sample_at) => {
                    let step = self.sampler.step(&mut self.session, monotonic_ns());
                    sample_at = self.sampler.next().map(|pause| Instant::now() + pause);
                    step
                }
                () = until(window_at) => {
                    window_at = Some(Instant::now() + WINDOW);
                    let check = self.cross_check.as_mut();
                    check.map_or(Ok(()), |check| check.window(&mut self.session, monotonic_ns()))
                }
                _ = ticks.tick() => take(&mut self.session, monotonic_ns())
                    .and_then(|snapshot| self.end_interval(snapshot)),
                _ = looks.tick() => {
                    self.look();
                    // With a file to fill or a command to see through, a closed stdout is no
                    // reason to stop.
                    if self.stdout.failed() && !writes_a_file(self.settings) && child.is_none() {
                        return EndedBy::StdoutClosed;
                    }
                    Ok(())
                }
            };
            if let Err(error) = step {
                return EndedBy::Error { message: format!("{error:#}") };
            }
        }
    }

    /// Stops counting and makes the recording. When the last reading fails, the one before it
    /// has to do.
    fn finish(mut self, mut ended_by: EndedBy) -> anyhow::Result<(Recording, Option<Stream>, Outlet)> {
        let stopped = self.cross_check.take().map(|mut check| {
            let end = check.stop(&mut self.session)?;
            anyhow::Ok((check, end))
        });
        let end_ns = monotonic_ns();
        self.progress.clear();
        let mut cross_check = None;
        let mut edges = Open::default();
        let mut by_lock = Vec::new();
        let last = self.session.finish().and_then(|(reading, at_end)| {
            edges = open(&reading, at_end);
            by_lock = locks(self.support, self.plan, &self.session, &reading);
            if let Some((check, end)) = stopped.transpose()? {
                cross_check = Some(check.finish(&end, &reading.irqs_off, end_ns)?);
            }
            let misses = self.session.recursion_misses()?;
            self.end_interval(snapshot(self.session.basis(), &reading, misses, end_ns)?)
        });
        if let Err(error) = last {
            ended_by = EndedBy::Error { message: format!("{error:#}") };
        }
        self.log();
        let (last, intervals, duration_ns) = self.recorder.finish()?;
        let sections = last.counters.get(&Counter::Sections).copied().unwrap_or(0);
        let recording = Recording {
            schema: SCHEMA.to_owned(),
            tool: Tool { name: "rstat-probe".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
            provenance: provenance(self.support, self.plan, &self.session, self.started, &last),
            duration_ns,
            ended_by,
            losses: last.losses,
            totals: Totals { metrics: last.metrics, counters: last.counters },
            intervals,
            open: edges,
            overhead: self.sampler.overhead(sections, duration_ns),
            workload: None,
            locks: by_lock,
            cross_check,
            tables: Vec::new(),
            slow_events: Vec::new(),
        };
        Ok((recording, self.stream, self.stdout))
    }

    /// Ends an interval and shows it to those who asked for intervals.
    fn end_interval(&mut self, snapshot: Snapshot) -> anyhow::Result<()> {
        let interval: Interval = self.recorder.push(snapshot)?;
        if let Some(stream) = &mut self.stream {
            stream.interval(&interval, &mut self.stdout);
        }
        if self.prints_lines {
            let mut line = Vec::new();
            write_interval_line(&mut line, &interval, &LINE_METRICS)?;
            self.stdout.print(line);
        }
        Ok(())
    }

    /// Prints what the programs had to say.
    fn log(&mut self) {
        if let Some(logger) = &mut self.logger {
            logger.flush();
        }
    }

    fn look(&mut self) {
        self.log();
        let duration_ns = self.settings.duration.map(|d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX));
        self.progress.show(self.recorder.last(), monotonic_ns() - self.recorder.start_ns(), duration_ns);
    }
}

fn take(session: &mut Session, at_ns: u64) -> anyhow::Result<Snapshot> {
    let reading = session.read()?;
    let misses = session.recursion_misses()?;
    snapshot(session.basis(), &reading, misses, at_ns)
}

fn open(reading: &Reading, at_end: OpenAtEnd) -> Open {
    Open {
        at_start: reading.open_at_start,
        at_end: at_end.sections,
        flushes_at_start: reading.flush_open_at_start,
        flushes_at_end: at_end.flushes,
        waits_at_end: at_end.waits,
        cpu_locks_at_start: reading.cpu_locks_open_at_start,
        cpu_locks_at_end: at_end.cpu_locks,
    }
}

fn writes_a_file(settings: &Settings) -> bool {
    [&settings.output, &settings.stream].into_iter().any(|target| matches!(target, Some(Target::File(_))))
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

async fn ended(child: Option<&mut Child>) -> std::io::Result<()> {
    match child {
        Some(child) => child.ended().await,
        None => std::future::pending().await,
    }
}
