//! The outcome of several measures together.

use super::measure::Measure;
use super::side::metric;
use super::verdict::{Outcome, Verdict};

/// The outcome of several measures together: one that could not be told does not spoil those that could.
pub(super) fn overall(measures: &[Measure]) -> Verdict {
    let verdicts: Vec<(&str, &Verdict)> =
        measures.iter().map(|measure| (measure.name.as_str(), &measure.verdict)).collect();
    // What was tested decides; what only describes does so where there is nothing else.
    let decided = |verdict: &Verdict| verdict.outcome < Outcome::NotEnoughData;
    let tested = verdicts.iter().any(|(_, verdict)| decided(verdict) && !verdict.unreplicated);
    let all = &verdicts[..];
    let verdicts: Vec<(&str, &Verdict)> =
        all.iter().copied().filter(|(_, verdict)| !tested || !verdict.unreplicated).collect();
    let unreplicated = !tested && verdicts.iter().any(|(_, verdict)| verdict.unreplicated);
    let with = |outcome: Outcome| -> Vec<&str> {
        verdicts.iter().filter(|(_, verdict)| verdict.outcome == outcome).map(|(name, _)| *name).collect()
    };
    // What a load says of itself does not stand for the kernel's own metrics.
    let of_kernel = |name: &str| metric(name).is_some();
    let kernel = || measures.iter().filter(|measure| of_kernel(&measure.name));
    let kernel_is_open = kernel().any(|measure| measure.events.iter().all(|events| *events > 0))
        && !kernel().any(|measure| decided(&measure.verdict));
    let votes = |outcome: Outcome| -> usize {
        with(outcome).into_iter().filter(|name| !kernel_is_open || of_kernel(name)).count()
    };
    let [better, worse, mixed, same] =
        [Outcome::Better, Outcome::Worse, Outcome::Mixed, Outcome::NoDifference].map(votes);
    let outcome = match (better == 0, worse == 0, mixed == 0, same == 0) {
        (false, false, _, _) | (_, _, false, _) => Outcome::Mixed,
        (false, true, true, _) => Outcome::Better,
        (true, false, true, _) => Outcome::Worse,
        (true, true, true, false) => Outcome::NoDifference,
        (true, true, true, true) if votes(Outcome::NotEnoughData) > 0 => Outcome::NotEnoughData,
        (true, true, true, true) => Outcome::NotComparable,
    };
    let said: Vec<String> = [
        Outcome::Worse,
        Outcome::Mixed,
        Outcome::Better,
        Outcome::NoDifference,
        Outcome::NotEnoughData,
        Outcome::NotComparable,
    ]
    .into_iter()
    .filter(|outcome| !with(*outcome).is_empty())
    .map(|outcome| format!("{} in {}", outcome.words(), with(outcome).join(", ")))
    .collect();
    let mut said = said;
    let only_described: Vec<&str> =
        all.iter().filter(|(_, verdict)| tested && verdict.unreplicated).map(|(name, _)| *name).collect();
    if !only_described.is_empty() {
        said.push(format!("unreplicated and left out: {}", only_described.join(", ")));
    }
    let reason = match all {
        [(_, only)] => only.reason.clone(),
        _ => said.join("; "),
    };
    Verdict { outcome, unreplicated, reason }
}
