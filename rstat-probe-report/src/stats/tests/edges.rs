//! Empty, extreme and meaningless input.

use super::super::bootstrap::{Bootstrap, Interval, expanded_tails, percentile_interval};
use super::super::ks::{ks_distance, ks_distance_binned};
use super::super::permutation::{Tested, max_t};
use super::super::quantile::quantile;
use super::super::rank::{
    MannWhitney, hodges_lehmann, mann_whitney, probability_greater, probability_greater_binned,
};
use super::super::series::{autocorrelation, inflation};
use super::difference_of_means;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

#[test]
fn nothing_to_compare_is_none() {
    for (b, c) in [(&[][..], &[1.0][..]), (&[1.0], &[]), (&[], &[]), (&[1.0, NAN], &[1.0]), (&[1.0], &[-NAN])]
    {
        assert_eq!(mann_whitney(b, c), None);
        assert_eq!(probability_greater(b, c), None);
        assert_eq!(hodges_lehmann(b, c), None);
        assert_eq!(ks_distance(b, c), None);
    }
    for (b, c) in [(&[][..], &[1][..]), (&[1], &[]), (&[0, 0], &[3]), (&[3], &[0])] {
        assert_eq!(ks_distance_binned(b, c), None);
        assert_eq!(probability_greater_binned(b, c), None);
    }
}

#[test]
fn infinities_have_an_order_but_no_difference() {
    let (b, c) = ([-INF, 1.0, INF], [2.0, INF]);
    assert_eq!(probability_greater(&b, &c), Some(4.5 / 6.0));
    assert_eq!(mann_whitney(&b, &c).map(|test| test.u), Some(4.5));
    assert_eq!(ks_distance(&b, &c), Some(2.0 / 3.0));
    assert_eq!(hodges_lehmann(&b, &c), None);
    assert_eq!(hodges_lehmann(&[1.0], &[1.0, 2.0, INF]), None);
}

#[test]
fn differences_that_overflow_have_no_median() {
    assert_eq!(hodges_lehmann(&[f64::MAX], &[-f64::MAX]), None);
    assert_eq!(hodges_lehmann(&[0.0, 0.0], &[f64::MAX]), Some(f64::MAX));
}

#[test]
fn all_equal_is_no_difference() {
    let equal = [4.0; 20];
    assert_eq!(mann_whitney(&equal, &equal), Some(MannWhitney { u: 200.0, p: 1.0 }));
    assert_eq!(hodges_lehmann(&equal, &equal), Some(0.0));
    assert_eq!(ks_distance(&equal, &equal), Some(0.0));
}

#[test]
fn bins_hold_more_than_64_bits() {
    let most = [1 << 63, u64::MAX, u64::MAX];
    assert!((probability_greater_binned(&most, &most).unwrap() - 0.5).abs() < 1e-12);
    assert_eq!(ks_distance_binned(&most, &most), Some(0.0));
    assert_eq!(probability_greater_binned(&[u64::MAX, u64::MAX], &[0, 0, u64::MAX]), Some(1.0));
    assert_eq!(probability_greater_binned(&[0, 0, u64::MAX], &[u64::MAX, u64::MAX]), Some(0.0));
    assert_eq!(ks_distance_binned(&[u64::MAX, u64::MAX], &[0, 0, 1]), Some(1.0));
}

#[test]
fn quantiles_outside_are_none() {
    for q in [-0.1, 1.1, NAN, INF] {
        assert_eq!(quantile(&[1.0, 2.0], q), None);
    }
    assert_eq!(quantile(&[], 0.5), None);
    assert_eq!(quantile(&[NAN], 0.5), None);
}

#[test]
fn quantiles_of_extremes_are_no_nan() {
    assert_eq!(quantile(&[-f64::MAX, f64::MAX], 0.5), Some(0.0));
    assert_eq!(quantile(&[1.0, INF], 0.0), Some(1.0));
    assert_eq!(quantile(&[-INF, INF], 0.0), Some(-INF));
    assert_eq!(quantile(&[-INF, 1.0], 1.0), Some(1.0));
    assert_eq!(quantile(&[1.0, INF], 0.5), Some(INF));
    assert_eq!(quantile(&[INF, INF], 0.5), Some(INF));
}

#[test]
fn replicates_that_are_not_finite_are_left_out() {
    let interval = Some(Interval { low: 1.0, high: 3.0 });
    assert_eq!(percentile_interval(&mut [INF, 3.0, NAN, 1.0, 2.0, -INF], 0.0, 1.0), interval);
    assert_eq!(percentile_interval(&mut [INF, 3.0, NAN, 1.0, -INF], 0.0, 1.0), None);
    assert_eq!(percentile_interval(&mut [], 0.0, 1.0), None);
    for (low, high) in [(0.9, 0.1), (-0.1, 0.5), (0.5, 1.1), (NAN, 0.5), (0.5, NAN)] {
        assert_eq!(percentile_interval(&mut [1.0, 2.0], low, high), None);
    }
}

#[test]
fn expanded_tails_have_limits() {
    assert_eq!(expanded_tails(0.95, 0), None);
    assert_eq!(expanded_tails(0.95, 1), None);
    for confidence in [0.0, 1.0, -1.0, 2.0, NAN] {
        assert_eq!(expanded_tails(confidence, 10), None);
    }
    // Wider for fewer units, and 2.5 % for endlessly many.
    let tails: Vec<f64> = (2..400).map(|units| expanded_tails(0.95, units).unwrap().0).collect();
    assert!(tails.is_sorted() && tails[0] < 1e-9);
    for units in [1_000_000, 1_000_000_000, usize::MAX] {
        let (low, high) = expanded_tails(0.95, units).unwrap();
        assert!((low - 0.025).abs() < 1e-6 && (high - 0.975).abs() < 1e-6, "{units}: {low} {high}");
    }
}

#[test]
fn a_side_without_units_can_be_neither_drawn_nor_tested() {
    let mut calls = 0;
    Bootstrap::new(1, 0, 0, 3).run(|b, c| calls += 1 + b.len() + c.len());
    assert_eq!(calls, 3);
    for (n, m) in [(0, 0), (0, 4), (4, 0)] {
        let tested = max_t(1, n, m, 100, 1, |labels, out| out[0] = labels.len() as f64);
        assert_eq!((tested[0].p, tested[0].adjusted_p), (1.0, 1.0));
    }
    assert!(max_t(1, 3, 3, 100, 0, |_, _| ()).is_empty());
}

#[test]
fn statistics_without_a_value_are_no_evidence() {
    // Of 70 labellings, the measured one and its mirror image are the furthest out.
    let tested = max_t(1, 4, 4, 70, 5, |labels, out| {
        let moved = labels[..4].iter().filter(|&&label| label).count();
        let share = moved as f64 / 4.0;
        out[0] = share;
        out[1] = NAN;
        out[2] = if moved == 0 { INF } else { share };
        out[3] = 0.1 + 0.3 * share - share * 3.0 / 10.0; // The same but for rounding.
        out[4] = if moved == 4 { NAN } else { share };
    });
    let p: Vec<f64> = tested.iter().map(|tested| tested.p).collect();
    assert_eq!(p, [2.0 / 70.0, 1.0, 1.0, 1.0, 1.0 / 70.0]);
    let adjusted: Vec<f64> = tested.iter().map(|tested| tested.adjusted_p).collect();
    assert_eq!(adjusted, [2.0 / 70.0, 1.0, 1.0, 1.0, 2.0 / 70.0]);
}

#[test]
fn rounding_does_not_hide_ties() {
    // The same units in integers, and with digits that are lost beside a large number.
    let exact: [f64; 12] = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 3.0, 2.0, 1.0, 3.0, 2.0, 4.0];
    let rounded = exact.map(|value| 1e5 + value / 10.0);
    let [exact, rounded] = [exact, rounded].map(|units| {
        max_t(1, 6, 6, 1000, 1, |labels, out| out[0] = difference_of_means(&units, labels))[0].p
    });
    assert!((exact - rounded).abs() < 1e-12, "{exact} {rounded}");
}

#[test]
fn without_permutations_there_is_no_evidence() {
    let tested = max_t(1, 3, 3, 0, 1, |labels, out| out[0] = f64::from(u8::from(labels[0])));
    assert_eq!(tested, [Tested { observed: 0.0, p: 1.0, adjusted_p: 1.0 }]);
}

#[test]
fn series_without_variance_are_independent() {
    assert_eq!(autocorrelation(&[]), None);
    assert_eq!(autocorrelation(&[1.0, 2.0, 3.0]), None);
    assert_eq!(autocorrelation(&[0.1; 10]), None);
    assert_eq!(autocorrelation(&[1.0, NAN, 2.0, 3.0]), None);
    assert_eq!(autocorrelation(&[1.0, INF, 2.0, 3.0]), None);
    assert_eq!(autocorrelation(&[f64::MAX, -f64::MAX, f64::MAX, 0.0]), None);
    for values in [&[][..], &[1.0], &[0.1; 50], &[NAN; 50], &[INF; 50]] {
        assert_eq!(inflation(&[values]).to_bits(), 1.0_f64.to_bits());
    }
    assert_eq!(inflation(&[]).to_bits(), 1.0_f64.to_bits());
    // A ramp is as dependent as anything, and still worth something.
    let ramp: Vec<f64> = (0..64).map(f64::from).collect();
    assert!((90.0..=99.1).contains(&inflation(&[&ramp])), "{}", inflation(&[&ramp]));
}
