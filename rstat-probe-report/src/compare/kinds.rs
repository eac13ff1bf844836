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

/// The edges that shares above are shown of: the nearest to those asked for, and of the usual ones
/// those with an edge near and events above.
fn edges_above(pools: &[Pool<'_>; 2], options: &Options) -> Vec<f64> {
    let usual = options.above_ns.is_none();
    let asked = options.above_ns.as_deref().unwrap_or(&ABOVE_NS);
    let mut edges: Vec<f64> = Vec::new();
    for &threshold in asked {
        let Some(edge) = pools[0].nearest_edge(threshold as f64) else { continue };
        let near = (edge - threshold as f64).abs() <= threshold as f64 / 16.0;
        let any = pools.iter().any(|pool| pool.above(edge) > 0.0);
        if (!usual || near && any) && edges.last() != Some(&edge) {
            edges.push(edge);
        }
    }
    edges
}
