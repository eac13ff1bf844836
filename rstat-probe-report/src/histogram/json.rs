//! The JSON of a histogram: sparse slots, and a sum that survives readers with 64-bit numbers.

use std::collections::BTreeMap;

use rstat_probe_common::slots::SLOTS;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Extremes, Histogram, HistogramError};
use crate::metric::Metric;

/// A histogram as it lies in a file. Unchecked: turn it into a [`Histogram`] to check it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistogramJson {
    /// Events, those in the overflow included.
    pub count: u64,
    /// Sum of all values, ns. A JSON number up to `u64::MAX`, above it a string of digits.
    #[serde(serialize_with = "write_sum", deserialize_with = "read_sum")]
    pub sum: u128,
    /// Smallest value, ns; null without events.
    pub min: Option<u64>,
    /// Largest value, ns; null without events.
    pub max: Option<u64>,
    /// Whether `min` was measured; otherwise it is a bound from below.
    pub min_exact: bool,
    /// Whether `max` was measured; otherwise it is a bound from above.
    pub max_exact: bool,
    /// Events of 2^38 ns or more.
    pub overflow: u64,
    /// Slot number and events, ascending, without empty slots.
    pub slots: Vec<(u64, u64)>,
}

impl From<Histogram> for HistogramJson {
    fn from(histogram: Histogram) -> Self {
        Self {
            count: histogram.count,
            sum: histogram.sum,
            min: histogram.min(),
            max: histogram.max(),
            min_exact: histogram.min_exact(),
            max_exact: histogram.max_exact(),
            overflow: histogram.overflow,
            slots: histogram.slots.iter().map(|&(slot, count)| (slot as u64, count)).collect(),
        }
    }
}

impl TryFrom<HistogramJson> for Histogram {
    type Error = HistogramError;

    fn try_from(json: HistogramJson) -> Result<Self, HistogramError> {
        let mut slots: Vec<(usize, u64)> = Vec::with_capacity(json.slots.len());
        for (number, count) in json.slots {
            let slot = usize::try_from(number)
                .ok()
                .filter(|&slot| slot < SLOTS && count > 0 && slots.last().is_none_or(|last| last.0 < slot))
                .ok_or(HistogramError::Slot { slot: number })?;
            slots.push((slot, count));
        }
        let extremes = match (json.min, json.max) {
            (Some(min), Some(max)) => {
                Some(Extremes { min, max, min_exact: json.min_exact, max_exact: json.max_exact })
            }
            (None, None) => None,
            (min, max) => return Err(HistogramError::Extremes { min, max }),
        };
        let histogram = Self::checked(slots, json.overflow, json.sum, extremes)?;
        if histogram.count != json.count {
            return Err(HistogramError::Count { stated: json.count, held: histogram.count });
        }
        Ok(histogram)
    }
}

/// A number as long as 64 bits hold it, then a string of digits: many readers have no more.
pub(crate) fn write_sum<S: Serializer>(sum: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    match u64::try_from(*sum) {
        Ok(small) => serializer.serialize_u64(small),
        Err(_) => serializer.serialize_str(&sum.to_string()),
    }
}

fn read_sum<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    struct Sum;
    impl serde::de::Visitor<'_> for Sum {
        type Value = u128;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a sum in ns: a whole number or a string of digits")
        }

        fn visit_u64<E: serde::de::Error>(self, sum: u64) -> Result<u128, E> {
            Ok(sum.into())
        }

        fn visit_str<E: serde::de::Error>(self, sum: &str) -> Result<u128, E> {
            // parse() alone would take a leading plus sign.
            if sum.bytes().all(|digit| digit.is_ascii_digit())
                && let Ok(sum) = sum.parse()
            {
                return Ok(sum);
            }
            Err(E::invalid_value(serde::de::Unexpected::Str(sum), &self))
        }
    }
    deserializer.deserialize_any(Sum)
}

/// Reads histograms by metric; the error of a faulty one names its metric.
pub(crate) fn metrics_from_json<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<Metric, Histogram>, D::Error> {
    BTreeMap::<Metric, HistogramJson>::deserialize(deserializer)?
        .into_iter()
        .map(|(metric, json)| match Histogram::try_from(json) {
            Ok(histogram) => Ok((metric, histogram)),
            Err(error) => Err(serde::de::Error::custom(format_args!("{metric}: {error}"))),
        })
        .collect()
}
