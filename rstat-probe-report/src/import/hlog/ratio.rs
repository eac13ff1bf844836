//! What the writer of a log divided the maxima by, which tells the unit.

use serde_json::{Value, json};

use super::super::Unit;

/// Divisors that are in use, Java's default first.
const USUAL: [f64; 4] = [1e6, 1.0, 1e3, 1e9];

/// Finds the divisor from the printed maxima and those of the histograms.
#[derive(Default)]
pub(super) struct Ratio {
    stated: Option<f64>,
    intervals: u64,
    /// Intervals that each of [`USUAL`] explains.
    fits: [u64; 4],
}

impl Ratio {
    /// Takes a divisor that the log names.
    pub(super) fn stated(&mut self, divisor: f64) {
        self.stated = Some(divisor).filter(|divisor| *divisor > 0.0);
    }

    /// Takes an interval with the maximum `raw` that is printed as `printed`.
    pub(super) fn interval(&mut self, raw: u64, printed: &str) {
        let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let digit = 10f64.powi(-i32::try_from(decimals.min(300)).unwrap_or(0));
        let Ok(shown) = printed.parse::<f64>() else { return };
        self.intervals += 1;
        for (divisor, fits) in USUAL.iter().zip(&mut self.fits) {
            let exact = raw as f64 / divisor;
            *fits += u64::from((exact - shown).abs() <= 0.5001 * digit + 1e-9 * exact);
        }
    }

    /// The divisor that explains the most intervals, and how many.
    fn best(&self) -> Option<(f64, u64)> {
        // The first of equals.
        let best = USUAL.into_iter().zip(self.fits).rev().max_by_key(|(_, fits)| *fits)?;
        Some(best).filter(|(_, fits)| *fits > 0)
    }

    fn divisor(&self) -> Option<f64> {
        self.stated.or_else(|| self.best().map(|(divisor, _)| divisor))
    }

    /// Maxima in ms of values in ns, which is what Java's writer makes.
    pub(super) fn is_milliseconds(&self) -> bool {
        self.unit().is_some()
    }

    /// Nanoseconds where the maxima are in ms; else the log does not say.
    pub(super) fn unit(&self) -> Option<Unit> {
        self.divisor().filter(|divisor| (divisor - 1e6).abs() < 0.5).map(|_| Unit::Ns)
    }

    /// For the scalars.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and in range")]
    pub(super) fn value(&self) -> Value {
        match self.divisor() {
            Some(divisor) if divisor.fract() == 0.0 && divisor < 1e18 => json!(divisor as u64),
            other => json!(other),
        }
    }

    /// Tells of intervals whose printed maximum is not that of the histogram.
    pub(super) fn warn(&self, warnings: &mut Vec<String>) {
        let fits = self.best().map_or(0, |(_, fits)| fits);
        if self.stated.is_none() && fits < self.intervals {
            let other = self.intervals - fits;
            warnings.push(format!(
                "the maximum of {other} of {} intervals is not that of their histogram; the histograms were taken",
                self.intervals
            ));
        }
    }
}
