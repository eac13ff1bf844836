//! The table of a measure: a row for each figure.

use crate::compare::{Figure, FigureKind, Measure, Options, Quantity, Span, words};
use crate::units;

/// Heads of the columns but the first.
pub(super) fn heads(options: &Options) -> [String; 4] {
    let interval = format!("{} % interval", options.confidence * 100.0);
    ["baseline".to_owned(), "candidate".to_owned(), "change".to_owned(), interval]
}

/// Rows: name, baseline, candidate, change, interval.
pub(super) fn rows(measure: &Measure) -> Vec<[String; 5]> {
    measure.figures.iter().map(|figure| row(measure, figure)).collect()
}

fn row(measure: &Measure, figure: &Figure) -> [String; 5] {
    let side =
        |span: Option<Span>| span.map_or_else(|| "-".to_owned(), |span| cell(measure, figure.kind, span));
    let change = figure.change.filter(|_| figure.kind != FigureKind::Count);
    let none = || "-".to_owned();
    [
        name(measure, figure.kind),
        side(figure.baseline),
        side(figure.candidate),
        change.map_or_else(none, |change| change_words(figure.kind, change.span)),
        change.and_then(|change| change.interval).map_or_else(none, |span| interval_words(figure.kind, span)),
    ]
}

fn name(measure: &Measure, kind: FigureKind) -> String {
    match kind {
        FigureKind::Rate => "rate".to_owned(),
        FigureKind::TimeShare => "time share".to_owned(),
        FigureKind::ShareAbove { edge } => format!(">= {}", words::edge(edge, &measure.quantity)),
        other => other.name(),
    }
}

fn cell(measure: &Measure, kind: FigureKind, span: Span) -> String {
    match kind {
        FigureKind::Count => words::count(span.low),
        FigureKind::Rate => units::rate(span.low),
        FigureKind::ShareAbove { .. } => words::percent(span.low),
        FigureKind::TimeShare if span.is_exact() => words::percent(span.low),
        FigureKind::TimeShare => format!("{} to {}", words::percent(span.low), words::percent(span.high)),
        FigureKind::Quantile { .. } => quantile(measure, span),
        FigureKind::Mean | FigureKind::Max => between(measure, span, 4),
    }
}

/// A quantile of fine buckets is given by their upper edge, as in reports of one recording; of
/// wide ones as the bucket.
fn quantile(measure: &Measure, span: Span) -> String {
    let fine = span.high - span.low <= (span.low / 16.0).max(1.0);
    if span.is_exact() {
        words::value(span.low, &measure.quantity, 4)
    } else if fine {
        words::value(span.high, &measure.quantity, 2)
    } else {
        between(measure, span, 3)
    }
}

fn between(measure: &Measure, span: Span, digits: u32) -> String {
    let value = |value| words::value(value, &measure.quantity, digits);
    match span {
        span if span.is_exact() => value(span.low),
        span if span.high.is_infinite() => format!(">= {}", value(span.low)),
        span if measure.quantity == Quantity::Time => bucket(span.low, span.high),
        span => format!("[{}, {})", value(span.low), value(span.high)),
    }
}

/// `[512K, 1M)` as bpftrace has it where both ends are powers of two, else with units.
pub(super) fn bucket(low: f64, high: f64) -> String {
    let plain =
        [low, high].into_iter().all(|edge| edge == 0.0 || edge.is_infinite() || words::is_power(edge));
    let edge = |edge: f64| match edge {
        f64::INFINITY | f64::NEG_INFINITY => "...".to_owned(),
        edge if plain => words::binary(edge),
        edge => words::short(edge),
    };
    let open = if low.is_infinite() { '(' } else { '[' };
    format!("{open}{}, {})", edge(low), edge(high))
}

fn change_words(kind: FigureKind, span: Span) -> String {
    if kind.is_share() { words::points(span) } else { words::relative(span) }
}

fn interval_words(kind: FigureKind, span: Span) -> String {
    if kind.is_share() { words::points_interval(span) } else { words::relative_interval(span) }
}
