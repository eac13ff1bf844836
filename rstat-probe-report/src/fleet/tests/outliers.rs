//! Which host is farthest, and whether that is far.

use super::*;

/// The spread of `lock_hold` over hosts with these longest times.
fn spread(statistic: Statistic, longest: &[(&str, u64)]) -> Spread {
    let runs: Vec<Recording> = longest.iter().map(|&(host, longest)| run(host, 10, longest)).collect();
    find(&merged(&runs), Metric::LockHold, statistic)
}

fn find(fleet: &Fleet, metric: Metric, statistic: Statistic) -> Spread {
    let found = |spread: &&Spread| spread.metric == metric && spread.statistic == statistic;
    fleet.outliers.iter().find(found).unwrap().clone()
}

const ALIKE: [(&str, u64); 5] =
    [("a", 1_000_000), ("b", 1_100_000), ("c", 900_000), ("d", 1_050_000), ("e", 1_000_000)];

#[test]
fn a_slow_and_a_fast_host_are_found() {
    for (longest, below) in [(40_000_000, false), (20_000, true)] {
        for &statistic in Statistic::ALL {
            let found = spread(statistic, &[&ALIKE[..], &[("x", longest)]].concat());
            let farthest = found.farthest.unwrap();
            assert_eq!((found.compared, found.left_out), (6, 0));
            assert_eq!((farthest.host.as_str(), farthest.outlier), ("x", true), "{statistic:?}");
            assert_eq!(farthest.score < 0.0, below);
            assert_eq!(farthest.value < farthest.median, below);
        }
    }
}

#[test]
fn alike_hosts_have_no_outlier_but_a_farthest() {
    for &statistic in Statistic::ALL {
        let farthest = spread(statistic, &ALIKE).farthest.unwrap();
        assert!(!farthest.outlier && farthest.score.abs() <= OUTLIER_SCORE, "{farthest:?}");
        assert!(farthest.score != 0.0);
    }
}

#[test]
fn the_median_is_that_of_the_values() {
    let odd = spread(Statistic::TimeShare, &ALIKE).farthest.unwrap();
    // The run of 1 ms: 200 events of 1/200, 2/200, ... ms in 2.5 s.
    assert!((odd.median - 100.5e6 / 2.5e9).abs() < 1e-12, "{odd:?}");
    let even = spread(Statistic::P99, &[("a", 1_000), ("b", 1_000), ("c", 4_000), ("d", 4_000)]);
    let even = even.farthest.unwrap();
    assert!((even.median - even.value / 2.0).abs() < 0.05 * even.value, "the geometric mean: {even:?}");
}

/// 20 hosts in one slot and one in the next: the difference may be nothing.
#[test]
fn the_next_slot_is_no_outlier() {
    let mut hosts: Vec<(String, u64)> = (0..20).map(|n| (format!("h{n}"), 1_000_000)).collect();
    hosts.push(("x".to_owned(), 1_060_000));
    let hosts: Vec<(&str, u64)> = hosts.iter().map(|(name, longest)| (name.as_str(), *longest)).collect();
    for &statistic in Statistic::ALL {
        let farthest = spread(statistic, &hosts).farthest.unwrap();
        assert!(farthest.host == "x" && !farthest.outlier, "{farthest:?}");
        assert!((0.5..1.0).contains(&farthest.score), "{farthest:?}");
    }
}

/// However many are exactly alike, one that is not is found.
#[test]
fn one_among_equals_is_found() {
    for others in 2..8 {
        let mut hosts: Vec<(String, u64)> = (0..others).map(|n| (format!("h{n}"), 1_000_000)).collect();
        hosts.push(("x".to_owned(), 2_000_000));
        let hosts: Vec<(&str, u64)> = hosts.iter().map(|(name, longest)| (name.as_str(), *longest)).collect();
        for &statistic in Statistic::ALL {
            let farthest = spread(statistic, &hosts).farthest.unwrap();
            assert!(farthest.host == "x" && farthest.outlier, "{others}: {farthest:?}");
        }
    }
}

#[test]
fn ties_go_to_the_larger_value_and_then_by_name() {
    let tied = [("d", 4_000_000), ("a", 1_000_000), ("c", 4_000_000), ("b", 1_000_000), ("m", 2_500_000)];
    let farthest = spread(Statistic::TimeShare, &tied).farthest.unwrap();
    assert_eq!(farthest.host, "c");
    let equal = spread(Statistic::P99, &[("b", 9), ("a", 9), ("c", 9)]).farthest.unwrap();
    assert_eq!((equal.host.as_str(), equal.score, equal.outlier), ("a", 0.0, false));
}

#[test]
fn few_events_say_nothing_of_a_percentile() {
    let mut runs: Vec<Recording> = ALIKE[..4].iter().map(|&(host, longest)| run(host, 10, longest)).collect();
    let mut few = Histogram::new();
    (0..99).for_each(|_| few.record(200_000_000));
    runs[1].totals.metrics.insert(Metric::LockHold, few.clone());
    let fleet = merged(&runs);
    let p99 = find(&fleet, Metric::LockHold, Statistic::P99);
    assert_eq!((p99.compared, p99.left_out), (3, 1));
    assert_ne!(p99.farthest.unwrap().host, "b");
    // They do say something of the time, but not enough to accuse a host.
    let share = find(&fleet, Metric::LockHold, Statistic::TimeShare);
    assert_eq!((share.compared, share.left_out), (4, 0));
    let farthest = share.farthest.unwrap();
    assert!(farthest.host == "b" && farthest.score > OUTLIER_SCORE && !farthest.outlier, "{farthest:?}");

    few.record(200_000_000);
    runs[1].totals.metrics.insert(Metric::LockHold, few);
    let fleet = merged(&runs);
    let p99 = find(&fleet, Metric::LockHold, Statistic::P99).farthest.unwrap();
    assert!(p99.host == "b" && p99.outlier, "{p99:?}");
}

#[test]
fn two_have_no_middle() {
    let found = spread(Statistic::P99, &[("a", 1_000), ("b", 1_000_000)]);
    assert_eq!((found.compared, found.left_out, found.farthest), (2, 0, None));
}

#[test]
fn no_time_and_no_events_are_no_figures() {
    let mut runs: Vec<Recording> = ALIKE.iter().map(|&(host, longest)| run(host, 10, longest)).collect();
    runs[0].duration_ns = 0;
    for recording in &mut runs {
        recording.totals.metrics.insert(Metric::LockWait, Histogram::new());
    }
    let fleet = merged(&runs);
    let share = find(&fleet, Metric::LockHold, Statistic::TimeShare);
    assert_eq!((share.compared, share.left_out), (4, 1));
    let wait = find(&fleet, Metric::LockWait, Statistic::TimeShare).farthest.unwrap();
    assert_eq!((wait.value, wait.score, wait.outlier), (0.0, 0.0, false));
    assert_eq!(find(&fleet, Metric::LockWait, Statistic::P99).farthest, None);
    assert!(serde_json::to_string(&fleet).is_ok());
}
