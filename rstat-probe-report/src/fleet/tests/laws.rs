//! Sums are exact, whatever the order and grouping.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::Counter;
use crate::recording::tests::generate;

/// Recordings of a few hosts, all different, with the same metrics.
fn recordings() -> impl Strategy<Value = Vec<Recording>> {
    let one = (generate::recording(), select(vec!["a", "b", "c"]), any::<[u32; 7]>());
    vec(one, 1..7).prop_map(|all| {
        let named = all.into_iter().enumerate().map(|(index, (mut recording, host, open))| {
            host.clone_into(&mut recording.provenance.host);
            // A start that several have does no harm as long as the length differs.
            recording.provenance.started = format!("2026-01-02T03:04:0{}Z", index / 2);
            recording.duration_ns = recording.duration_ns * 8 + index as u64;
            let [at_start, at_end, flushes_at_start, flushes_at_end, waits_at_end, one, two] =
                open.map(u64::from);
            recording.open = Open {
                at_start,
                at_end,
                flushes_at_start,
                flushes_at_end,
                waits_at_end,
                cpu_locks_at_start: one,
                cpu_locks_at_end: two,
            };
            recording
        });
        named.collect()
    })
}

/// Adds `parts` as fleets of their own.
fn merged_fleets(parts: &[&[Recording]]) -> Fleet {
    let mut builder = FleetBuilder::new(tool());
    for part in parts.iter().filter(|part| !part.is_empty()) {
        builder.add_fleet(&merged(part), "part").unwrap();
    }
    builder.finish().unwrap()
}

fn sum<'a, T: 'a, N: Copy + Into<u128> + 'a>(all: &'a [T], figure: impl Fn(&'a T) -> Option<&'a N>) -> u128 {
    all.iter().filter_map(figure).map(|number| (*number).into()).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn order_and_grouping_change_nothing(
        (all, shuffled) in recordings().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        cuts in any::<[prop::sample::Index; 2]>(),
    ) {
        let whole = merged(&all);
        prop_assert_eq!(&merged(&shuffled), &whole);
        let mut cuts = cuts.map(|cut| cut.index(shuffled.len() + 1));
        cuts.sort_unstable();
        let parts = [&shuffled[..cuts[0]], &shuffled[cuts[0]..cuts[1]], &shuffled[cuts[1]..]];
        prop_assert_eq!(&merged_fleets(&parts), &whole);
        // A fleet of fleets, and recordings after a fleet.
        let mut builder = FleetBuilder::new(tool());
        builder.add_fleet(&merged_fleets(&[parts[0], parts[2], &shuffled[..0], parts[1]]), "f").unwrap();
        prop_assert_eq!(&builder.finish().unwrap(), &whole);
        let mut builder = FleetBuilder::new(tool());
        for recording in parts[1] {
            builder.add_recording(recording, "r").unwrap();
        }
        for part in [parts[2], parts[0]] {
            if !part.is_empty() {
                builder.add_fleet(&merged(part), "f").unwrap();
            }
        }
        prop_assert_eq!(&builder.finish().unwrap(), &whole);
    }

    #[test]
    fn every_figure_is_the_naive_sum(all in recordings()) {
        let fleet = merged(&all);
        prop_assert_eq!(fleet.recordings, all.len() as u64);
        prop_assert_eq!(u128::from(fleet.duration_ns), sum(&all, |one| Some(&one.duration_ns)));
        for (metric, held) in &fleet.totals.metrics {
            let parts: Vec<&Histogram> = all.iter().map(|one| &one.totals.metrics[metric]).collect();
            prop_assert_eq!(held.count(), parts.iter().map(|one| one.count()).sum::<u64>());
            prop_assert_eq!(held.overflow(), parts.iter().map(|one| one.overflow()).sum::<u64>());
            prop_assert_eq!(held.sum(), parts.iter().map(|one| one.sum()).sum::<u128>());
            prop_assert_eq!(held.min(), parts.iter().filter_map(|one| one.min()).min());
            prop_assert_eq!(held.max(), parts.iter().filter_map(|one| one.max()).max());
            let mut slots = BTreeMap::new();
            for bucket in parts.iter().flat_map(|one| one.slot_buckets()) {
                *slots.entry(bucket.low).or_insert(0) += bucket.count;
            }
            let found: BTreeMap<_, _> =
                held.slot_buckets().iter().map(|bucket| (bucket.low, bucket.count)).collect();
            prop_assert_eq!(found, slots);
        }
        for counter in Counter::ALL {
            let naive = sum(&all, |one| one.totals.counters.get(counter));
            let held = fleet.totals.counters.get(counter).copied().unwrap_or(0);
            prop_assert_eq!(u128::from(held), naive);
        }
        for loss in Loss::ALL {
            let naive = sum(&all, |one| one.losses.get(loss));
            prop_assert_eq!(u128::from(fleet.losses.get(loss).copied().unwrap_or(0)), naive);
        }
        let open = |figure: fn(&Open) -> &u64| (*figure(&fleet.open), sum(&all, |one| Some(figure(&one.open))));
        for figure in [
            (|open| &open.at_start) as fn(&Open) -> &u64,
            |open| &open.at_end,
            |open| &open.flushes_at_start,
            |open| &open.flushes_at_end,
            |open| &open.waits_at_end,
            |open| &open.cpu_locks_at_start,
            |open| &open.cpu_locks_at_end,
        ] {
            let (held, naive) = open(figure);
            prop_assert_eq!(u128::from(held), naive);
        }
        for unit in &fleet.units {
            let host: Vec<Recording> =
                all.iter().filter(|one| one.provenance.host == unit.host).cloned().collect();
            if fleet.unit == UnitKind::Host {
                let alone = merged(&host);
                prop_assert_eq!(&unit.totals, &alone.totals);
                prop_assert_eq!(&unit.losses, &alone.losses);
                prop_assert_eq!(&unit.facts, &alone.facts);
                prop_assert_eq!((unit.recordings, unit.duration_ns), (alone.recordings, alone.duration_ns));
            }
        }
    }

    #[test]
    fn round_trip(all in recordings()) {
        let fleet = merged(&all);
        let text = written(&fleet);
        let again = read(&text).unwrap();
        prop_assert_eq!(&again, &fleet);
        prop_assert_eq!(written(&again), text.clone());
        let json = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(schema::complaints_of(&json), Vec::<String>::new());
    }
}
