//! The verdict of one measure, from as much evidence as there is.

use super::Options;
use super::bins::Binned;
use super::measure::Measure;
use super::pool::Pool;
use super::resample::LEAST_UNITS;
use super::series::Level;
use super::testing::Test;
use super::verdict::{Evidence, Outcome, Verdict};

/// Judges `measure`. `holm` is what its p-values are multiplied by; `tests` is `None` where there are too
/// few units.
pub(super) fn judge(
    measure: &Measure,
    binned: &Binned,
    tests: Option<&[Test]>,
    holm: f64,
    tested_measures: usize,
    options: &Options,
) -> Verdict {
    let pools = [0, 1].map(|side| Pool::of(&binned.bins, std::slice::from_ref(&binned.wholes[side])));
    let evidence = Evidence {
        binned,
        pools: [&pools[0], &pools[1]],
        figures: &measure.figures,
        quantity: &measure.quantity,
        higher_is_better: measure.higher_is_better,
        least_change: options.least_change,
        alpha: 1.0 - options.confidence,
        holm,
    };
    let [left, right] = measure.units;
    let units = left.min(right);
    let filled = measure.units_with_events;
    let least = filled[0].min(filled[1]);
    let [one, many] = measure.level.words();
    if units == 1 {
        let why = match (left.max(right), measure.level) {
            (1, Level::Interval) => "one histogram a side".to_owned(),
            (1, _) => format!("one {one} a side"),
            _ => format!("{left} against {right} {many}"),
        };
        let mut verdict = evidence.described();
        verdict.reason = format!("{} (unreplicated, {why}: described, not tested)", verdict.reason);
        return verdict;
    }
    let too_few = |why: String| {
        Verdict::new(Outcome::NotEnoughData, format!("{why}; as it stands: {}", evidence.described().reason))
    };
    let Some(tests) = tests else {
        return too_few(if units < LEAST_UNITS {
            format!("{left} against {right} {many}, and a test needs {LEAST_UNITS} a side")
        } else if least < LEAST_UNITS {
            let [left, right] = filled;
            format!("{left} against {right} {many} have events, and a test needs {LEAST_UNITS} a side")
        } else {
            let worth = (units as f64 / measure.inflation).floor();
            format!(
                "neighbours are so alike that {units} {many} are worth {worth}, and a test needs {LEAST_UNITS}"
            )
        });
    };
    // The same for all measures, so that not just those without a difference are left to speak.
    let smallest = smallest_possible_p(filled, options.deals());
    if smallest * tested_measures as f64 >= 1.0 - options.confidence {
        let [left, right] = filled;
        return too_few(format!(
            "{left} against {right} {many} are too few to be sure of anything in {tested_measures} measures at once; \
             take more, or look at fewer with --only"
        ));
    }
    evidence.tested(tests)
}

/// The smallest p-value that so many units can give: one deal, and its mirror image with equal
/// numbers, of all that there are.
fn smallest_possible_p([left, right]: [usize; 2], permutations: usize) -> f64 {
    let deals = (1..=left.min(right)).fold(1.0, |deals, k| deals * (left.max(right) + k) as f64 / k as f64);
    let mirror = if left == right { 2.0 } else { 1.0 };
    (mirror / deals).max(1.0 / (permutations as f64 + 1.0))
}
