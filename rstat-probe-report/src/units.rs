//! Numbers as people read them. All rounding is half up and in integers, so that a figure looks
//! the same on every machine.

/// Units of time and their length in 1/1000 ns, which is the resolution of everything below.
const UNITS: [(&str, u128); 6] = [
    ("ns", 1_000),
    ("us", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
];

/// `ns` with `digits` significant digits (at least 1) in the largest unit that keeps it at 1 or
/// more, as `12 us`, `1.5 ms`. Nanoseconds have no decimals.
#[must_use]
pub fn duration(ns: u64, digits: u32) -> String {
    in_largest_unit(u128::from(ns) * UNITS[0].1, digits, false)
}

/// As [`duration`], for means: nanoseconds can have decimals, down to 0.001. Negative numbers and
/// those that are none give `?`.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; saturates")]
pub fn duration_f64(ns: f64, digits: u32) -> String {
    if !ns.is_finite() || ns < 0.0 {
        return "?".to_owned();
    }
    in_largest_unit((ns * UNITS[0].1 as f64).round() as u128, digits, true)
}

/// `ns` with every digit, in ns, us, ms or s, as `12.345678 ms`, `300 s`: minutes and hours would
/// need a fraction without end.
#[must_use]
pub fn exact(ns: u64) -> String {
    let amount = u128::from(ns);
    let units = UNITS[..4].iter().map(|&(name, length)| (name, length / UNITS[0].1));
    let (name, length) = units.rev().find(|&(_, length)| amount >= length).unwrap_or((UNITS[0].0, 1));
    let text = decimal(amount, length.ilog10());
    let number = if length == 1 { &text } else { text.trim_end_matches('0').trim_end_matches('.') };
    format!("{number} {name}")
}

fn in_largest_unit(amount: u128, digits: u32, decimals_of_ns: bool) -> String {
    let digits = digits.max(1);
    let mut index = UNITS.iter().rposition(|&(_, length)| amount >= length).unwrap_or(0);
    loop {
        let (name, length) = UNITS[index];
        let (rounded, decimals) = significant(amount, length, digits, decimals_of_ns);
        let next = UNITS.get(index + 1).map(|&(_, next)| next / length * 10_u128.pow(decimals));
        // 999.6 us is 1.0 ms with two digits.
        if next.is_some_and(|next| rounded >= next) {
            index += 1;
            continue;
        }
        let number = if amount == 0 { "0".to_owned() } else { decimal(rounded, decimals) };
        return format!("{number} {name}");
    }
}

/// `amount / unit` rounded to `digits` significant digits, as a whole number of units of
/// `10^-decimals`.
fn significant(amount: u128, unit: u128, digits: u32, decimals_of_ns: bool) -> (u128, u32) {
    let whole = (amount / unit).checked_ilog10().map_or(1, |log| log + 1);
    if whole > digits {
        let step = 10_u128.pow(whole - digits);
        return (divided(amount, unit * step) * step, 0);
    }
    // More decimals than the input has would be made up.
    let decimals = (digits - whole).min(unit.ilog10() - if decimals_of_ns { 0 } else { 3 });
    let rounded = divided(amount * 10_u128.pow(decimals), unit);
    // 9.96 with two digits is 10, not 10.0.
    if decimals > 0 && rounded >= 10_u128.pow(whole + decimals) {
        return (rounded / 10, decimals - 1);
    }
    (rounded, decimals)
}

/// `a / b`, rounded half up.
fn divided(a: u128, b: u128) -> u128 {
    a / b + u128::from(a % b >= b.div_ceil(2))
}

fn decimal(number: u128, decimals: u32) -> String {
    let scale = 10_u128.pow(decimals);
    let whole = separated(number / scale);
    if decimals == 0 {
        return whole;
    }
    format!("{whole}.{:0width$}", number % scale, width = decimals as usize)
}

/// `ns` in seconds with one decimal, cut off, as `12.0 s`: for points in time, which are compared
/// with each other and therefore keep their unit.
#[must_use]
pub fn tenths_of_seconds(ns: u64) -> String {
    format!("{} s", decimal(u128::from(ns / 100_000_000), 1))
}

/// A count with its noun, as `1 flush`, `2,000 flushes`.
#[must_use]
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A count with thousands separators, as `1,234,567`.
#[must_use]
pub fn count(count: u64) -> String {
    separated(count.into())
}

fn separated(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Events per second with one decimal, as `381.2 k/s`; `0 /s` only when there are none. Negative
/// numbers and those that are none give `?`.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; saturates")]
pub fn rate(per_second: f64) -> String {
    if !per_second.is_finite() || per_second < 0.0 {
        return "?".to_owned();
    }
    let thousandths = (per_second * 1e3).round() as u128;
    if thousandths < 50 {
        return if per_second > 0.0 { "<0.1 /s" } else { "0 /s" }.to_owned();
    }
    let mut unit = 1_000;
    for name in ["/s", "k/s", "M/s"] {
        let tenths = divided(thousandths * 10, unit);
        if tenths < 10_000 {
            return format!("{} {name}", decimal(tenths, 1));
        }
        unit *= 1_000;
    }
    format!("{} G/s", decimal(divided(thousandths * 10, unit), 1))
}

/// Bytes in binary units with one decimal, as `150.0 MiB`; below 1 KiB exact, as `512 B`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    if bytes < 1 << 10 {
        return format!("{bytes} B");
    }
    let mut unit: u128 = 1 << 10;
    for name in ["KiB", "MiB", "GiB"] {
        let tenths = divided(u128::from(bytes) * 10, unit);
        if tenths < 10_240 {
            return format!("{} {name}", decimal(tenths, 1));
        }
        unit <<= 10;
    }
    format!("{} TiB", decimal(divided(u128::from(bytes) * 10, unit), 1))
}

/// [`bytes`] of a number that may have a fraction, which is rounded. Negative numbers and those that are none give
/// `?`.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; saturates")]
pub fn bytes_f64(number: f64) -> String {
    if number.is_nan() || number < 0.0 { "?".to_owned() } else { bytes(number.round() as u64) }
}

/// A share (0..=1, or more) in percent with two significant digits, and one decimal from 10 % on:
/// `0.012 %`, `3.4 %`, `31.7 %`; `0 %` only when it is nothing. Negative numbers and those that
/// are none give `?`.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; saturates")]
pub fn percent(share: f64) -> String {
    /// 1 % in the resolution used, 10^-6 %.
    const ONE: u128 = 1_000_000;
    if !share.is_finite() || share < 0.0 {
        return "?".to_owned();
    }
    let amount = (share * 100.0 * ONE as f64).round() as u128;
    if amount < ONE / 10_000 {
        return if share > 0.0 { "<0.0001 %" } else { "0 %" }.to_owned();
    }
    let tenths = divided(amount * 10, ONE);
    if tenths >= 100 {
        return format!("{} %", decimal(tenths, 1));
    }
    // Two significant digits of a number below 1: as many zeros after the point, then two digits.
    let decimals = if amount >= ONE { 1 } else { (7 - amount.ilog10()).min(6) };
    let rounded = divided(amount, ONE / 10_u128.pow(decimals));
    if rounded >= 100 && decimals > 1 {
        return format!("{} %", decimal(rounded / 10, decimals - 1));
    }
    format!("{} %", decimal(rounded, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_choose_unit_and_digits() {
        for (ns, expected) in [
            (0, "0 ns"),
            (1, "1 ns"),
            (12, "12 ns"),
            (123, "120 ns"),
            (994, "990 ns"),
            (995, "1.0 us"),
            (999, "1.0 us"),
            (1_000, "1.0 us"),
            (1_049, "1.0 us"),
            (1_050, "1.1 us"),
            (9_949, "9.9 us"),
            (9_950, "10 us"),
            (12_345, "12 us"),
            (994_999, "990 us"),
            (995_000, "1.0 ms"),
            (1_500_000, "1.5 ms"),
            (47_000_000, "47 ms"),
            (999_500_000, "1.0 s"),
            (59_400_000_000, "59 s"),
            (59_500_000_000, "1.0 min"),
            (60_000_000_000, "1.0 min"),
            (90_000_000_000, "1.5 min"),
            (3_599_000_000_000, "1.0 h"),
            (5_400_000_000_000, "1.5 h"),
            (u64::MAX, "5,100,000 h"),
        ] {
            assert_eq!(duration(ns, 2), expected, "{ns}");
        }
        assert_eq!(duration(1_234_567, 4), "1.235 ms");
        assert_eq!(duration(1_234_567, 7), "1.234567 ms");
        assert_eq!(duration(1_234_567, 30), "1.234567 ms", "no more digits than there are");
        assert_eq!(duration(999, 3), "999 ns");
        assert_eq!(duration(999_500, 3), "1.00 ms");
        assert_eq!(duration(7, 1), "7 ns");
        assert_eq!(duration(96, 1), "100 ns");
        assert_eq!(duration(96, 0), "100 ns");
        assert_eq!(duration(u64::MAX, 30), "5,124,095.576030431004 h");
    }

    #[test]
    fn durations_never_read_as_a_thousand_of_a_unit() {
        for power in 0..64 {
            for ns in [(1u64 << power) - 1, 1 << power, (1 << power) + 1] {
                for digits in 1..=12 {
                    let text = duration(ns, digits);
                    assert!(!text.starts_with("1,000 ") || text.ends_with(" h"), "{ns}: {text}");
                }
            }
        }
    }

    #[test]
    fn exact_times_keep_every_digit() {
        for (ns, expected) in [
            (0, "0 ns"),
            (10, "10 ns"),
            (999, "999 ns"),
            (1_000, "1 us"),
            (10_000, "10 us"),
            (12_345_678, "12.345678 ms"),
            (1_200_000, "1.2 ms"),
            (300_000_000_000, "300 s"),
            (3_600_000_000_001, "3,600.000000001 s"),
            (u64::MAX, "18,446,744,073.709551615 s"),
        ] {
            assert_eq!(exact(ns), expected);
        }
    }

    #[test]
    fn bytes_never_read_as_1024_of_a_unit() {
        for (number, expected) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.0 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (157_286_400, "150.0 MiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16,777,216.0 TiB"),
        ] {
            assert_eq!(bytes(number), expected);
        }
        assert_eq!(bytes_f64(1535.6), "1.5 KiB");
        assert_eq!(bytes_f64(f64::NAN), "?");
        assert_eq!(bytes_f64(-1.0), "?");
    }

    #[test]
    fn means_have_decimals() {
        assert_eq!(duration_f64(999.5, 2), "1.0 us");
        assert_eq!(duration_f64(999.5, 4), "999.5 ns");
        assert_eq!(duration_f64(7.04, 2), "7.0 ns");
        assert_eq!(duration_f64(0.0, 2), "0 ns");
        assert_eq!(duration_f64(0.25, 2), "0.3 ns");
        assert_eq!(duration_f64(1.8e19, 2), "5,000,000 h");
        assert_eq!(duration_f64(f64::NAN, 2), "?");
        assert_eq!(duration_f64(-1.0, 2), "?");
        assert!(duration_f64(f64::MAX, 2).ends_with(" h"), "saturates");
    }

    #[test]
    fn points_in_time_keep_their_unit() {
        assert_eq!(tenths_of_seconds(0), "0.0 s");
        assert_eq!(tenths_of_seconds(12_099_999_999), "12.0 s");
        assert_eq!(tenths_of_seconds(u64::MAX), "18,446,744,073.7 s");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(counted(1, "flush", "flushes"), "1 flush");
        assert_eq!(counted(2_000, "flush", "flushes"), "2,000 flushes");
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn rates() {
        for (per_second, expected) in [
            (0.0, "0 /s"),
            (0.04, "<0.1 /s"),
            (0.05, "0.1 /s"),
            (12.34, "12.3 /s"),
            (999.94, "999.9 /s"),
            (999.95, "1.0 k/s"),
            (381_200.0, "381.2 k/s"),
            (999_950.0, "1.0 M/s"),
            (2.5e9, "2.5 G/s"),
            (2.5e12, "2,500.0 G/s"),
            (f64::NAN, "?"),
            (-1.0, "?"),
        ] {
            assert_eq!(rate(per_second), expected, "{per_second}");
        }
    }

    #[test]
    fn percents() {
        for (share, expected) in [
            (0.0, "0 %"),
            (1e-12, "<0.0001 %"),
            (1e-6, "0.00010 %"),
            (1.24e-4, "0.012 %"),
            (9.96e-4, "0.10 %"),
            (0.0012, "0.12 %"),
            (0.0099, "0.99 %"),
            (0.00996, "1.0 %"),
            (0.01, "1.0 %"),
            (0.0344, "3.4 %"),
            (0.0996, "10.0 %"),
            (0.317, "31.7 %"),
            (1.0, "100.0 %"),
            (64.0, "6,400.0 %"),
            (f64::INFINITY, "?"),
            (-0.1, "?"),
        ] {
            assert_eq!(percent(share), expected, "{share}");
        }
    }
}
