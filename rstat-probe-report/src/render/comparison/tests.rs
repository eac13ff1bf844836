use super::*;
use crate::compare::tests::{corpus_side, recording, side_of};
use crate::compare::{Options, Rule, Side, compare};
use crate::import::Unit;

fn written(
    write: impl Fn(&mut Vec<u8>, &Comparison) -> io::Result<()>,
    baseline: &Side,
    candidate: &Side,
    rules: &[&str],
) -> String {
    let rules: Vec<Rule> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let options = Options { resamples: 400, permutations: 999, ..Options::default() };
    let comparison = compare(baseline, candidate, &options, &rules).unwrap();
    let mut out = Vec::new();
    write(&mut out, &comparison).unwrap();
    String::from_utf8(out).unwrap()
}

fn text(baseline: &Side, candidate: &Side) -> String {
    written(write_text, baseline, candidate, &[])
}

/// Two runs of 12 intervals, the second a quarter slower and with a yield for every CPU.
fn runs() -> [Side; 2] {
    let intervals = |factor: u64| -> Vec<Vec<u64>> {
        (0..12_u64)
            .map(|i| (0..40).map(|k| (900 + 37 * ((i * 7 + k * 11) % 40)) * factor / 4).collect())
            .collect()
    };
    let mut slower = recording("web-8", &intervals(5));
    "6.18.1-amd64".clone_into(&mut slower.provenance.kernel.release);
    slower.provenance.cpus.possible = 8;
    slower.provenance.yield_behaviour.behaviour = crate::yields::Behaviour::EveryCpu;
    [side_of(vec![recording("web-7", &intervals(4))]), side_of(vec![slower])]
}

#[test]
fn golden_published_pair() {
    insta::assert_snapshot!(text(&corpus_side("S2", None, None), &corpus_side("S1", None, None)));
}

#[test]
fn golden_published_samples() {
    let [baseline, candidate] = ["S6", "S7"].map(|file| corpus_side(file, None, Some(Unit::Ns)));
    insta::assert_snapshot!(text(&baseline, &candidate));
}

#[test]
fn golden_table_in_microseconds() {
    let [baseline, candidate] =
        ["Before patch", "After patch"].map(|name| corpus_side("54", Some(name), None));
    insta::assert_snapshot!(text(&baseline, &candidate));
}

#[test]
fn golden_recordings() {
    let [baseline, candidate] = runs();
    insta::assert_snapshot!(text(&baseline, &candidate));
    let rules = ["irqs_off.p99>+10%", "irqs_off.max>1ms"];
    insta::assert_snapshot!(written(write_markdown, &baseline, &candidate, &rules));
}

#[test]
fn lines_fit_into_a_mail() {
    let [baseline, candidate] = runs();
    let pairs = [
        text(&baseline, &candidate),
        text(&corpus_side("S2", None, None), &corpus_side("S1", None, None)),
        text(&corpus_side("52", Some("Before patch"), None), &corpus_side("52", Some("After patch"), None)),
    ];
    for line in pairs.iter().flat_map(|text| text.lines()) {
        assert!(line.chars().count() <= WIDTH, "{line}");
        assert!(!line.ends_with(' '), "{line}");
    }
}

#[test]
fn json_has_no_number_that_is_none() {
    let [baseline, candidate] = runs();
    let json = written(write_json, &baseline, &candidate, &["irqs_off.p99>+10%"]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["schema"], "rstat-probe/comparison/1");
    assert_eq!(value["exit_code"], 1);
    assert_eq!(value["rules"][0]["outcome"], "broken");
    let figures = value["measures"][0]["figures"].as_array().unwrap();
    let p50 = figures.iter().find(|figure| figure["figure"] == "p50").unwrap();
    assert!(p50["change"]["interval"]["low"].as_f64().unwrap() > 0.1, "{p50}");
}

#[test]
fn nothing_steers_the_terminal_or_the_page() {
    let [mut baseline, candidate] = runs();
    let evil = "a\u{1b}[2J\r\u{202e}<script>|b";
    evil.clone_into(&mut baseline.label);
    for text in [text(&baseline, &candidate), written(write_markdown, &baseline, &candidate, &[])] {
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(bad), "{text:?}");
    }
    let markdown = written(write_markdown, &baseline, &candidate, &[]);
    assert!(markdown.contains("&lt;script&gt;\\|b"), "{markdown}");
}
