//! What the recordings of a fleet do not have in common: a sum over two kernels is of neither.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::facts::Fact;
use crate::fleet::Fleet;
use crate::render::text::layout::{Page, escaped};
use crate::units;

/// Values of one fact that are shown.
const SHOWN: usize = 4;

/// Writes each fact with several values, the most frequent first.
pub(super) fn write_differences(w: &mut impl Write, fleet: &Fleet, page: Page) -> io::Result<()> {
    let (one, many) = fleet.unit.nouns();
    let mut any = false;
    for &fact in Fact::ALL {
        let mut values: Vec<(&str, u64)> = counts(fleet, fact).into_iter().collect();
        if values.len() < 2 {
            continue;
        }
        any = true;
        // Stable: values of equal frequency stay in order.
        values.sort_by_key(|&(_, number)| std::cmp::Reverse(number));
        let mut parts: Vec<String> = values
            .iter()
            .take(SHOWN)
            .map(|&(value, number)| format!("{} ({})", escaped(value), units::counted(number, one, many)))
            .collect();
        if let Some(more @ 1..) = values.len().checked_sub(SHOWN) {
            parts.push(format!("... and {} more", units::count(more as u64)));
        }
        page.write_fact(w, "differs", &format!("{}: {}", fact.title(), parts.join("; ")))?;
    }
    if any {
        Ok(())
    } else {
        page.write_fact(w, "differs", "neither kernel, CPUs, hooks and yield behaviour nor load")
    }
}

/// In how many units each value occurs. Of hooks there is a value for each metric, as
/// `flush: ...`; those of metrics that rest on the same everywhere are left out.
fn counts(fleet: &Fleet, fact: Fact) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for value in fleet.units.iter().flat_map(|unit| unit.facts.values(fact)) {
        *counts.entry(value).or_insert(0) += 1;
    }
    if fact == Fact::Hooks {
        let all = fleet.facts.values(fact);
        let metric = |value: &str| value.split(": ").next().map(str::to_owned);
        let several = |value: &str| all.iter().filter(|other| metric(other) == metric(value)).count() > 1;
        counts.retain(|value, _| several(value));
    }
    counts
}
