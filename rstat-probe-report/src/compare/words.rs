//! Numbers of a comparison as people read them.

use super::figure::Span;
use super::series::Quantity;
use crate::units;

/// A value in its unit, with so many digits.
#[must_use]
pub fn value(value: f64, quantity: &Quantity, digits: u32) -> String {
    match quantity {
        Quantity::Time if value >= 0.0 => units::duration_f64(value, digits),
        Quantity::Time => format!("{value} ns"),
        Quantity::Other(unit) => {
            let number = number(value, digits);
            unit.as_ref().map_or_else(|| number.clone(), |unit| format!("{number} {unit}"))
        }
    }
}

/// The edge of a bucket: `32M ns` where it is a power of two, as bpftrace writes it.
#[must_use]
pub fn edge(edge: f64, quantity: &Quantity) -> String {
    match quantity {
        Quantity::Time if is_power(edge) && edge >= 1024.0 => format!("{} ns", binary(edge)),
        _ => value(edge, quantity, 3),
    }
}

/// Whether bpftrace could have this edge.
pub(crate) fn is_power(edge: f64) -> bool {
    edge >= 1.0 && edge < 2_f64.powi(70) && edge.log2().fract() == 0.0
}

/// A power of two with K, M, G of 1024.
pub(crate) fn binary(edge: f64) -> String {
    const SUFFIXES: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];
    let (mut edge, mut suffix) = (edge, 0);
    while edge >= 1024.0 && suffix + 1 < SUFFIXES.len() {
        edge /= 1024.0;
        suffix += 1;
    }
    format!("{edge}{}", SUFFIXES[suffix])
}

/// An edge that is no time: whole where it is whole, else four digits.
pub(crate) fn plain(edge: f64) -> String {
    match edge {
        edge if edge.is_infinite() => "...".to_owned(),
        edge if edge.abs() >= 1e15 => format!("{edge:.3e}"),
        edge if edge.fract() == 0.0 => format!("{edge}"),
        edge => number(edge, 4),
    }
}

/// A time in ns in few characters, for the edges of buckets: `25us`, `1.02ms`.
pub(crate) fn short(ns: f64) -> String {
    let (scale, unit) = match ns.abs() {
        size if size >= 1e9 => (1e9, "s"),
        size if size >= 1e6 => (1e6, "ms"),
        size if size >= 1e3 => (1e3, "us"),
        _ => (1.0, "ns"),
    };
    let digits = number(ns / scale, 3);
    let digits =
        if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits };
    format!("{digits}{unit}")
}

/// A number with so many digits, but all of those before the point.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 308 and a digit count")]
pub(super) fn number(value: f64, digits: u32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if value.abs() >= 1e15 {
        return format!("{value:.2e}");
    }
    let before = value.abs().log10().floor() as i32 + 1;
    let after = (i32::try_from(digits).unwrap_or(3) - before).clamp(0, 12) as usize;
    format!("{value:.after$}")
}

/// A relative change, `+19.7 %`, from tenfold on as a factor, or both ends of what it may be.
#[must_use]
pub fn relative(change: Span) -> String {
    match change {
        Span { low, high } if low == high => ratio(low, true),
        Span { low, high } if low <= -1.0 && high.is_infinite() => "unknown".to_owned(),
        Span { low, high } => {
            let alike = is_percent(low) && is_percent(high);
            format!("{} to {}", ratio(low, !alike), ratio(high, true))
        }
    }
}

/// An interval of a relative change, `[-6.17, +32.1] %`.
#[must_use]
pub fn relative_interval(change: Span) -> String {
    if is_percent(change.low) && is_percent(change.high) {
        return format!("[{}, {}] %", ratio(change.low, false), ratio(change.high, false));
    }
    format!("[{}, {}]", ratio(change.low, true), ratio(change.high, true))
}

/// An interval of a difference of shares, `[-0.3, +1.2] pp`.
#[must_use]
pub fn points_interval(change: Span) -> String {
    let one = |share: f64| format!("{}{}", sign(share), digits(share.abs() * 100.0));
    format!("[{}, {}] pp", one(change.low), one(change.high))
}

/// Below tenfold; a larger one has no use for per cent.
fn is_percent(change: f64) -> bool {
    change < 9.0
}

fn ratio(change: f64, unit: bool) -> String {
    let unit = if unit { " %" } else { "" };
    match change {
        change if is_percent(change) => format!("{}{}{unit}", sign(change), digits(change.abs() * 100.0)),
        change if change.is_infinite() => "x inf".to_owned(),
        change => format!("x{}", number(1.0 + change, 3)),
    }
}

/// A difference of shares in percentage points, `-25.5 pp`.
#[must_use]
pub fn points(change: Span) -> String {
    let one = |share: f64| format!("{}{}", sign(share), digits(share.abs() * 100.0));
    if change.is_exact() {
        return format!("{} pp", one(change.low));
    }
    format!("{} to {} pp", one(change.low), one(change.high))
}

fn sign(number: f64) -> &'static str {
    if number < 0.0 { "-" } else { "+" }
}

/// Three digits of a percentage; changes are known to no more.
fn digits(percent: f64) -> String {
    match percent {
        p if p.is_infinite() => "inf".to_owned(),
        p if p < 0.000_5 => "0".to_owned(),
        p if p < 1.0 => format!("{p:.3}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        p if p < 10.0 => format!("{p:.2}"),
        p if p < 100.0 => format!("{p:.1}"),
        p => format!("{p:.0}"),
    }
}

/// A share of events, which are counted, so that two decimals are known: `31.71 %`. Below 0.01 % two
/// digits.
#[must_use]
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 100.0 => format!("{percent:.0} %"),
        percent if percent == 0.0 || percent >= 0.01 => format!("{percent:.2} %"),
        percent => format!("{} %", number(percent, 2)),
    }
}

/// A whole number of events.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of events")]
pub fn count(events: f64) -> String {
    units::count(events as u64)
}

/// `p = 0.007`, `p < 0.001`.
#[must_use]
pub fn p_value(p: f64) -> String {
    match p {
        p if p < 0.000_1 => "p < 0.0001".to_owned(),
        p if p < 0.001 => format!("p = {p:.4}"),
        p if p < 0.1 => format!("p = {p:.3}"),
        p => format!("p = {p:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes() {
        assert_eq!(relative(Span::exact(0.196_865)), "+19.7 %");
        assert_eq!(relative(Span::exact(-0.9)), "-90.0 %");
        assert_eq!(relative(Span { low: -0.9375, high: -0.75 }), "-93.8 to -75.0 %");
        assert_eq!(relative(Span { low: 0.5, high: f64::INFINITY }), "+50.0 % to x inf");
        assert_eq!(relative(Span { low: -1.0, high: f64::INFINITY }), "unknown");
        assert_eq!(relative(Span::exact(1_860.0)), "x1861");
        assert_eq!(relative_interval(Span { low: -0.061_7, high: 0.321 }), "[-6.17, +32.1] %");
        assert_eq!(relative_interval(Span { low: -1.0, high: 99.0 }), "[-100 %, x100]");
        assert_eq!(points_interval(Span { low: -0.003, high: 0.012 }), "[-0.3, +1.20] pp");
        assert_eq!(percent(57.38), "5738 %");
        assert_eq!(points(Span::exact(-0.255_3)), "-25.5 pp");
        assert_eq!(points(Span::exact(0.0)), "+0 pp");
        let shares = [0.317_1, 0.000_000_36, 0.0, 1.0].map(percent);
        assert_eq!(shares, ["31.71 %", "0.000036 %", "0.00 %", "100.00 %"]);
    }

    #[test]
    fn values() {
        assert_eq!(value(1_500.0, &Quantity::Time, 3), "1.50 us");
        assert_eq!(value(9.461e6, &Quantity::Other(Some("/s".to_owned())), 3), "9461000 /s");
        assert_eq!(value(0.012_345, &Quantity::Other(None), 3), "0.0123");
        assert_eq!(p_value(0.007_36), "p = 0.007");
        assert_eq!(p_value(1e-9), "p < 0.0001");
    }
}
