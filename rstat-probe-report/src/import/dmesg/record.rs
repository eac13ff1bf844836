//! Records of a kernel log that mail clients wrapped and joined.

use super::super::Source;

/// One record.
#[derive(Debug, PartialEq)]
pub(super) struct Record {
    /// Line it starts on.
    pub(super) line: usize,
    /// Seconds since boot.
    pub(super) time: Option<f64>,
    pub(super) text: String,
}

/// Splits at `[seconds.micros]` and `kernel: `. Where the log has these, lines without are the
/// rest of the record before, up to a blank line; after one they are prose. Where it has none,
/// each line is a record.
pub(super) fn records(source: &Source<'_>) -> Vec<Record> {
    let marked = source.lines.iter().any(|line| !marks(line.text).is_empty());
    let mut records: Vec<Record> = Vec::new();
    let mut prose = true;
    for line in &source.lines {
        let text = line.trimmed();
        if !marked {
            records.push(Record { line: line.number, time: None, text: text.to_owned() });
            continue;
        }
        let marks = marks(text);
        let first = marks.first().map_or(text.len(), |mark| mark.start);
        // Before `kernel: ` stand the date and the host.
        let syslog = marks.first().is_some_and(|mark| mark.time.is_none());
        let before = text[..first].trim();
        if text.is_empty() {
            prose = true;
        } else if !before.is_empty()
            && !syslog
            && !prose
            && let Some(record) = records.last_mut()
        {
            record.text.push(' ');
            record.text.push_str(before);
        }
        for (index, mark) in marks.iter().enumerate() {
            prose = false;
            let end = marks.get(index + 1).map_or(text.len(), |next| next.start);
            let inner = text[mark.end..end].trim();
            let empty =
                records.last().is_some_and(|record| record.text.is_empty() && record.line == line.number);
            if empty {
                records.pop();
            }
            records.push(Record { line: line.number, time: mark.time, text: inner.to_owned() });
        }
    }
    records
}

#[derive(Debug)]
struct Mark {
    start: usize,
    end: usize,
    time: Option<f64>,
}

/// Starts of records in one line.
fn marks(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut at = 0;
    let mut blank = true;
    while let Some(byte) = text.as_bytes().get(at) {
        let found = match byte {
            b'[' => stamp(&text[at..]).map(|(length, time)| (length, Some(time))),
            b'k' if blank && text[at..].starts_with("kernel:") => Some(("kernel:".len(), None)),
            _ => None,
        };
        blank = byte.is_ascii_whitespace();
        if let Some((length, time)) = found {
            marks.push(Mark { start: at, end: at + length, time });
            at += length;
        } else {
            at += 1;
        }
    }
    marks
}

/// Length and value of `[ 3950.448053]`, with the `[  T36]` of the caller after it.
fn stamp(text: &str) -> Option<(usize, f64)> {
    let end = text.bytes().take(24).position(|byte| byte == b']')?;
    let inner = text[1..end].trim_start();
    let (seconds, micros) = inner.split_once('.')?;
    let digits = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(seconds) || !digits(micros) || micros.len() != 6 {
        return None;
    }
    let time = inner.parse().ok()?;
    let after = &text[end + 1..];
    let caller = after
        .strip_prefix('[')
        .and_then(|caller| caller.bytes().take(12).position(|byte| byte == b']').map(|end| (caller, end)))
        .filter(|(caller, end)| caller[..*end].trim_start().starts_with(['T', 'C']));
    Some((end + 1 + caller.map_or(0, |(_, end)| end + 2), time))
}
