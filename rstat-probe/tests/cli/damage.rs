//! `show` of what is no recording, or no longer one: exit code 2 and one line that names the file.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{error_line, recording, refusal, text};

/// A file in a folder of its own.
struct File {
    path: PathBuf,
    _folder: TempDir,
}

impl File {
    fn with(content: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        fs::write(&path, content).unwrap();
        Self { path, _folder: folder }
    }

    /// What `show` says about it after the name.
    #[track_caller]
    fn refused(&self) -> String {
        let line = refusal(&crate::tool().arg("show").arg(&self.path).output().unwrap());
        let name = format!("{}:", self.path.display());
        let rest = line.strip_prefix(&name).unwrap_or_else(|| panic!("does not begin with {name}: {line}"));
        rest.trim_start().to_owned()
    }
}

#[test]
fn missing() {
    let line = refusal(&crate::tool().args(["show", "missing.json"]).output().unwrap());
    assert_eq!(line, "cannot read missing.json: No such file or directory (os error 2)");
}

#[test]
fn a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let line = refusal(&crate::tool().arg("show").arg(folder.path()).output().unwrap());
    assert_eq!(line, format!("{} is a folder; name the files in it", folder.path().display()));
}

#[test]
fn nothing_in_it() {
    for (content, line) in
        [("", "it is empty"), ("\n", "nothing but blanks in it"), (" \n\t", "nothing but blanks in it")]
    {
        assert_eq!(File::with(content).refused(), line);
    }
}

#[test]
fn other_things_than_text() {
    let utf16: Vec<u8> = "@ns:\n[1, 2)  3 |@@@|\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let noise: Vec<u8> = (0..5_000u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for (content, line) in [
        (&b"\0\0\0\0"[..], "1: recognised binary data, with zero bytes in it; give the text"),
        (b"\x7fELF\x02\x01\x01", "1: recognised an ELF file, which is a program"),
        (b"\x1f\x8b\x08\0\0\0", "1: recognised a gzip file; unpack it"),
        (&utf16, "1: recognised UTF-16; convert it with iconv"),
        (&noise, "1: recognised binary data, or text that is not UTF-8"),
        (b"hello", "the format is not recognised; it begins with \"hello\"; known are "),
        (b"[1, 2]", "the format is not recognised; it begins with \"[1, 2]\"; known are "),
    ] {
        let found = File::with(content).refused();
        assert!(found.starts_with(line), "{}: {found}", content.escape_ascii());
    }
}

#[test]
fn other_things_than_json() {
    for (content, line) in [
        (&b"{\n \"schema\": rstat\n}"[..], "not JSON: expected value at line 2 column 12"),
        (b"{\"schema\0\": 1}", "not JSON: control character"),
        (b"{\"schema\": \"\xff\"}", "not JSON: invalid unicode code point at line 1 column"),
        (b"{hello}", "not JSON: key must be a string at line 1 column 2"),
    ] {
        let found = File::with(content).refused();
        assert!(found.starts_with(line), "{}: {found}", content.escape_ascii());
    }
    // Editors put a mark before it, which is no fault.
    let marked = File::with(format!("\u{feff}{}", recording("idle.json")));
    crate::tool().arg("show").arg(&marked.path).assert().success();
}

/// More events than 64 bits hold.
#[test]
fn counts_that_are_too_large() {
    let huge = "10000000000000000000";
    let two = format!("@ns:\n[1, 2)  {huge} |@@|\n[2, 4)  {huge} |@@|\n");
    assert_eq!(File::with(&two).refused(), "3: the counts of @ns add up to more than 2^64-1");
    let one = File::with(format!("@ns:\n[1, 2)  {huge} |@@|\n"));
    let output = crate::tool().arg("show").arg(&one.path).output().unwrap();
    assert!(text(&output.stdout).contains("10,000,000,000,000,000,000 events"), "{output:?}");
    let output = crate::tool().arg("compare").arg(&one.path).arg("--with").arg(&one.path).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn breaks_off() {
    let whole = recording("storm.json");
    for share in [1, 30, 60, 99] {
        let part = &whole[..whole.len() * share / 100];
        let line = File::with(part).refused();
        assert!(line.starts_with("not JSON: EOF while parsing"), "{share} %: {line}");
        let place =
            format!(" at line {} column {}", part.lines().count(), part.lines().next_back().unwrap().len());
        assert!(line.ends_with(&place), "{share} %: {line}, not{place}");
    }
}

#[test]
fn too_much() {
    let line = File::with(recording("storm.json") + "{}").refused();
    assert!(line.starts_with("not JSON: trailing characters at line "), "{line}");
    let deep = "[".repeat(100_000);
    let line = File::with(format!("{{\"a\":{deep}")).refused();
    assert!(line.starts_with("not JSON: "), "{line}");
}

#[test]
fn json_of_others() {
    const OURS: &str = "\"rstat-probe/recording/1\" or \"rstat-probe/fleet/1\"";
    for (content, line) in [
        ("{}", format!("no rstat-probe recording or fleet: there is no \"schema\": {OURS}")),
        ("{\"schema\": 1}", format!("no rstat-probe recording or fleet: its schema is 1, not {OURS}")),
        (
            "{\"schema\": \"rstat-probe/load-result/1\"}",
            "damaged load result: missing field `kind` at line 1 column 39".to_owned(),
        ),
        (
            "{\"schema\": \"rstat-probe/load-result/3\"}",
            "load result schema rstat-probe/load-result/3 is newer than this rstat-probe reads \
             (rstat-probe/load-result/2); update rstat-probe"
                .to_owned(),
        ),
        (
            "{\"schema\": \"rstat-probe/recording/2\"}",
            "recording schema rstat-probe/recording/2 is newer than this rstat-probe reads \
             (rstat-probe/recording/1); update rstat-probe"
                .to_owned(),
        ),
    ] {
        assert_eq!(File::with(content).refused(), line, "{content}");
    }
}

/// Whatever is in a file, it does not steer the terminal or break the line.
#[test]
fn hostile_schema() {
    for schema in ["rstat-probe/recording/2\u{1b}[2J\nx", "\u{1b}]0;owned\u{7}", "a\u{9b}31m", "\u{202e}x"] {
        let line = File::with(json!({"schema": schema}).to_string()).refused();
        assert!(!line.contains(['\u{1b}', '\u{9b}', '\u{7}', '\u{202e}']), "{}", line.escape_debug());
    }
}

#[test]
fn contradicts_itself() {
    type Damage = fn(&mut Value);
    for (damage, line) in [
        (
            (|json| json["totals"]["counters"]["sections"] = json!(1)) as Damage,
            "damaged recording: totals and intervals differ in sections",
        ),
        (
            |json| drop(json["intervals"].as_array_mut().unwrap().pop()),
            "damaged recording: totals and intervals differ in irqs_off",
        ),
        (
            |json| json["totals"]["metrics"]["lock_hold"]["count"] = json!(1),
            "damaged recording: lock_hold: count is 1, but slots and overflow hold ",
        ),
        (
            |json| json["intervals"][1]["metrics"]["lock_hold"]["slots"] = json!([[9999, 1]]),
            "damaged recording: interval 1: lock_hold: slot 9999 is out of range",
        ),
        (|json| json["duration_ns"] = json!("long"), "damaged recording: invalid type: string \"long\""),
        (
            |json| drop(json.as_object_mut().unwrap().remove("losses")),
            "damaged recording: missing field `losses`",
        ),
    ] {
        let mut json = serde_json::from_str(&recording("storm.json")).unwrap();
        damage(&mut json);
        let text = serde_json::to_string_pretty(&json).unwrap();
        let found = File::with(&text).refused();
        assert!(found.starts_with(line), "{found}\nis not\n{line}");
        // Where a single place is wrong it is named, and lies in the file.
        if let Some((_, place)) = found.split_once(" at line ") {
            let (number, column) = place.split_once(" column ").unwrap();
            let (number, column): (usize, usize) = (number.parse().unwrap(), column.parse().unwrap());
            assert!(number <= text.lines().count(), "{found}");
            assert!(column <= text.lines().nth(number - 1).unwrap().len(), "{found}");
        } else {
            assert!(line.contains("differ in"), "no place in {found}");
        }
    }
}

#[test]
fn standard_input() {
    let output = crate::tool().args(["show", "-"]).write_stdin("{").output().unwrap();
    let line = refusal(&output);
    assert!(line.starts_with("standard input: not JSON: EOF while parsing"), "{line}");
}

/// What came before the broken one is shown, and the broken one is named.
#[test]
fn the_broken_one_of_several() {
    let good = "tests/fixtures/recordings/idle.json";
    let alone = crate::tool().args(["show", good]).output().unwrap();
    let output = crate::tool().args(["show", good, "missing.json", good]).output().unwrap();
    assert!(error_line(&output).contains("missing.json"));
    assert_eq!(text(&output.stdout), text(&alone.stdout));
}
