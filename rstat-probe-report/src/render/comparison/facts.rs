//! Everything around the tables, as labels and sentences.

use crate::compare::{Comparison, Difference, Level, Measure, RuleOutcome, SideSummary, words};
use crate::render::text::escaped;
use crate::units;

/// Label and text.
pub(super) type Fact = (&'static str, String);

/// What comes before the measures.
pub(super) fn head(comparison: &Comparison) -> Vec<Fact> {
    let verdict = &comparison.verdict;
    let mut facts = vec![("verdict", outcome(verdict.outcome.words(), verdict.unreplicated))];
    facts.push(("because", escaped(&verdict.reason)));
    for rule in &comparison.rules {
        let how = match rule.outcome {
            RuleOutcome::Held => "held",
            RuleOutcome::Broken => "BROKEN",
            RuleOutcome::Undecided => "cannot be decided",
        };
        facts.push(("rule", format!("{}: {how} ({})", escaped(&rule.rule), rule.words)));
    }
    facts.push(("baseline", side(&comparison.baseline)));
    facts.push(("candidate", side(&comparison.candidate)));
    facts.extend(comparison.differences.iter().map(|difference| ("differs", differs(difference))));
    facts.extend(comparison.notes.iter().map(|note| ("note", escaped(note))));
    for (name, side) in [("baseline", &comparison.baseline), ("candidate", &comparison.candidate)] {
        let more = side.warnings.len().saturating_sub(MOST_WARNINGS);
        let shown = side.warnings.iter().take(MOST_WARNINGS);
        facts.extend(shown.map(|warning| ("warning", format!("{name}: {}", escaped(warning)))));
        if more > 0 {
            facts.push(("warning", format!("{name}: and {more} more, all of them in --format json")));
        }
        facts.extend(side.losses.iter().map(|loss| ("warning", format!("{name}: {loss}"))));
    }
    facts
}

/// Thousands of files have thousands of warnings.
const MOST_WARNINGS: usize = 5;

/// The outcome with what limits it.
pub(super) fn outcome(words: &str, unreplicated: bool) -> String {
    if unreplicated { format!("{words}, unreplicated") } else { words.to_owned() }
}

fn side(side: &SideSummary) -> String {
    let mut parts = vec![escaped(&side.label), units::counted(side.inputs as u64, "file", "files")];
    if side.hosts > 0 {
        parts.push(units::counted(side.hosts as u64, "host", "hosts"));
    }
    if !side.yields.is_empty() {
        parts.push(format!("yields {}", side.yields.join(" or ")));
    }
    if let Some(sections) = side.sections_per_flush {
        parts.push(format!("{sections:.1} sections per flush"));
    }
    if let Some(cpus) = side.cpus_per_section {
        parts.push(format!("{cpus:.1} CPUs per section"));
    }
    parts.join(", ")
}

fn differs(difference: &Difference) -> String {
    let list = |values: &[String]| {
        if values.is_empty() { "none".to_owned() } else { escaped(&values.join("; ")) }
    };
    let mut text =
        format!("{}: {} -> {}", difference.what, list(&difference.baseline), list(&difference.candidate));
    if let Some(matters) = &difference.matters {
        text = format!("{text} ({matters})");
    }
    text
}

/// What comes after the table of a measure.
pub(super) fn below(measure: &Measure, is_only: bool) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut whole = Vec::new();
    if let Some(greater) = measure.probability_greater {
        let interval = measure.probability_greater_interval;
        let interval =
            interval.map_or_else(String::new, |span| format!(" [{:.2}, {:.2}]", span.low, span.high));
        whole.push(format!("P(candidate > baseline) {greater:.2}{interval}"));
    }
    if let Some(distance) = measure.ks_distance {
        whole.push(format!("Kolmogorov-Smirnov distance {distance:.3}"));
    }
    if !whole.is_empty() {
        facts.push(("events", whole.join(", ")));
    }
    if let Some(test) = &measure.rank_test {
        let shift = test.hodges_lehmann.map_or_else(String::new, |shift| {
            let size = words::value(shift.abs(), &measure.quantity, 3);
            format!(", Hodges-Lehmann shift {}{size}", if shift < 0.0 { "-" } else { "+" })
        });
        let p = words::p_value(test.p);
        facts.push(("ranks", format!("{}: Mann-Whitney U {}, {p}{shift}", test.of, test.u)));
    }
    if !measure.tests.is_empty() {
        let tests: Vec<String> = measure
            .tests
            .iter()
            .map(|test| {
                let what = test.above.map_or_else(
                    || "body".to_owned(),
                    |edge| format!("share from {} on", words::edge(edge, &measure.quantity)),
                );
                format!("{what} {}", words::p_value(test.adjusted_p))
            })
            .collect();
        facts.push(("tests", tests.join(", ")));
    }
    let [_, many] = measure.level.words();
    let [left, right] = measure.units;
    if left > 0 && right > 0 {
        let noun =
            if measure.level == Level::Interval && measure.units == [1, 1] { "histograms" } else { many };
        let worth = if measure.inflation > 1.0 {
            let [left, right] = measure.units.map(|units| (units as f64 / measure.inflation).floor());
            format!(" (worth {left} and {right} independent ones: neighbours are alike)")
        } else {
            String::new()
        };
        let only = if measure.level == Level::Interval && left.min(right) > 1 {
            "; one run a side: how much runs differ is in no figure here"
        } else {
            ""
        };
        let filled = if measure.units_with_events == measure.units {
            String::new()
        } else {
            let [left, right] = measure.units_with_events;
            format!(", {left} and {right} of them with events")
        };
        facts.push(("units", format!("{left} against {right} {noun}{filled}{worth}{only}")));
    }
    facts.extend(measure.notes.iter().map(|note| ("note", escaped(note))));
    // The one verdict there is stands at the top.
    if !is_only {
        facts.push(("verdict", outcome(measure.verdict.outcome.words(), measure.verdict.unreplicated)));
        facts.push(("because", escaped(&measure.verdict.reason)));
    }
    facts
}

/// How to read it, at the end.
pub(super) fn legend(comparison: &Comparison) -> String {
    let options = &comparison.options;
    format!(
        "changes are candidate / baseline - 1, of shares (pp) candidate - baseline; percentiles are upper edges of \
         buckets at most 6.25 % wide, or the bucket [low, high) they lie in; intervals: bootstrap over the units, {} \
         resamples, seed {}; tests: permutation of the units, {} deals, p corrected for all tests of a measure; the \
         verdict is also corrected for the number of measures, and leaves out changes below {}",
        options.resamples,
        options.seed,
        options.deals(),
        words::percent(options.least_change)
    )
}
