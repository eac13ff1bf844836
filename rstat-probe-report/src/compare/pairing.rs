//! Which measures belong together, and what it costs to look at several of them.

use super::CompareError;
use super::series::Series;
use super::side::Side;
use crate::render::text::escaped;

/// Longer lists of names are cut.
const MOST_NAMES: usize = 12;

/// Holm's factor for the measure at `index`: the smallest p counts as often as there are measures.
/// Infinite ones have no test.
pub(super) fn holm(smallest: &[f64], index: usize) -> f64 {
    let mut tested: Vec<(f64, usize)> =
        smallest.iter().copied().zip(0..).filter(|(p, _)| p.is_finite()).collect();
    tested.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut most, all) = (0.0_f64, tested.len());
    for (rank, (p, which)) in tested.into_iter().enumerate() {
        // Adjusted p-values must not descend.
        most = most.max(p * (all - rank) as f64);
        if which == index {
            return most / p;
        }
    }
    1.0
}

/// Refuses sides without a pair: the user has to say which belongs to which.
pub(super) fn check_common(baseline: &Side, candidate: &Side) -> Result<(), CompareError> {
    // `--only` may leave nothing on one side: not comparable, and no mistake in a name.
    let left_with_nothing = baseline.measures.is_empty() != candidate.measures.is_empty();
    if left_with_nothing
        || pairs(baseline, candidate).iter().any(|(_, series)| series.iter().all(Option::is_some))
    {
        return Ok(());
    }
    let names = |side: &Side| {
        let names = side.measures.iter().map(|(name, _)| format!("\"{}\"", escaped(name)));
        let more = side.measures.len().saturating_sub(MOST_NAMES);
        let mut shown: Vec<String> = names.take(MOST_NAMES).collect();
        shown.extend((more > 0).then(|| format!("and {more} more")));
        if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
    };
    Err(CompareError::NothingInCommon {
        baseline: escaped(&baseline.label),
        candidate: escaped(&candidate.label),
        has: names(baseline),
        other: names(candidate),
    })
}

/// Name, and the series of baseline and candidate.
pub(super) type Pair<'a> = (String, [Option<&'a Series>; 2]);

/// Measures by name; one of each side alone are a pair whatever they are called.
pub(super) fn pairs<'a>(baseline: &'a Side, candidate: &'a Side) -> Vec<Pair<'a>> {
    if let ([(left, one)], [(right, other)]) = (&baseline.measures[..], &candidate.measures[..])
        && (left == right || baseline.is_picked && candidate.is_picked)
    {
        let name = if left == right { left.clone() } else { format!("{left} / {right}") };
        return vec![(name, [Some(one), Some(other)])];
    }
    let find =
        |side: &'a Side, name: &str| side.measures.iter().find(|(other, _)| other == name).map(|(_, s)| s);
    let only = candidate.measures.iter().filter(|(name, _)| find(baseline, name).is_none());
    let names = baseline.measures.iter().chain(only).map(|(name, _)| name.clone());
    names.map(|name| (name.clone(), [find(baseline, &name), find(candidate, &name)])).collect()
}
