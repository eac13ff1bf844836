//! What was published, and what must come out of it.

use super::*;
use crate::compare::figure::FigureKind;

#[test]
fn the_6_6_pair_is_mixed_and_unreplicated() {
    let (baseline, candidate) = (corpus_side("S2", None, None), corpus_side("S1", None, None));
    let comparison = compared(&baseline, &candidate);
    let measure = &comparison.measures[0];
    assert_eq!(measure.events, [3_356_044, 1_593_864]);
    let above =
        measure.figures.iter().find(|figure| figure.kind == FigureKind::ShareAbove { edge: 4_194_304.0 });
    let above = above.unwrap();
    let percent = |span: Option<Span>| format!("{:.2}", span.unwrap().low * 100.0);
    assert_eq!((percent(above.baseline), percent(above.candidate)), ("31.71".to_owned(), "6.18".to_owned()));
    let p50 = figure(measure, "p50");
    assert_eq!(p50.baseline, Some(Span { low: 524_288.0, high: 1_048_576.0 }));
    assert_eq!(p50.candidate, Some(Span { low: 65_536.0, high: 131_072.0 }));
    assert_eq!(p50.change.unwrap().span, Span { low: -0.9375, high: -0.75 });
    assert_eq!(p50.change.unwrap().interval, None);
    // 12 hours on both sides.
    assert_eq!(figure(measure, "rate").baseline, Some(Span::exact(3_356_044.0 / 43_200.0)));
    assert_eq!(measure.verdict.outcome, Outcome::Mixed);
    assert!(measure.verdict.unreplicated);
    let reason = &measure.verdict.reason;
    assert!(reason.contains("body better"), "{reason}");
    assert!(
        reason.contains("tail from 32M ns on worse (1,055 -> 5,850 events, 0.03 % -> 0.37 %)"),
        "{reason}"
    );
    assert!(reason.contains("unreplicated"), "{reason}");
    assert_eq!(comparison.exit_code, 3);
}

#[test]
fn a_rule_decides_what_is_unreplicated() {
    let (baseline, candidate) = (corpus_side("S2", None, None), corpus_side("S1", None, None));
    let name = &compared(&baseline, &candidate).measures[0].name;
    let decide = |rules: &[&str]| {
        let rules: Vec<Rule> = rules.iter().map(|rule| format!("{name}.{rule}").parse().unwrap()).collect();
        let above = rules.iter().filter_map(Rule::above_ns).collect::<Vec<_>>();
        let options = Options { above_ns: above, keep_usual: true, ..Options::default() };
        compare(&baseline, &candidate, &options, &rules).unwrap().exit_code
    };
    assert_eq!(decide(&["p50>+10%"]), 0);
    assert_eq!(decide(&["p50<-50%"]), 1);
    assert_eq!(decide(&["p50>+10%", "above_32ms>0.3%"]), 1);
    assert_eq!(decide(&["above_32ms>0.4%"]), 0);
    // Between -93.75 % and -75 %: nobody can tell.
    assert_eq!(decide(&["p50<-80%"]), 3);
}

#[test]
fn the_23_samples_show_their_disagreement() {
    let expected: serde_json::Value =
        serde_json::from_str(include_str!("../../../tests/corpus/expected/S6-S7.json")).unwrap();
    let (baseline, candidate) =
        (corpus_side("S6", None, Some(Unit::Ns)), corpus_side("S7", None, Some(Unit::Ns)));
    let comparison = compared(&baseline, &candidate);
    let measure = &comparison.measures[0];
    assert_eq!((measure.level, measure.units), (Level::Sample, [23, 23]));
    let near = |found: f64, key: &str| {
        let right = expected[key].as_f64().unwrap();
        assert!((found - right).abs() <= 1e-9 * right.abs().max(1.0), "{key}: {found} {right}");
    };
    let mean = figure(measure, "mean").change.unwrap();
    near(mean.span.low, "mean_change");
    let interval = mean.interval.unwrap();
    assert!(interval.low < 0.0 && interval.high > 0.2, "{interval:?}");
    near(figure(measure, "p50").change.unwrap().span.low, "median_change");
    let rank = measure.rank_test.as_ref().unwrap();
    near(rank.u, "mannwhitney_u_candidate");
    near(rank.p, "p_asymptotic_continuity_tie");
    near(rank.hodges_lehmann.unwrap(), "hodges_lehmann");
    near(measure.probability_greater.unwrap(), "prob_candidate_greater");
    near(measure.ks_distance.unwrap(), "ks");
    let max = figure(measure, "max");
    assert!(max.candidate.unwrap().low < max.baseline.unwrap().low);
    let Verdict { outcome, unreplicated, reason } = &measure.verdict;
    assert_eq!((*outcome, *unreplicated), (Outcome::Worse, false), "{reason}");
    for said in
        ["body worse", "P(candidate > baseline) 0.73", "but the interval of the mean", "the maximum is lower"]
    {
        assert!(reason.contains(said), "{said}: {reason}");
    }
    assert_eq!(comparison.exit_code, 1);
}

#[test]
fn the_table_in_microseconds_compares() {
    let (baseline, candidate) =
        (corpus_side("54", Some("Before patch"), None), corpus_side("54", Some("After patch"), None));
    let comparison = compared(&baseline, &candidate);
    let measure = &comparison.measures[0];
    assert_eq!(measure.events, [10_039_392, 9_871_680]);
    assert_eq!(measure.buckets[0].high, 1_000.0);
    assert_eq!(measure.figures.iter().filter(|figure| figure.kind == FigureKind::Rate).count(), 0);
    assert!(
        measure.notes.iter().any(|note| note.starts_with("no rate and no time share")),
        "{:?}",
        measure.notes
    );
    assert_eq!(comparison.exit_code, 3);
}

#[test]
fn tables_of_callers_compare_by_mean_and_maximum() {
    let name = "tick_do_update_jiffies64+0x25 (spinlock)";
    let side = |table: &str| corpus_side("31", Some(&format!("{table} {name}")), None);
    let comparison = compared(&side("table 0"), &side("table 0"));
    let measure = &comparison.measures[0];
    assert_eq!(measure.verdict.outcome, Outcome::NoDifference);
    assert_eq!(
        measure.figures.iter().map(|figure| figure.kind.name()).collect::<Vec<_>>(),
        ["count", "mean", "max"]
    );
    let before = corpus_side("35", Some("Before sched-messaging"), None);
    let after = corpus_side("35", Some("After sched-messaging"), None);
    let comparison = compared(&before, &after);
    let verdict = &comparison.measures[0].verdict;
    assert_eq!((verdict.outcome, comparison.exit_code), (Outcome::Mixed, 3), "{}", verdict.reason);
    assert!(comparison.baseline.warnings.iter().any(|warning| warning.contains("51.66 %")));
}

#[test]
fn one_trace_of_the_irqsoff_tracer_is_one_value() {
    let side = corpus_side("S4", None, None);
    let measure = &compared(&side, &side).measures[0];
    assert_eq!((measure.units, measure.verdict.unreplicated), ([1, 1], true));
    assert_eq!(figure(measure, "max").baseline.unwrap().low, 45_342_000.0);
}

#[test]
fn what_has_no_name_in_common_is_refused() {
    let error =
        compare(&corpus_side("S1", None, None), &corpus_side("76", None, None), &Options::default(), &[]);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("\"IRQ-000\"") && error.contains("pick one on each side as FILE:NAME"), "{error}");
}

#[test]
fn edges_that_never_meet_compare_nothing() {
    // 8192 us and 8.388608 ms: powers of two of different units.
    let (baseline, candidate) = (
        corpus_side("21", Some("@latency_usecs[40]"), None),
        corpus_side("21", Some("@latency_ns[40]"), None),
    );
    let comparison = compared(&baseline, &candidate);
    assert_eq!(comparison.measures[0].verdict.outcome, Outcome::NotComparable);
    assert_eq!(comparison.exit_code, 4);
}
