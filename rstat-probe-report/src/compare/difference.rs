//! What else differs between the sides, and what that does to the figures.

use serde::Serialize;

use super::side::Side;
use crate::facts::{Fact, NO_TRACER};

/// Something that is not the same on both sides, or not the same within one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// As `kernel`.
    pub what: String,
    /// Values of the baseline.
    pub baseline: Vec<String>,
    /// Values of the candidate.
    pub candidate: Vec<String>,
    /// What it does to the figures.
    pub matters: Option<String>,
}

/// Longer lists are cut: a fleet has any number of kernels.
const MOST_VALUES: usize = 8;

/// Everything that differs, what explains most first. Files of other tools have no provenance.
pub(super) fn differences(baseline: &Side, candidate: &Side) -> Vec<Difference> {
    if baseline.facts.is_empty() || candidate.facts.is_empty() {
        return Vec::new();
    }
    let mut all: Vec<Difference> =
        Fact::ALL.iter().filter_map(|fact| of(*fact, baseline, candidate)).collect();
    let both_known = !baseline.hosts.is_empty() && !candidate.hosts.is_empty();
    if both_known && baseline.hosts.is_disjoint(&candidate.hosts) {
        let names = |side: &Side| cut(side.hosts.iter().map(String::as_str).collect());
        all.push(Difference {
            what: "host".to_owned(),
            baseline: names(baseline),
            candidate: names(candidate),
            matters: Some("what differs between the hosts is part of every difference".to_owned()),
        });
    }
    all
}

fn of(fact: Fact, baseline: &Side, candidate: &Side) -> Option<Difference> {
    let [left, right] = [baseline, candidate].map(|side| side.facts.values(fact));
    let said = |values: Vec<_>| {
        if fact == Fact::CrossCheck && values.is_empty() { vec![NO_TRACER] } else { values }
    };
    let [left, right] = [left, right].map(said);
    // The result of a load alone knows nothing of the kernel.
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let alike = left == right && left.len() <= 1;
    // Hooks are one line a metric: of those that both sides have, the ones that are not alike.
    let (left, right) = if fact == Fact::Hooks {
        let metric = |line: &str| line.split(':').next().map(ToOwned::to_owned);
        let own = |values: &[&str], others: &[&str]| -> Vec<String> {
            let both = |line: &str| others.iter().any(|other| metric(other) == metric(line));
            let news = values.iter().filter(|line| both(line) && !others.contains(line));
            news.map(|line| (*line).to_owned()).collect()
        };
        (own(&left, &right), own(&right, &left))
    } else {
        (cut(left), cut(right))
    };
    let nothing = left.is_empty() && right.is_empty();
    (!alike && !nothing).then(|| Difference {
        what: fact.title().to_owned(),
        baseline: left,
        candidate: right,
        matters: matters(fact).map(ToOwned::to_owned),
    })
}

fn cut(values: Vec<&str>) -> Vec<String> {
    let rest = values.len().saturating_sub(MOST_VALUES);
    let mut shown: Vec<String> = values.into_iter().take(MOST_VALUES).map(ToOwned::to_owned).collect();
    if rest > 0 {
        shown.push(format!("and {rest} more"));
    }
    shown
}

const fn matters(fact: Fact) -> Option<&'static str> {
    match fact {
        Fact::Yield => Some(
            "a section (irqs_off, lock_hold) covers one CPU where the lock is yielded for every CPU and up to all \
             where it is not: look at flush as well, which is one flush on both sides",
        ),
        Fact::PossibleCpus => Some("a flush walks over all possible CPUs, so its work is not the same"),
        Fact::OnlineCpus => Some("the load and the contention are not the same"),
        Fact::Load => Some("the kernels did not do the same work"),
        Fact::Hooks => Some("a metric that rests on other hooks begins or ends at another point"),
        Fact::CrossCheck => {
            Some("the tracer lengthens every time with IRQs off: measure both sides without --cross-check")
        }
        Fact::PreemptRt => Some("on PREEMPT_RT IRQs stay on in sections"),
        Fact::Machine => Some("another machine has other speeds"),
        Fact::Kernel | Fact::KernelBuild | Fact::Tool => None,
    }
}
