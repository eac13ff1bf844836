//! What two histograms show where nothing can be tested.

use super::figure::FigureKind;
use super::pool::Pool;
use super::verdict::{Direction, Evidence, Verdict, outcome, quantile};
use super::words;
use crate::stats::rank::probability_greater_binned;

impl Evidence<'_> {
    /// What two bare histograms show: where along the axis the candidate has the smaller share
    /// above, and where the larger.
    pub(super) fn described(&self) -> Verdict {
        let counts = self.pools.map(Pool::whole_counts);
        let greater = probability_greater_binned(&counts[0], &counts[1]).unwrap_or(0.5);
        if self.pools.iter().all(|pool| pool.counts.iter().filter(|count| **count > 0.0).count() == 1) {
            return self.described_without_shape();
        }
        let body = if (greater - 0.5).abs() < 0.01 { Direction::Same } else { self.direction(greater - 0.5) };
        let tail = self.opposite_tail(body);
        let mut said = Vec::new();
        if body != Direction::Same {
            said.push(format!("body {} ({})", body.word(), self.body_words(quantile(50))));
        }
        let mut parts = vec![body];
        if let Some((edge, direction)) = tail {
            parts.push(direction);
            let [before, after] = self.pools.map(|pool| words::count(pool.above(edge)));
            let shares = self.pools.map(|pool| words::percent(pool.above(edge) / pool.events.max(1.0)));
            said.push(format!(
                "tail from {} on {} ({before} -> {after} events, {} -> {})",
                words::edge(edge, self.quantity),
                direction.word(),
                shares[0],
                shares[1]
            ));
        }
        if said.is_empty() {
            said.push("neither body nor tail differ".to_owned());
        }
        Verdict { outcome: outcome(&parts), unreplicated: true, reason: said.join("; ") }
    }

    /// What mean and maximum show where there is no more: tables of callers, single values.
    fn described_without_shape(&self) -> Verdict {
        let mut parts = Vec::new();
        let mut said = Vec::new();
        for (kind, name) in [(FigureKind::Mean, "mean"), (FigureKind::Max, "maximum")] {
            let Some(change) = self.figure(kind).and_then(|figure| figure.change) else { continue };
            let sure = change.span.low > 0.0 || change.span.high < 0.0;
            let counts = sure && self.change(kind).abs() >= self.least_change;
            let direction = if counts { self.direction(self.change(kind)) } else { Direction::Same };
            parts.push(direction);
            said.push(format!("{name} {} ({})", direction.word(), words::relative(change.span)));
            // Of a single value the two are one.
            if self.pools.iter().all(|pool| pool.events <= 1.0) {
                break;
            }
        }
        Verdict { outcome: outcome(&parts), unreplicated: true, reason: said.join("; ") }
    }

    /// The lowest edge from which on all shares above moved against the body.
    fn opposite_tail(&self, body: Direction) -> Option<(f64, Direction)> {
        // Fewer events are no share.
        const LEAST_EVENTS: f64 = 10.0;
        let mut found = None;
        for bin in self.binned.bins.iter().rev().filter(|bin| bin.low.is_finite()) {
            let above = self.pools.map(|pool| pool.above(bin.low));
            if above[0].max(above[1]) < LEAST_EVENTS {
                continue;
            }
            let [before, after] = [0, 1].map(|side| above[side] / self.pools[side].events.max(1.0));
            // Twice the error of counts that were independent, which is the least that they are off by.
            let error = 2.0
                * [0, 1]
                    .map(|side| above[side] / self.pools[side].events.max(1.0).powi(2))
                    .iter()
                    .sum::<f64>()
                    .sqrt();
            if found.is_none() && (after - before).abs() <= error {
                continue;
            }
            let counts = (after - before).abs() >= self.least_change * before.max(after);
            let direction = if counts { self.direction(after - before) } else { Direction::Same };
            match found {
                None if direction != Direction::Same && direction != body => {
                    found = Some((bin.low, direction));
                }
                Some((_, tail)) if direction == tail => found = Some((bin.low, direction)),
                _ => break,
            }
        }
        // All of it above the smallest value is no tail.
        found.filter(|(edge, _)| self.pools.iter().any(|pool| pool.above(*edge) < pool.events / 2.0))
    }
}
