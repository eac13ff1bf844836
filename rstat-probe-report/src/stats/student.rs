//! Quantiles of Student's t distribution, to 1e-9 for any number of degrees of freedom.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// From so many degrees of freedom on the expansion is exact to 1e-9 down to tails of 1e-7.
const MANY: f64 = 500.0;

/// The quantile of tail probability `tail` (between 0 and 0.5, so it is negative).
///
/// statrs computes it through the incomplete beta function. That is exact to 1e-12 up to some 1000
/// degrees of freedom, but then gets worse (3e-8 at 2000, 2e-5 at 100,000), and does not return at all
/// at 10^9. For many there is the expansion around the normal quantile, Abramowitz & Stegun 26.7.5.
pub(super) fn quantile(tail: f64, freedom: f64) -> Option<f64> {
    if freedom < MANY {
        return Some(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(tail));
    }
    let z = Normal::standard().inverse_cdf(tail);
    let z2 = z * z;
    let terms = [
        z,
        z * (z2 + 1.0) / 4.0,
        z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0,
        z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0,
        z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92160.0,
    ];
    Some(terms.iter().rev().fold(0.0, |sum, term| sum / freedom + term))
}
