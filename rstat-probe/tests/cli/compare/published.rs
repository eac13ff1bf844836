//! What was published, as people would compare it.

use std::path::Path;

use super::{compare, json, measure, part, report, sample};

/// Asserts that a report has all of `parts`.
#[track_caller]
fn assert_has(report: &str, parts: &[&str]) {
    let joined = report.replace("\n  ", " ");
    for part in parts {
        assert!(joined.contains(part), "{part} is not in\n{report}");
    }
}

#[test]
fn the_pair_of_6_6() {
    let (old, new) = (sample("S2"), sample("S1"));
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let output = compare(Path::new("."), [&format!("normal={old}"), "--with", &format!("patched={new}")]);
    let parts = [
        "verdict: mixed, unreplicated",
        "body better",
        "tail from 32M ns on worse (1,055 -> 5,850 events",
        "baseline: normal, 1 file\n",
        "candidate: patched, 1 file\n",
        "3,356,044",
        "1,593,864",
        "[512K, 1M)",
        "[64K, 128K)",
        "31.71 %",
        "6.18 %",
    ];
    assert_has(report(&output, 3), &parts);
}

#[test]
fn the_table_in_microseconds() {
    let (before, after) = (part("54", "Before patch"), part("54", "After patch"));
    let output = compare(Path::new("."), [before.as_str(), "--with", &after]);
    assert_has(report(&output, 3), &["10,039,392", "9,871,680", "verdict: "]);
}

/// 23 samples a side, of which mean and maximum say one thing and ranks another.
#[test]
fn the_samples() {
    let (disabled, enabled) = (sample("S6"), sample("S7"));
    let (disabled, enabled) = (disabled.to_str().unwrap(), enabled.to_str().unwrap());
    let arguments = [disabled, "--with", enabled, "--unit", "ns", "--resamples", "2000"];
    let output = compare(Path::new("."), arguments);
    let parts = [
        "verdict: worse\n",
        "but the interval of the mean (+11.4 %) includes 0",
        "the maximum is lower",
        "P(candidate > baseline) 0.73",
        "p = 0.007",
        "39.29 us   43.78 us  +11.4 %  [-",
        "34.45 us   41.23 us  +19.7 %  [+",
        "Hodges-Lehmann shift +5.74 us",
        "Kolmogorov-Smirnov distance 0.522",
    ];
    assert_has(report(&output, 1), &parts);

    let json = json(&compare(Path::new("."), arguments.into_iter().chain(["--format", "json"])), 1);
    let expected = include_str!("../../../../rstat-probe-report/tests/corpus/expected/S6-S7.json");
    let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
    let samples = measure(&json, "samples");
    let close = |found: &serde_json::Value, right: &str| {
        let (found, right) = (found.as_f64().unwrap(), expected[right].as_f64().unwrap());
        assert!((found - right).abs() < 1e-9 * right.abs(), "{found} is not {right}");
    };
    close(&samples["rank_test"]["u"], "mannwhitney_u_candidate");
    close(&samples["rank_test"]["hodges_lehmann"], "hodges_lehmann");
    close(&samples["probability_greater"], "prob_candidate_greater");
    close(&samples["ks_distance"], "ks");
}

/// The same the other way round is better.
#[test]
fn throughputs() {
    let (disabled, enabled) = (sample("S6"), sample("S7"));
    let arguments = [disabled.to_str().unwrap(), "--with", enabled.to_str().unwrap(), "--higher-is-better"];
    assert_has(report(&compare(Path::new("."), arguments), 0), &["verdict: better\n"]);
}
