//! `--fail-on` rules: what must not happen, as `irqs_off.p99>+10%`.

use std::str::FromStr;

use serde::Serialize;

use super::figure::{Figure, FigureKind, Span};
use super::kinds::is_near;
use super::{Measure, words};

/// A rule: broken when the figure, or its change, is above (or below) the limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    text: String,
    measure: String,
    figure: String,
    above: bool,
    limit: Limit,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// A change, 0.1 is +10 % (of a share: percentage points).
    Change(f64),
    /// A change in ns or in the unit of the samples.
    Difference(f64),
    /// The candidate's figure itself, ns, or a share of 0..=1.
    Value(f64),
}

/// Why a rule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It is not a rule.
    #[error("{rule:?}: {reason}; write it as irqs_off.p99>+10%, flush.max>50ms or lock_hold.above_1ms>0.1%")]
    Syntax {
        /// The rule.
        rule: String,
        /// What is wrong.
        reason: String,
    },
    /// There is no such measure in this comparison.
    #[error("--fail-on {rule}: nothing here is called {name}; there is {known}")]
    Unknown {
        /// The rule.
        rule: String,
        /// The name that is unknown.
        name: String,
        /// What there is.
        known: String,
    },
}

/// How a rule came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// Nothing to complain of.
    Held,
    /// What must not happen did.
    Broken,
    /// The buckets are too wide to tell, or the figure is missing.
    Undecided,
}

/// A rule, and how it came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleResult {
    /// As the user wrote it.
    pub rule: String,
    /// The number that was held against the limit.
    pub found: Option<Span>,
    /// `found` as people read it.
    pub words: String,
    /// How it came out.
    pub outcome: RuleOutcome,
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let wrong = |reason: &str| RuleError::Syntax { rule: text.to_owned(), reason: reason.to_owned() };
        let at = text.find(['>', '<']).ok_or_else(|| wrong("there is no > or <"))?;
        let (name, limit) = (text[..at].trim(), text[at + 1..].trim());
        // Names of measures have dots, those of figures but one (p99.9) have none.
        let dot = match name.strip_suffix("p99.9") {
            Some(measure) => measure.strip_suffix('.').map(str::len),
            None => name.rfind('.'),
        };
        // With one measure it need not be named.
        let (measure, figure) = dot.map_or(("", name), |dot| (&name[..dot], &name[dot + 1..]));
        if dot == Some(0) {
            return Err(wrong("there is no measure before the figure"));
        }
        let known = ["count", "rate", "time_share", "mean", "p50", "p90", "p99", "p99.9", "max"];
        if !known.contains(&figure) && above_edge(figure).is_none() {
            return Err(wrong(
                "the figure is none of count, rate, time_share, mean, p50, p90, p99, p99.9, max, above_TIME",
            ));
        }
        let limit = limit_of(limit).ok_or_else(|| wrong("the limit is no number, percentage or time"))?;
        Ok(Self {
            text: text.to_owned(),
            measure: measure.to_owned(),
            figure: figure.to_owned(),
            above: text.as_bytes()[at] == b'>',
            limit,
        })
    }
}

/// `above_1ms` is 1,000,000 ns.
fn above_edge(figure: &str) -> Option<f64> {
    time(figure.strip_prefix("above_")?)
}

fn limit_of(text: &str) -> Option<Limit> {
    let signed = text.starts_with(['+', '-']);
    let negative = if text.starts_with('-') { -1.0 } else { 1.0 };
    let text = text.trim_start_matches(['+', '-']).trim();
    if let Some(percent) = text.strip_suffix('%') {
        let share = number(percent.trim())? / 100.0 * negative;
        return Some(if signed { Limit::Change(share) } else { Limit::Value(share) });
    }
    let amount = time(text)? * negative;
    Some(if signed { Limit::Difference(amount) } else { Limit::Value(amount) })
}

/// A time in ns, or a bare number.
fn time(text: &str) -> Option<f64> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("", 1.0)];
    let (digits, scale) = units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    Some(number(digits.trim())? * scale)
}

fn number(text: &str) -> Option<f64> {
    // parse() takes "inf" and "nan", too.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| plain)
}

impl Rule {
    /// Shares that the rule needs, ns: `--above` of its own.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time in ns")]
    pub fn above_ns(&self) -> Option<u64> {
        above_edge(&self.figure).map(|edge| edge as u64)
    }

    /// Holds the rule against what was measured.
    ///
    /// # Errors
    /// There is no such measure.
    pub(super) fn apply(&self, measures: &[Measure]) -> Result<RuleResult, RuleError> {
        let measure =
            measures.iter().find(|measure| self.means(measure, measures.len())).ok_or_else(|| {
                let known: Vec<&str> = measures.iter().map(|measure| measure.name.as_str()).collect();
                let name = if self.measure.is_empty() { "(no name)" } else { &self.measure };
                RuleError::Unknown { rule: self.text.clone(), name: name.to_owned(), known: known.join(", ") }
            })?;
        let found = self.figure_of(measure).and_then(|figure| self.number(&figure));
        // Where nothing happened nothing is too long.
        let nothing = measure.events[1] == 0 && self.above && matches!(self.limit, Limit::Value(_));
        let outcome = match found {
            None if nothing => RuleOutcome::Held,
            None => RuleOutcome::Undecided,
            Some(span) => self.hold(span),
        };
        let words = match (self.figure_of(measure), found) {
            (Some(figure), Some(span)) => self.words(figure.kind, span, measure),
            _ if measure.events[1] == 0 => "no events".to_owned(),
            _ => "no such figure".to_owned(),
        };
        Ok(RuleResult { rule: self.text.clone(), found, words, outcome })
    }

    /// Whether the rule is about `measure`. The only one needs no name, and a pair has both of its own.
    fn means(&self, measure: &Measure, measures: usize) -> bool {
        self.measure == measure.name
            || measures == 1
                && (self.measure.is_empty() || measure.name.split(" / ").any(|name| name == self.measure))
    }

    /// The figure that the rule is about. A share above a time without an edge near lies between the
    /// shares above the edges around it.
    fn figure_of(&self, measure: &Measure) -> Option<Figure> {
        let Some(asked) = above_edge(&self.figure) else {
            return measure.figures.iter().find(|figure| figure.kind.name() == self.figure).cloned();
        };
        let shares = || {
            measure.figures.iter().filter_map(|figure| match figure.kind {
                FigureKind::ShareAbove { edge } => Some((edge, figure)),
                _ => None,
            })
        };
        if let Some((_, figure)) = shares().find(|(edge, _)| is_near(*edge, asked)) {
            return Some(figure.clone());
        }
        let (_, below) = shares().rfind(|(edge, _)| *edge <= asked)?;
        let above = shares().find(|(edge, _)| *edge > asked).map(|(_, figure)| figure);
        let between = |pick: fn(&Figure) -> Option<Span>| {
            let low = above.map_or(Some(0.0), |figure| pick(figure).map(|span| span.low))?;
            Some(Span { low, high: pick(below)?.high })
        };
        let baseline = between(|figure| figure.baseline)?;
        let candidate = between(|figure| figure.candidate)?;
        let span = Span { low: candidate.low - baseline.high, high: candidate.high - baseline.low };
        let change = Some(super::Change { span, interval: None });
        let kind = FigureKind::ShareAbove { edge: asked };
        Some(Figure { kind, baseline: Some(baseline), candidate: Some(candidate), change })
    }

    fn number(&self, figure: &Figure) -> Option<Span> {
        match self.limit {
            Limit::Change(_) => figure.change.map(|change| change.span),
            Limit::Value(_) => figure.candidate,
            Limit::Difference(_) => {
                let (from, to) = (figure.baseline?, figure.candidate?);
                Some(Span { low: to.low - from.high, high: to.high - from.low })
            }
        }
    }

    fn words(&self, kind: FigureKind, found: Span, measure: &Measure) -> String {
        let value = |value: f64| match kind {
            FigureKind::Count => words::count(value),
            FigureKind::Rate => format!("{} /s", words::number(value, 4)),
            kind if kind.is_share() => words::percent(value),
            _ if value < 0.0 => format!("-{}", words::value(-value, &measure.quantity, 4)),
            _ => words::value(value, &measure.quantity, 4),
        };
        match self.limit {
            Limit::Change(_) if kind.is_share() => words::points(found),
            Limit::Change(_) => words::relative(found),
            _ if found.is_exact() => value(found.low),
            _ => format!("{} to {}", value(found.low), value(found.high)),
        }
    }

    fn hold(&self, found: Span) -> RuleOutcome {
        let (Limit::Change(limit) | Limit::Difference(limit) | Limit::Value(limit)) = self.limit;
        let beyond = |value: f64| if self.above { value > limit } else { value < limit };
        match (beyond(found.low), beyond(found.high)) {
            (true, true) => RuleOutcome::Broken,
            (false, false) => RuleOutcome::Held,
            _ => RuleOutcome::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        let rule: Rule = "irqs_off.p99.9>+10%".parse().unwrap();
        assert_eq!((rule.measure.as_str(), rule.figure.as_str()), ("irqs_off", "p99.9"));
        assert_eq!((rule.limit, rule.above), (Limit::Change(0.1), true));
        let rule: Rule = "load.accesses_per_second.mean < -5 %".parse().unwrap();
        assert_eq!(
            (rule.measure.as_str(), rule.limit, rule.above),
            ("load.accesses_per_second", Limit::Change(-0.05), false)
        );
        let rule: Rule = "p99.9>+10%".parse().unwrap();
        assert_eq!((rule.measure.as_str(), rule.figure.as_str()), ("", "p99.9"));
        assert_eq!("flush.max>50ms".parse::<Rule>().unwrap().limit, Limit::Value(5e7));
        assert_eq!("flush.p50>+1us".parse::<Rule>().unwrap().limit, Limit::Difference(1e3));
        assert_eq!("x.above_1ms>0.1%".parse::<Rule>().unwrap().above_ns(), Some(1_000_000));
    }

    #[test]
    fn what_is_no_rule_says_why() {
        for (text, why) in [
            ("irqs_off.p99", "no > or <"),
            ("irqs_off>1ms", "the figure is none of"),
            (".p99>1ms", "no measure"),
            ("irqs_off.p98>1ms", "the figure is none of"),
            ("irqs_off.p99>soon", "the limit is no number"),
            ("irqs_off.p99>inf", "the limit is no number"),
            ("irqs_off.p99>", "the limit is no number"),
        ] {
            let error = text.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("write it as"), "{text}: {error}");
        }
    }

    #[test]
    fn a_range_across_the_limit_decides_nothing() {
        let rule: Rule = "a.p50>+10%".parse().unwrap();
        assert_eq!(rule.hold(Span { low: 0.11, high: 0.2 }), RuleOutcome::Broken);
        assert_eq!(rule.hold(Span { low: -0.5, high: 0.1 }), RuleOutcome::Held);
        assert_eq!(rule.hold(Span { low: 0.0, high: 0.2 }), RuleOutcome::Undecided);
    }
}
