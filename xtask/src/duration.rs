//! Durations as the command line writes them: `500ms`, `10s`, `2m`.

use std::time::Duration;

/// Parses a whole number and one of the units `ms`, `s`, `m`; zero is refused.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 =
        number.parse().map_err(|_| format!("'{text}' is no duration such as 500ms, 10s or 2m"))?;
    let millis_per_unit = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return Err(format!("'{text}' needs one of the units ms, s, m")),
    };
    match number.checked_mul(millis_per_unit) {
        None => Err(format!("'{text}' is too long")),
        Some(0) => Err("a duration of zero measures nothing".to_owned()),
        Some(millis) => Ok(Duration::from_millis(millis)),
    }
}

/// Writes a duration in the largest unit that keeps it whole.
pub(crate) fn format(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis.is_multiple_of(1_000) { format!("{}s", millis / 1_000) } else { format!("{millis}ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(parse("2m"), Ok(Duration::from_mins(2)));
    }

    #[test]
    fn refusals() {
        for text in ["", "10", "s", "-1s", "1.5s", "10h", "10 s", "0s", "0ms", "99999999999999999999s"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("18446744073709551615m").is_err());
    }

    #[test]
    fn round_trip() {
        for text in ["1ms", "1500ms", "10s", "120s"] {
            assert_eq!(format(parse(text).unwrap()), text);
        }
        assert_eq!(format(Duration::from_mins(2)), "120s");
    }
}
