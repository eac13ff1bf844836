//! Whether two series can be compared, and how: common buckets and the level of the units.

use super::bins::{Binned, common};
use super::measure::Measure;
use super::series::{Level, Quantity, Series};
use super::side::{Side, metric};
use super::verdict::{Outcome, Verdict};
use super::{Options, words};
use crate::units;

/// More of the events lost on a side, and its figures are not those of the kernel.
const MOST_LOST: f64 = 0.1;

/// Fewer events of a histogram are no distribution.
const LEAST_EVENTS: u64 = 10;

/// More plain values take too long, each being a unit and a bucket of its own.
const MOST_VALUES: usize = 20_000;

/// Both series in common buckets, or why there is nothing to compare.
pub(super) fn pair_up(
    measure: &mut Measure,
    series: [Option<&Series>; 2],
    sides: [&Side; 2],
    options: &Options,
) -> Result<Binned, Verdict> {
    let not = |reason: String| Err(Verdict::new(Outcome::NotComparable, reason));
    let [Some(baseline), Some(candidate)] = series else {
        let missing = usize::from(series[0].is_some());
        let side = ["baseline", "candidate"][missing];
        let why = sides[missing].unavailable.get(&measure.name);
        return not(why.map_or_else(
            || format!("the {side} has none"),
            |reason| format!("the {side} could not measure it: {reason}"),
        ));
    };
    if baseline.quantity != candidate.quantity {
        let (time, other) = match baseline.quantity {
            Quantity::Time => ("baseline", "candidate"),
            Quantity::Other(_) => ("candidate", "baseline"),
        };
        return not(format!(
            "the {time} is in units of time, the unit of the {other} is not known; say --unit"
        ));
    }
    for (side, name) in sides.iter().zip(["baseline", "candidate"]) {
        if let Some(metric) = metric(&measure.name) {
            let (share, of) = side.lost_share(metric);
            if share > MOST_LOST {
                let share = words::percent(share);
                return not(format!(
                    "{share} of the {name}'s {of} were lost, so its figures are not the kernel's"
                ));
            }
        }
        if let Some(reason) = side.unavailable.get(&measure.name) {
            measure.notes.push(format!("some runs of the {name} could not measure it: {reason}"));
        }
    }
    let natural = || baseline.natural_level().max(candidate.natural_level());
    measure.level = options.resample.unwrap_or_else(natural);
    if measure.level == Level::Sample {
        let most = baseline.values().max(candidate.values());
        if most > MOST_VALUES {
            return not(format!(
                "{most} values a side are too many to compare one by one; make a histogram of them"
            ));
        }
        if most > 1 {
            measure.notes.push("values are taken as independent of each other".to_owned());
        }
    }
    let values = [baseline.single_values(), candidate.single_values()];
    let units =
        [(baseline, &values[0]), (candidate, &values[1])].map(|(series, values)| match measure.level {
            Level::Sample => values.iter().map(|value| vec![value]).collect(),
            level => series.units(level),
        });
    let wholes = [baseline, candidate].map(|series| series.wholes().collect::<Vec<_>>());
    common(&units, &wholes).ok_or_else(|| {
        let reason =
            "the buckets of the two sides have no edges in common, so that nothing can be told apart";
        Verdict::new(Outcome::NotComparable, reason)
    })
}

/// The verdict where a side has too few events for any.
pub(super) fn too_few_events(measure: &Measure, series: [Option<&Series>; 2]) -> Option<Verdict> {
    let sides = ["baseline", "candidate"].into_iter().zip(series.into_iter().flatten()).zip(measure.events);
    for ((name, series), events) in sides {
        if events == 0 || events < LEAST_EVENTS && series.is_histogram() {
            let events = match events {
                0 => "no events".to_owned(),
                events => format!("only {}", units::counted(events, "event", "events")),
            };
            return Some(Verdict::new(Outcome::NotEnoughData, format!("{events} in the {name}")));
        }
    }
    None
}
