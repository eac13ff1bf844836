//! Why recordings do not sum up.

use crate::metric::Metric;

/// Why something cannot be added to a fleet. `what` is the name given with it, usually a file name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    /// One has metrics that another lacks: a sum would be of different things.
    #[error("{what} lacks {}, which {other} has{}{}", names(missing, ", "), because(reason.as_deref()), remedy(common))]
    Metrics {
        /// What lacks some.
        what: String,
        /// The metrics.
        missing: Vec<Metric>,
        /// What has them.
        other: String,
        /// Why they are missing, when that is known.
        reason: Option<String>,
        /// The metrics that both have.
        common: Vec<Metric>,
    },
    /// It lacks metrics that were asked for.
    #[error("{what} lacks {}, which --only names{}", names(missing, ", "), because(reason.as_deref()))]
    Only {
        /// What lacks some.
        what: String,
        /// The metrics.
        missing: Vec<Metric>,
        /// Why they are missing, when that is known.
        reason: Option<String>,
    },
    /// A recording that is already in.
    #[error("{}", twice(what, other, host, started))]
    Twice {
        /// What was added last.
        what: String,
        /// What it was in before.
        other: String,
        /// Host of the recording.
        host: String,
        /// Its start.
        started: String,
    },
    /// A sum that does not fit.
    #[error("{what} cannot be added: {name} would be more than 2^64 - 1")]
    TooMany {
        /// What was added last.
        what: String,
        /// What overflows.
        name: &'static str,
    },
    /// Nothing was added.
    #[error("there is no recording to sum up")]
    Nothing,
}

fn names(metrics: &[Metric], separator: &str) -> String {
    metrics.iter().map(|metric| metric.name()).collect::<Vec<_>>().join(separator)
}

fn because(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!(" ({reason})"))
}

fn remedy(common: &[Metric]) -> String {
    if common.is_empty() {
        "; they have no metric in common".to_owned()
    } else {
        format!("; --only {} sums what both have", names(common, ","))
    }
}

fn twice(what: &str, other: &str, host: &str, started: &str) -> String {
    let which = format!("that of {host} started {started}");
    if what == other {
        format!("{what} is named twice, or holds one recording twice: {which}")
    } else {
        format!("{other} and {what} have the same recording: {which}")
    }
}
