//! Baseline against candidate: figures side by side, how sure the differences are, a verdict.
//!
//! What is resampled are intervals, runs or hosts, never single events. Figures are pooled over
//! all units of a side; their intervals come from a bootstrap over the units (Efron and
//! Tibshirani 1993), the verdict from a permutation test of body and tails (Westfall and Young
//! 1993), corrected for the number of measures (Holm 1979).
#![expect(clippy::float_cmp, reason = "edges are compared for identity, and spans for being one number")]

mod bins;
mod buckets;
mod describe;
mod difference;
mod figure;
mod judge;
mod kinds;
mod losses;
mod matching;
mod measure;
mod overall;
mod pairing;
mod part;
mod pool;
mod resample;
mod rows;
mod rule;
mod series;
mod side;
mod testing;
#[cfg(test)]
pub(crate) mod tests;
mod verdict;
pub mod words;

use serde::Serialize;

pub use buckets::PairBucket;
pub use difference::Difference;
pub use figure::{Change, Figure, FigureKind, Span};
pub use measure::{Measure, RankTest, TestResult};
pub use resample::LEAST_UNITS;
pub use rule::{Rule, RuleError, RuleOutcome, RuleResult};
pub use series::{Level, Quantity};
pub use side::Side;
pub use verdict::{Outcome, Verdict};

/// What `schema` says in comparisons as JSON.
pub const SCHEMA: &str = "rstat-probe/comparison/1";

/// How to compare.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// Seed of everything that is drawn: the same input gives the same output.
    pub seed: u64,
    /// Resamples of the bootstrap.
    pub resamples: usize,
    /// Deals of the permutation test at 95 % confidence; more in proportion above.
    pub permutations: usize,
    /// Of the intervals; 1 minus it is the level of the tests.
    pub confidence: f64,
    /// Smallest relative change that counts as one.
    pub least_change: f64,
    /// What to resample; `None` decides by what there is.
    pub resample: Option<Level>,
    /// Shares above these are shown, ns, instead of the usual ones.
    pub above_ns: Vec<u64>,
    /// The usual ones as well.
    pub keep_usual: bool,
    /// Of plain samples more is better, as of a throughput.
    pub higher_is_better: bool,
}

impl Options {
    /// Deals that are made: the smallest p-value, times the number of tests, must be well below the level.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 500 times as many")]
    pub fn deals(&self) -> usize {
        let more = (0.05 / (1.0 - self.confidence).max(1e-4)).max(1.0);
        (self.permutations as f64 * more).round() as usize
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            resamples: 2_000,
            permutations: 10_000,
            confidence: 0.95,
            least_change: 0.05,
            resample: None,
            above_ns: Vec::new(),
            keep_usual: false,
            higher_is_better: false,
        }
    }
}

/// One side, as far as a reader of the report wants to know of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideSummary {
    /// What the user calls it.
    pub label: String,
    /// Files.
    pub inputs: usize,
    /// Hosts; 0 where no file names one.
    pub hosts: usize,
    /// What of each metric is known to be lost, a sentence each.
    pub losses: Vec<String>,
    /// When the lock is yielded, in the words of [`crate::yields::Behaviour::title`]; several where the files differ.
    pub yields: Vec<String>,
    /// Sections per flush.
    pub sections_per_flush: Option<f64>,
    /// Possible CPUs by sections per flush: how many CPUs' statistics one section flushes on average. A little below 1
    /// where the lock is yielded for every CPU, because a flush has a section more than there are CPUs. `None` where
    /// the files differ in their possible CPUs.
    pub cpus_per_section: Option<f64>,
    /// What one should know of the inputs.
    pub warnings: Vec<String>,
}

/// A comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// How it was made.
    pub options: Options,
    /// One side.
    pub baseline: SideSummary,
    /// The other.
    pub candidate: SideSummary,
    /// What else differs.
    pub differences: Vec<Difference>,
    /// What holds for all measures.
    pub notes: Vec<String>,
    /// By measure.
    pub measures: Vec<Measure>,
    /// Of all measures together.
    pub verdict: Verdict,
    /// How the rules of the user came out.
    pub rules: Vec<RuleResult>,
    /// What the process should end with: 0 better or no difference, 1 worse, mixed or a rule
    /// broken, 3 not enough data, 4 not comparable.
    pub exit_code: u8,
}

/// Compares two sides.
///
/// # Errors
/// The sides have no measure in common, or a rule names one that there is not.
pub fn compare(
    baseline: &Side,
    candidate: &Side,
    options: &Options,
    rules: &[Rule],
) -> Result<Comparison, CompareError> {
    pairing::check_common(baseline, candidate)?;
    let mut measures = measure::measures(baseline, candidate, options);
    let rules = rules.iter().map(|rule| rule.apply(&measures)).collect::<Result<Vec<_>, _>>()?;
    // Where something was measured on neither side there is nothing to say.
    measures.retain(|measure| measure.events != [0, 0] || measure.verdict.outcome != Outcome::NotEnoughData);
    let notes = shared_notes(&mut measures);
    let verdict = overall::overall(&measures);
    let exit_code = exit_code(&verdict, &rules);
    Ok(Comparison {
        schema: SCHEMA,
        options: options.clone(),
        baseline: baseline.summary(),
        candidate: candidate.summary(),
        differences: difference::differences(baseline, candidate),
        notes,
        measures,
        verdict,
        rules,
        exit_code,
    })
}

/// Takes out the notes that all of several measures have.
fn shared_notes(measures: &mut [Measure]) -> Vec<String> {
    let [first, rest @ ..] = &*measures else { return Vec::new() };
    let everywhere = |note: &&String| !rest.is_empty() && rest.iter().all(|other| other.notes.contains(note));
    let shared: Vec<String> = first.notes.iter().filter(everywhere).cloned().collect();
    for measure in measures {
        measure.notes.retain(|note| !shared.contains(note));
    }
    shared
}

/// Why two sides cannot be compared at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// A rule that does not fit.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// Nothing has the same name on both sides.
    #[error(
        "{baseline} and {candidate} have no name in common: the baseline has {has}, the candidate has \
         {other}; pick one on each side as FILE:NAME"
    )]
    NothingInCommon {
        /// Label of the baseline.
        baseline: String,
        /// Label of the candidate.
        candidate: String,
        /// Names of the baseline.
        has: String,
        /// Names of the candidate.
        other: String,
    },
}

/// Rules, where there are any, decide alone: that is what they are for.
fn exit_code(verdict: &Verdict, rules: &[RuleResult]) -> u8 {
    let any = |outcome| rules.iter().any(|rule| rule.outcome == outcome);
    if !rules.is_empty() {
        return match (any(RuleOutcome::Broken), any(RuleOutcome::Undecided)) {
            (true, _) => 1,
            (false, true) => 3,
            (false, false) => 0,
        };
    }
    match verdict.outcome {
        Outcome::NotComparable => 4,
        Outcome::NotEnoughData => 3,
        _ if verdict.unreplicated => 3,
        Outcome::Worse | Outcome::Mixed => 1,
        Outcome::Better | Outcome::NoDifference => 0,
    }
}
