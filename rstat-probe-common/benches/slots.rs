//! The slot arithmetic, as user space has it: `cargo bench -p rstat-probe-common`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rstat_probe_common::slots::{SLOTS, slot_high, slot_low, slot_of};

fn slots(criterion: &mut Criterion) {
    // Every power of two and its neighbours, many times over: no branch can be learned from so many.
    let values: Vec<u64> = (0..4096u64).map(|n| (1u64 << (n % 40)) + n * 7 % 13).collect();
    let mut group = criterion.benchmark_group("slots");
    group.throughput(Throughput::Elements(values.len() as u64));
    group.bench_function("slot_of", |bencher| {
        bencher.iter(|| values.iter().filter_map(|value| slot_of(black_box(*value))).sum::<usize>());
    });
    group.throughput(Throughput::Elements(SLOTS as u64));
    group.bench_function("slot_low and slot_high", |bencher| {
        bencher.iter(|| (0..SLOTS).map(|slot| slot_high(black_box(slot)) - slot_low(slot)).sum::<u64>());
    });
    group.finish();
}

criterion_group!(benches, slots);
criterion_main!(benches);
