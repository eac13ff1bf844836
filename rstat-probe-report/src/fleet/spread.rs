//! How far apart the units are in each metric, and which one is farthest from the others: averages
//! over hosts hide the one host that is ill.

use serde::{Deserialize, Serialize};

use super::FleetUnit;
use crate::histogram::Histogram;
use crate::metric::Metric;
use crate::stats::quantile::quantile;

/// Fewer units have no middle to be far from.
pub const MIN_UNITS: u64 = 3;

/// With fewer events the 99th percentile is the largest one.
pub const MIN_EVENTS: u64 = 100;

/// Modified z-score above which Iglewicz & Hoaglin call a value an outlier.
pub const OUTLIER_SCORE: f64 = 3.5;

/// Makes the median absolute deviation of normal values their standard deviation, as Iglewicz &
/// Hoaglin give it.
const NORMAL_MAD: f64 = 0.6745;

/// Relative width of a slot, and the smallest deviation that scores are by. When most units are in
/// one slot the median deviation is 0; one in the next slot would then be infinitely far away, and
/// yet it may be a nanosecond away. For three units of which two are alike it is the same.
const RESOLUTION: f64 = 0.0625;

/// The same where the median is near 0: a millionth of one CPU.
const LEAST_SHARE: f64 = 1e-6;

/// The figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Upper end of the 99th percentile, ns; scored by its logarithm, since times spread by factors.
    P99,
    /// Sum of all times by the time measured: 1 is one CPU.
    TimeShare,
}

impl Statistic {
    /// Every statistic, in the order in which they are shown.
    pub const ALL: &'static [Self] = &[Self::P99, Self::TimeShare];

    /// A word or two for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::P99 => "p99",
            Self::TimeShare => "time share",
        }
    }

    /// The figure of one unit. `None` when it says nothing.
    fn value(self, histogram: &Histogram, duration_ns: u64) -> Option<f64> {
        match self {
            Self::P99 if histogram.count() < MIN_EVENTS => None,
            Self::P99 => histogram.quantile(0.99).map(|range| range.high as f64),
            Self::TimeShare => (duration_ns > 0).then(|| histogram.sum() as f64 / duration_ns as f64),
        }
    }

    /// What the score is computed of. A time below 1 ns counts as 1 ns.
    fn scale(self, value: f64) -> f64 {
        match self {
            Self::P99 => value.max(1.0).ln(),
            Self::TimeShare => value,
        }
    }

    /// The smallest deviation that means something, on that scale.
    fn resolution(self, median: f64) -> f64 {
        match self {
            Self::P99 => RESOLUTION.ln_1p(),
            Self::TimeShare => (median * RESOLUTION).max(LEAST_SHARE),
        }
    }

    /// The middle of `sorted`: of an even number, the mean of the middle two as they are scored.
    fn median(self, sorted: &[f64]) -> f64 {
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        match self {
            _ if low >= high => low,
            // Not the square root of the product, which is larger than times are exact in.
            Self::P99 => low.sqrt() * high.sqrt(),
            Self::TimeShare => f64::midpoint(low, high),
        }
    }
}

/// How the units differ in one figure of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The metric.
    pub metric: Metric,
    /// The figure.
    pub statistic: Statistic,
    /// Units with a figure.
    pub compared: u64,
    /// Units without: for a percentile those with fewer than [`MIN_EVENTS`] events.
    pub left_out: u64,
    /// The unit farthest from the median. `None` with fewer than [`MIN_UNITS`] compared.
    pub farthest: Option<Farthest>,
}

/// The unit that is farthest from the median of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Farthest {
    /// Its host.
    pub host: String,
    /// Its start, which tells the runs of one host apart.
    pub started: String,
    /// Its figure: ns, or a share of one CPU.
    pub value: f64,
    /// The median of the figures that were compared.
    pub median: f64,
    /// Modified z-score of Iglewicz & Hoaglin, with a median deviation of at least one slot (6.25 %),
    /// to three decimals; negative below the median.
    pub score: f64,
    /// Whether the score is more than [`OUTLIER_SCORE`] in size. Above the median it takes
    /// [`MIN_EVENTS`] events, too.
    pub outlier: bool,
}

/// The spread of each of `metrics`.
pub(super) fn of_units(metrics: &[Metric], units: &[FleetUnit]) -> Vec<Spread> {
    let pairs = metrics.iter().flat_map(|&metric| Statistic::ALL.iter().map(move |&figure| (metric, figure)));
    pairs.map(|(metric, statistic)| spread(metric, statistic, units)).collect()
}

fn spread(metric: Metric, statistic: Statistic, units: &[FleetUnit]) -> Spread {
    let (mut compared, mut values) = (Vec::new(), Vec::new());
    for unit in units {
        let value = |histogram| statistic.value(histogram, unit.duration_ns);
        if let Some(value) = unit.totals.metrics.get(&metric).and_then(value) {
            compared.push(unit);
            values.push(value);
        }
    }
    let enough = compared.len() as u64 >= MIN_UNITS;
    Spread {
        metric,
        statistic,
        compared: compared.len() as u64,
        left_out: (units.len() - compared.len()) as u64,
        farthest: if enough { farthest(metric, statistic, &compared, &values) } else { None },
    }
}

/// The one with the largest score in size; of equals the larger value, then the first of `units`.
fn farthest(metric: Metric, statistic: Statistic, units: &[&FleetUnit], values: &[f64]) -> Option<Farthest> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = statistic.median(&sorted);
    let scores = scores(statistic, median, values)?;
    let (unit, &value, score) = units
        .iter()
        .zip(values)
        .zip(scores)
        .map(|((unit, value), score)| (unit, value, score))
        // The last of equals is taken, so the order is turned round.
        .rev()
        .max_by(|a, b| a.2.abs().total_cmp(&b.2.abs()).then(a.1.total_cmp(b.1)))?;
    let sure = value < median || unit.totals.metrics[&metric].count() >= MIN_EVENTS;
    Some(Farthest {
        host: unit.host.clone(),
        started: unit.started.clone(),
        value,
        median,
        score,
        outlier: score.abs() > OUTLIER_SCORE && sure,
    })
}

/// The score of each value. Rounded, because logarithms differ in their last bits from machine to
/// machine.
fn scores(statistic: Statistic, median: f64, values: &[f64]) -> Option<Vec<f64>> {
    let middle = statistic.scale(median);
    let deviations: Vec<f64> = values.iter().map(|&value| statistic.scale(value) - middle).collect();
    let mut sizes: Vec<f64> = deviations.iter().map(|deviation| deviation.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let typical = quantile(&sizes, 0.5)?.max(statistic.resolution(median)) / NORMAL_MAD;
    // Adding 0 makes 0 of -0.
    Some(deviations.iter().map(|deviation| (deviation / typical * 1e3).round() / 1e3 + 0.0).collect())
}
