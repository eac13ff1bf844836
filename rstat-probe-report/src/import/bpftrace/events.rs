//! Lines that scripts print with `printf` beside their maps: elapsed time, one event a line, and
//! counters with their rates.

use serde_json::{Map, Value};

use super::super::Unit;

/// Longest line that is looked at for an event.
const LONGEST: usize = 4096;

/// `time elapsed: 80 sec (interval = 1 sec)`, in s: elapsed, and the interval where it is there.
pub(in crate::import) fn parse_elapsed(text: &str) -> Option<(f64, Option<f64>)> {
    let (_, after) = text.split_once("time elapsed:")?;
    let elapsed = seconds(after)?;
    let interval = after.split_once("interval =").or_else(|| after.split_once("interval:"));
    Some((elapsed, interval.and_then(|(_, after)| seconds(after))))
}

/// `80 sec`, `1500 ms`: seconds without a unit.
fn seconds(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let value: f64 = number(words.next()?)?;
    let unit = words.next().map(|word| word.trim_matches([')', '(', ',', '.', ';']));
    let unit = unit.and_then(Unit::from_word).unwrap_or(Unit::S);
    Some(value * unit.nanoseconds() as f64 / 1e9)
}

/// Digits with a fraction or without: not `inf`, not `1e9`.
fn number(text: &str) -> Option<f64> {
    let plain = text.len() <= 30 && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.parse().ok().filter(|_| plain)
}

/// `Flushes(5033) 294/interval (avg 62/sec)`.
pub(super) fn parse_rates(text: &str) -> Option<(&str, Map<String, Value>)> {
    let (name, after) = text.trim().split_once('(')?;
    let (total, after) = after.split_once(')')?;
    let (interval, after) = after.split_once("/interval")?;
    let average = after.trim().strip_prefix("(avg")?.strip_suffix("/sec)")?;
    let known = !name.is_empty() && name.len() <= 60 && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let mut map = Map::new();
    for (key, value) in [("total", total), ("per_interval", interval), ("avg_per_s", average)] {
        map.insert(key.to_owned(), value.trim().parse::<u64>().ok()?.into());
    }
    known.then_some((name, map))
}

/// `Long lock-hold time: 14950 usec (14 ms) on CPU:34 comm:kswapd4` as a row, and a doubt if the
/// two times of it disagree. `time` is what stood before it.
pub(super) fn parse_event(text: &str, time: Option<&str>) -> Option<(Map<String, Value>, Option<String>)> {
    if text.len() > LONGEST {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = (1..words.len().saturating_sub(1)).find(|&at| {
        words[at - 1].ends_with(':')
            && words[at].parse::<u64>().is_ok()
            && Unit::from_word(words[at + 1].trim_end_matches([',', ';'])).is_some()
    })?;
    let value: u64 = words[at].parse().ok()?;
    let unit = Unit::from_word(words[at + 1].trim_end_matches([',', ';']))?;
    let label = words[..at].join(" ").trim_end_matches(':').to_owned();

    let mut row = Map::new();
    if let Some(time) = time {
        row.insert("time".to_owned(), time.into());
    }
    let lower = label.to_lowercase();
    let kind = [("hold", "hold"), ("held", "hold"), ("wait", "wait")];
    let kind = kind.iter().find(|(word, _)| lower.contains(word)).map_or("value", |(_, kind)| kind);
    row.insert("event".to_owned(), label.into());
    row.insert(format!("{kind}_{}", unit.word()), value.into());
    let fields = fields(text, &mut row);
    (fields > 0 || time.is_some()).then(|| (row, disagreement(value, unit, &words[at + 2..])))
}

/// `CPU:34 comm:a name` into `row`; a comm goes on to the end of the line.
fn fields(text: &str, row: &mut Map<String, Value>) -> usize {
    let (before, comm) = match text.split_once("comm:") {
        Some((before, comm)) => (before, Some(comm.trim())),
        None => (text, None),
    };
    let mut count = 0;
    for word in before.split_whitespace() {
        let Some((key, value)) = word.split_once(':') else { continue };
        let value = value.trim_end_matches([',', ';', ')']);
        if key.is_empty() || value.is_empty() || !key.chars().all(|c| c.is_ascii_alphabetic() || c == '_') {
            continue;
        }
        let value = value.parse::<u64>().map_or_else(|_| value.into(), Value::from);
        row.entry(key.to_ascii_lowercase()).or_insert(value);
        count += 1;
    }
    if let Some(comm) = comm {
        row.insert("comm".to_owned(), comm.into());
        count += 1;
    }
    count
}

/// The same time in a larger unit, rounded down, in brackets: `14950 usec (14 ms)`.
fn disagreement(value: u64, unit: Unit, after: &[&str]) -> Option<String> {
    let [again, again_unit, ..] = after else {
        return None;
    };
    let again: u64 = again.strip_prefix('(')?.parse().ok()?;
    let again_unit = Unit::from_word(again_unit.strip_suffix(')')?)?;
    let factor = again_unit.nanoseconds().checked_div(unit.nanoseconds()).filter(|factor| *factor > 0)?;
    (value / factor != again)
        .then(|| format!("{value} {} and {again} {} are not the same time", unit.word(), again_unit.word()))
}

/// `[HH:MM:SS[.fraction]] rest`.
pub(super) fn split_time(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let bytes = word.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let clock = [0, 1, 3, 4, 6, 7].into_iter().all(digit)
        && bytes[2] == b':'
        && bytes[5] == b':'
        && word.get(8..).is_some_and(|tail| {
            // Each map below gets it, so it must not be long.
            tail.is_empty()
                || (tail.len() <= 10
                    && tail.starts_with('.')
                    && tail[1..].chars().all(|c| c.is_ascii_digit()))
        });
    clock.then(|| (word, rest.trim()))
}

/// What bpftrace says about losses and other trouble.
pub(super) fn parse_trouble(text: &str) -> Option<String> {
    let lower = text.get(..text.len().min(200)).unwrap_or(text).to_lowercase();
    let lost = lower
        .strip_prefix("lost ")
        .and_then(|after| after.split_once(' '))
        .is_some_and(|(count, after)| count.parse::<u64>().is_ok() && after.starts_with("event"));
    let lost = lost || lower.starts_with("lost events:");
    let message = ["warning:", "error:"].iter().any(|word| {
        lower.starts_with(word) || lower.split_once(word).is_some_and(|(before, _)| place(before))
    });
    (lost || message).then(|| text.trim().to_owned())
}

/// `stdin:1:1-20: ` and `script.bt:3: `.
fn place(text: &str) -> bool {
    let text = text.trim_end();
    text.ends_with(':') && text.len() > 1 && !text.contains(' ')
}
