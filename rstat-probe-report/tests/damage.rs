//! A thousand damaged variants of every public sample: none panics or hangs, each gives an error
//! that names its line or a result that holds together.

mod common;
#[path = "common/variants.rs"]
mod variants;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use common::{invariants::check, samples};
use rstat_probe_report::import::{Imported, import};
use variants::{Random, damaged};

/// Variants of each sample: all in a release build, a share where there are no optimisations,
/// unless `RSTAT_PROBE_VARIANTS` says how many.
fn variants() -> u64 {
    let number = std::env::var("RSTAT_PROBE_VARIANTS").ok().and_then(|number| number.parse().ok());
    number.unwrap_or(if cfg!(debug_assertions) { 100 } else { 1000 })
}

/// Samples whose text tells how much there is of it, and after which text it does so: what is cut
/// off at the end must be told. Where one of several histograms ends a file is whole.
const WITH_TOTALS: &[(&str, &str)] = &[
    ("47", ""),
    ("48", ""),
    ("49", ""),
    ("56", ""),
    ("57", ""),
    ("59", ""),
    // Most tools of bcc print no footer, so only others of the same text make one missing.
    ("61", "count: 1992"),
    ("68", "avg ="),
    ("73", ""),
    ("75", ""),
    ("76", ""),
    ("78", ""),
];

#[test]
fn damaged_copies_give_errors_or_results() {
    let samples = samples();
    assert!(samples.len() > 60);
    let workers = thread::available_parallelism().map_or(2, usize::from).min(8);
    thread::scope(|scope| {
        for worker in 0..workers {
            let share = samples.iter().skip(worker).step_by(workers);
            scope.spawn(move || {
                for (name, text) in share {
                    for seed in 0..variants() {
                        let variant = damaged(text, &mut Random::new(seed + 1));
                        let checked = AssertUnwindSafe(|| check(&import(&variant, name), name));
                        assert!(catch_unwind(checked).is_ok(), "{name}, seed {seed}");
                    }
                }
            });
        }
    });
}

/// What a comparison would be made with.
fn numbers(imported: &Imported) -> Vec<(String, Vec<u64>, Option<f64>)> {
    let histograms = imported.histograms.iter();
    histograms
        .map(|histogram| {
            let counts = histogram.buckets.iter().map(|bucket| bucket.count).filter(|count| *count > 0);
            (histogram.full_name(), counts.collect(), histogram.sum)
        })
        .collect()
}

#[test]
fn a_missing_end_is_told_where_the_text_has_totals() {
    let mut silent = Vec::new();
    for (name, text) in samples() {
        let Some((id, after)) = WITH_TOTALS.iter().find(|(id, _)| name.starts_with(&format!("{id}-"))) else {
            continue;
        };
        let whole = import(&text, &name).unwrap();
        let all = numbers(&whole);
        let start = text.find(after).unwrap() + after.len();
        let step = if cfg!(debug_assertions) { 7 } else { 1 };
        for cut in (start..text.trim_end().len()).step_by(step).filter(|cut| text.is_char_boundary(*cut)) {
            let Ok(part) = import(&text[..cut], &name) else { continue };
            let told = part.warnings.iter().any(|warning| !whole.warnings.contains(warning));
            // Those that are there are as they should be.
            let right = numbers(&part).iter().zip(&all).all(|(ours, right)| {
                ours.0 == right.0 && ours.1 == right.1 && (ours.2.is_none() || ours.2 == right.2)
            });
            if !told && !right {
                silent.push(format!("{id}, {cut}: {}", text[..cut].lines().last().unwrap_or("")));
            }
        }
    }
    assert!(silent.is_empty(), "{} cuts, as\n{:#?}", silent.len(), &silent[..silent.len().min(30)]);
}
