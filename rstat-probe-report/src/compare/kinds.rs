//! Which figures a measure has.

use super::Options;
use super::figure::FigureKind;
use super::pool::Pool;
use super::series::Quantity;

/// Shares above these are shown where an edge of both sides is near, ns.
const ABOVE_NS: [u64; 5] = [100_000, 1_000_000, 4_000_000, 10_000_000, 16_000_000];

/// The figures of a measure of `quantity` that these pools can give.
pub(super) fn kinds(quantity: &Quantity, pools: &[Pool<'_>; 2], options: &Options) -> Vec<FigureKind> {
    let time = *quantity == Quantity::Time;
    let timed = pools.iter().all(|pool| pool.length_s.is_some_and(|length| length > 0.0));
    let mut kinds = vec![FigureKind::Count];
    if timed {
        kinds.push(FigureKind::Rate);
        if time {
            kinds.push(FigureKind::TimeShare);
        }
    }
    kinds.push(FigureKind::Mean);
    // With fewer events a percentile is just the largest of them.
    let least = pools.iter().map(|pool| pool.events).fold(f64::INFINITY, f64::min);
    let quantiles = [(5_000, 2.0), (9_000, 10.0), (9_900, 100.0), (9_990, 1_000.0)];
    // All events in one bucket have no shape.
    let shape = pools.iter().any(|pool| pool.counts.iter().filter(|count| **count > 0.0).count() > 1)
        || pools.iter().all(Pool::is_fine);
    let known = quantiles.into_iter().filter(|(_, events)| shape && least >= *events);
    kinds.extend(known.map(|(parts, _)| FigureKind::Quantile { parts }));
    kinds.push(FigureKind::Max);
    if time && shape {
        kinds.extend(edges_above(pools, options).into_iter().map(|edge| FigureKind::ShareAbove { edge }));
    }
    kinds
}

/// The edges that shares above are shown of: one near each time asked for, or those around it where none
/// is near; and of the usual times those with an edge near and events above.
fn edges_above(pools: &[Pool<'_>; 2], options: &Options) -> Vec<f64> {
    let mut edges: Vec<f64> = Vec::new();
    let usual = if options.above_ns.is_empty() || options.keep_usual { &ABOVE_NS[..] } else { &[] };
    for &threshold in usual {
        let Some((edge, true)) = near_edge(pools, threshold as f64) else { continue };
        if pools.iter().any(|pool| pool.above(edge) > 0.0) {
            edges.push(edge);
        }
    }
    for &threshold in &options.above_ns {
        match near_edge(pools, threshold as f64) {
            Some((edge, true)) => edges.push(edge),
            _ => edges.extend(pools[0].edges_around(threshold as f64)),
        }
    }
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    edges
}

/// The edge nearest to `threshold`, and whether it is as good as that: not farther than a slot is wide.
fn near_edge(pools: &[Pool<'_>; 2], threshold: f64) -> Option<(f64, bool)> {
    let edge = pools[0].nearest_edge(threshold)?;
    Some((edge, is_near(edge, threshold)))
}

/// Whether shares above the two are taken for one.
pub(super) fn is_near(edge: f64, threshold: f64) -> bool {
    (edge - threshold).abs() <= threshold / 16.0
}
