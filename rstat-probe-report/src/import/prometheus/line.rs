//! One line of the text format: a sample with its labels, time stamp and exemplar.
//!
//! The crates for this (prometheus-parse, openmetrics-parser) want `TYPE` lines, or `# EOF`, or
//! give counts as `f64` only, and none says which line is wrong. Measurements come pasted, through
//! grep, and with counts that have to be exact.

/// Labels in the order of the file.
pub(super) type Labels = Vec<(String, String)>;

/// A sample.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample<'a> {
    pub(super) name: &'a str,
    pub(super) labels: Labels,
    /// As written.
    pub(super) value: &'a str,
    /// As written: milliseconds in the classic format, seconds in OpenMetrics.
    pub(super) timestamp: Option<&'a str>,
    /// Labels and value.
    pub(super) exemplar: Option<(Labels, &'a str)>,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Parsed<'a> {
    Sample(Sample<'a>),
    /// A command line, a heading, a sentence.
    Prose,
    /// It starts as a sample and then is none.
    Broken(String),
}

/// Reads `text`, which is not a comment.
pub(super) fn parse(text: &str) -> Parsed<'_> {
    let text = text.trim();
    let (name, rest) = text.split_at(name_length(text, ':'));
    if name.is_empty() {
        return Parsed::Prose;
    }
    if rest.starts_with('{') {
        return labels(rest)
            .and_then(|(labels, rest)| tail(name, labels, rest))
            .map_or_else(Parsed::Broken, Parsed::Sample);
    }
    if !rest.starts_with([' ', '\t']) {
        return Parsed::Prose;
    }
    // `name value`, or two words of a sentence.
    match tail(name, Labels::new(), rest) {
        Ok(sample) => Parsed::Sample(sample),
        Err(message) if is_suffixed(name) => Parsed::Broken(message),
        Err(_) => Parsed::Prose,
    }
}

/// Whether only a histogram or a summary has such names.
fn is_suffixed(name: &str) -> bool {
    ["_bucket", "_sum", "_count"].iter().any(|suffix| name.ends_with(suffix))
}

/// Length of the name that `text` starts with; `also` is allowed besides letters, digits and `_`.
fn name_length(text: &str, also: char) -> usize {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == also)).unwrap_or(text.len())
}

/// What follows the labels: value, time stamp, exemplar.
fn tail<'a>(name: &'a str, labels_of_sample: Labels, rest: &'a str) -> Result<Sample<'a>, String> {
    let (plain, exemplar) = match rest.split_once('#') {
        None => (rest, None),
        Some((plain, exemplar)) => (plain, Some(exemplar.trim_start())),
    };
    let (value, timestamp) = value_and_time(plain)?;
    let exemplar = match exemplar {
        None => None,
        Some(text) => {
            let (labels, rest) = labels(text).map_err(|message| format!("exemplar: {message}"))?;
            let (value, _) = value_and_time(rest).map_err(|message| format!("exemplar: {message}"))?;
            Some((labels, value))
        }
    };
    Ok(Sample { name, labels: labels_of_sample, value, timestamp, exemplar })
}

/// A number, and perhaps a second one.
fn value_and_time(text: &str) -> Result<(&str, Option<&str>), String> {
    let mut words = text.split_whitespace();
    let value = words.next().ok_or("there is no value")?;
    if value.parse::<f64>().is_err() {
        return Err(format!("the value {value:?} is not a number"));
    }
    let timestamp = words.next();
    if let Some(timestamp) = timestamp.filter(|text| !text.parse::<f64>().is_ok_and(f64::is_finite)) {
        return Err(format!("the time stamp {timestamp:?} is not a number"));
    }
    match words.next() {
        Some(word) => Err(format!("{word:?} after the value")),
        None => Ok((value, timestamp)),
    }
}

/// The labels that `text` starts with, and what follows them.
fn labels(text: &str) -> Result<(Labels, &str), String> {
    let mut rest = text.strip_prefix('{').ok_or("no labels")?.trim_start();
    let mut labels = Labels::new();
    loop {
        if let Some(rest) = rest.strip_prefix('}') {
            return Ok((labels, rest));
        }
        let (key, after) = rest.split_at(name_length(rest, '_'));
        if key.is_empty() {
            return Err("a label has no name, or the labels do not end".to_owned());
        }
        let quoted =
            after.trim_start().strip_prefix('=').and_then(|after| after.trim_start().strip_prefix('"'));
        let (value, after) =
            quoted.ok_or_else(|| format!("the label {key} has no quoted value")).and_then(|quoted| {
                string(quoted).ok_or_else(|| format!("the value of the label {key} does not end"))
            })?;
        labels.push((key.to_owned(), value));
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if rest.starts_with('}') => {}
            None => return Err(format!("neither a comma nor a brace after the label {key}")),
        }
    }
}

/// The text up to the closing quote, without escapes, and what follows the quote.
fn string(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((value, text.get(index + 1..)?)),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                escaped @ ('"' | '\\') => value.push(escaped),
                other => value.extend(['\\', other]),
            },
            _ => value.push(character),
        }
    }
    None
}

/// `text` as a whole number, exactly, also in scientific notation.
pub(super) fn whole(text: &str) -> Option<u64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        None => (text, 0),
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if (before.is_empty() && after.is_empty())
        || !(before.bytes().chain(after.bytes())).all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let mut digits = format!("{before}{after}");
    let mut exponent = i64::from(exponent) - i64::try_from(after.len()).ok()?;
    let significant = digits.trim_end_matches('0').len();
    exponent += i64::try_from(digits.len() - significant).ok()?;
    digits.truncate(significant);
    if digits.is_empty() {
        return Some(0);
    }
    // Above 10^19 it is out of range anyhow.
    let zeros = usize::try_from(exponent).ok().filter(|zeros| *zeros <= 20)?;
    digits.extend(std::iter::repeat_n('0', zeros));
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(text: &str) -> Sample<'_> {
        match parse(text) {
            Parsed::Sample(sample) => sample,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn labels_are_unescaped() {
        let read = sample(r#"a:b_bucket{ x = "C:\\DIR\n\"q\" \d", le="0.1" ,} 12 1395066363000"#);
        assert_eq!(read.name, "a:b_bucket");
        assert_eq!(read.labels, [pair("x", "C:\\DIR\n\"q\" \\d"), pair("le", "0.1")]);
        assert_eq!((read.value, read.timestamp), ("12", Some("1395066363000")));
        let braces = sample(r#"m{x="a}b,c=# {",y=""} NaN"#);
        assert_eq!(braces.labels, [pair("x", "a}b,c=# {"), pair("y", "")]);
    }

    #[test]
    fn exemplars_are_told_from_time_stamps() {
        let read = sample(r#"m_bucket{le="1"} 16 12.5 # {comm="kube # let"} 1.9e-06 1767225601.5"#);
        assert_eq!((read.value, read.timestamp), ("16", Some("12.5")));
        assert_eq!(read.exemplar, Some((vec![pair("comm", "kube # let")], "1.9e-06")));
    }

    #[test]
    fn prose_is_told_from_damage() {
        for prose in
            ["$ curl -s x", "curl -s http://x | fgrep y", "USER@HOST:~$ x", "a", "12 13", "Then:", "über 12"]
        {
            assert_eq!(parse(prose), Parsed::Prose, "{prose}");
        }
        for broken in [
            "m{",
            "m{}",
            "m{a} 1",
            "m{a=1} 1",
            "m{a=\"1} 1",
            "m{a=\"1\\",
            "m{a=\"1\" b=\"2\"} 1",
            "m{} x",
            "m{} 1 x",
            "m{} 1 2 3",
            "m{} 1 # x",
            "m{} 1 # {}",
            "m_count x",
            "m_sum 1 2 3",
            "m{,} 1",
        ] {
            assert!(matches!(parse(broken), Parsed::Broken(_)), "{broken}: {:?}", parse(broken));
        }
    }

    #[test]
    fn whole_numbers_are_exact() {
        for (text, right) in [
            ("0", Some(0)),
            ("0.0", Some(0)),
            ("+12", Some(12)),
            ("1.0", Some(1)),
            ("8.262708e+06", Some(8_262_708)),
            ("100e-2", Some(1)),
            ("18446744073709551615", Some(u64::MAX)),
            ("1.8446744073709551615e19", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("1.8446744073709552e+19", None),
            ("1e20", None),
            ("1e2147483647", None),
            ("0e-99999", Some(0)),
            ("1.5", None),
            ("-1", None),
            ("", None),
            (".", None),
            ("e5", None),
            ("NaN", None),
            ("+Inf", None),
            ("1e99999999999", None),
            ("9007199254740993e0", Some(9_007_199_254_740_993)),
        ] {
            assert_eq!(whole(text), right, "{text}");
        }
    }
}
