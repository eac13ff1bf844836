//! Extreme texts: none takes long or much memory, and each is read or refused with a reason.

mod common;

use std::{fmt::Write as _, time::Instant};

use common::{invariants::check, samples};
use rstat_probe_report::import::{formats, import, import_as};

fn error(text: &str) -> String {
    let result = import(text, "x");
    check(&result, "x");
    result.expect_err("an error").to_string()
}

#[test]
fn nothing_and_no_text() {
    for text in ["", "\n", "\u{feff}", " \t\r\n\u{a0}\n", "\r\r\r"] {
        assert!(error(text).contains("there is no text in it"), "{text:?}");
    }
    for (text, right) in [
        ("\0\0\0".to_owned(), "binary data"),
        ("\0".repeat(1 << 20), "binary data"),
        (String::from_utf8_lossy(b"\xff\xfe@\0x\0:\0\n\0").into_owned(), "iconv -f UTF-16 -t UTF-8"),
        (String::from_utf8_lossy(b"\xfe\xff\0@\0x\0:\0\n").into_owned(), "iconv -f UTF-16 -t UTF-8"),
    ] {
        assert!(error(&text).contains(right), "{}", error(&text));
    }
}

#[test]
fn latin_1_and_unbreakable_blanks_are_read() {
    let text =
        String::from_utf8_lossy(b"Vorg\xe4nger:\n@lat\xb5:\n@x_us:\n[1, 2)\xa05 |@@@@@|\n").into_owned();
    // Byte a0 alone is no blank of UTF-8.
    check(&import(&text, "x"), "x");
    let text = "@x_us:\n[1,\u{a0}2)\u{a0}\u{a0}5 |@@@@@|\n[2, 4)\u{202f}5 |@@@@@|\n";
    assert_eq!(import(text, "x").unwrap().histograms[0].total(), Some(10));
    let text = "Time\u{a0}\u{a0}Old\n0-1 us\u{a0}\u{a0}1\n1-2 us\u{a0}\u{a0}3\n";
    assert_eq!(import(text, "x").unwrap().histograms[0].total(), Some(4));
}

/// Counts that no 64 bits hold, by format: the line is named, nothing wraps.
#[test]
fn counts_above_the_range_are_errors_with_their_line() {
    let hist = "@x:\n[1] 1 |@|\n[2, 4) NUMBER |@|\n";
    let json = "{\"type\": \"hist\", \"data\": {\"@x\": [\n{\"min\": 1, \"max\": 1, \"count\": NUMBER}]}}\n";
    let bcc = "     usecs : count     distribution\n 0 -> 1 : 9 |**|\n 2 -> 3 : NUMBER |**|\n";
    let prom = "a_bucket{le=\"1\"} 1\na_bucket{le=\"2\"} NUMBER\na_bucket{le=\"+Inf\"} NUMBER\n";
    let hgrm = "Value Percentile TotalCount 1/(1-Percentile)\n\n1 0.0 1 1\n2 1.0 NUMBER inf\n";
    let rtla = "Index IRQ-000\n0 1\n1 NUMBER\ncount: 1\n";
    let trigger = "# event histogram\n{ lat: ~ 2^2 } hitcount: 1\n{ lat: ~ 2^3 } hitcount: NUMBER\n";
    let table = "T  A\n0-1 us  1\n1-2 us  NUMBER\n2-3 us  1\n";
    let perf = " contended   total wait   type   caller\n\n NUMBER 1 ns mutex f+0x1\n";
    let trace = "syscall calls errors total min avg max stddev\nread NUMBER 0 1 1 1 1 0.0%\n";
    let sched = "Task | Runtime ms | Switches | x\na:1 | 1 ms | NUMBER | avg: 1 ms | max: 1 ms\n";
    let raw = "1\n2\nNUMBER\n3\n4\n";
    for (text, line) in [
        (hist, 3),
        // An object is one line.
        (json, 1),
        (bcc, 3),
        (prom, 2),
        (hgrm, 4),
        (rtla, 3),
        (trigger, 3),
        (table, 3),
        (perf, 3),
        (trace, 2),
        (sched, 2),
        (raw, 3),
    ] {
        for number in
            ["18446744073709551616", "100000000000000000000", "340282366920938463463374607431768211456"]
        {
            let error = error(&text.replace("NUMBER", number));
            assert!(error.starts_with(&format!("x:{line}: ")), "{error}");
        }
        // In range: nothing that is added up may wrap.
        check(&import(&text.replace("NUMBER", "10000000000000000000"), "x"), "x");
        check(&import(&text.replace("NUMBER", "18446744073709551615"), "x"), "x");
    }
}

#[test]
fn many_rows_and_many_maps() {
    let mut text = "@x_ns:\n".to_owned();
    for row in 0..5000 {
        writeln!(text, "[{row}, {}) 1 |@|", row + 1).unwrap();
    }
    let imported = import(&text, "x").unwrap();
    assert_eq!((imported.histograms[0].buckets.len(), imported.histograms[0].total()), (5000, Some(5000)));

    let most = if cfg!(debug_assertions) { 10_000 } else { 100_000 };
    let mut text = String::new();
    for key in 0..most {
        writeln!(text, "@x_ns[{key}]:\n[1] {key} |@|\n").unwrap();
    }
    let imported = import(&text, "x").unwrap();
    assert_eq!(imported.histograms.len(), most);
    assert_eq!(imported.select(&format!("@x_ns[{}]", most - 1)), Ok(most - 1));
    let error = imported.select("x").unwrap_err().to_string();
    assert!(error.len() < 500 && error.contains(&format!(" and {} more", most - 12)), "{error}");
}

#[test]
fn long_lines_and_many_lines() {
    let most = if cfg!(debug_assertions) { 1 << 18 } else { 64 << 20 };
    for piece in ["a", "1", " ", "[", "@", "{", ">", "|", "\n", "7\n", "@: 1\n", "a 1 us\n"] {
        let start = Instant::now();
        let result = import(&piece.repeat(most / piece.len()), "x");
        if let Err(error) = &result {
            assert!(error.to_string().len() < 1000);
        }
        assert!(start.elapsed().as_secs() < 60, "{piece:?} takes {:?}", start.elapsed());
    }
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        let text = format!("{{\"type\": \"hist\", \"data\": {}", open.repeat(1 << 16));
        assert!(error(&text).starts_with("x:1: not JSON"), "{}", error(&text));
    }
    if cfg!(debug_assertions) {
        return;
    }
    assert!(error(&"\n".repeat(3_000_000)).starts_with("x:2000001: more than 2000000 lines are not read"));
    assert!(error(&"7\n".repeat(1_000_001)).starts_with("x:1000001: more than 1000000 samples"));
}

/// Work grows with the text and not with its square: each line of the samples many times, behind
/// what stood before it, and each beginning of a line again and again on one. The square would
/// take hours.
#[test]
fn time_is_linear() {
    let (size, every) = if cfg!(debug_assertions) { (1 << 16, 211) } else { (1 << 20, 23) };
    // `SIZE=8388608 EVERY=1` measures all; it prints what takes longest.
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<usize>().ok());
    let (size, every) = (number("SIZE").unwrap_or(size), number("EVERY").unwrap_or(every));
    let mut times = Vec::new();
    let mut at = 0;
    for (name, text) in samples() {
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            at += 1;
            if at % every != 0 {
                continue;
            }
            let before = lines[..index].join("\n");
            let half = line.get(..line.len() / 2).unwrap_or(line);
            for piece in [format!("{line}\n"), half.to_owned(), format!("{line}\n{half}\n\n")] {
                let many = format!("{before}\n{}\n{text}", piece.repeat(size / piece.len().max(1)));
                for format in formats() {
                    let start = Instant::now();
                    drop(import_as(format, &many, "x"));
                    times.push((start.elapsed(), format, name.clone(), index + 1));
                }
            }
        }
    }
    times.sort_by_key(|(elapsed, ..)| std::cmp::Reverse(*elapsed));
    println!("{size}: {:#?}", &times[..times.len().min(12)]);
    let (longest, format, sample, line) = &times[0];
    assert!(longest.as_secs() < 10, "{format} takes {longest:?} for line {line} of {sample}");
}
