//! All units of one side together, and the figures read from them, each as the span that the
//! buckets allow and as the best single estimate.

use super::Span;
use super::bins::{Bin, Unit};
use super::figure::FigureKind;

/// Events of one side. Counts are floats because resampling weighs them.
#[derive(Clone, Debug)]
pub(super) struct Pool<'a> {
    bins: &'a [Bin],
    pub(super) counts: Vec<f64>,
    pub(super) events: f64,
    pub(super) sum: Span,
    min: Option<f64>,
    pub(super) max: Option<Span>,
    pub(super) length_s: Option<f64>,
}

impl<'a> Pool<'a> {
    pub(super) fn new(bins: &'a [Bin]) -> Self {
        Self {
            bins,
            counts: vec![0.0; bins.len()],
            events: 0.0,
            sum: Span::exact(0.0),
            min: None,
            max: None,
            length_s: Some(0.0),
        }
    }

    pub(super) fn of(bins: &'a [Bin], units: &[Unit]) -> Self {
        let mut pool = Self::new(bins);
        for unit in units {
            pool.add(unit);
        }
        pool
    }

    pub(super) fn clear(&mut self) {
        self.counts.fill(0.0);
        self.events = 0.0;
        self.sum = Span::exact(0.0);
        (self.min, self.max, self.length_s) = (None, None, Some(0.0));
    }

    pub(super) fn add(&mut self, unit: &Unit) {
        for &(bin, count) in &unit.counts {
            self.counts[bin as usize] += count as f64;
        }
        self.add_sums(unit, 1.0);
    }

    /// Adds a unit so many times, given its counts in all bins.
    pub(super) fn add_row(&mut self, unit: &Unit, row: &[f64], times: u32) {
        let times = f64::from(times);
        for (sum, count) in self.counts.iter_mut().zip(row) {
            *sum += count * times;
        }
        self.add_sums(unit, times);
    }

    /// Adds a unit so many times, given the places of its bins.
    pub(super) fn add_sparse(&mut self, unit: &Unit, places: &[usize], times: u32) {
        let times = f64::from(times);
        for &(bin, count) in &unit.counts {
            self.counts[places[bin as usize]] += count as f64 * times;
        }
        self.add_sums(unit, times);
    }

    fn add_sums(&mut self, unit: &Unit, times: f64) {
        self.events += unit.events as f64 * times;
        self.sum.low += unit.sum.low * times;
        self.sum.high += unit.sum.high * times;
        self.min = self.min.into_iter().chain(unit.min).reduce(f64::min);
        self.max = self
            .max
            .into_iter()
            .chain(unit.max)
            .reduce(|a, b| Span { low: a.low.max(b.low), high: a.high.max(b.high) });
        self.length_s = self.length_s.zip(unit.length_s).map(|(sum, length)| sum + length * times);
    }

    /// The figure as the span that buckets and extremes allow; `None` when it cannot be told.
    pub(super) fn span(&self, kind: FigureKind) -> Option<Span> {
        let length = self.length_s.filter(|length| *length > 0.0);
        match kind {
            FigureKind::Count => Some(Span::exact(self.events)),
            FigureKind::Rate => length.map(|length| Span::exact(self.events / length)),
            FigureKind::TimeShare => length.map(|length| self.sum.map(|sum| sum / length / 1e9)),
            _ if self.events == 0.0 => None,
            FigureKind::Mean => Some(self.sum.map(|sum| sum / self.events)),
            FigureKind::Quantile { parts } => self.quantile(parts),
            FigureKind::Max => self.max,
            FigureKind::ShareAbove { edge } => Some(Span::exact(self.above(edge) / self.events)),
        }
    }

    /// The best single estimate: quantiles interpolated in their bucket, everything else as it is.
    /// Not finite when there is none.
    pub(super) fn estimate(&self, kind: FigureKind) -> f64 {
        match kind {
            FigureKind::Quantile { parts } => self.interpolated(parts),
            _ => self.span(kind).map_or(f64::NAN, Span::middle),
        }
    }

    /// Events of at least `edge`, which is the edge of a bin or lies in none that is occupied.
    pub(super) fn above(&self, edge: f64) -> f64 {
        let first = self.bins.partition_point(|bin| bin.low < edge);
        // An added zero, because the sum of nothing is -0.
        self.counts[first..].iter().sum::<f64>() + 0.0
    }

    /// The bucket in which the event of rank ceil(q n) lies, narrowed by the extremes; for exact
    /// values the quantile itself.
    fn quantile(&self, parts: u32) -> Option<Span> {
        if self.is_exact() {
            return Some(Span::exact(self.between_values(parts))).filter(|span| span.low.is_finite());
        }
        let rank = (q(parts) * self.events - 1e-9 * self.events.max(1.0)).ceil().max(1.0);
        let (bin, _) = self.find(rank)?;
        let Bin { low, high } = self.bins[bin];
        let low = low.max(self.min.unwrap_or(low));
        let high = self.max.map_or(high, |max| high.min(max.high.max(low)));
        Some(Span { low, high })
    }

    /// Whether quantiles may be interpolated: no wide bucket holds events, but for the overflow.
    pub(super) fn is_fine(&self) -> bool {
        let mut occupied = self.bins.iter().zip(&self.counts).filter(|(_, count)| **count > 0.0);
        occupied.all(|(bin, _)| bin.is_fine() || bin.high.is_infinite() && bin.low > 0.0)
    }

    /// The edge nearest to `threshold` by ratio; for exact values the threshold itself.
    pub(super) fn nearest_edge(&self, threshold: f64) -> Option<f64> {
        if self.is_exact() {
            return Some(threshold);
        }
        let far = |edge: f64| (edge / threshold).ln().abs();
        let edges = self.bins.iter().map(|bin| bin.low).filter(|edge| *edge > 0.0 && edge.is_finite());
        edges.min_by(|a, b| far(*a).total_cmp(&far(*b)))
    }

    /// The last edge below `threshold` and the first one above.
    pub(super) fn edges_around(&self, threshold: f64) -> impl Iterator<Item = f64> {
        let edges = || self.bins.iter().map(|bin| bin.low).filter(|edge| edge.is_finite());
        let below = edges().rfind(|edge| *edge <= threshold);
        below.into_iter().chain(edges().find(|edge| *edge > threshold))
    }

    fn is_exact(&self) -> bool {
        self.bins.first().is_some_and(|bin| bin.low == bin.high)
    }

    /// Hyndman & Fan's type 7 (the default of R and numpy), for values that are known exactly.
    fn between_values(&self, parts: u32) -> f64 {
        let position = q(parts) * (self.events - 1.0);
        let value = |rank: f64| self.find(rank).map_or(f64::NAN, |(bin, _)| self.bins[bin].low);
        let (low, fraction) = (value(position.floor() + 1.0), position.fract());
        if fraction == 0.0 { low } else { low + (value(position.floor() + 2.0) - low) * fraction }
    }

    fn interpolated(&self, parts: u32) -> f64 {
        if self.is_exact() {
            return self.between_values(parts);
        }
        let rank = q(parts) * self.events;
        let Some((bin, below)) = self.find(rank.max(f64::MIN_POSITIVE)) else { return f64::NAN };
        let Bin { low, high } = self.bins[bin];
        if high.is_infinite() {
            return low;
        }
        low + (high - low) * ((rank - below) / self.counts[bin]).clamp(0.0, 1.0)
    }

    /// The bin of the event of `rank`, from 1 on, and the events below that bin.
    fn find(&self, rank: f64) -> Option<(usize, f64)> {
        let (mut below, mut last) = (0.0, None);
        for (bin, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            if below + count >= rank {
                return Some((bin, below));
            }
            last = Some((bin, below));
            below += count;
        }
        last
    }

    /// Counts as whole numbers. They are sums of such.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of events")]
    pub(super) fn whole_counts(&self) -> Vec<u64> {
        self.counts.iter().map(|count| *count as u64).collect()
    }
}

/// A quantile as 0..=1.
fn q(parts: u32) -> f64 {
    f64::from(parts) / 10_000.0
}
