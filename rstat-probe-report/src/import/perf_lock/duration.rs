//! Times as perf and klockstat print them, `64.69 h`, in ns, and what can be said against them.

use super::super::{Unit, shortened};

/// A single wait or hold that is longer is taken for a start stamp that was missed.
const PLAUSIBLE_NS: u64 = 3_600_000_000_000;

/// A printed, so rounded, time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) struct Printed {
    /// Nanoseconds.
    pub(in crate::import) ns: u64,
    /// What one in the last printed digit is worth.
    pub(in crate::import) step_ns: u64,
}

/// Nanoseconds in one of `word`, which may be `h` or `m` (minutes) too.
pub(in crate::import) fn unit_ns(word: &str) -> Option<u64> {
    match word {
        "h" => Some(3_600_000_000_000),
        "m" | "min" => Some(60_000_000_000),
        _ => Unit::from_word(&word.replace('\u{3bc}', "\u{b5}")).map(Unit::nanoseconds),
    }
}

impl Printed {
    /// From a decimal number and the length of its unit.
    pub(in crate::import) fn new(number: &str, unit_ns: u64) -> Result<Self, String> {
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) {
            return Err(format!("{} is not a time", shortened(number)));
        }
        // More than nine decimals of an hour are below 1 us, and of a second below 1 ns.
        let fraction = fraction.get(..fraction.len().min(9)).unwrap_or_default();
        let scale = 10u128.pow(u32::try_from(fraction.len()).unwrap_or(0));
        let large = || format!("a time of {} is out of range", shortened(number));
        let mantissa: u128 = format!("{whole}{fraction}").parse().map_err(|_| large())?;
        let scaled = mantissa.checked_mul(u128::from(unit_ns)).ok_or_else(large)?;
        let ns = u64::try_from((scaled + scale / 2) / scale).map_err(|_| large())?;
        let step_ns = u64::try_from(u128::from(unit_ns).div_ceil(scale)).map_err(|_| large())?;
        Ok(Self { ns, step_ns })
    }
}

/// The figures of one row of a lock table, as far as it has them.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::import) struct Figures {
    /// Events.
    pub(in crate::import) count: Option<u64>,
    /// Sum.
    pub(in crate::import) total: Option<Printed>,
    /// Largest.
    pub(in crate::import) max: Option<Printed>,
    /// Mean.
    pub(in crate::import) average: Option<Printed>,
}

impl Figures {
    /// What cannot be right in the row of `name` at `line`.
    pub(in crate::import) fn doubts(&self, line: usize, name: &str) -> Vec<String> {
        let mut doubts = Vec::new();
        let name = shortened(name);
        if let Some(max) = self.max
            && max.ns > PLAUSIBLE_NS
        {
            doubts.push(format!(
                "line {line}: one event of {} s at {name} is longer than a lock is plausibly held or waited \
                 for; it may be the uptime, from a start that was missed, and is in total and average too",
                max.ns / 1_000_000_000
            ));
        }
        if let (Some(max), Some(total)) = (self.max, self.total)
            && max.ns > total.ns.saturating_add(total.step_ns).saturating_add(max.step_ns)
        {
            doubts.push(format!("line {line}: the maximum of {name} is above its total"));
        }
        if let (Some(max), Some(average)) = (self.max, self.average)
            && average.ns > max.ns.saturating_add(max.step_ns).saturating_add(average.step_ns)
        {
            doubts.push(format!("line {line}: the average of {name} is above its maximum"));
        }
        if let (Some(count), Some(total), Some(average)) = (self.count, self.total, self.average) {
            let count = u128::from(count);
            let product = count * u128::from(average.ns);
            let rounding = (count * u128::from(average.step_ns)).saturating_add(total.step_ns.into());
            if product.abs_diff(total.ns.into()) > rounding {
                doubts.push(format!(
                    "line {line}: count times average of {name} is not its total, even with rounding"
                ));
            }
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(number: &str, unit: &str) -> Result<u64, String> {
        Printed::new(number, unit_ns(unit).unwrap()).map(|printed| printed.ns)
    }

    #[test]
    fn all_units_become_ns_exactly() {
        assert_eq!(ns("64.69", "h"), Ok(232_884_000_000_000));
        assert_eq!(ns("14.96", "m"), Ok(897_600_000_000));
        assert_eq!(ns("7.08", "s"), Ok(7_080_000_000));
        assert_eq!(ns("787.88", "ms"), Ok(787_880_000));
        assert_eq!(ns("1.1", "us"), Ok(1_100));
        assert_eq!(ns("557", "ns"), Ok(557));
        assert_eq!(ns("1.5", "\u{3bc}s"), Ok(1_500));
        assert_eq!(ns("18446744073709551615", "ns"), Ok(u64::MAX));
    }

    #[test]
    fn what_is_no_time_or_too_large_is_an_error() {
        for number in ["", ".", ".5", "-1", "1e3", "1.2.3", "nan"] {
            assert!(ns(number, "s").unwrap_err().contains("not a time"), "{number}");
        }
        assert!(ns("18446744073709551616", "ns").unwrap_err().contains("out of range"));
        assert!(ns("18446744073709551615", "h").unwrap_err().contains("out of range"));
        assert!(ns(&"9".repeat(100_000), "h").unwrap_err().contains("out of range"));
    }

    #[test]
    fn only_real_contradictions_are_doubts() {
        let time = |ns, step_ns| Some(Printed { ns, step_ns });
        let rounded = Figures {
            count: Some(4),
            total: time(2_800_000, 100_000),
            max: time(2_500_000, 100_000),
            average: time(703_900, 100),
        };
        assert_eq!(rounded.doubts(1, "f"), Vec::<String>::new());
        let wrong = Figures { count: Some(40), ..rounded };
        assert_eq!(wrong.doubts(1, "f").len(), 1);
        let large = Figures {
            count: Some(u64::MAX),
            total: time(u64::MAX, 1),
            max: time(u64::MAX, 1),
            average: time(u64::MAX, u64::MAX),
        };
        assert_eq!(large.doubts(1, "f").len(), 1);
    }
}
