//! What people give by mistake: recognised, and refused with what to do instead.

use super::{ImportError, Source};

/// First bytes of files that are no text, as `from_utf8_lossy` leaves them; what they are; what
/// to do.
const MAGIC: &[(&str, &str, &str)] = &[
    (
        "PERFILE2",
        "a perf.data file",
        "run `perf lock contention -i FILE` (or another report of perf) and give its output",
    ),
    ("\u{17}\u{8}Dtracing", "a trace.dat file of trace-cmd", "`trace-cmd hist` sums such a file up"),
    ("\u{7f}ELF", "an ELF file, which is a program", "give what it prints"),
    ("\u{1f}\u{fffd}", "a gzip file", "unpack it with gunzip"),
    ("\u{fffd}7zXZ", "an xz file", "unpack it with unxz"),
    ("(\u{fffd}/\u{fffd}", "a zstd file", "unpack it with unzstd"),
    ("BZh", "a bzip2 file", "unpack it with bunzip2"),
    ("PK\u{3}\u{4}", "a zip file", "unpack it with unzip"),
    ("%PDF-", "a PDF file", "give the text of it"),
];

/// Of so many characters most are looked at to tell text from other files.
const LOOKED_AT: usize = 4096;

/// The error of a file that is no text.
pub(crate) fn binary(text: &str, what: &str) -> Option<ImportError> {
    let refused = |recognised: &str, advice: &str| ImportError::Refused {
        what: what.to_owned(),
        line: 1,
        recognised: recognised.to_owned(),
        advice: advice.to_owned(),
    };
    if let Some((_, recognised, advice)) = MAGIC.iter().find(|(magic, ..)| text.starts_with(magic)) {
        return Some(refused(recognised, advice));
    }
    let (mut all, mut even, mut odd, mut unknown) = (0usize, 0usize, 0usize, 0usize);
    for (index, character) in text.chars().take(LOOKED_AT).enumerate() {
        all += 1;
        unknown += usize::from(character == char::REPLACEMENT_CHARACTER);
        if character == '\0' {
            *(if index % 2 == 0 { &mut even } else { &mut odd }) += 1;
        }
    }
    // Each ASCII character of UTF-16 has a zero byte beside it.
    if even.max(odd) * 4 > all && even.min(odd) * 20 <= all {
        return Some(refused("UTF-16", "convert it with iconv -f UTF-16 -t UTF-8"));
    }
    if unknown * 4 > all && all > 20 {
        return Some(refused(
            "binary data, or text that is not UTF-8",
            "give the text that a tool prints, as UTF-8 (iconv converts)",
        ));
    }
    // A string that a probe could not read prints as some.
    ((even + odd) * 4 > all)
        .then(|| refused("binary data, with zero bytes in it", "give the text that a tool prints"))
}

/// The error of a known text that holds nothing to read.
pub(super) fn other(source: &Source<'_>) -> Option<ImportError> {
    source.lines.iter().find_map(|line| {
        let (recognised, advice) = known(line.trimmed())?;
        Some(source.refused(*line, &recognised, advice))
    })
}

/// What prints `text`, and what to do.
fn known(text: &str) -> Option<(String, &'static str)> {
    let words: Vec<&str> = text.split_whitespace().take(5).collect();
    let comment = text.strip_prefix('#').map(str::trim_start);
    if let Some(tracer) = comment.and_then(|text| text.strip_prefix("tracer:")) {
        let recognised = format!("an ftrace file of the tracer {}", super::shortened(tracer.trim()));
        return Some((recognised, "it holds single events; latencies are in those of irqsoff and wakeup"));
    }
    let (recognised, advice) = if words.starts_with(&["Function", "Hit", "Time", "Avg"]) {
        ("a function profile of ftrace", "it holds sums and no histogram: use bpftrace or funclatency")
    } else if text.starts_with("Performance counter stats for") {
        ("perf stat", "it counts and times nothing: use perf lock contention, bpftrace or rstat-probe run")
    } else if comment.is_some_and(|text| text.starts_with("Overhead ") && text.contains("Command")) {
        ("perf report", "its samples are no times: use perf lock contention, bpftrace or rstat-probe run")
    } else if comment.is_some_and(|text| text.starts_with("DURATION") && text.contains("COUNT")) {
        ("perf ftrace latency", "it is not read yet: use funclatency or a hist of bpftrace")
    } else if words.starts_with(&["%", "time", "seconds", "usecs/call"]) {
        ("strace -c", "it holds sums: `perf trace -s` has times of each call")
    } else if is_script(text) {
        ("a bpftrace script", "run it and give its output")
    } else if is_event(text) {
        ("single events (trace-cmd report, perf script)", "sum them up with a hist trigger or bpftrace")
    } else {
        return None;
    };
    Some((recognised.to_owned(), advice))
}

/// The first line of a bpftrace program, or one of its probes.
fn is_script(text: &str) -> bool {
    const PROBES: [&str; 14] = [
        "kprobe:",
        "kretprobe:",
        "tracepoint:",
        "rawtracepoint:",
        "fentry:",
        "fexit:",
        "kfunc:",
        "kretfunc:",
        "uprobe:",
        "uretprobe:",
        "interval:",
        "profile:",
        "software:",
        "hardware:",
    ];
    let interpreted = text.starts_with("#!") && text.contains("bpftrace");
    let block = matches!(text.split_once('{'), Some((name, _)) if matches!(name.trim(), "BEGIN" | "END"));
    interpreted || block || PROBES.iter().any(|probe| text.starts_with(probe))
}

/// `comm-123 [001] ..... 1234.567890: sched_switch: ...`.
fn is_event(text: &str) -> bool {
    let Some((_, rest)) = text.split_once(" [") else { return false };
    let Some((cpu, rest)) = rest.split_once("] ") else { return false };
    let digits = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let time = rest.split_whitespace().take(2).find_map(|word| word.strip_suffix(':')?.split_once('.'));
    cpu.len() <= 5
        && digits(cpu)
        && time.is_some_and(|(seconds, fraction)| digits(seconds) && digits(fraction) && fraction.len() >= 6)
}

#[cfg(test)]
mod tests {
    use super::super::import;

    fn error(text: &str) -> String {
        import(text, "x").unwrap_err().to_string()
    }

    #[test]
    fn other_outputs_are_named_with_their_line() {
        for (text, right) in [
            ("# tracer: function\n#\n", "x:1: recognised an ftrace file of the tracer function; "),
            (
                "\n  Function      Hit    Time            Avg             s^2\n",
                "x:2: recognised a function profile of ftrace; ",
            ),
            ("$ x\n\n Performance counter stats for 'x':\n\n 12 cycles\n", "x:3: recognised perf stat; "),
            ("# Overhead  Command  Shared Object\n", "x:1: recognised perf report; "),
            ("#   DURATION     |      COUNT | GRAPH |\n", "x:1: recognised perf ftrace latency; "),
            ("% time     seconds  usecs/call     calls\n", "x:1: recognised strace -c; "),
            ("#!/usr/bin/env bpftrace\nBEGIN { }\n", "x:1: recognised a bpftrace script; run it"),
            ("// x\nkprobe:f { @[comm] = count(); }\n", "x:2: recognised a bpftrace script; "),
            (
                "cpus=8\n  a b-12 [001] d..1. 12.345678: sched_switch: x\n",
                "x:2: recognised single events (trace-cmd report, perf script); ",
            ),
        ] {
            assert!(error(text).starts_with(right), "{}", error(text));
        }
    }

    #[test]
    fn files_that_are_no_text_are_named() {
        for (bytes, right) in [
            (&b"PERFILE2\x68\0\0\0"[..], "recognised a perf.data file; run `perf lock contention -i"),
            (b"\x7fELF\x02\x01\x01\0", "recognised an ELF file"),
            (b"\x1f\x8b\x08\0", "recognised a gzip file; unpack it with gunzip"),
            (b"\xfd7zXZ\0", "recognised an xz file"),
            (b"\x28\xb5\x2f\xfd\x04", "recognised a zstd file"),
            (b"\xff\xfe@\0x\0:\0\n\0", "recognised UTF-16; convert it with iconv -f UTF-16 -t UTF-8"),
            (b"\0@\0x\0:\0\n", "recognised UTF-16"),
            (b"\0\0\0\0\0\0", "recognised binary data"),
            (
                b"\xc0\x91\xfe\xe1\x80\x93\xa9\xb7\xff\xc5\xd8 count 1 2 3 4 5 6 7 8",
                "recognised binary data, or",
            ),
        ] {
            let error = error(&String::from_utf8_lossy(bytes));
            assert!(error.starts_with(&format!("x:1: {right}")), "{error}");
        }
    }

    #[test]
    fn unknown_text_is_shown() {
        let known = import("", "x").unwrap_err().to_string();
        assert!(
            known.starts_with("x: the format is not recognised; there is no text in it; known are hlog, ")
        );
        let text = format!("\n \t\n  \u{1b}[1mwho {} \nx\n", "a".repeat(100));
        let right = format!(
            "x: the format is not recognised; it begins with \"\\u{{1b}}[1mwho {}...\"; known are hlog, ",
            "a".repeat(32)
        );
        assert!(error(&text).starts_with(&right), "{}", error(&text));
        assert!(error("Zeit, gemessen: \u{fffd}").contains("begins with \"Zeit, gemessen: \u{fffd}\""));
    }
}
