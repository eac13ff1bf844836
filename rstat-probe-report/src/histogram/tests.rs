use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use rstat_probe_common::slots::{LIMIT, SLOTS, slot_high, slot_low, slot_of};

use super::*;

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for &value in values {
        histogram.record(value);
    }
    histogram
}

/// The parts of a histogram, dense.
fn parts(histogram: &Histogram) -> Vec<u64> {
    let mut slots = vec![0; SLOTS];
    for &(slot, count) in &histogram.slots {
        slots[slot] = count;
    }
    slots
}

/// Values of every magnitude, overflow included.
fn value() -> impl Strategy<Value = u64> {
    (0..=64_u32, any::<u64>()).prop_map(|(bits, value)| value.checked_shr(64 - bits).unwrap_or(0))
}

fn values() -> impl Strategy<Value = Vec<u64>> {
    vec(value(), 0..60)
}

#[test]
fn powers_of_two_and_their_neighbours() {
    for k in 0..64 {
        for value in [(1u64 << k) - 1, 1 << k, (1 << k) + 1] {
            let histogram = of(&[value]);
            let fits = |bucket: Bucket| {
                bucket.low.unwrap() <= value
                    && bucket.high.is_none_or(|high| value < high)
                    && bucket.count == 1
            };
            let (slots, powers) = (histogram.slot_buckets(), histogram.log2_buckets());
            assert!(slots.len() == 1 && fits(slots[0]), "{value}: {slots:?}");
            assert!(powers.len() == 1 && fits(powers[0]), "{value}: {powers:?}");
            let (low, high) = match value {
                0 => (0, Some(1)),
                1 => (1, Some(2)),
                LIMIT.. => (LIMIT, None),
                _ => (1 << value.ilog2(), Some(2 << value.ilog2())),
            };
            assert_eq!(powers[0], Bucket { low: Some(low), high, count: 1 });
            if let Some(slot) = slot_of(value) {
                let expected = Bucket { low: Some(slot_low(slot)), high: Some(slot_high(slot)), count: 1 };
                assert_eq!(slots[0], expected);
            }
            assert_eq!(histogram.quantile(0.5), Some(Range { low: value, high: value }));
        }
    }
}

#[test]
fn nothing_has_no_figures() {
    let nothing = Histogram::new();
    assert!(nothing.is_empty() && nothing.extremes_exact());
    assert_eq!((nothing.mean(), nothing.quantile(0.5), nothing.share_above(0)), (None, None, None));
    assert!(nothing.log2_buckets().is_empty() && nothing.slot_buckets().is_empty());
    assert_eq!(Histogram::from_parts(&[0; SLOTS], 0, 0, None, None), Ok(nothing));
}

#[test]
fn buckets_have_inner_gaps_only() {
    let buckets = of(&[0, 9, 1 << 38]).log2_buckets();
    assert_eq!(buckets.len(), 40);
    assert_eq!(buckets[1], Bucket { low: Some(1), high: Some(2), count: 0 });
    assert_eq!(buckets[4], Bucket { low: Some(8), high: Some(16), count: 1 });
    assert_eq!(buckets[38], Bucket { low: Some(1 << 37), high: Some(LIMIT), count: 0 });
    assert_eq!(buckets[39], Bucket { low: Some(LIMIT), high: None, count: 1 });
    assert_eq!(of(&[5]).log2_buckets(), [Bucket { low: Some(4), high: Some(8), count: 1 }]);
}

#[test]
fn shares_are_exact_at_edges() {
    let histogram = of(&[1000, 2047, 2048, 5000, u64::MAX]);
    assert_eq!(histogram.share_above(2048), Some((0.6, 0.6)));
    assert_eq!(histogram.share_above(LIMIT), Some((0.2, 0.2)));
    assert_eq!(histogram.share_above(0), Some((1.0, 1.0)));
    // 2047 shares its slot [1984, 2048) with 2000.
    assert_eq!(histogram.share_above(2000), Some((0.6, 0.8)));
    // The extremes narrow the outer slots: [992, 1024) begins at 1000 here.
    assert_eq!(histogram.share_above(1000), Some((1.0, 1.0)));
}

#[test]
fn extremes_of_a_difference() {
    let first = of(&[1000, 5000]);
    let mut second = first.clone();
    second.record(3001);
    // Neither extreme moved: 3001 is only known to lie in [2944, 3072).
    let inner = second.since(&first).unwrap();
    assert_eq!((inner.min(), inner.max()), (Some(2944), Some(3071)));
    assert!(!inner.min_exact() && !inner.max_exact() && !inner.extremes_exact());
    assert_eq!(inner.quantile(1.0), Some(Range { low: 2944, high: 3071 }));
    // The largest moved; the slot [992, 1024) of the smallest is clipped to 1000.
    let mut third = second.clone();
    for value in [1001, 9000] {
        third.record(value);
    }
    let outer = third.since(&second).unwrap();
    assert_eq!((outer.min(), outer.max()), (Some(1000), Some(9000)));
    assert!(!outer.min_exact() && outer.max_exact());
    assert_eq!(outer.quantile(1.0), Some(Range { low: 9000, high: 9000 }));
    // Slots of one value are exact in any case.
    let mut small = of(&[3, 20]);
    let before = small.clone();
    small.record(7);
    assert!(small.since(&before).unwrap().extremes_exact());
    // The overflow reaches up to the cumulative maximum.
    let mut over = of(&[1 << 40]);
    let before = over.clone();
    over.record(1 << 39);
    let difference = over.since(&before).unwrap();
    assert_eq!((difference.max(), difference.max_exact()), (Some(1 << 40), false));
    assert_eq!((difference.min(), difference.min_exact()), (Some(1 << 39), true));
    // All together again.
    assert_eq!(first.merge(&inner).unwrap().merge(&outer).unwrap(), third);
}

#[test]
fn nothing_goes_backwards() {
    let error = |later: &[u64], earlier: &[u64]| of(later).since(&of(earlier)).unwrap_err().to_string();
    assert_eq!(error(&[5], &[5, 5]), "slot 5 went back from 2 to 1");
    assert_eq!(error(&[5], &[6]), "slot 6 went back from 1 to 0");
    assert_eq!(error(&[5], &[5, LIMIT]), "overflow went back from 1 to 0");
    assert_eq!(error(&[32, 32], &[33, 33]), "sum went back from 66 to 64");
    // Each number went forwards, but not together.
    assert_eq!(
        error(&[32, 32, 33], &[33, 33]),
        "sum 31 is outside of 32..=33, which is what the slots allow"
    );
}

#[test]
fn too_many_events() {
    let mut slots = [0; SLOTS];
    slots[1] = u64::MAX;
    let full = Histogram::from_parts(&slots, 0, u64::MAX.into(), Some(1), Some(1)).unwrap();
    assert_eq!(full.count(), u64::MAX);
    assert_eq!(full.merge(&of(&[1])), Err(HistogramError::TooMany));
    assert_eq!(full.quantile(0.5), Some(Range { low: 1, high: 1 }));
    slots[2] = 1;
    let sum = u128::from(u64::MAX) + 2;
    assert_eq!(Histogram::from_parts(&slots, 0, sum, Some(1), Some(2)), Err(HistogramError::TooMany));
    // The largest sum there can be.
    let sum = u128::from(u64::MAX).pow(2);
    let top = Histogram::from_parts(&[0; SLOTS], u64::MAX, sum, Some(u64::MAX), Some(u64::MAX)).unwrap();
    assert_eq!(top.mean(), Some(u64::MAX as f64));
    let json = serde_json::to_string(&top).unwrap();
    assert!(json.contains(r#""sum":"340282366920938463426481119284349108225""#), "{json}");
    assert_eq!(serde_json::from_str::<Histogram>(&json).unwrap(), top);
}

#[test]
#[should_panic(expected = "more than 2^64 - 1 events")]
fn the_last_event_is_not_dropped_silently() {
    let mut slots = [0; SLOTS];
    slots[1] = u64::MAX;
    Histogram::from_parts(&slots, 0, u64::MAX.into(), Some(1), Some(1)).unwrap().record(1);
}

#[test]
fn sums_are_numbers_or_strings() {
    let read = |sum: &str| {
        serde_json::from_str::<HistogramJson>(&format!(
            r#"{{"count":1,"sum":{sum},"min":1,"max":1,"min_exact":true,"max_exact":true,"overflow":0,"slots":[]}}"#
        ))
        .map(|json| json.sum)
        .ok()
    };
    assert_eq!(read("7"), Some(7));
    assert_eq!(read("\"7\""), Some(7));
    assert_eq!(read("18446744073709551615"), Some(u64::MAX.into()));
    assert_eq!(read("\"18446744073709551616\""), Some(1 << 64));
    for bad in
        ["-1", "1.5", "\"\"", "\"-1\"", "\"1e3\"", "\"340282366920938463463374607431768211456\"", "null"]
    {
        assert_eq!(read(bad), None, "{bad}");
    }
}

proptest! {
    #[test]
    fn figures_are_exact(values in values()) {
        let histogram = of(&values);
        prop_assert_eq!(histogram.count(), values.len() as u64);
        prop_assert_eq!(histogram.sum(), values.iter().map(|&value| u128::from(value)).sum::<u128>());
        prop_assert_eq!(histogram.min(), values.iter().min().copied());
        prop_assert_eq!(histogram.max(), values.iter().max().copied());
        prop_assert!(histogram.extremes_exact());
        prop_assert_eq!(histogram.overflow(), values.iter().filter(|&&value| value >= LIMIT).count() as u64);
    }

    #[test]
    fn merge_is_commutative_and_associative(a in values(), b in values(), c in values()) {
        let all = of(&[a.clone(), b.clone(), c.clone()].concat());
        let (a, b, c) = (of(&a), of(&b), of(&c));
        prop_assert_eq!(a.merge(&b), b.merge(&a));
        prop_assert_eq!(a.merge(&b).unwrap().merge(&c), a.merge(&b.merge(&c).unwrap()));
        prop_assert_eq!(a.merge(&b).unwrap().merge(&c), Ok(all));
        prop_assert_eq!(a.merge(&Histogram::new()), Ok(a));
    }

    // Differences have inexact extremes, which must not break the laws.
    #[test]
    fn merge_laws_hold_for_differences(steps in vec(values(), 3)) {
        let mut cumulative = vec![Histogram::new()];
        for values in &steps {
            let mut next = cumulative[cumulative.len() - 1].clone();
            for &value in values {
                next.record(value);
            }
            cumulative.push(next);
        }
        let parts: Vec<Histogram> =
            cumulative.windows(2).map(|pair| pair[1].since(&pair[0]).unwrap()).collect();
        let (a, b, c) = (&parts[0], &parts[1], &parts[2]);
        prop_assert_eq!(b.merge(c), c.merge(b));
        prop_assert_eq!(a.merge(b).unwrap().merge(c), a.merge(&b.merge(c).unwrap()));
        prop_assert_eq!(&a.merge(b).unwrap().merge(c).unwrap(), &cumulative[3]);
        // What was measured lies between the extremes of its difference.
        for (part, values) in parts.iter().zip(&steps) {
            let (min, max) = (values.iter().min().copied(), values.iter().max().copied());
            prop_assert!(part.min() <= min && (!part.min_exact() || part.min() == min));
            prop_assert!(part.max() >= max && (!part.max_exact() || part.max() == max));
        }
        // The difference over two steps has the events of both.
        prop_assert!(cumulative[3].since(&cumulative[1]).unwrap().same_events(&b.merge(c).unwrap()));
    }

    #[test]
    fn since_undoes_merge(a in values(), b in values()) {
        let (a, b) = (of(&a), of(&b));
        let again = a.merge(&b).unwrap().since(&b).unwrap();
        prop_assert_eq!((again.slots, again.overflow, again.sum, again.count), (a.slots, a.overflow, a.sum, a.count));
    }

    #[test]
    fn log2_buckets_count_by_ilog2(values in values()) {
        let histogram = of(&values);
        let mut expected = BTreeMap::new();
        for &value in &values {
            let low = if value == 0 { 0 } else { (1 << value.ilog2()).min(LIMIT) };
            *expected.entry(low).or_insert(0_u64) += 1;
        }
        let buckets = histogram.log2_buckets();
        prop_assert_eq!(buckets.iter().map(|bucket| bucket.count).sum::<u64>(), histogram.count());
        for bucket in &buckets {
            let count = expected.get(&bucket.low.unwrap()).copied().unwrap_or(0);
            prop_assert_eq!(bucket.count, count);
        }
        // Without holes, and nothing empty at the ends.
        prop_assert!(buckets.windows(2).all(|pair| pair[0].high == pair[1].low));
        prop_assert!([buckets.first(), buckets.last()].into_iter().flatten().all(|bucket| bucket.count > 0));
    }

    #[test]
    fn quantiles_contain_the_exact_one(mut values in vec(value(), 1..60), thousandths in 0..=1000_usize) {
        let histogram = of(&values);
        values.sort_unstable();
        let rank = (values.len() * thousandths).div_ceil(1000).max(1);
        let exact = values[rank - 1];
        let range = histogram.quantile(thousandths as f64 / 1000.0).unwrap();
        prop_assert!(range.low <= exact && exact <= range.high, "{} not in {:?}", exact, range);
        prop_assert!(exact >= LIMIT || (range.high - range.low) * 16 <= range.low.max(16), "{:?} is too wide", range);
        if rank == values.len() {
            prop_assert_eq!(range, Range { low: exact, high: exact });
        }
    }

    #[test]
    fn shares_contain_the_exact_one(values in vec(value(), 1..60), threshold in value()) {
        let exact = values.iter().filter(|&&value| value >= threshold).count() as f64 / values.len() as f64;
        let (low, high) = of(&values).share_above(threshold).unwrap();
        prop_assert!(low <= exact && exact <= high);
    }

    #[test]
    fn parts_must_fit(values in vec(value(), 1..20), change in 1..1_000_u64, pick in any::<prop::sample::Index>()) {
        let histogram = of(&values);
        let slots = parts(&histogram);
        let (sum, min, max) = (histogram.sum(), histogram.min(), histogram.max());
        let from = |slots: &[u64], sum, min, max| Histogram::from_parts(slots, histogram.overflow(), sum, min, max);
        prop_assert_eq!(from(&slots, sum, min, max), Ok(histogram.clone()));
        let rejected = |result: Result<Histogram, HistogramError>| result.is_err();
        prop_assert!(rejected(from(&slots[1..], sum, min, max)));
        prop_assert!(rejected(from(&slots, sum, None, max)));
        prop_assert!(rejected(from(&slots, sum, min, None)));
        prop_assert!(rejected(from(&slots, sum, None, None)));
        let (low, high) = histogram.occupied().fold((0, 0), |(low, high), (slot, count)| {
            let ends = histogram.clipped(slot);
            (low + u128::from(ends.0) * u128::from(count), high + u128::from(ends.1) * u128::from(count))
        });
        prop_assert!(rejected(from(&slots, high + u128::from(change), min, max)));
        if let Some(sum) = low.checked_sub(change.into()) {
            prop_assert!(rejected(from(&slots, sum, min, max)));
        }
        // An extreme in another slot than the outermost.
        let lowest = histogram.occupied().next().unwrap().0;
        if let Some(outside) = ends(lowest).0.checked_sub(change) {
            prop_assert!(rejected(from(&slots, sum, Some(outside), max)));
        }
        let highest = histogram.occupied().last().unwrap().0;
        if let Some(outside) = ends(highest).1.checked_add(change) {
            prop_assert!(rejected(from(&slots, sum, min, Some(outside))));
        }
        // An event below the smallest or above the largest.
        let slot = pick.index(SLOTS);
        if slot < lowest || slot > highest {
            let mut more = slots.clone();
            more[slot] += 1;
            prop_assert!(rejected(from(&more, sum + u128::from(slot_low(slot)), min, max)));
        }
    }

    #[test]
    fn json_round_trip(values in values()) {
        let histogram = of(&values);
        let json = serde_json::to_string(&histogram).unwrap();
        prop_assert_eq!(serde_json::from_str::<Histogram>(&json).unwrap(), histogram);
    }
}
