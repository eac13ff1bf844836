//! What must hold for any input.

use proptest::prelude::*;

use super::*;
use crate::import::{Imported, ImportedBucket, ImportedHistogram};

fn intervals() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let value = (0..40_u32, any::<u64>()).prop_map(|(bits, value)| value >> (63 - bits));
    proptest::collection::vec(proptest::collection::vec(value, 10..30), 1..12)
}

fn quick() -> Options {
    Options { resamples: 50, permutations: 100, ..Options::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A side against itself differs in nothing.
    #[test]
    fn self_is_no_difference(values in intervals()) {
        let side = side_of(vec![recording("a", &values)]);
        let comparison = compare(&side, &side, &quick(), &[]).unwrap();
        let measure = &comparison.measures[0];
        let alike = [Outcome::NoDifference, Outcome::NotEnoughData].contains(&measure.verdict.outcome);
        prop_assert!(alike, "{}", measure.verdict.reason);
        prop_assert!((measure.probability_greater.unwrap() - 0.5).abs() < 1e-12);
        prop_assert_eq!(measure.ks_distance, Some(0.0));
        for figure in &measure.figures {
            if let Some(change) = figure.change {
                prop_assert!(change.span.low <= 0.0 && change.span.high >= 0.0, "{:?}", figure);
            }
        }
    }

    /// Swapping the sides turns better into worse and mirrors P.
    #[test]
    fn swapping_mirrors(one in intervals(), other in intervals()) {
        let (left, right) = (side_of(vec![recording("a", &one)]), side_of(vec![recording("a", &other)]));
        let there = compare(&left, &right, &quick(), &[]).unwrap();
        let back = compare(&right, &left, &quick(), &[]).unwrap();
        let (there, back) = (&there.measures[0], &back.measures[0]);
        let sum = there.probability_greater.unwrap() + back.probability_greater.unwrap();
        prop_assert!((sum - 1.0).abs() < 1e-9);
        if there.verdict.unreplicated {
            let mirrored = match there.verdict.outcome {
                Outcome::Better => Outcome::Worse,
                Outcome::Worse => Outcome::Better,
                same => same,
            };
            prop_assert_eq!(back.verdict.outcome, mirrored);
        }
        prop_assert_eq!(there.ks_distance, back.ks_distance);
    }

    /// The same input and seed give the same bytes.
    #[test]
    fn nothing_is_left_to_chance(one in intervals(), other in intervals()) {
        let sides = || (side_of(vec![recording("a", &one)]), side_of(vec![recording("a", &other)]));
        let json = || {
            let (left, right) = sides();
            serde_json::to_string(&compare(&left, &right, &quick(), &[]).unwrap()).unwrap()
        };
        prop_assert_eq!(json(), json());
    }

    /// Figures are those of the histograms themselves.
    #[test]
    fn figures_are_those_of_the_totals(values in intervals()) {
        let recording = recording("a", &values);
        let total = recording.totals.metrics[&Metric::IrqsOff].clone();
        let side = side_of(vec![recording]);
        let comparison = compare(&side, &side, &quick(), &[]).unwrap();
        let measure = &comparison.measures[0];
        prop_assert_eq!(measure.events, [total.count(), total.count()]);
        let mean = figure(measure, "mean").baseline.unwrap();
        prop_assert!((mean.low / total.mean().unwrap() - 1.0).abs() < 1e-12 || total.sum() == 0);
        prop_assert_eq!(figure(measure, "max").baseline.unwrap().high, total.max().unwrap() as f64);
        for figure in &measure.figures {
            let Some(q) = figure.kind.name().strip_prefix('p').and_then(|q| q.parse::<f64>().ok()) else { continue };
            let (span, range) = (figure.baseline.unwrap(), total.quantile(q / 100.0).unwrap());
            prop_assert!(span.low <= range.low as f64 && span.high >= range.high as f64, "{:?} {:?}", span, range);
            prop_assert!(span.high <= range.high as f64 * 1.07 + 1.0, "{:?} {:?}", span, range);
        }
        let rows = measure.buckets.iter().map(|row| row.baseline).sum::<u64>();
        prop_assert_eq!(rows, total.count());
    }
}

/// Runs of one host are units of their own, hosts are when there are several.
#[test]
fn the_unit_follows_from_what_there_is() {
    let values: Vec<Vec<u64>> = (0..5).map(|n| vec![100 + n; 10]).collect();
    let runs = |hosts: &[&str]| {
        let make = |(index, host): (usize, &&str)| {
            let mut recording = recording(host, &values);
            recording.provenance.started = format!("2026-01-02T03:04:{index:02}Z");
            recording
        };
        side_of(hosts.iter().enumerate().map(make).collect())
    };
    let of = |side: &Side| {
        let measure = &compared(side, side).measures[0];
        (measure.level, measure.units[0], measure.verdict.unreplicated)
    };
    assert_eq!(of(&runs(&["a"])), (Level::Interval, 5, false));
    assert_eq!(of(&runs(&["a", "a", "a", "a", "a"])), (Level::Run, 5, false));
    assert_eq!(of(&runs(&["a", "a", "b", "c"])), (Level::Host, 3, false));
    let side = runs(&["a", "a", "b", "c"]);
    let comparison = compared(&side, &side);
    let verdict = &comparison.measures[0].verdict;
    assert_eq!((verdict.outcome, comparison.exit_code), (Outcome::NotEnoughData, 3));
    assert!(
        verdict.reason.starts_with("3 against 3 hosts, and a test needs 4 a side; as it stands: "),
        "{}",
        verdict.reason
    );
}

#[test]
fn losses_make_a_metric_incomparable() {
    let mut lossy = recording("a", &vec![vec![100; 10]; 5]);
    lossy.losses = [(crate::Loss::SectionOverwritten, 30)].into();
    lossy.totals.counters = [(crate::Counter::Sections, 100)].into();
    let comparison = compared(&side_of(vec![lossy]), &side_of(vec![recording("a", &vec![vec![100; 10]; 5])]));
    let verdict = &comparison.measures[0].verdict;
    assert_eq!((verdict.outcome, comparison.exit_code), (Outcome::NotComparable, 4));
    assert!(verdict.reason.starts_with("30.00 % of the baseline's sections were lost"), "{}", verdict.reason);
}

#[test]
fn a_second_copy_is_refused() {
    let one = recording("a", &vec![vec![100; 10]; 5]);
    let mut side = side_of(vec![one.clone()]);
    let error = side.add(Input::Recording(Box::new(one)), "copy.json", None).unwrap_err();
    assert_eq!(error, "0.json and copy.json are the same recording; it would count twice");
}

/// Sides with very different numbers of events per interval (Behrens and Fisher's problem).
#[test]
fn a_busy_side_and_a_quiet_one_are_not_different_for_that() {
    let values = |interval: u64, events: u64| -> Vec<u64> {
        (0..events).map(|event| 1_000 + (event * 7_919 + interval * 104_729) % 5_000).collect()
    };
    let side =
        |events: u64| side_of(vec![recording("a", &(0..40).map(|i| values(i, events)).collect::<Vec<_>>())]);
    let comparison = compared(&side(1_000), &side(10));
    let verdict = &comparison.measures[0].verdict;
    assert_eq!(verdict.outcome, Outcome::NoDifference, "{}", verdict.reason);
}

/// Many runs that have nearly all of their events in one bucket, the same one: that is what they are like.
#[test]
fn one_full_bucket_in_many_runs_is_compared() {
    let side = |tail: u64| {
        let mut side = Side::new("side", false);
        for run in 0..6 {
            let buckets = [(16.0, 32.0, 9_700 + run), (32.0, 64.0, 200 + tail), (64.0, 128.0, 100)];
            let buckets =
                buckets.map(|(low, high, count)| ImportedBucket { low: Some(low), high: Some(high), count });
            let histogram = ImportedHistogram {
                name: "x".to_owned(),
                unit: Some(Unit::Us),
                buckets: buckets.to_vec(),
                ..ImportedHistogram::default()
            };
            let imported = Imported { histograms: vec![histogram], ..Imported::default() };
            side.add(Input::Foreign(imported), &run.to_string(), None).unwrap();
        }
        side
    };
    let comparison = compared(&side(0), &side(400));
    let measure = &comparison.measures[0];
    assert_eq!((measure.level, measure.units), (Level::Run, [6, 6]));
    assert_eq!(measure.verdict.outcome, Outcome::Worse, "{}", measure.verdict.reason);
}

/// Each event is faster and there are ten times as many: not simply better.
#[test]
fn more_time_in_all_is_not_hidden() {
    let side = |events: u64, base: u64| {
        let values =
            |i: u64| (0..events).map(|event| base + (event * 7 + i * 13) % 100).collect::<Vec<u64>>();
        side_of(vec![recording("a", &(0..20).map(values).collect::<Vec<_>>())])
    };
    let comparison = compared(&side(50, 1_000), &side(500, 800));
    let verdict = &comparison.measures[0].verdict;
    assert_eq!((verdict.outcome, comparison.exit_code), (Outcome::Mixed, 1), "{}", verdict.reason);
    assert!(verdict.reason.contains("but the time share is worse"), "{}", verdict.reason);
}

/// Few runs and many measures: what differs by far must not leave the word to what does not.
#[test]
fn few_runs_are_not_enough_for_many_measures() {
    let side = |factor: u64| {
        let runs = (0..4_u64).map(|run| {
            let mut one = recording("a", &[(0..20).map(|k| (1_000 + 10 * run + k) * factor).collect()]);
            one.provenance.started = format!("2026-01-02T03:04:{run:02}Z");
            let irqs_off = one.totals.metrics[&Metric::IrqsOff].clone();
            let flush = recording("a", &[(0..20).map(|k| 5_000 + 10 * run + k).collect()]);
            one.totals.metrics.insert(Metric::LockHold, irqs_off);
            one.totals.metrics.insert(Metric::Flush, flush.totals.metrics[&Metric::IrqsOff].clone());
            one.intervals.clear();
            one
        });
        side_of(runs.collect())
    };
    let comparison = compared(&side(1), &side(10));
    assert_eq!((comparison.verdict.outcome, comparison.exit_code), (Outcome::NotEnoughData, 3));
}
