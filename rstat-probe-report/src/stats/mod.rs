//! Statistics of two samples: how far apart they are, how sure that is, and whether values are
//! independent enough to say so.
//!
//! Pure functions of plain numbers that know nothing of histograms and units. Randomness comes from a
//! seed and a portable stream, so that the same arguments give the same result on every machine. No
//! input panics: what cannot be computed is `None`.

pub mod bootstrap;
pub mod ks;
pub mod permutation;
pub mod quantile;
pub mod rank;
pub mod series;
mod student;

#[cfg(test)]
mod tests;

/// Sorted copy. `None` when empty or with a NaN.
fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

/// Counts of bins summed without overflow: a `usize` of bins, each below 2^64.
fn total(counts: &[u64]) -> u128 {
    counts.iter().map(|&count| u128::from(count)).sum()
}
