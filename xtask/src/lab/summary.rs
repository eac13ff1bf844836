//! What a lab's comparisons come to: a table of all loads, and whether the pair did what it must.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{cross_check::Fit, load::Load, variant::Variant};

/// One comparison, as far as the table shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    /// `under contention`, of each side; empty where there were too few flushes to tell.
    yields: [String; 2],
    cpus_per_section: [Option<f64>; 2],
    measures: Vec<Measure>,
    /// Of all measures.
    verdict: String,
}

/// One measure of it.
#[derive(Clone, Debug, PartialEq)]
struct Measure {
    name: String,
    verdict: String,
    /// Means of both sides, in the measure's own unit, and the change in per cent with its interval.
    mean: [Option<f64>; 2],
    change: Option<f64>,
    interval: Option<[f64; 2]>,
    max: [Option<f64>; 2],
    is_replicated: bool,
    /// The least p of its tests, corrected for how many it has.
    p: Option<f64>,
}

/// The metric that the patch is about, the one that tells its price, and what stands for the load's own rate.
const IRQS_OFF: &str = "irqs_off";
const FLUSH: &str = "flush";
const LOAD: &str = "load.";
const LATENCY: &str = "load.latency";
const NO_DIFFERENCE: &str = "no difference";
const NOT_ENOUGH: &str = "not enough data";
/// How often a lab may call a kernel different from itself, over all that it compares.
const FALSE_ALARMS: f64 = 0.05;

impl Figures {
    /// Reads the JSON of `rstat-probe compare`.
    pub(crate) fn of(comparison: &Value) -> Result<Self> {
        let sides = ["baseline", "candidate"].map(|side| &comparison[side]);
        let words = |verdict: &Value| verdict["outcome"].as_str().unwrap_or("?").replace('_', " ");
        let measures = comparison["measures"].as_array().context("a comparison without measures")?;
        Ok(Self {
            yields: sides.map(|side| {
                let values = side["yields"].as_array().into_iter().flatten();
                values
                    .filter_map(Value::as_str)
                    .filter(|value| *value != "unknown")
                    .collect::<Vec<_>>()
                    .join(" or ")
            }),
            cpus_per_section: sides.map(|side| side["cpus_per_section"].as_f64()),
            measures: measures
                .iter()
                .map(|measure| Measure::of(measure, words(&measure["verdict"])))
                .collect(),
            verdict: words(&comparison["verdict"]),
        })
    }

    fn measure(&self, name: &str) -> Option<&Measure> {
        self.measures.iter().find(|measure| measure.name == name)
    }

    /// What the load itself counts by second.
    fn rate(&self) -> Option<&Measure> {
        self.measures.iter().find(|measure| measure.name.starts_with(LOAD) && measure.name != LATENCY)
    }
}

impl Measure {
    fn of(measure: &Value, verdict: String) -> Self {
        let figure = |name: &str| {
            measure["figures"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|figure| figure["figure"] == name)
                .cloned()
        };
        let middle = |span: &Value| Some(f64::midpoint(span["low"].as_f64()?, span["high"].as_f64()?));
        let both = |figure: &Option<Value>| {
            ["baseline", "candidate"].map(|side| figure.as_ref().and_then(|figure| middle(&figure[side])))
        };
        let (mean, max) = (figure("mean"), figure("max"));
        let change = mean.as_ref().map(|mean| &mean["change"]);
        Self {
            name: measure["name"].as_str().unwrap_or_default().to_owned(),
            verdict,
            mean: both(&mean),
            change: change.and_then(middle).map(|change| change * 100.0),
            interval: change.and_then(|change| {
                let interval = &change["interval"];
                Some([interval["low"].as_f64()? * 100.0, interval["high"].as_f64()? * 100.0])
            }),
            max: both(&max),
            is_replicated: measure["level"] == "run",
            p: measure["tests"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|test| test["adjusted_p"].as_f64())
                .reduce(f64::min),
        }
    }

    /// Whether a kernel against itself may look like this, and what is said of it. Each of the `alike` comparisons of a
    /// lab has its own chance of a false alarm: only what is too rare for all of them together (Bonferroni) is one.
    fn is_same(&self, alike: usize) -> (bool, String) {
        // Where hardly anything happened, as of a lock that is not contended, there is no difference either.
        if [NO_DIFFERENCE, NOT_ENOUGH].contains(&self.verdict.as_str()) {
            return (true, self.verdict.clone());
        }
        let Some(p) = self.p else { return (false, self.verdict.clone()) };
        let by_chance = p * alike as f64 > FALSE_ALARMS;
        let chance = if by_chance { ", which is chance among so many" } else { "" };
        (by_chance, format!("{} (p = {p:.4} in one of {alike} comparisons{chance})", self.verdict))
    }

    fn is_surely_lower(&self) -> bool {
        self.interval.is_some_and(|[_, high]| high < 0.0)
    }
}

/// Everything a lab compared.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
    fits: Vec<(Variant, Fit)>,
}

#[derive(Debug)]
struct Row {
    load: &'static Load,
    pair: Figures,
    control: Option<Figures>,
}

impl Row {
    /// The baseline against itself. One boot a side says nothing of how much boots differ.
    fn control(&self) -> impl Iterator<Item = &Measure> {
        let measures = self.control.iter().flat_map(|control| &control.measures);
        measures.filter(|measure| measure.is_replicated)
    }
}

/// One thing that must be so, and whether it is.
#[derive(Debug, PartialEq)]
struct Check {
    holds: bool,
    text: String,
}

impl Table {
    pub(crate) fn add(&mut self, load: &'static Load, pair: Figures, control: Option<Figures>) {
        self.rows.push(Row { load, pair, control });
    }

    /// Adds what the irqsoff tracer says of a kernel.
    pub(crate) fn add_fit(&mut self, variant: Variant, fit: Fit) {
        self.fits.push((variant, fit));
    }

    pub(crate) fn is_as_expected(&self) -> bool {
        self.checks().iter().all(|check| check.holds)
    }

    /// What the experiment must show, wherever a load flushed enough to show it.
    fn checks(&self) -> Vec<Check> {
        let [baseline, candidate] = Variant::BOTH;
        let mut checks = Vec::new();
        let alike = self.rows.iter().flat_map(Row::control).filter(|measure| measure.p.is_some()).count();
        for row in &self.rows {
            let load = row.load.name;
            let mut check =
                |holds: bool, text: String| checks.push(Check { holds, text: format!("{load}: {text}") });
            let pair = &row.pair;
            if pair.yields.iter().all(|yields| !yields.is_empty()) {
                let wanted = [baseline, candidate].map(Variant::title);
                let [one, other] = &pair.yields;
                check(
                    pair.yields.each_ref().map(String::as_str) == wanted,
                    format!("yields {one} against {other}"),
                );
            }
            if let ([Some(one), Some(other)], true) = (pair.cpus_per_section, row.load.flushes_always) {
                check(one >= 2.0 * other, format!("CPUs per section {one:.1} against {other:.1}"));
            }
            if let (Some(irqs_off), true) = (pair.measure(IRQS_OFF), row.load.flushes_always) {
                check(irqs_off.is_surely_lower(), format!("mean of irqs_off {}", changed(irqs_off)));
            }
            for measure in row.control() {
                let (holds, verdict) = measure.is_same(alike);
                check(holds, format!("the baseline against itself, {}: {verdict}", measure.name));
            }
        }
        for (variant, fit) in &self.fits {
            checks.push(Check {
                holds: fit.holds,
                text: format!("cross-check, {}: {}", variant.name(), fit.text),
            });
        }
        checks
    }

    /// The page, in Markdown.
    pub(crate) fn page(&self, plan: &str, source: &str) -> String {
        let [baseline, candidate] = Variant::BOTH;
        let mut page = format!(
            "# The yield before and after\n\n\
             Baseline: yields {}. Candidate: yields {}. Both kernels are built of Debian's source {source} and are \
             otherwise the same. {plan}, emulated (QEMU TCG): the ratios are the result, the seconds are not.\n\n",
            baseline.words(),
            candidate.words()
        );
        page.push_str("## Per section and per flush\n\n");
        page.push_str(
            "irqs_off is per section, and a section covers more CPUs on the baseline; flush is one whole flush on both.\n\n\
             | load | CPUs per section | irqs_off mean | irqs_off longest | flush mean |\n|---|---|---|---|---|\n",
        );
        for row in &self.rows {
            let [one, other] = row
                .pair
                .cpus_per_section
                .map(|cpus| cpus.map_or("?".to_owned(), |cpus| format!("{cpus:.1}")));
            let irqs_off = row.pair.measure(IRQS_OFF);
            let _ = writeln!(
                page,
                "| {} | {one} -> {other} | {} | {} | {} |",
                row.load.name,
                irqs_off.map_or("-".to_owned(), |measure| both(measure, time)),
                irqs_off.map_or("-".to_owned(), |measure| arrow(measure.max, time)),
                row.pair.measure(FLUSH).map_or("-".to_owned(), |measure| both(measure, time)),
            );
        }
        page.push_str("\n## What the loads did\n\n| load | by second | change | verdict of all measures |\n|---|---|---|---|\n");
        for row in &self.rows {
            let rate = row.pair.rate();
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} |",
                row.load.name,
                rate.map_or("-".to_owned(), |rate| format!(
                    "{} ({})",
                    arrow(rate.mean, number),
                    &rate.name[LOAD.len()..]
                )),
                rate.map_or("-".to_owned(), changed),
                row.pair.verdict
            );
        }
        page.push_str("\n## Checks\n\n");
        for check in self.checks() {
            let _ =
                writeln!(page, "- {}: {}", if check.holds { "ok" } else { "NOT AS EXPECTED" }, check.text);
        }
        page.push_str("\n## Loads\n\n");
        for row in &self.rows {
            let Load { name: load, what, .. } = row.load;
            let _ = writeln!(page, "- {load}: {what} ([comparison]({load}/compare.md)");
            page.truncate(page.trim_end().len());
            page.push_str(if row.control.is_some() { "" } else { ")\n" });
            if row.control.is_some() {
                let _ = writeln!(page, ", [the baseline against itself]({load}/control.md))");
            }
        }
        page
    }
}

/// `-50.0 % [-52.1, -48.0]`.
fn changed(measure: &Measure) -> String {
    match (measure.change, measure.interval) {
        (Some(change), Some([low, high])) => format!("{change:+.1} % [{low:+.1}, {high:+.1}]"),
        (Some(change), None) => format!("{change:+.1} %"),
        _ => "-".to_owned(),
    }
}

fn both(measure: &Measure, shown: fn(f64) -> String) -> String {
    format!("{}, {}", arrow(measure.mean, shown), changed(measure))
}

fn arrow(sides: [Option<f64>; 2], shown: fn(f64) -> String) -> String {
    let [one, other] = sides.map(|side| side.map_or("-".to_owned(), shown));
    format!("{one} -> {other}")
}

/// Nanoseconds.
fn time(ns: f64) -> String {
    match ns {
        1e9.. => format!("{:.3} s", ns / 1e9),
        1e6.. => format!("{:.3} ms", ns / 1e6),
        1e3.. => format!("{:.1} us", ns / 1e3),
        _ => format!("{ns:.0} ns"),
    }
}

fn number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests;
