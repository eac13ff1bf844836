//! Both histograms on one scale, in few enough rows to be looked at.

use serde::Serialize;

use super::bins::Bin;

/// More rows are joined by powers of two.
const MOST_ROWS: usize = 40;

/// So many bins have only slots of ours, which are shown as the powers of two that they make up.
const MOST_BINS: usize = 500;

/// Rows of plain values, at most.
const VALUE_ROWS: f64 = 12.0;
/// One more at each end, because edges are at round numbers, and the end of the last row.
const MOST_VALUE_ROWS: u8 = 15;

/// A bucket `[low, high)` of both histograms. Ends may be infinite (JSON null).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairBucket {
    /// Smallest value.
    pub low: f64,
    /// First value above.
    pub high: f64,
    /// Events of the baseline.
    pub baseline: u64,
    /// Events of the candidate.
    pub candidate: u64,
}

/// The rows from the first to the last with an event.
pub(super) fn pair_buckets(bins: &[Bin], counts: &[Vec<u64>; 2]) -> Vec<PairBucket> {
    let occupied = |bin: usize| counts.iter().any(|side| side[bin] > 0);
    let Some(first) = (0..bins.len()).find(|bin| occupied(*bin)) else { return Vec::new() };
    let last = (0..bins.len()).rfind(|bin| occupied(*bin)).unwrap_or(first);
    let range = first..=last;
    let rows = range.clone().map(|bin| (bins[bin], counts[0][bin], counts[1][bin]));
    let edges: Vec<f64> = if bins[first].low == bins[first].high {
        linear(bins[first].low, bins[last].low)
    } else if bins.len() > MOST_BINS || range.count() > MOST_ROWS {
        let power = |edge: f64| edge == 0.0 || edge.is_infinite() || edge > 0.0 && edge.log2().fract() == 0.0;
        let powers: Vec<f64> = bins.iter().map(|bin| bin.low).filter(|edge| power(*edge)).collect();
        let inner = powers.iter().filter(|edge| **edge > bins[first].low && **edge <= bins[last].low).count();
        // Where there are no powers of two, every so many are joined.
        let step = (last - first + 1).div_ceil(MOST_ROWS);
        if inner >= 2 { powers } else { bins[first..].iter().step_by(step).map(|bin| bin.low).collect() }
    } else {
        bins.iter().map(|bin| bin.low).collect()
    };
    let mut joined: Vec<PairBucket> = Vec::new();
    for (bin, baseline, candidate) in rows {
        let above = edges.partition_point(|edge| *edge <= bin.low);
        let low = edges[above.saturating_sub(1)];
        while joined.last().is_some_and(|row| row.high < low && row.high > row.low) {
            let begin = joined[joined.len() - 1].high;
            let next = edges.iter().copied().find(|edge| *edge > begin).unwrap_or(f64::INFINITY);
            joined.push(PairBucket { low: begin, high: next, baseline: 0, candidate: 0 });
        }
        match joined.last_mut() {
            Some(row) if row.low == low => {
                row.baseline += baseline;
                row.candidate += candidate;
            }
            _ => {
                let high =
                    edges.get(above).copied().unwrap_or_else(|| bins.last().map_or(low, |bin| bin.high));
                joined.push(PairBucket { low, high, baseline, candidate });
            }
        }
    }
    joined
}

/// Edges at round numbers that cut the range into few rows.
fn linear(low: f64, high: f64) -> Vec<f64> {
    let width = (high - low) / VALUE_ROWS;
    if width <= 0.0 || !width.is_finite() {
        return vec![low, low + low.abs().max(1.0)];
    }
    let decade = 10_f64.powf(width.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * decade).find(|step| *step >= width).unwrap_or(width);
    let first = (low / step).floor();
    // Bounded by the count as well: far from 0 a step may be too small to be added.
    (0..MOST_VALUE_ROWS)
        .map(|n| (first + f64::from(n)) * step)
        .take_while(|edge| *edge <= high + step)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_join_slots_and_gaps_are_shown() {
        let bins: Vec<Bin> = (0..200).map(|n| Bin { low: f64::from(n), high: f64::from(n + 1) }).collect();
        let mut counts = [vec![0; 200], vec![0; 200]];
        counts[0][3] = 1;
        counts[1][65] = 2;
        counts[1][66] = 3;
        let rows = pair_buckets(&bins, &counts);
        let row = |low, high, baseline, candidate| PairBucket { low, high, baseline, candidate };
        assert_eq!(rows[0], row(2.0, 4.0, 1, 0));
        assert_eq!(rows[1], row(4.0, 8.0, 0, 0));
        assert_eq!(rows[5], row(64.0, 128.0, 0, 5));
        assert_eq!(rows.len(), 6);
    }

    #[test]
    fn values_get_round_edges() {
        let bins: Vec<Bin> = [29_518.0, 41_000.0, 72_642.0].map(|v| Bin { low: v, high: v }).to_vec();
        let rows = pair_buckets(&bins, &[vec![1, 0, 1], vec![0, 1, 0]]);
        assert_eq!((rows[0].low, rows[0].high), (25_000.0, 30_000.0));
        assert_eq!(rows.iter().map(|row| row.baseline + row.candidate).sum::<u64>(), 3);
        assert_eq!(rows.last().unwrap().low, 70_000.0);
        assert!(rows.windows(2).all(|pair| pair[0].high == pair[1].low));
        assert_eq!(linear(5.0, 5.0), [5.0, 10.0]);
        assert!(linear(1e300, 1e300_f64.next_up()).len() <= 15);
        assert!(pair_buckets(&[], &[vec![], vec![]]).is_empty());
    }
}
