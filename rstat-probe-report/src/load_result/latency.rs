//! How long the accesses of a stat reader took.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::histogram::Bucket;
use crate::import::{ImportedBucket, ImportedHistogram, Unit};
use crate::render::hist::{BAR_WIDTH, write_hist};
use crate::units;

/// How long accesses took. All figures are 0 without accesses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// `ns`: of every figure here but the counts.
    pub unit: String,
    /// Accesses.
    pub count: u64,
    /// Shortest.
    pub min: u64,
    /// Longest.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Occupied powers of two, ascending: smallest value, first value above
    /// (`u64::MAX` for 2^64), accesses.
    pub log2: Vec<[u64; 3]>,
    /// The fullest of `log2`: smallest value, first value above. Present together with `mode_pairs`.
    pub mode_log2: Option<[u64; 2]>,
    /// The fullest bucket after joining powers of two in pairs, `[4^k, 4^(k+1))`.
    pub mode_pairs: Option<[u64; 2]>,
}

impl LatencySummary {
    /// The powers of two as a histogram in ns.
    #[must_use]
    pub fn histogram(&self) -> ImportedHistogram {
        let bucket = |&[low, high, count]: &[u64; 3]| ImportedBucket {
            low: Some(low as f64),
            // As in `write_text`: the last power of two has no end in 64 bits.
            high: (high < u64::MAX).then_some(high as f64),
            count,
        };
        ImportedHistogram {
            name: "latency".to_owned(),
            unit: Some(Unit::Ns),
            buckets: self.log2.iter().map(bucket).collect(),
            sum: (self.count > 0).then_some(self.mean * self.count as f64),
            ..ImportedHistogram::default()
        }
    }

    pub(super) fn write_text(&self, w: &mut impl Write) -> io::Result<()> {
        if self.count == 0 {
            return writeln!(w, "latency:    no accesses");
        }
        let [min, p50, p90, p99, p999, max] =
            [self.min, self.p50, self.p90, self.p99, self.p999, self.max].map(|ns| units::duration(ns, 3));
        let mean = units::duration_f64(self.mean, 3);
        writeln!(
            w,
            "latency:    min {min}, mean {mean}, p50 {p50}, p90 {p90}, p99 {p99}, p99.9 {p999}, max {max}"
        )?;
        if let (Some([low, high]), Some([pairs_low, pairs_high])) = (self.mode_log2, self.mode_pairs) {
            writeln!(
                w,
                "mode:       [{low}, {high}) ns; powers of two in pairs: [{pairs_low}, {pairs_high}) ns"
            )?;
        }
        writeln!(w, "\nlatency, ns")?;
        let buckets: Vec<Bucket> = self
            .log2
            .iter()
            // The last power of two has no end in 64 bits and is written as u64::MAX.
            .map(|&[low, high, count]| Bucket {
                low: Some(low),
                high: (high < u64::MAX).then_some(high),
                count,
            })
            .collect();
        write_hist(w, &with_gaps(&buckets), BAR_WIDTH, None)
    }
}

/// The buckets with the empty ones between them, as bpftrace shows them.
fn with_gaps(occupied: &[Bucket]) -> Vec<Bucket> {
    let mut all: Vec<Bucket> = Vec::new();
    for &bucket in occupied {
        while let Some(end) = all.last().and_then(|last| last.high)
            && bucket.low.is_some_and(|low| end < low)
        {
            all.push(Bucket { low: Some(end), high: end.max(1).checked_mul(2), count: 0 });
        }
        all.push(bucket);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_reach_the_ends_of_the_range() {
        let bucket = |low, high, count| Bucket { low: Some(low), high, count };
        let all = with_gaps(&[bucket(0, Some(1), 1), bucket(1 << 63, None, 2)]);
        assert_eq!(all.len(), 65);
        assert_eq!(all[1], bucket(1, Some(2), 0));
        assert_eq!(all[2], bucket(2, Some(4), 0));
        assert_eq!(all[63], bucket(1 << 62, Some(1 << 63), 0));
        assert!(with_gaps(&[]).is_empty());
    }
}
