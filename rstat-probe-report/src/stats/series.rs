//! Whether values that follow each other in time resemble their neighbours.

/// The 95 % point of the normal distribution: one-sided at 5 %.
const ONE_SIDED: f64 = 1.645;

/// Autocorrelation at lag 1 (-1..=1), with the mean and the variance of the whole series: r1 of Box
/// & Jenkins. It is near 0 (with standard deviation 1/sqrt(n)) when values are independent, and positive
/// when neighbours resemble each other.
///
/// `None` for fewer than 4 values, without variance, and when a value is not finite.
#[must_use]
pub fn autocorrelation(series: &[f64]) -> Option<f64> {
    let (&first, rest) = series.split_first()?;
    // A mean can differ from equal values by rounding, hence the comparison.
    #[expect(clippy::float_cmp, reason = "no variance means exactly equal")]
    if series.len() < 4 || rest.iter().all(|&value| value == first) {
        return None;
    }
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let square: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    let product: f64 = series.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    Some(product / square).filter(|r| r.is_finite())
}

/// How many times larger the variance of the mean of a series is than if its values were independent,
/// at least 1: (1 + r)/(1 - r), which is right for a first-order autoregression (Bartlett 1935). A
/// series of n values is worth n by this of independent ones.
///
/// r is [`autocorrelation`] over all of `series`, each about its own mean, freed of its bias by adding
/// (1 + 4 r)/n (Kendall 1954), and taken as 0 unless it is above 1.645/sqrt(n), one-sided 5 %, n
/// being the number of values in all. Series for which [`autocorrelation`] is `None` count as independent.
#[must_use]
pub fn inflation(series: &[&[f64]]) -> f64 {
    /// Closer to 1 nothing can be told of so few values.
    const MOST: f64 = 0.98;
    let known = series.iter().filter_map(|values| Some((autocorrelation(values)?, values.len() as f64)));
    let (sum, count) =
        known.fold((0.0, 0.0), |(sum, count), (r, n)| (sum + n * (r + (1.0 + 4.0 * r) / n), count + n));
    let r = sum / count;
    if count > 0.0 && r > ONE_SIDED / count.sqrt() {
        let r = r.min(MOST);
        (1.0 + r) / (1.0 - r)
    } else {
        1.0
    }
}
