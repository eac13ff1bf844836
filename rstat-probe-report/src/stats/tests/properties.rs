//! What holds for all samples.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::bootstrap::Bootstrap;
use super::super::ks::{ks_distance, ks_distance_binned};
use super::super::permutation::max_t;
use super::super::quantile::quantile;
use super::super::rank::{hodges_lehmann, mann_whitney, probability_greater, probability_greater_binned};
use super::super::series::inflation;
use super::difference_of_means;
use super::median;

/// Samples with ties and samples without.
fn sample() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![vec((-5_i32..5).prop_map(f64::from), 1..30), vec(-1e6_f64..1e6, 1..30)]
}

/// The values of which bin k has `counts[k]`.
fn unbinned(counts: &[u64]) -> Vec<f64> {
    counts.iter().zip(0_u32..).flat_map(|(&count, bin)| (0..count).map(move |_| f64::from(bin))).collect()
}

proptest! {
    #[test]
    fn probabilities_of_both_directions_sum_to_one(b in sample(), c in sample()) {
        let sum = probability_greater(&b, &c).unwrap() + probability_greater(&c, &b).unwrap();
        prop_assert!((sum - 1.0).abs() < 1e-12);
    }

    #[test]
    fn u_counts_pairs_and_p_has_no_direction(b in sample(), c in sample()) {
        let (there, back) = (mann_whitney(&b, &c).unwrap(), mann_whitney(&c, &b).unwrap());
        let pairs = b.iter().flat_map(|b| c.iter().map(move |c| (b, c)));
        let wins: f64 = pairs.map(|(b, c)| if c > b { 1.0 } else if c < b { 0.0 } else { 0.5 }).sum();
        prop_assert!((there.u - wins).abs() < 1e-9);
        prop_assert!((there.p - back.p).abs() < 1e-12);
        prop_assert!(there.p > 0.0 && there.p <= 1.0);
    }

    #[test]
    fn hodges_lehmann_is_the_median_of_all_differences(b in sample(), c in sample()) {
        let all: Vec<f64> = c.iter().flat_map(|c| b.iter().map(move |b| c - b)).collect();
        prop_assert_eq!(hodges_lehmann(&b, &c), median(&all));
    }

    #[test]
    fn hodges_lehmann_follows_a_shift(b in sample(), c in sample(), shift in -1000_i32..1000) {
        let shift = f64::from(shift);
        let moved: Vec<f64> = c.iter().map(|value| value + shift).collect();
        let expected = hodges_lehmann(&b, &c).unwrap() + shift;
        prop_assert!((hodges_lehmann(&b, &moved).unwrap() - expected).abs() < 1e-8);
    }

    #[test]
    fn ks_is_the_largest_distance_at_any_value(b in sample(), c in sample()) {
        let below = |side: &[f64], at| side.iter().filter(|&&v| v <= at).count() as f64 / side.len() as f64;
        let largest = b.iter().chain(&c).map(|&at| (below(&b, at) - below(&c, at)).abs()).fold(0.0, f64::max);
        prop_assert_eq!(ks_distance(&b, &c), Some(largest));
        prop_assert!((0.0..=1.0).contains(&largest));
    }

    #[test]
    fn binned_is_plain_when_values_sit_on_the_bins(b in vec(0_u64..6, 1..12), c in vec(0_u64..6, 1..12)) {
        let (plain_b, plain_c) = (unbinned(&b), unbinned(&c));
        match (ks_distance_binned(&b, &c), ks_distance(&plain_b, &plain_c)) {
            (Some(binned), Some(plain)) => prop_assert!((binned - plain).abs() < 1e-12),
            (binned, plain) => prop_assert_eq!(binned, plain),
        }
        match (probability_greater_binned(&b, &c), probability_greater(&plain_b, &plain_c)) {
            (Some(binned), Some(plain)) => prop_assert!((binned - plain).abs() < 1e-12),
            (binned, plain) => prop_assert_eq!(binned, plain),
        }
    }

    #[test]
    fn quantiles_rise_and_stay_within(mut values in sample(), a in 0.0..=1.0, b in 0.0..=1.0) {
        values.sort_unstable_by(f64::total_cmp);
        let (low, high) = (quantile(&values, f64::min(a, b)).unwrap(), quantile(&values, f64::max(a, b)).unwrap());
        prop_assert!(values[0] <= low && low <= high && high <= values[values.len() - 1]);
    }

    #[test]
    fn weights_sum_to_units(seed: u64, n in 0_usize..20, m in 0_usize..20) {
        let mut calls = 0;
        Bootstrap::new(seed, n, m, 5).run(|b, c| {
            assert_eq!((b.len(), c.len()), (n, m));
            assert_eq!((b.iter().sum::<u32>() as usize, c.iter().sum::<u32>() as usize), (n, m));
            calls += 1;
        });
        prop_assert_eq!(calls, 5);
    }

    #[test]
    fn permutations_keep_the_number_of_units(seed: u64, n in 0_usize..6, m in 0_usize..6) {
        let mut seen = Vec::new();
        max_t(seed, n, m, 1000, 0, |labels, _| seen.push(labels.to_vec()));
        prop_assert!(seen.iter().all(|labels| labels.iter().filter(|&&label| label).count() == m));
        seen.sort_unstable();
        seen.dedup();
        // At most 10 over 5: all of them, each once.
        let ways = (1..=n).fold(1, |ways, k| ways * (m + k) / k);
        prop_assert_eq!(seen.len(), ways);
    }

    #[test]
    fn p_does_not_depend_on_unit_or_order(mut b in vec(-1e3_f64..1e3, 2..5), c in vec(-1e3_f64..1e3, 2..5)) {
        let p = |b: &[f64], c: &[f64], factor: f64| {
            let units = [b, c].concat();
            max_t(1, b.len(), c.len(), 1000, 1, |labels, out| {
                out[0] = factor * difference_of_means(&units, labels);
            })[0].p
        };
        let first = p(&b, &c, 1.0);
        b.reverse();
        prop_assert!((p(&b, &c, -1e-30) - first).abs() < 1e-12);
    }

    #[test]
    fn inflation_knows_no_unit_and_no_level(values in vec(-1e3_f64..1e3, 0..100)) {
        let plain = inflation(&[&values]);
        prop_assert!((1.0..=100.0).contains(&plain));
        let moved: Vec<f64> = values.iter().map(|value| 7.0 - 3.0 * value).collect();
        prop_assert!((inflation(&[&moved]) - plain).abs() < 1e-6 * plain);
    }
}
