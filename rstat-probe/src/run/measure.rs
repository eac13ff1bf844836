//! The measurement itself: from arming to the last reading, and what is made of it.

use std::time::Duration;

use anyhow::Context as _;
use aya_log::EbpfLogger;
use rstat_probe_report::{
    Counter, Interval, Metric, Recording,
    recording::{EndedBy, Open, SCHEMA, Tool, Totals},
    render::text::{interval_header, write_interval_line},
};
use rustix::time::{ClockId, clock_gettime};
use time::OffsetDateTime;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use super::{
    child::Child,
    own_cost::Sampler,
    progress::Progress,
    provenance::provenance,
    recorder::{Recorder, snapshot},
    settings::{Settings, Target},
    signals::Signals,
    stdout::Stdout,
    stream::Stream,
};
use crate::kernel::{plan::AttachPlan, reader::Reading, session::Session, support::KernelSupport};

/// What interval lines show.
const LINE_METRICS: [Metric; 1] = [Metric::IrqsOff];
/// How often the progress line, the log of the programs and stdout are looked after.
const PROGRESS: Duration = Duration::from_millis(500);

/// CLOCK_MONOTONIC in ns, the clock of the programs.
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// Measures with `session`. Returns the exit code.
pub(crate) async fn measure(
    settings: &Settings,
    support: &KernelSupport,
    plan: &AttachPlan,
    mut session: Session,
    verbose: bool,
) -> anyhow::Result<u8> {
    let mut signals = Signals::new()?;
    let mut stdout = Stdout::start();
    let mut stream = settings.stream.as_ref().map(Stream::open).transpose()?;
    let mut logger = verbose.then(|| EbpfLogger::init(session.ebpf())).transpose()?;

    session.arm()?;
    let started = OffsetDateTime::now_utc();
    let mut recorder = Recorder::new(take(plan, &mut session, monotonic_ns())?, !settings.interval_given);
    if let Some(stream) = &mut stream {
        stream.start(&provenance(support, plan, &session, started, recorder.last()), &mut stdout);
    }
    let prints_lines = settings.interval_given && settings.prints_report();
    if prints_lines {
        stdout.print(format!("{}\n", interval_header(&LINE_METRICS)).into_bytes());
    }
    let mut child = match settings.command.split_first() {
        None => None,
        Some((program, _)) => match Child::spawn(&settings.command) {
            Ok(child) => Some(child),
            Err(refused) => {
                let program = program.to_string_lossy();
                log::error!("cannot run {program}: {}", refused.error);
                return Ok(refused.exit_code);
            }
        },
    };

    let mut ticks = interval_at(Instant::now() + settings.interval, settings.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut looks = interval_at(Instant::now() + PROGRESS, PROGRESS);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let end = settings.duration.map(|duration| Instant::now() + duration);
    let mut sampler = Sampler::new(settings.duration);
    let mut sample_at = sampler.next().map(|pause| Instant::now() + pause);
    let progress = Progress::new(!prints_lines);
    let duration_ns = settings.duration.map(|d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX));

    let ended_by = loop {
        let step: anyhow::Result<()> = tokio::select! {
            biased;
            (name, _) = signals.next() => break EndedBy::Signal { name: name.to_owned() },
            result = ended(child.as_mut()) => match result {
                Ok(()) => break EndedBy::Command,
                Err(error) => Err(error).context("cannot wait for the command"),
            },
            () = until(end) => break EndedBy::Duration,
            () = until(sample_at) => {
                let stepped = sampler.step(&mut session, monotonic_ns());
                sample_at = sampler.next().map(|pause| Instant::now() + pause);
                stepped
            }
            _ = ticks.tick() => take(plan, &mut session, monotonic_ns())
                .and_then(|snapshot| recorder.push(snapshot))
                .map(|interval| show(&interval, prints_lines, stream.as_mut(), &mut stdout)),
            _ = looks.tick() => {
                if let Some(logger) = &mut logger {
                    logger.flush();
                }
                if !prints_lines {
                    progress.show(recorder.last(), monotonic_ns() - recorder.start_ns(), duration_ns);
                }
                // With a file to fill, a closed stdout is no reason to stop.
                if stdout.failed() && !writes_a_file(settings) {
                    break EndedBy::StdoutClosed;
                }
                Ok(())
            }
        };
        if let Err(error) = step {
            break EndedBy::Error { message: format!("{error:#}") };
        }
    };

    let end_ns = monotonic_ns();
    let (reading, open_at_end) = session.finish()?;
    progress.clear();
    if let Some(logger) = &mut logger {
        logger.flush();
    }
    let interrupted = ended_by == EndedBy::Signal { name: "SIGINT".to_owned() };
    let misses = session.recursion_misses()?;
    let interval = recorder.push(snapshot(plan, &reading, misses, end_ns)?)?;
    show(&interval, prints_lines, stream.as_mut(), &mut stdout);
    let (last, intervals, duration_ns) = recorder.finish()?;
    if let Some(child) = &mut child {
        tokio::select! {
            stopped = child.stop(interrupted), if ended_by != EndedBy::Command => stopped?,
            _ = signals.next(), if ended_by != EndedBy::Command => child.kill(),
            else => {}
        }
        child.ended().await?;
    }

    let sections = last.counters.get(&Counter::Sections).copied().unwrap_or(0);
    let recording = Recording {
        schema: SCHEMA.to_owned(),
        tool: Tool { name: "rstat-probe".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        provenance: provenance(support, plan, &session, started, &last),
        duration_ns,
        ended_by,
        losses: last.losses.clone(),
        totals: Totals { metrics: last.metrics, counters: last.counters },
        intervals,
        open: open(&reading, open_at_end),
        overhead: sampler.overhead(sections, duration_ns),
        workload: child.as_ref().map(Child::workload),
        tables: Vec::new(),
        slow_events: Vec::new(),
    };
    deliver(settings, &recording, stream, stdout, signals, child.as_ref().map(Child::exit_code)).await
}

/// Saves and prints. The file comes first: nobody can block it.
async fn deliver(
    settings: &Settings,
    recording: &Recording,
    mut stream: Option<Stream>,
    mut stdout: Stdout,
    mut signals: Signals,
    command: Option<u8>,
) -> anyhow::Result<u8> {
    let saved = super::save(recording, settings);
    if let Some(stream) = &mut stream {
        stream.end(recording, &mut stdout);
    }
    stdout.print(super::report(recording, settings)?);
    tokio::select! {
        printed = stdout.finish() => {
            let dropped = printed.context("cannot print the report")?;
            if dropped > 0 {
                log::error!("{dropped} lines were not printed: nobody read stdout");
            }
        }
        // The reader of stdout hangs; the user has seen enough.
        _ = signals.next() => {}
    }
    saved?;
    stream.map_or(Ok(()), Stream::finish)?;
    if let EndedBy::Error { message } = &recording.ended_by {
        log::error!("the measurement ended early: {message}");
    }
    Ok(super::exit_code(recording, command))
}

/// Shows an interval that just ended to those who asked for intervals.
fn show(interval: &Interval, as_line: bool, stream: Option<&mut Stream>, stdout: &mut Stdout) {
    if let Some(stream) = stream {
        stream.interval(interval, stdout);
    }
    if as_line {
        let mut line = Vec::new();
        // Writing to memory does not fail.
        let _ = write_interval_line(&mut line, interval, &LINE_METRICS);
        stdout.print(line);
    }
}

fn take(
    plan: &AttachPlan,
    session: &mut Session,
    at_ns: u64,
) -> anyhow::Result<rstat_probe_report::Snapshot> {
    let reading = session.read()?;
    let misses = session.recursion_misses()?;
    snapshot(plan, &reading, misses, at_ns)
}

fn open(reading: &Reading, ends: crate::kernel::session::OpenAtEnd) -> Open {
    Open {
        at_start: reading.open_at_start,
        at_end: ends.sections,
        flushes_at_start: reading.flush_open_at_start,
        flushes_at_end: ends.flushes,
        waits_at_end: ends.waits,
        cpu_locks_at_start: reading.cpu_locks_open_at_start,
        cpu_locks_at_end: ends.cpu_locks,
    }
}

fn writes_a_file(settings: &Settings) -> bool {
    [&settings.output, &settings.stream].into_iter().any(|target| matches!(target, Some(Target::File(_))))
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep(moment - Instant::now()).await,
        None => std::future::pending().await,
    }
}

async fn ended(child: Option<&mut Child>) -> std::io::Result<()> {
    match child {
        Some(child) => child.ended().await,
        None => std::future::pending().await,
    }
}
