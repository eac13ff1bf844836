//! What does not depend on how much there is: reading, comparing, printing one of each kind.
//! `cargo bench -p rstat-probe-report --bench pure`

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rstat_probe_report::compare::{Options, Side, compare};
use rstat_probe_report::import::import;
use rstat_probe_report::render::text::{TextOptions, write_report};
use rstat_probe_report::{Recording, input};

/// Sixteen intervals under load.
const RECORDING: &[u8] = include_bytes!("../../rstat-probe/tests/fixtures/recordings/storm.json");
/// Histograms of bpftrace.
const BPFTRACE: &str = include_str!("../tests/corpus/samples/01-rstat-lock-hold-patched-vs-normal.txt");
/// A table of klockstat.
const KLOCKSTAT: &str = include_str!("../tests/corpus/samples/39-klockstat-ns.txt");

fn reading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read");
    for (name, text) in [("bpftrace", BPFTRACE), ("klockstat", KLOCKSTAT)] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| import(black_box(text), name)));
    }
    group.throughput(Throughput::Bytes(RECORDING.len() as u64));
    group.bench_function("recording", |bencher| {
        bencher.iter(|| Recording::read(black_box(RECORDING), "storm.json"));
    });
    // What of it is JSON alone.
    group.bench_function("recording as any JSON", |bencher| {
        bencher.iter(|| serde_json::from_slice::<serde_json::Value>(black_box(RECORDING)));
    });
    group.finish();
}

fn comparing(criterion: &mut Criterion) {
    let side = |name: &str| {
        let mut side = Side::new(name, false);
        let input = input::read(RECORDING, name).expect("a fixture");
        side.add(input, name, None).expect("the first always fits");
        side
    };
    let sides = ["baseline", "candidate"].map(side);
    // Its intervals are resampled, and dealt out anew for the tests.
    criterion.bench_function("compare two recordings", |bencher| {
        bencher.iter(|| compare(black_box(&sides[0]), black_box(&sides[1]), &Options::default(), &[]));
    });
}

fn printing(criterion: &mut Criterion) {
    let recording = Recording::read(RECORDING, "storm.json").expect("a fixture");
    let options = TextOptions { width: Some(100), heading: true };
    let mut out = Vec::new();
    criterion.bench_function("print a recording", |bencher| {
        bencher.iter(|| {
            out.clear();
            write_report(&mut out, black_box(&recording), &options)
        });
    });
}

criterion_group!(benches, reading, comparing, printing);
criterion_main!(benches);
