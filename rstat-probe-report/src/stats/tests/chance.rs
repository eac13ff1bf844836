//! What holds on average: draws, p-values and intervals of seeded data.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::bootstrap::{Bootstrap, expanded_tails, percentile_interval};
use super::super::permutation::max_t;
use super::super::series::inflation;
use super::difference_of_means;

/// All weights of two resamples.
fn draws(seed: u64) -> Vec<(Vec<u32>, Vec<u32>)> {
    let mut all = Vec::new();
    Bootstrap::new(seed, 5, 7, 2).run(|b, c| all.push((b.to_vec(), c.to_vec())));
    all
}

#[test]
fn a_seed_gives_the_same_draws_everywhere() {
    // What a report says must not change with the version of a crate.
    let first = (vec![1, 1, 2, 0, 1], vec![0, 2, 1, 0, 2, 1, 1]);
    assert_eq!(draws(1)[0], first);
    assert_eq!(draws(1), draws(1));
    assert_ne!(draws(1), draws(2));
}

#[test]
fn a_seed_gives_the_same_permutations_everywhere() {
    let labels = |seed| {
        let mut all = Vec::new();
        max_t(seed, 5, 5, 2, 0, |labels, _| all.push(labels.to_vec()));
        all
    };
    let text: String = labels(1)[1].iter().map(|&label| if label { 'c' } else { 'b' }).collect();
    assert_eq!(text, "bccbcccbbb");
    assert_ne!(labels(1), labels(2));
}

#[test]
fn every_unit_is_drawn_equally_often() {
    let mut sums = [0_u32; 4];
    Bootstrap::new(3, 4, 0, 10_000).run(|b, _| sums.iter_mut().zip(b).for_each(|(sum, &w)| *sum += w));
    // Mean 10,000, variance of each 4 * 1/4 * 3/4 * 10,000: 5 standard deviations are 433.
    assert!(sums.iter().all(|&sum| sum.abs_diff(10_000) < 433), "{sums:?}");
}

#[test]
fn random_permutations_agree_with_all() {
    let units = [3.0, 5.0, 4.0, 8.0, 6.0, 7.0, 9.0, 11.0, 5.5, 10.0];
    let p = |permutations| {
        let tested =
            max_t(1, 5, 5, permutations, 1, |labels, out| out[0] = difference_of_means(&units, labels));
        tested[0].p
    };
    let exact = p(252);
    // 251 of 252 are too few to enumerate.
    let random = p(251);
    let error = |permutations: f64| 5.0 * (exact * (1.0 - exact) / permutations).sqrt();
    assert!((random * 252.0).fract() < 1e-9, "{random}");
    assert!((random - exact).abs() < error(251.0), "{random} {exact}");
}

#[test]
fn p_is_not_too_small_when_the_sides_do_not_differ() {
    const TRIALS: u32 = 400;
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut alone, mut any) = (0, 0);
    for trial in 0..TRIALS {
        let units: Vec<[f64; 3]> = (0..14).map(|_| rng.random()).collect();
        let columns: [Vec<f64>; 3] = std::array::from_fn(|k| units.iter().map(|unit| unit[k]).collect());
        let tested = max_t(u64::from(trial), 6, 8, 199, 3, |labels, out| {
            for (out, units) in out.iter_mut().zip(&columns) {
                *out = difference_of_means(units, labels);
            }
        });
        alone += u32::from(tested[0].p <= 0.1);
        any += u32::from(tested.iter().any(|tested| tested.adjusted_p <= 0.1));
    }
    // Binomial, 40 of 400 expected with standard deviation 6. Plain p of three statistics would give
    // 108 with any of them.
    assert!((16..=64).contains(&alone), "{alone}");
    assert!((16..=64).contains(&any), "{any}");
}

#[test]
fn intervals_of_few_units_cover_as_often_as_they_say() {
    const TRIALS: u64 = 500;
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut covered = [0_u32; 2];
    for trial in 0..TRIALS {
        // Sums of 12 uniform numbers are close to normal, with mean 6.
        let values: [f64; 6] = std::array::from_fn(|_| (0..12).map(|_| rng.random::<f64>()).sum());
        let mut means = Vec::new();
        Bootstrap::new(trial, values.len(), 0, 1000).run(|weights, _| {
            let sum: f64 = values.iter().zip(weights).map(|(value, &weight)| value * f64::from(weight)).sum();
            means.push(sum / values.len() as f64);
        });
        let tails = [(0.05, 0.95), expanded_tails(0.9, values.len()).unwrap()];
        for (covered, (low, high)) in covered.iter_mut().zip(tails) {
            let interval = percentile_interval(&mut means, low, high).unwrap();
            *covered += u32::from((interval.low..=interval.high).contains(&6.0));
        }
    }
    // Binomial, 450 of 500 expected with standard deviation 7: the plain interval is too short.
    assert!(covered[0] < 420, "{covered:?}");
    assert!((424..=476).contains(&covered[1]), "{covered:?}");
}

#[test]
fn inflation_is_that_of_the_autoregression() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut series = |memory: f64| {
        let mut last = 0.0;
        let mut next = || {
            // Uniform noise has mean 0 here; its shape does not matter.
            last = memory * last + rng.random::<f64>() - 0.5;
            last
        };
        (0..100).for_each(|_| {
            next();
        });
        (0..100).map(|_| next()).collect::<Vec<f64>>()
    };
    let mean = |memory: f64, series: &mut dyn FnMut(f64) -> Vec<f64>| {
        (0..400).map(|_| inflation(&[&series(memory), &series(memory)])).sum::<f64>() / 400.0
    };
    // (1 + 0.6)/(1 - 0.6) = 4, with a standard error of 0.04; of independent ones one in twenty is not 1.
    let found = mean(0.6, &mut series);
    assert!((3.7..=4.4).contains(&found), "{found}");
    let found = mean(0.0, &mut series);
    assert!((1.0..=1.05).contains(&found), "{found}");
}
