//! The result of `rstat-probe load`, as a file, inside a recording, and as text.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::histogram::Bucket;
use crate::import::{ImportedBucket, ImportedHistogram, Unit};
use crate::recording::EndedBy;
use crate::render::hist::{BAR_WIDTH, write_hist};
use crate::render::text::escaped;
use crate::units;

/// What `schema` says in the load results that this crate writes.
pub const SCHEMA: &str = "rstat-probe/load-result/1";

/// What [`SCHEMA`] begins with in every version.
pub(crate) const SCHEMA_FAMILY: &str = "rstat-probe/load-result/";

/// What a load did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Which load, as `stat-reader`.
    pub kind: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Length, ns.
    pub duration_ns: u64,
    /// Threads that made accesses.
    pub threads: u32,
    /// 1 or 2.
    pub cgroup_version: u8,
    /// Path of the cgroup, empty when a file was named instead.
    pub cgroup: String,
    /// Path of the file that was read.
    pub file: String,
    /// Reads of the whole file, by all threads.
    pub accesses: u64,
    /// Accesses by second.
    pub accesses_per_second: f64,
    /// Accesses that failed; they are not among `accesses`.
    pub errors: u64,
    /// How long the accesses took.
    pub latency: LatencySummary,
    /// Times that statistics were made dirty, so that a read has something to flush.
    pub dirtied: u64,
    /// Why it ended.
    pub ended_by: EndedBy,
}

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

impl LoadResult {
    /// What two runs of the same load have in common, for comparing them: kind, threads, and the
    /// name of the file without the cgroup's, which is different each time.
    #[must_use]
    pub fn identity(&self) -> String {
        let file = self.file.rsplit('/').next().unwrap_or_default();
        let threads = units::counted(self.threads.into(), "thread", "threads");
        format!("{} of {file} (cgroup v{}), {threads}", self.kind, self.cgroup_version)
    }

    /// The result in one line of free text, everything from outside escaped.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut text = format!(
            "{}: {} made {} to {} ({}), {} failed",
            escaped(&self.kind),
            units::counted(self.threads.into(), "thread", "threads"),
            units::counted(self.accesses, "access", "accesses"),
            escaped(&self.file),
            units::rate(self.accesses_per_second),
            units::count(self.errors)
        );
        if self.latency.count > 0 {
            let latency = &self.latency;
            let _ = write!(
                text,
                "; latency p50 {}, p99 {}, max {}",
                units::duration(latency.p50, 3),
                units::duration(latency.p99, 3),
                units::duration(latency.max, 3)
            );
        }
        if let Some([low, high]) = self.latency.mode_pairs {
            let _ = write!(text, ", mode [{low}, {high}) ns");
        }
        text
    }

    /// Writes the result for people to read.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_text(&self, w: &mut impl Write) -> io::Result<()> {
        let ended = match &self.ended_by {
            EndedBy::Duration => "the time was over".to_owned(),
            EndedBy::Signal { name } => escaped(name),
            EndedBy::Command => "the command ended".to_owned(),
            EndedBy::StdoutClosed => "nobody reads the output".to_owned(),
            EndedBy::Error { message } => format!("error: {}", escaped(message)),
        };
        let cgroup = if self.cgroup.is_empty() {
            format!("v{}", self.cgroup_version)
        } else {
            format!("{} (v{})", escaped(&self.cgroup), self.cgroup_version)
        };
        writeln!(
            w,
            "load:       {}, {}",
            escaped(&self.kind),
            units::counted(self.threads.into(), "thread", "threads")
        )?;
        writeln!(w, "file:       {}", escaped(&self.file))?;
        writeln!(w, "cgroup:     {cgroup}, made dirty {}", units::counted(self.dirtied, "time", "times"))?;
        writeln!(w, "ran for:    {} from {}", units::duration(self.duration_ns, 4), escaped(&self.started))?;
        writeln!(w, "ended by:   {ended}")?;
        writeln!(
            w,
            "accesses:   {} ({}), {} failed",
            units::count(self.accesses),
            units::rate(self.accesses_per_second),
            units::count(self.errors)
        )?;
        self.latency.write_text(w)
    }
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

    fn write_text(&self, w: &mut impl Write) -> io::Result<()> {
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

    fn sample() -> LoadResult {
        LoadResult {
            schema: SCHEMA.to_owned(),
            kind: "stat-reader".to_owned(),
            started: "2026-01-02T03:04:05Z".to_owned(),
            duration_ns: 10_000_123_456,
            threads: 2,
            cgroup_version: 2,
            cgroup: "rstat-probe-load.\x1b[7m".to_owned(),
            file: "/sys/fs/cgroup/rstat-probe-load/memory.stat".to_owned(),
            accesses: 8,
            accesses_per_second: 0.8,
            errors: 0,
            latency: LatencySummary {
                unit: "ns".to_owned(),
                count: 8,
                min: 5_000,
                max: 70_000,
                mean: 16_250.5,
                p50: 9_000,
                p90: 70_000,
                p99: 70_000,
                p999: 70_000,
                log2: vec![[4096, 8192, 2], [8192, 16384, 5], [65536, 131_072, 1]],
                mode_log2: Some([8192, 16384]),
                mode_pairs: Some([4096, 16384]),
            },
            dirtied: 1_000,
            ended_by: EndedBy::Signal { name: "SIGINT".to_owned() },
        }
    }

    fn text(result: &LoadResult) -> String {
        let mut text = Vec::new();
        result.write_text(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn text_for_people() {
        insta::assert_snapshot!(text(&sample()));
        insta::assert_snapshot!(sample().sentence());
    }

    #[test]
    fn no_accesses_have_no_latency() {
        let mut result = sample();
        result.latency = LatencySummary {
            unit: "ns".to_owned(),
            count: 0,
            min: 0,
            max: 0,
            mean: 0.0,
            p50: 0,
            p90: 0,
            p99: 0,
            p999: 0,
            log2: Vec::new(),
            mode_log2: None,
            mode_pairs: None,
        };
        result.accesses = 0;
        assert!(text(&result).ends_with("latency:    no accesses\n"));
        assert!(result.sentence().ends_with("0 failed"));
    }

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

    #[test]
    fn json_round_trip() {
        let json = serde_json::to_string(&sample()).unwrap();
        assert_eq!(serde_json::from_str::<LoadResult>(&json).unwrap(), sample());
    }
}
