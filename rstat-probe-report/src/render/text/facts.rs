//! Everything around the figures: where they come from before them, what limits them after.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::cross_check::write_cross_check;
use super::layout::{Page, command_line, escaped};
use super::summary::rate;
use crate::load_result::LoadResult;
use crate::metric::{Counter, Loss};
use crate::recording::{EndedBy, Open, Recording, Totals, Workload};
use crate::units;

/// Longer foreign results of a workload are cut.
const MAX_RESULT: usize = 200;

/// Writes where, when and with what it was measured.
pub(super) fn write_heading(w: &mut impl Write, recording: &Recording, page: Page) -> io::Result<()> {
    let at = &recording.provenance;
    let tool = format!("{} {}", recording.tool.name, recording.tool.version);
    let real_time = if at.kernel.preempt_rt { ", PREEMPT_RT" } else { "" };
    let kernel = format!(
        "{} ({}{real_time}) {}",
        escaped(&at.kernel.release),
        escaped(&at.kernel.machine),
        escaped(&at.kernel.version)
    );
    let cpus = format!(
        "{} possible ({}), {} online ({})",
        at.cpus.possible,
        escaped(&at.cpus.possible_list),
        at.cpus.online,
        escaped(&at.cpus.online_list)
    );
    let measured = format!(
        "{} from {}, {}",
        units::duration(recording.duration_ns, 4),
        escaped(&at.started),
        ended(&recording.ended_by)
    );
    page.write_fact(w, "tool", &escaped(&tool))?;
    page.write_fact(w, "host", &escaped(&at.host))?;
    page.write_fact(w, "kernel", &kernel)?;
    page.write_fact(w, "CPUs", &cpus)?;
    page.write_fact(w, "measured", &measured)?;
    page.write_fact(w, "command", &command_line(&at.command_line))?;
    if let Some(strategy) = &at.strategy {
        page.write_fact(w, "strategy", &escaped(strategy))?;
    }
    let hooks: Vec<String> =
        at.hooks.iter().map(|hook| escaped(&format!("{} ({})", hook.hook, hook.attach))).collect();
    page.write_fact(w, "hooks", if hooks.is_empty() { "none".to_owned() } else { hooks.join(", ") }.as_str())
}

fn ended(by: &EndedBy) -> String {
    match by {
        EndedBy::Duration => "until the time was over".to_owned(),
        EndedBy::Signal { name } => format!("until {}", escaped(name)),
        EndedBy::Command => "until the command ended".to_owned(),
        EndedBy::StdoutClosed => "until nobody read the output any more".to_owned(),
        EndedBy::Error { message } => format!("until an error: {}", escaped(message)),
    }
}

/// Writes counters, yield behaviour, losses and everything else that limits the figures.
pub(super) fn write_facts(w: &mut impl Write, recording: &Recording, page: Page) -> io::Result<()> {
    write_counters(w, &recording.totals, recording.duration_ns, page)?;
    page.write_fact(w, "yield", &recording.provenance.yield_behaviour.sentence())?;
    write_locks(w, recording, page)?;
    write_losses(w, &recording.losses, page)?;
    write_overflows(w, &recording.totals, page)?;
    page.write_fact(w, "edges", &edges(&recording.open))?;
    // Several metrics are often missing for one reason.
    let mut missing: Vec<(&str, Vec<&str>)> = Vec::new();
    for (metric, basis) in &recording.provenance.metrics {
        let Some(reason) = &basis.unavailable else { continue };
        match missing.iter_mut().find(|(other, _)| other == reason) {
            Some((_, metrics)) => metrics.push(metric.name()),
            None => missing.push((reason, vec![metric.name()])),
        }
    }
    for (reason, metrics) in missing {
        page.write_fact(w, "not measured", &format!("{}: {}", metrics.join(", "), escaped(reason)))?;
    }
    page.write_fact(w, "own cost", &own_cost(recording))?;
    if let Some(cross_check) = &recording.cross_check {
        write_cross_check(w, cross_check, page)?;
    }
    match &recording.workload {
        Some(workload) => write_workload(w, workload, page),
        None => Ok(()),
    }
}

/// Writes every counter with its rate over `elapsed` ns.
pub(in crate::render) fn write_counters(
    w: &mut impl Write,
    totals: &Totals,
    elapsed: u64,
    page: Page,
) -> io::Result<()> {
    let counters: Vec<String> = Counter::ALL
        .iter()
        .filter(|counter| !matches!(counter, Counter::InferredEnds | Counter::UnseenHoldNs))
        .filter_map(|counter| Some((counter, *totals.counters.get(counter)?)))
        .map(|(name, count)| format!("{name} {} ({})", units::count(count), rate(count, elapsed)))
        .collect();
    if !counters.is_empty() {
        page.write_fact(w, "counters", &counters.join(", "))?;
    }
    let counted = |counter: Counter| totals.counters.get(&counter).copied();
    let Some(ends @ 1..) = counted(Counter::InferredEnds) else { return Ok(()) };
    let lacking = match counted(Counter::UnseenHoldNs) {
        Some(ns) => {
            format!("at most {} a section on average", units::duration_f64(ns as f64 / ends as f64, 2))
        }
        None => "a little, and nothing bounds how much".to_owned(),
    };
    let ends =
        units::counted(ends, "release was not seen but inferred", "releases were not seen but inferred");
    page.write_fact(w, "precision", &format!("{ends}: lock_hold and irqs_off lack {lacking}"))
}

/// Writes the sections by lock, where the kernel has several.
fn write_locks(w: &mut impl Write, recording: &Recording, page: Page) -> io::Result<()> {
    let locks: Vec<String> = recording
        .locks
        .iter()
        .map(|lock| {
            format!(
                "{} {} ({} contended, held {}, longest {})",
                escaped(&lock.lock),
                units::counted(lock.sections, "section", "sections"),
                units::count(lock.contended),
                units::duration(lock.hold_ns, 3),
                units::duration(lock.max_hold_ns, 3)
            )
        })
        .collect();
    if locks.is_empty() { Ok(()) } else { page.write_fact(w, "locks", &locks.join("; ")) }
}

/// Writes which metrics have events that no bucket tells apart.
pub(in crate::render) fn write_overflows(w: &mut impl Write, totals: &Totals, page: Page) -> io::Result<()> {
    for (metric, histogram) in &totals.metrics {
        if histogram.overflow() > 0 {
            let events = units::counted(histogram.overflow(), "event", "events");
            let text = format!("{metric}: {events} of 2^38 ns (275 s) or more, in no finer bucket");
            page.write_fact(w, "overflow", &text)?;
        }
    }
    Ok(())
}

/// What is in no table because it crosses an edge of the measurement.
pub(in crate::render) fn edges(open: &Open) -> String {
    let side = |counts: &[(u64, &str, &str)]| {
        let named = counts.iter().filter(|(count, ..)| *count > 0);
        named.map(|(count, one, many)| units::counted(*count, one, many)).collect::<Vec<_>>().join(", ")
    };
    let start = side(&[
        (open.at_start, "section", "sections"),
        (open.flushes_at_start, "flush", "flushes"),
        (open.cpu_locks_at_start, "per-CPU lock", "per-CPU locks"),
    ]);
    let end = side(&[
        (open.at_end, "section", "sections"),
        (open.flushes_at_end, "flush", "flushes"),
        (open.waits_at_end, "wait", "waits"),
        (open.cpu_locks_at_end, "per-CPU lock", "per-CPU locks"),
    ]);
    match (start.is_empty(), end.is_empty()) {
        (true, true) => "nothing was open when the measurement began or ended".to_owned(),
        (false, true) => format!("already open at the start: {start} (in no table)"),
        (true, false) => format!("still open at the end: {end} (in no table)"),
        (false, false) => {
            format!("already open at the start: {start}; still open at the end: {end} (in no table)")
        }
    }
}

/// Writes what is known to be missed, and else what was watched.
pub(in crate::render) fn write_losses(
    w: &mut impl Write,
    losses: &BTreeMap<Loss, u64>,
    page: Page,
) -> io::Result<()> {
    let mut any = false;
    for (loss, &count) in losses {
        if count > 0 {
            any = true;
            page.write_fact(w, "lost", &format!("{loss} {}: {}", units::count(count), loss.explain()))?;
        }
    }
    if any {
        return Ok(());
    }
    let watched: Vec<&str> = losses.keys().map(|loss| loss.name()).collect();
    let text = if watched.is_empty() {
        "none known, and none watched for".to_owned()
    } else {
        format!("none (watched: {})", watched.join(", "))
    };
    page.write_fact(w, "losses", &text)
}

fn own_cost(recording: &Recording) -> String {
    let overhead = &recording.overhead;
    let mut parts = Vec::new();
    if let Some(sample) = &overhead.sampled {
        parts.push(format!(
            "{} per section (sample of {}, {})",
            units::duration_f64(sample.ns_per_section, 2),
            units::duration(sample.length_ns, 2),
            units::counted(sample.sections, "section", "sections")
        ));
    }
    if let Some(percent) = overhead.percent_of_one_cpu {
        parts.push(format!("{} of one CPU", units::percent(percent / 100.0)));
    }
    if let Some(reason) = &overhead.unavailable {
        parts.push(format!("unknown: {}", escaped(reason)));
    }
    if parts.is_empty() {
        parts.push("unknown".to_owned());
    }
    if !overhead.note.is_empty() {
        parts.push(escaped(&overhead.note));
    }
    parts.join("; ")
}

fn write_workload(w: &mut impl Write, workload: &Workload, page: Page) -> io::Result<()> {
    let end = match (workload.exit_code, workload.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "end not seen".to_owned(),
    };
    page.write_fact(w, "workload", &format!("{}: {end}", command_line(&workload.command)))?;
    let Some(result) = &workload.result else { return Ok(()) };
    // Anything else than a load result is shown as it is.
    let text = serde_json::from_value::<LoadResult>(result.clone()).map_or_else(
        |_| {
            let all = escaped(&result.to_string());
            let cut: String = all.chars().take(MAX_RESULT).collect();
            if cut.len() < all.len() { cut + " ..." } else { cut }
        },
        |load| load.sentence(),
    );
    page.write_fact(w, "workload result", &text)
}
