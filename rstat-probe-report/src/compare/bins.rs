//! Common buckets of both sides. An edge is common when no occupied bucket of either side lies
//! across it: then the events below and above it are known exactly on both sides, whatever the
//! widths of their own buckets.

use super::Span;
use super::part::{Counts, Part, Row, ends};
use rstat_probe_common::slots::SLOTS;

/// A bucket with more of the events of both sides hides what they are about.
const MOST_IN_ONE: f64 = 0.9;

/// A common bucket `[low, high)`; `low == high` is one exact value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bin {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Bin {
    /// Narrow enough for a value inside of it to be estimated by interpolation: not wider than a
    /// slot of ours, 1/16 of its lower edge, or one ns.
    pub(super) fn is_fine(self) -> bool {
        self.high - self.low <= (self.low / 16.0).max(1.0)
    }
}

/// Events of one resampling unit in common buckets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Unit {
    /// Bin number and events, ascending.
    pub(super) counts: Vec<(u32, u64)>,
    pub(super) events: u64,
    /// Sum of all values, as far as it is known.
    pub(super) sum: Span,
    pub(super) min: Option<f64>,
    pub(super) max: Option<Span>,
    pub(super) length_s: Option<f64>,
}

/// Both sides in common buckets.
#[derive(Clone, Debug)]
pub(super) struct Binned {
    pub(super) bins: Vec<Bin>,
    pub(super) baseline: Vec<Unit>,
    pub(super) candidate: Vec<Unit>,
    /// All events of each side, with extremes that intervals do not know so well.
    pub(super) wholes: [Unit; 2],
    /// The sides have buckets of different widths, and some were joined.
    pub(super) joined: bool,
}

/// Puts both sides, as units of one or more parts and as wholes of the same events, into common
/// buckets. `None` when these tell nothing: nearly all events of both sides in one of them,
/// although their own buckets are finer.
pub(super) fn common(units: &[Vec<Vec<&Part>>; 2], wholes: &[Vec<&Part>; 2]) -> Option<Binned> {
    let all = || units.iter().flatten().flatten().chain(wholes.iter().flatten()).copied();
    let (bins, joined) = if all().all(|part| matches!(part.counts, Counts::Slots(_))) {
        ((0..=SLOTS).map(ends).map(|(low, high)| Bin { low, high }).collect(), false)
    } else if all().all(|part| matches!(part.counts, Counts::Values(_))) {
        let values = occupied(all());
        (values.iter().map(|row| Bin { low: row.low, high: row.high }).collect(), false)
    } else {
        let bins = between(&usable_edges(all(), &occupied(all())));
        let rows = wholes.each_ref().map(|parts| occupied(parts.iter().copied()).len());
        let bins_of = wholes.each_ref().map(|parts| filled(parts.iter().copied(), &bins));
        if wholes.iter().all(|parts| fullest(parts, &bins) > MOST_IN_ONE && fullest_own(parts) < MOST_IN_ONE)
        {
            return None;
        }
        (bins, rows.iter().zip(bins_of).any(|(rows, bins)| *rows > bins))
    };
    let together = |parts: &Vec<&Part>| {
        let mut units = parts.iter().map(|part| unit(part, &bins));
        let first = units.next().unwrap_or_default();
        units.fold(first, |mut sum, unit| {
            sum.join(&unit);
            sum
        })
    };
    let [baseline, candidate] = units.each_ref().map(|side| side.iter().map(together).collect());
    let wholes = wholes.each_ref().map(together);
    Some(Binned { bins, baseline, candidate, wholes, joined })
}

/// Share of all events in the fullest bin.
fn fullest(parts: &[&Part], bins: &[Bin]) -> f64 {
    let mut counts = vec![0.0; bins.len()];
    for row in parts.iter().flat_map(|part| part.rows()) {
        counts[bin_of(&row, bins)] += row.count as f64;
    }
    counts.iter().copied().fold(0.0, f64::max) / counts.iter().sum::<f64>().max(1.0)
}

/// Share of all events in the fullest bucket of their own, whichever part has it.
fn fullest_own(parts: &[&Part]) -> f64 {
    let mut rows: Vec<Row> = parts.iter().flat_map(|part| part.rows()).collect();
    rows.sort_by(|a, b| a.low.total_cmp(&b.low).then(a.high.total_cmp(&b.high)));
    rows.dedup_by(|next, kept| {
        let same = next.low == kept.low && next.high == kept.high;
        if same {
            kept.count = kept.count.saturating_add(next.count);
        }
        same
    });
    let all: f64 = rows.iter().map(|row| row.count as f64).sum();
    rows.iter().map(|row| row.count as f64).fold(0.0, f64::max) / all.max(1.0)
}

/// Number of bins that hold an event.
fn filled<'a>(parts: impl Iterator<Item = &'a Part>, bins: &[Bin]) -> usize {
    occupied(parts).iter().map(|row| bin_of(row, bins)).collect::<std::collections::BTreeSet<_>>().len()
}

/// The occupied buckets of all parts, each once, ascending.
fn occupied<'a>(parts: impl Iterator<Item = &'a Part>) -> Vec<Row> {
    let mut rows: Vec<Row> = parts.flat_map(Part::rows).collect();
    rows.sort_by(|a, b| a.low.total_cmp(&b.low).then(a.high.total_cmp(&b.high)));
    rows.dedup_by(|a, b| a.low == b.low && a.high == b.high);
    rows
}

/// The edges of all parts that no row of `occupied` lies across, ascending, each once.
fn usable_edges<'a>(parts: impl Iterator<Item = &'a Part>, occupied: &[Row]) -> Vec<f64> {
    let mut edges = Vec::new();
    for part in parts {
        match &part.counts {
            Counts::Slots(_) => edges.extend((0..=SLOTS).map(|slot| ends(slot).0)),
            Counts::Rows(rows) => edges.extend(rows.iter().flat_map(|row| [row.low, row.high])),
            // Values have no edges of their own, they go into the other side's.
            Counts::Values(_) => {}
        }
    }
    edges.extend([f64::NEG_INFINITY, f64::INFINITY]);
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    // Rows ascend by their lower end: of those that begin below an edge, the one that reaches
    // farthest decides.
    let (mut next, mut reach) = (0, f64::NEG_INFINITY);
    edges.retain(|&edge| {
        while let Some(row) = occupied.get(next).filter(|row| row.low < edge) {
            reach = reach.max(row.high);
            next += 1;
        }
        reach <= edge
    });
    edges
}

fn between(edges: &[f64]) -> Vec<Bin> {
    edges.windows(2).map(|pair| Bin { low: pair[0], high: pair[1] }).collect()
}

/// The bin that holds all of `row`.
fn bin_of(row: &Row, bins: &[Bin]) -> usize {
    bins.partition_point(|bin| bin.low <= row.low).saturating_sub(1)
}

#[expect(clippy::cast_possible_truncation, reason = "bins are fewer than lines of a file")]
fn unit(part: &Part, bins: &[Bin]) -> Unit {
    let mut counts: Vec<(u32, u64)> = Vec::new();
    let (mut low, mut high) = (0.0, 0.0);
    for row in part.rows() {
        low += row.low * row.count as f64;
        high += row.high * row.count as f64;
        counts.push((bin_of(&row, bins) as u32, row.count));
    }
    add_up(&mut counts);
    let sum = part.sum.map_or(Span { low, high }, Span::exact);
    let events = part.events();
    Unit { counts, events, sum, min: part.min, max: part.max, length_s: part.length_s }
}

/// Sorts by bin and makes one entry of those of one bin.
fn add_up(counts: &mut Vec<(u32, u64)>) {
    counts.sort_unstable_by_key(|&(bin, _)| bin);
    counts.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
}

impl Unit {
    /// This unit and another as one, as the runs of a host are.
    pub(super) fn join(&mut self, other: &Self) {
        self.counts.extend(&other.counts);
        add_up(&mut self.counts);
        self.events += other.events;
        self.sum = Span { low: self.sum.low + other.sum.low, high: self.sum.high + other.sum.high };
        self.min = self.min.into_iter().chain(other.min).reduce(f64::min);
        self.max = self
            .max
            .into_iter()
            .chain(other.max)
            .reduce(|a, b| Span { low: a.low.max(b.low), high: a.high.max(b.high) });
        self.length_s = self.length_s.zip(other.length_s).map(|(a, b)| a + b);
    }
}
