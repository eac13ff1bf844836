//! Values of other implementations: numpy, scipy and statsmodels, written by
//! `scripts/reference-statistics.py`.

mod chance;
mod edges;
mod properties;

use serde::Deserialize;

use super::{bootstrap, ks, permutation, quantile, rank, series};

#[derive(Deserialize)]
struct Reference {
    two_samples: Vec<TwoSamples>,
    quantiles: Vec<Quantiles>,
    permutations: Vec<Permutation>,
    max_t: Vec<MaxT>,
    bootstrap_resamples: usize,
    bootstraps: Vec<Resampled>,
    expanded_tails: Vec<ExpandedTails>,
    series: Vec<Series>,
}

#[derive(Deserialize)]
struct TwoSamples {
    name: String,
    baseline: Vec<f64>,
    candidate: Vec<f64>,
    u: f64,
    p: f64,
    probability_greater: f64,
    hodges_lehmann: f64,
    ks: f64,
}

#[derive(Deserialize)]
struct Quantiles {
    sorted: Vec<f64>,
    q: Vec<f64>,
    expected: Vec<f64>,
}

#[derive(Deserialize)]
struct Permutation {
    baseline: Vec<f64>,
    candidate: Vec<f64>,
    p: f64,
}

#[derive(Deserialize)]
struct MaxT {
    units: [Vec<f64>; 2],
    baseline_units: usize,
    observed: [f64; 2],
    p: [f64; 2],
    larger: usize,
    adjusted_p_of_larger: f64,
}

#[derive(Deserialize)]
struct Resampled {
    baseline: Vec<f64>,
    candidate: Vec<f64>,
    confidence: f64,
    mean: Ends,
    median: Ends,
}

/// The range of each end of an interval, with the Monte Carlo error of both implementations.
#[derive(Deserialize)]
struct Ends {
    low: [f64; 2],
    high: [f64; 2],
}

#[derive(Deserialize)]
struct ExpandedTails {
    units: usize,
    confidence: f64,
    tail: f64,
}

#[derive(Deserialize)]
struct Series {
    values: Vec<f64>,
    autocorrelation: f64,
}

/// With the mean of the middle two of an even number.
fn median(values: &[f64]) -> Option<f64> {
    quantile::quantile(&super::sorted(values)?, 0.5)
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../../../tests/statistics/reference.json")).unwrap()
}

/// Equal to 1e-9 of the value.
#[track_caller]
fn same(what: &str, ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs(), "{what}: {ours:e}, reference {theirs:e}");
}

/// Equal to 1e-9 of the value, or to 1e-9 near 0: for differences, in which digits cancel.
#[track_caller]
fn close(what: &str, ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0), "{what}: {ours:e}, reference {theirs:e}");
}

/// Difference of the means of candidate and baseline, told apart by labels.
fn difference_of_means(units: &[f64], is_candidate: &[bool]) -> f64 {
    let mean = |side: bool| {
        let values = units.iter().zip(is_candidate).filter(|&(_, &label)| label == side);
        values.clone().map(|(value, _)| value).sum::<f64>() / values.count() as f64
    };
    mean(true) - mean(false)
}

#[test]
fn two_samples_are_those_of_scipy() {
    for case in reference().two_samples {
        let (b, c) = (&case.baseline[..], &case.candidate[..]);
        let name = &case.name;
        let test = rank::mann_whitney(b, c).unwrap();
        same(&format!("{name}: U"), test.u, case.u);
        // Relative, so that the smallest p is one of 1e-50.
        same(&format!("{name}: p"), test.p, case.p);
        same(&format!("{name}: P"), rank::probability_greater(b, c).unwrap(), case.probability_greater);
        same(&format!("{name}: HL"), rank::hodges_lehmann(b, c).unwrap(), case.hodges_lehmann);
        same(&format!("{name}: KS"), ks::ks_distance(b, c).unwrap(), case.ks);
    }
}

#[test]
fn quantiles_are_those_of_numpy() {
    for case in reference().quantiles {
        for (&q, &expected) in case.q.iter().zip(&case.expected) {
            same(
                &format!("{q} of {:?}", case.sorted),
                quantile::quantile(&case.sorted, q).unwrap(),
                expected,
            );
        }
    }
}

#[test]
fn exact_permutation_tests_are_those_of_scipy() {
    for case in reference().permutations {
        let units = [&case.baseline[..], &case.candidate].concat();
        let (n, m) = (case.baseline.len(), case.candidate.len());
        let tested = permutation::max_t(1, n, m, 1000, 1, |is_candidate, out| {
            out[0] = difference_of_means(&units, is_candidate);
        });
        same(&format!("p of {units:?}"), tested[0].p, case.p);
        same(&format!("adjusted p of {units:?}"), tested[0].adjusted_p, case.p);
    }
}

#[test]
fn the_max_t_test_is_that_of_scipy() {
    for case in reference().max_t {
        let (n, m) = (case.baseline_units, case.units[0].len() - case.baseline_units);
        let tested = permutation::max_t(1, n, m, 1000, 2, |is_candidate, out| {
            for (out, units) in out.iter_mut().zip(&case.units) {
                *out = difference_of_means(units, is_candidate);
            }
        });
        for (tested, (observed, p)) in tested.iter().zip(case.observed.iter().zip(case.p)) {
            same("observed", tested.observed, *observed);
            same("p", tested.p, p);
            assert!(tested.adjusted_p >= tested.p, "{tested:?}");
        }
        same("adjusted p", tested[case.larger].adjusted_p, case.adjusted_p_of_larger);
    }
}

#[test]
fn bootstrap_intervals_are_those_of_scipy() {
    /// Each value as often as it was drawn.
    fn drawn(values: &[f64], weights: &[u32]) -> Vec<f64> {
        values.iter().zip(weights).flat_map(|(&value, &times)| (0..times).map(move |_| value)).collect()
    }
    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    let reference = reference();
    for case in reference.bootstraps {
        let (n, m) = (case.baseline.len(), case.candidate.len());
        let (mut means, mut medians) = (Vec::new(), Vec::new());
        bootstrap::Bootstrap::new(1, n, m, reference.bootstrap_resamples).run(|b, c| {
            let (b, c) = (drawn(&case.baseline, b), drawn(&case.candidate, c));
            means.push(mean(&c) - mean(&b));
            medians.push(median(&c).unwrap() - median(&b).unwrap());
        });
        let tail = (1.0 - case.confidence) / 2.0;
        for (replicates, ends) in [(&mut means, case.mean), (&mut medians, case.median)] {
            let interval = bootstrap::percentile_interval(replicates, tail, 1.0 - tail).unwrap();
            assert!((ends.low[0]..=ends.low[1]).contains(&interval.low), "{interval:?} {:?}", ends.low);
            assert!((ends.high[0]..=ends.high[1]).contains(&interval.high), "{interval:?} {:?}", ends.high);
        }
    }
}

#[test]
fn expanded_tails_are_those_of_scipy() {
    for case in reference().expanded_tails {
        let (low, high) = bootstrap::expanded_tails(case.confidence, case.units).unwrap();
        same(&format!("{} units at {}", case.units, case.confidence), low, case.tail);
        same("upper", high, 1.0 - case.tail);
    }
}

#[test]
fn series_are_those_of_statsmodels() {
    for case in reference().series {
        close("r1", series::autocorrelation(&case.values).unwrap(), case.autocorrelation);
    }
}
