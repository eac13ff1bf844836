//! The ways a measurement ends: what was measured is saved and printed.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use rstat_probe_report::recording::EndedBy;
use rustix::process::Signal;

use super::{
    process::{LIMIT, Running, finish, tool},
    ready,
    recorded::{assert_is_report, assert_nothing_lost, ended_by_signal, recording},
    storm::Storm,
};

fn run(options: &[&str], file: &Path) -> std::process::Command {
    let mut command = tool(["run"]);
    command.args(options).arg("-o").arg(file);
    command
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_signal_ends_it_well() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (signal, name) in [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM"), (Signal::HUP, "SIGHUP")] {
        let file = folder.path().join(name);
        let mut running = Running::start(&mut run(&[], &file));
        running.wait_attached();
        thread::sleep(Duration::from_millis(300));
        running.signal(signal);
        let begin = Instant::now();
        let finished = running.wait(LIMIT);
        assert!(begin.elapsed() < Duration::from_secs(2), "{name}: {:?}", begin.elapsed());
        finished.assert_success();
        assert_is_report(&finished.stdout);
        let recording = recording(&file);
        assert_eq!(recording.ended_by, ended_by_signal(name));
        assert!(recording.duration_ns > 0);
        assert_nothing_lost(&recording);
    }
}

/// Numbers without a pattern; not good ones, but good enough for moments.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn several_interrupts_at_any_moment_lose_nothing() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let seed = std::process::id().into();
    let mut random = Random(seed);
    let _storm = Storm::start(2);
    let mut reports = 0;
    for number in 0..20 {
        let file = folder.path().join(number.to_string());
        let mut running = Running::start(&mut run(&["-i", "50ms"], &file));
        running.wait_attached();
        thread::sleep(Duration::from_micros(random.below(400_000)));
        for _ in 0..[1, 2, 5][number % 3] {
            running.signal(Signal::INT);
            thread::sleep(Duration::from_micros(random.below(5_000)));
        }
        let finished = running.wait(Duration::from_secs(5));
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "seed {seed}, run {number}");
        let recording = recording(&file);
        assert_eq!(recording.ended_by, ended_by_signal("SIGINT"), "seed {seed}, run {number}");
        assert_nothing_lost(&recording);
        let whole = finished.stdout.contains("\nown cost: ");
        assert!(whole || number % 3 != 0, "one interrupt leaves the report: seed {seed}, run {number}");
        reports += usize::from(whole);
    }
    println!("20 runs, {reports} whole reports");
    assert_eq!(reports, 20, "stdout was not blocked, so the report fits in: seed {seed}");
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_second_interrupt_leaves_a_reader_that_hangs() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let mut command = run(&["-i", "10ms", "--stream", "-"], &file);
    let mut running = Running::start_onto(&mut command, Stdio::piped());
    // Open and never read; more than it holds is written meanwhile.
    let _pipe = running.child.stdout.take();
    running.wait_attached();
    thread::sleep(Duration::from_secs(1));
    running.signal(Signal::INT);
    thread::sleep(Duration::from_millis(500));
    assert!(!running.has_ended(), "the reader gets time");
    assert_eq!(recording(&file).ended_by, ended_by_signal("SIGINT"));
    running.signal(Signal::INT);
    running.wait(Duration::from_secs(3)).assert_success();
    assert_nothing_lost(&recording(&file));
}

/// Starts it with a pipe as stdout, reads one line and closes the pipe.
fn head(command: &mut std::process::Command) -> (Running, String) {
    let mut running = Running::start_onto(command, Stdio::piped());
    let mut line = String::new();
    BufReader::new(running.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (running, line)
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_closed_stdout_is_no_error_and_a_recording_is_still_made() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let (running, line) = head(&mut run(&["-i", "200ms", "-d", "2s"], &file));
    assert!(line.contains("irqs_off"), "{line}");
    running.wait(LIMIT).assert_success();
    let recording = recording(&file);
    assert_eq!(recording.ended_by, EndedBy::Duration);
    assert!(recording.duration_ns >= 2_000_000_000 && recording.intervals.len() >= 9);
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn with_nobody_to_print_for_and_no_file_it_ends() {
    if !ready() {
        return;
    }
    for options in [&["run", "-i", "200ms"][..], &["run", "-i", "200ms", "--stream", "-"]] {
        let (running, line) = head(&mut tool(options));
        assert!(!line.is_empty());
        let begin = Instant::now();
        running.wait(LIMIT).assert_success();
        assert!(begin.elapsed() < Duration::from_secs(3), "{options:?}: {:?}", begin.elapsed());
    }
    // The report itself finds the pipe closed.
    let mut running = Running::start_onto(&mut tool(["run", "-d", "300ms"]), Stdio::piped());
    drop(running.child.stdout.take());
    running.wait(LIMIT).assert_success();
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_duration_and_a_command_end_it_too() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let finished = finish(&mut run(&["-d", "300ms"], &file));
    finished.assert_success();
    assert_is_report(&finished.stdout);
    let recorded = recording(&file);
    assert_eq!(recorded.ended_by, EndedBy::Duration);
    assert!((300_000_000..2_000_000_000).contains(&recorded.duration_ns), "{}", recorded.duration_ns);
    finish(run(&[], &file).args(["--", "sleep", "0.2"])).assert_success();
    let recorded = recording(&file);
    assert_eq!(recorded.ended_by, EndedBy::Command);
    assert!((200_000_000..2_000_000_000).contains(&recorded.duration_ns), "{}", recorded.duration_ns);
}
