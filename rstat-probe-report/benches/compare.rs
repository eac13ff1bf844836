//! `compare` of many recordings: time, peak memory, and the share of the time that goes into
//! reading. `cargo bench -p rstat-probe-report --bench compare [-- RECORDINGS...]`
//!
//! Each number of recordings a side runs in a process of its own, because peak memory never falls.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rstat_probe_report::compare::{Options, Side, compare};
use rstat_probe_report::{Histogram, Interval, Metric, Recording, input};

const INTERVALS: u64 = 60;
const SIDES: [&str; 2] = ["baseline", "candidate"];
const CHILD: &str = "--measure";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [flag, folder, count] = &arguments[..]
        && flag == CHILD
    {
        measure(Path::new(folder), count.parse().expect("a number"));
        return;
    }
    let counts: Vec<usize> = arguments.iter().map(|argument| argument.parse().expect("a number")).collect();
    let counts = if counts.is_empty() { vec![250, 500, 1_000, 2_000] } else { counts };
    let folder = std::env::temp_dir().join(format!("rstat-probe-bench-{}", std::process::id()));
    let bytes = generate(&folder, counts.iter().copied().max().unwrap_or(0));
    print(&format!("recordings of {INTERVALS} intervals and 4 metrics, {} KiB each", bytes >> 10));
    print("a side   total s   per recording ms   reading   peak MiB   verdict");
    for count in counts {
        let program = std::env::current_exe().expect("this program");
        let status = Command::new(program).arg(CHILD).arg(&folder).arg(count.to_string()).status();
        assert!(status.expect("this program starts").success());
    }
    fs::remove_dir_all(&folder).expect("the folder was made here");
}

/// Compares the first `count` recordings of each side and prints one line.
fn measure(folder: &Path, count: usize) {
    let start = Instant::now();
    let mut reading = Duration::ZERO;
    let sides = SIDES.map(|name| {
        let mut side = Side::new(name, false);
        for index in 0..count {
            let path = file(folder, name, index);
            let begin = Instant::now();
            let input = input::read(File::open(&path).expect("it was written"), name).expect("it is right");
            reading += begin.elapsed();
            side.add(input, name, None).expect("it fits");
        }
        side
    });
    let comparison = compare(&sides[0], &sides[1], &Options::default(), &[]).expect("they fit");
    let total = start.elapsed().as_secs_f64();
    print(&format!(
        "{count:>6} {total:>9.2} {:>18.2} {:>8.0}% {:>10.1}   {}",
        total * 500.0 / count as f64,
        reading.as_secs_f64() / total * 100.0,
        peak_mib(),
        comparison.verdict.outcome.words()
    ));
}

#[expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
fn print(line: &str) {
    println!("{line}");
}

fn file(folder: &Path, side: &str, index: usize) -> PathBuf {
    folder.join(format!("{side}-{index}.json"))
}

/// Peak resident memory of this process.
fn peak_mib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

/// Writes `count` recordings a side, each of a host of its own, and returns the size of one.
fn generate(folder: &Path, count: usize) -> u64 {
    fs::create_dir_all(folder).expect("a folder for the recordings");
    let template = include_bytes!("../../rstat-probe/tests/fixtures/recordings/storm.json");
    let template = Recording::read(&template[..], "storm.json").expect("a fixture");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let pool: Vec<Histogram> = (0..64).map(|_| histogram(&mut rng)).collect();
    for side in SIDES {
        for index in 0..count {
            let path = file(folder, side, index);
            let mut writer = BufWriter::new(File::create(path).expect("room for the recordings"));
            recording(&template, &pool, index, &mut rng).write(&mut writer).expect("room for the recordings");
            writer.flush().expect("room for the recordings");
        }
    }
    fs::metadata(file(folder, SIDES[0], 0)).map_or(0, |metadata| metadata.len())
}

/// 2,000 events around 10 us, over some fifty slots.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some microseconds")]
fn histogram(rng: &mut ChaCha8Rng) -> Histogram {
    let mut histogram = Histogram::new();
    for _ in 0..2_000 {
        let spread: f64 = (0..6).map(|_| rng.random::<f64>() - 0.5).sum();
        histogram.record((9.2 + spread).exp() as u64);
    }
    histogram
}

fn recording(template: &Recording, pool: &[Histogram], index: usize, rng: &mut ChaCha8Rng) -> Recording {
    let mut recording = template.clone();
    recording.provenance.host = format!("host-{index}");
    recording.provenance.started = format!("2026-01-02T03:04:05.{index:06}Z");
    recording.workload = None;
    recording.intervals.clear();
    recording.losses.clear();
    recording.duration_ns = INTERVALS * 1_000_000_000;
    recording.totals.counters.clear();
    recording.totals.metrics.clear();
    for number in 0..INTERVALS {
        let mut interval =
            Interval { start_ns: number * 1_000_000_000, length_ns: 1_000_000_000, ..Interval::default() };
        for metric in [Metric::IrqsOff, Metric::LockWait, Metric::LockHold, Metric::Flush] {
            let histogram = &pool[rng.random_range(0..pool.len())];
            let total = recording.totals.metrics.entry(metric).or_default();
            *total = total.merge(histogram).expect("few events");
            interval.metrics.insert(metric, histogram.clone());
        }
        recording.intervals.push(interval);
    }
    recording
}
