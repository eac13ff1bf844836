//! `--stream`: each interval once, in time, whoever reads it.

use std::{
    fs,
    io::Read as _,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use rstat_probe_report::{Counter, Interval};
use serde_json::Value;

use super::{
    process::{LIMIT, Running, tool},
    ready,
    storm::Storm,
};

/// The intervals of a stream, which has to be whole: contiguous from 0, and equal to the totals at its end.
fn intervals(text: &str) -> Vec<Interval> {
    assert!(text.ends_with('\n'));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [start, middle @ .., end] = &lines[..] else { panic!("{text}") };
    assert_eq!((&start["type"], &start["schema"]), (&"start".into(), &"rstat-probe/stream/1".into()));
    assert_eq!(end["type"], "end");
    assert!(end["losses"].as_object().unwrap().values().all(|lost| lost == 0), "{}", end["losses"]);
    let intervals: Vec<Interval> = middle
        .iter()
        .map(|line| {
            assert_eq!(line["type"], "interval");
            serde_json::from_value(line.clone()).unwrap()
        })
        .collect();
    let mut next = 0;
    for interval in &intervals {
        assert_eq!(interval.start_ns, next, "neither a gap nor a repetition");
        assert!(interval.length_ns > 0);
        next += interval.length_ns;
    }
    assert_eq!(end["duration_ns"], next);
    for counter in Counter::ALL {
        // Absent means 0.
        let sum: u64 = intervals.iter().filter_map(|interval| interval.counters.get(counter)).sum();
        assert_eq!(end["totals"]["counters"][counter.name()].as_u64().unwrap_or(0), sum, "{counter}");
    }
    intervals
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_slow_reader_gets_every_interval_once() {
    if !ready() {
        return;
    }
    let _storm = Storm::on_every_cpu();
    // A busy machine takes the CPU away for long, too, but not each time.
    let mut longest = Vec::new();
    while longest.len() < 3 {
        longest.push(longest_interval_with_a_slow_reader());
        if longest.last().is_some_and(|longest| *longest < 500_000_000) {
            return;
        }
    }
    panic!("the measurement waited for the reader: {longest:?} ns");
}

/// In ns, of a measurement whose reader sleeps at first.
fn longest_interval_with_a_slow_reader() -> u64 {
    let mut command = tool(["run", "-i", "20ms", "-d", "3s", "--stream", "-"]);
    let mut running = Running::start_onto(&mut command, Stdio::piped());
    let mut pipe = running.child.stdout.take().unwrap();
    running.wait_attached();
    thread::sleep(Duration::from_secs(2));
    let mut text = String::new();
    let begin = Instant::now();
    pipe.read_to_string(&mut text).unwrap();
    running.wait(LIMIT).assert_success();
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    assert!(text.len() > 2 * 65536, "more than a pipe holds, so that it was blocked: {}", text.len());
    let intervals = intervals(&text);
    println!("{} intervals, {} bytes", intervals.len(), text.len());
    assert!(intervals.len() > 75, "{}", intervals.len());
    intervals.iter().map(|interval| interval.length_ns).max().unwrap()
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn each_interval_is_in_the_file_within_its_second() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.ndjson");
    let _storm = Storm::on_every_cpu();
    let mut running = Running::start(tool(["run", "-i", "200ms", "-d", "3s", "--stream"]).arg(&file));
    // When each line was there.
    let mut seen: Vec<Instant> = Vec::new();
    while !running.has_ended() {
        // A reader may see the first pages of a write before the rest: only whole lines count.
        let lines = fs::read_to_string(&file).unwrap_or_default();
        seen.resize(lines.matches('\n').count(), Instant::now());
        thread::sleep(Duration::from_millis(5));
    }
    let finished = running.wait(LIMIT);
    finished.assert_success();
    let intervals = intervals(&fs::read_to_string(&file).unwrap());
    assert!((13..=16).contains(&intervals.len()), "{}", intervals.len());
    // The first line comes when counting begins. The last lines may come in the moment of the end.
    let begin = seen[0];
    let mut latest = Duration::ZERO;
    for (interval, seen) in intervals.iter().zip(&seen[1..]).take(11) {
        let due = begin + Duration::from_nanos(interval.start_ns + interval.length_ns);
        latest = latest.max(seen.saturating_duration_since(due));
    }
    println!("{} intervals, the latest {latest:?} after its end", intervals.len());
    assert!(seen.len() >= 12 && latest < Duration::from_secs(1), "{latest:?}, {} lines", seen.len());
}
