//! The tables of the units: the worst of them, and how far apart they are.

use std::cmp::Reverse;
use std::io::{self, Write};

use crate::fleet::{
    Farthest, Fleet, FleetUnit, MIN_EVENTS, MIN_UNITS, OUTLIER_SCORE, Spread, Statistic, UnitKind,
};
use crate::metric::Metric;
use crate::render::text::layout::{Page, escaped, write_columns};
use crate::render::text::summary::{bounded_max, quantile, time_share};
use crate::units;

/// Units that are shown.
const SHOWN: usize = 10;

/// Writes the units with the largest p99 of the first metric: that which hurts others, where it is
/// measured.
pub(super) fn write_units(w: &mut impl Write, fleet: &Fleet, page: Page) -> io::Result<()> {
    let (one, many) = fleet.unit.nouns();
    let Some(&metric) = fleet.totals.metrics.keys().next() else { return Ok(()) };
    let mut order: Vec<&FleetUnit> = fleet.units.iter().collect();
    order.sort_by_cached_key(|unit| Reverse(p99(unit, metric)));
    let heading = [one, "recordings", "measured", "events", "p99", "max", "time share"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(order.iter().take(SHOWN).map(|unit| row(fleet, unit, metric)));
    page.write_fact(w, many, &format!("by p99 of {metric}, the longest first"))?;
    write_columns(w, &rows)?;
    match order.len().checked_sub(SHOWN) {
        Some(more @ 1..) => writeln!(w, "... and {} more", units::count(more as u64)),
        _ => Ok(()),
    }
}

fn p99(unit: &FleetUnit, metric: Metric) -> Option<u64> {
    Some(unit.totals.metrics.get(&metric)?.quantile(0.99)?.high)
}

fn row(fleet: &Fleet, unit: &FleetUnit, metric: Metric) -> Vec<String> {
    let mut row = vec![
        escaped(fleet.unit_name(unit)),
        units::count(unit.recordings),
        units::duration(unit.duration_ns, 3),
    ];
    match unit.totals.metrics.get(&metric) {
        Some(histogram) if !histogram.is_empty() => row.extend([
            units::count(histogram.count()),
            quantile(histogram, 0.99),
            bounded_max(histogram, |max| units::duration(max, 3)),
            time_share(histogram, unit.duration_ns),
        ]),
        _ => row.push("0".to_owned()),
    }
    row
}

/// Writes for each metric which unit is farthest from the others, and which metrics could not be
/// compared.
pub(super) fn write_spread(w: &mut impl Write, fleet: &Fleet, page: Page) -> io::Result<()> {
    let (one, many) = fleet.unit.nouns();
    if (fleet.units.len() as u64) < MIN_UNITS {
        let text = format!("not looked for: there are {}, and it takes {MIN_UNITS}", counted(fleet));
        return page.write_fact(w, "outliers", &text);
    }
    let heading = ["metric", "figure", "farthest", "value", "median", "score", "outlier"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for spread in &fleet.outliers {
        if let Some(farthest) = &spread.farthest {
            rows.push(spread_row(fleet, spread, farthest));
        }
    }
    if rows.len() > 1 {
        write_columns(w, &rows)?;
    }
    let text = format!(
        "{}; the score is the modified z-score of Iglewicz and Hoaglin over the {many}, by a deviation of at \
         least one bucket (6.25 %), and that of an outlier is beyond {OUTLIER_SCORE}",
        names(fleet)
    );
    page.write_fact(w, "outliers", &text)?;
    for spread in fleet.outliers.iter().filter(|spread| spread.left_out > 0) {
        let why = match spread.statistic {
            Statistic::P99 => format!("fewer than {MIN_EVENTS} events"),
            Statistic::TimeShare => "no time measured".to_owned(),
        };
        let end = if spread.farthest.is_none() { ", which leaves too few to compare" } else { "" };
        let number = units::counted(spread.left_out, one, many);
        let text = format!("{} {}: {number} with {why}{end}", spread.metric, spread.statistic.title());
        page.write_fact(w, "left out", &text)?;
    }
    Ok(())
}

fn spread_row(fleet: &Fleet, spread: &Spread, farthest: &Farthest) -> Vec<String> {
    let figure = |value: f64| match spread.statistic {
        Statistic::P99 => units::duration_f64(value, 2),
        Statistic::TimeShare => units::percent(value),
    };
    vec![
        spread.metric.name().to_owned(),
        spread.statistic.title().to_owned(),
        escaped(name(fleet, farthest)),
        figure(farthest.value),
        figure(farthest.median),
        format!("{:.1}", farthest.score),
        if farthest.outlier { "yes" } else { "no" }.to_owned(),
    ]
}

/// The outliers, each with the metrics it is one in.
fn names(fleet: &Fleet) -> String {
    let mut outliers: Vec<(String, Vec<&str>)> = Vec::new();
    for spread in &fleet.outliers {
        let Some(farthest) = spread.farthest.as_ref().filter(|farthest| farthest.outlier) else { continue };
        let (name, metric) = (escaped(name(fleet, farthest)), spread.metric.name());
        match outliers.iter_mut().find(|(other, _)| *other == name) {
            Some((_, metrics)) if metrics.last() == Some(&metric) => {}
            Some((_, metrics)) => metrics.push(metric),
            None => outliers.push((name, vec![metric])),
        }
    }
    if outliers.is_empty() {
        return "none".to_owned();
    }
    let named: Vec<String> =
        outliers.iter().map(|(name, metrics)| format!("{name} in {}", metrics.join(", "))).collect();
    named.join("; ")
}

fn name<'a>(fleet: &Fleet, farthest: &'a Farthest) -> &'a str {
    match fleet.unit {
        UnitKind::Host => &farthest.host,
        UnitKind::Run => &farthest.started,
    }
}

fn counted(fleet: &Fleet) -> String {
    let (one, many) = fleet.unit.nouns();
    units::counted(fleet.units.len() as u64, one, many)
}
