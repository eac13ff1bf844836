//! Latencies of one reader thread, and what they come to when all threads are joined.

use std::time::Duration;

use anyhow::Context;
use hdrhistogram::Histogram;
use rstat_probe_report::load_result::LatencySummary;

/// Longest latency the histogram resolves, in ns; longer ones count as this.
const HOUR_NS: u64 = 3_600_000_000_000;
/// Above this many threads a histogram keeps two digits instead of three: 34 KB each instead of 270 KB.
const MANY_THREADS: u32 = 1000;

/// Latencies in ns: a histogram for the quantiles, and exact counts per power of two.
#[derive(Debug)]
pub(crate) struct Latencies {
    histogram: Histogram<u64>,
    /// Entry `k` counts latencies in `[2^k, 2^(k+1))` ns.
    log2: [u64; 64],
    sum: u64,
    min: u64,
    max: u64,
}

impl Latencies {
    /// An empty set for one of `threads` threads. All memory it will ever need is taken here.
    pub(crate) fn new(threads: u32) -> anyhow::Result<Self> {
        let digits = if threads > MANY_THREADS { 2 } else { 3 };
        let histogram =
            Histogram::new_with_bounds(1, HOUR_NS, digits).context("cannot make a latency histogram")?;
        Ok(Self { histogram, log2: [0; 64], sum: 0, min: u64::MAX, max: 0 })
    }

    /// Counts one latency. Zero, which a coarse clock can show, counts as 1 ns.
    pub(crate) fn record(&mut self, latency: Duration) {
        let ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.histogram.saturating_record(ns);
        self.log2[ns.ilog2() as usize] += 1;
        self.sum = self.sum.saturating_add(ns);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Adds another thread's latencies.
    pub(crate) fn merge(&mut self, other: &Self) -> anyhow::Result<()> {
        self.histogram.add(&other.histogram).context("cannot join the latency histograms")?;
        for (mine, theirs) in self.log2.iter_mut().zip(other.log2) {
            *mine += theirs;
        }
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        Ok(())
    }

    /// How many latencies were recorded.
    pub(crate) fn count(&self) -> u64 {
        self.log2.iter().sum()
    }

    /// The figures for the result. Min, max, mean and the powers of two are exact; quantiles are the upper end of
    /// their histogram bucket.
    pub(crate) fn summary(&self) -> LatencySummary {
        let count = self.count();
        let quantile = |q| if count == 0 { 0 } else { self.histogram.value_at_quantile(q).min(self.max) };
        LatencySummary {
            unit: "ns".to_owned(),
            count,
            min: if count == 0 { 0 } else { self.min },
            max: self.max,
            mean: if count == 0 { 0.0 } else { self.sum as f64 / count as f64 },
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            log2: buckets(&self.log2, 1),
            mode_log2: mode(&buckets(&self.log2, 1)),
            mode_pairs: mode(&buckets(&self.log2, 2)),
        }
    }
}

/// Non-empty `[low, high, count]` buckets with `width` neighbouring powers of two joined.
fn buckets(log2: &[u64; 64], width: u32) -> Vec<[u64; 3]> {
    let mut low = 0;
    let mut joined = Vec::new();
    for counts in log2.chunks(width as usize) {
        let count = counts.iter().sum();
        if count > 0 {
            let high = 1_u64.checked_shl(low + width).unwrap_or(u64::MAX);
            joined.push([1 << low, high, count]);
        }
        low += width;
    }
    joined
}

/// Bounds of the fullest bucket, the lowest of equally full ones.
fn mode(buckets: &[[u64; 3]]) -> Option<[u64; 2]> {
    let fullest = buckets.iter().map(|&[_, _, count]| count).max()?;
    buckets.iter().find(|bucket| bucket[2] == fullest).map(|&[low, high, _]| [low, high])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::new(1).unwrap();
        for &ns in values {
            latencies.record(Duration::from_nanos(ns));
        }
        latencies
    }

    #[test]
    fn every_edge_of_a_power_of_two_falls_on_its_side() {
        for k in 1..62 {
            let edge = 1_u64 << k;
            let summary = recorded(&[edge - 1, edge, edge + 1]).summary();
            let last = *summary.log2.last().unwrap();
            assert_eq!(last, [edge, edge * 2, 2], "2^{k}");
            assert_eq!(summary.log2.iter().map(|bucket| bucket[2]).sum::<u64>(), 3);
            assert_eq!((summary.min, summary.max), (edge - 1, edge + 1));
        }
    }

    #[test]
    fn the_mode_in_pairs_joins_neighbours_from_powers_of_four() {
        // [4, 8) alone is the fullest, but [16, 32) and [32, 64) together are fuller.
        let summary = recorded(&[5, 5, 5, 17, 18, 33, 34]).summary();
        assert_eq!(summary.mode_log2, Some([4, 8]));
        assert_eq!(summary.mode_pairs, Some([16, 64]));
        // 8..16 belongs to [4, 16), not to [8, 32).
        assert_eq!(recorded(&[8, 9, 16]).summary().mode_pairs, Some([4, 16]));
        assert_eq!(recorded(&[1, 3]).summary().mode_pairs, Some([1, 4]));
    }

    #[test]
    fn equally_full_buckets_give_the_lowest_and_none_gives_none() {
        assert_eq!(recorded(&[2, 1000]).summary().mode_log2, Some([2, 4]));
        let nothing = recorded(&[]).summary();
        assert_eq!((nothing.count, nothing.min, nothing.max, nothing.p99), (0, 0, 0, 0));
        assert_eq!((nothing.mode_log2, nothing.mode_pairs), (None, None));
        assert!(nothing.log2.is_empty());
    }

    #[test]
    fn extreme_latencies_are_counted_and_saturate() {
        let mut latencies = recorded(&[0, u64::MAX]);
        latencies.record(Duration::MAX);
        let summary = latencies.summary();
        assert_eq!(summary.log2, vec![[1, 2, 1], [1 << 63, u64::MAX, 2]]);
        assert_eq!((summary.count, summary.max), (3, u64::MAX));
        assert_eq!(summary.mode_pairs, Some([1 << 62, u64::MAX]));
    }

    #[test]
    fn joining_threads_equals_recording_in_one() {
        let (left, right) = ([3, 700, 64_000], [1, 900, 5_000_000]);
        let mut joined = recorded(&left);
        joined.merge(&recorded(&right)).unwrap();
        let all = [left, right].concat();
        let (joined, all) = (joined.summary(), recorded(&all).summary());
        assert_eq!((joined.log2, joined.p50, joined.p999), (all.log2, all.p50, all.p999));
        assert_eq!((joined.min, joined.max, joined.count), (1, 5_000_000, 6));
        assert!((joined.mean - all.mean).abs() < 1e-9);
    }
}
