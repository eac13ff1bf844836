//! Exit codes, and the lines of what is refused.

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use rstat_probe_report::Metric;
use tempfile::TempDir;

use super::{compare, json, made, part, report, sample, save, without};
use crate::{recording, refusal, text};

/// A folder with two runs of one kernel, one of a slower and one of a faster kernel.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, seed, percent) in
        [("a.json", 1, 100), ("b.json", 2, 100), ("slow.json", 3, 150), ("fast.json", 4, 60)]
    {
        save(folder.path(), name, &made(seed, percent));
    }
    folder
}

#[test]
fn of_the_verdict() {
    let folder = folder();
    for (candidate, code, verdict) in [
        ("a.json", 0, "no_difference"),
        ("b.json", 0, "no_difference"),
        ("fast.json", 0, "better"),
        ("slow.json", 1, "worse"),
    ] {
        let arguments = ["a.json", "--with", candidate, "--format", "json"];
        let json = json(&compare(folder.path(), arguments), code);
        assert_eq!(json["verdict"]["outcome"], verdict, "{candidate}: {:#}", json["verdict"]);
        assert_eq!(json["verdict"]["unreplicated"], false, "{candidate}");
        assert_eq!(json["measures"][0]["level"], "interval", "{candidate}");
        let differences = json["differences"].to_string();
        assert!(!differences.contains("kernel"), "{differences}");
    }
}

#[test]
fn of_rules() {
    let folder = folder();
    for (candidate, rules, code, outcomes) in [
        ("slow.json", &["irqs_off.p99<1s"][..], 1, &["broken"][..]),
        ("slow.json", &["irqs_off.p99>1s"], 0, &["held"]),
        ("slow.json", &["irqs_off.p50>+30%", "flush.max>1s"], 1, &["broken", "held"]),
        ("slow.json", &["irqs_off.p50>+60%", "lock_hold.p90>+60%"], 0, &["held", "held"]),
        ("fast.json", &["irqs_off.p50<-10%"], 1, &["broken"]),
        ("b.json", &["lock_hold.above_100us>50%", "flush.rate>+1000/s"], 2, &[]),
        ("b.json", &["lock_hold.above_100us>50%", "flush.time_share>99%"], 0, &["held", "held"]),
    ] {
        let rules = rules.iter().flat_map(|rule| ["--fail-on", rule]);
        let arguments: Vec<&str> =
            ["a.json", "--with", candidate, "--format", "json"].into_iter().chain(rules).collect();
        let output = compare(folder.path(), arguments.iter().copied());
        if code == 2 {
            assert!(text(&output.stderr).contains("the limit is no number"), "{output:?}");
            continue;
        }
        let json = json(&output, code);
        let found: Vec<&str> =
            json["rules"].as_array().unwrap().iter().map(|rule| rule["outcome"].as_str().unwrap()).collect();
        assert_eq!(found, outcomes, "{arguments:?}: {:#}", json["rules"]);
    }
    let arguments = ["a.json", "--with", "slow.json", "--fail-on", "irqs_off.p50>+30%"];
    let output = compare(folder.path(), arguments);
    assert!(report(&output, 1).contains("\nrule: irqs_off.p50>+30%: BROKEN (+"), "{output:?}");
}

/// One histogram a side is described, unless a rule decides.
#[test]
fn of_single_histograms() {
    let (old, new) = (sample("S2"), sample("S1"));
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let name = "And normal 6.6 kernel @lock_time_hist_ns / Patched kernel @lock_time_hist_ns";
    for (figure, code) in [
        ("", 3),
        // Of the whole buckets on either side.
        (".p50>+10%", 0),
        (".p50<-50%", 1),
        (".p50<-80%", 3),
        (".above_16ms>5%", 0),
        (".max>10ms", 1),
        (".max>100ms", 3),
    ] {
        let rule = format!("{name}{figure}");
        let rules = if figure.is_empty() { vec![] } else { vec!["--fail-on", &rule] };
        let arguments = [old, "--with", new, "--format", "json"].into_iter().chain(rules);
        let json = json(&compare(Path::new("."), arguments), code);
        assert_eq!(json["verdict"]["unreplicated"], true);
    }
}

#[test]
fn of_what_cannot_be_compared() {
    let (micro, nano) = (part("21", "@latency_usecs[40]"), part("21", "@latency_ns[40]"));
    let output = compare(Path::new("."), [micro.as_str(), "--with", &nano]);
    let text = report(&output, 4);
    assert!(text.starts_with("verdict: not comparable\nbecause: "), "{text}");

    // A metric that one kernel does not have.
    let folder = folder();
    let mut old = made(5, 100);
    without(&mut old, Metric::LockHold);
    save(folder.path(), "old.json", &old);
    for (left, right) in [("a.json", "old.json"), ("old.json", "a.json")] {
        let output = compare(folder.path(), [left, "--with", right, "--only", "lock_hold"]);
        let text = report(&output, 4);
        assert!(text.starts_with("verdict: not comparable\n") && text.contains("no hooks"), "{text}");
    }
    // It does not keep the rest from being compared.
    let json = json(&compare(folder.path(), ["a.json", "--with", "old.json", "--format", "json"]), 0);
    assert_eq!(json["verdict"]["outcome"], "no_difference");
}

#[test]
fn of_what_is_refused() {
    let folder = folder();
    fs::create_dir(folder.path().join("empty")).unwrap();
    let whole = recording("storm.json");
    fs::write(folder.path().join("half.json"), &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.path().join("none.json"), "").unwrap();
    let known = "irqs_off, lock_hold, flush";
    let micro = part("21", "@usecs");
    for (arguments, right) in [
        (
            &["missing.json", "--with", "a.json"][..],
            "cannot read missing.json: No such file or directory".to_owned(),
        ),
        (
            &["a.json", "--with", "missing.json"],
            "cannot read missing.json: No such file or directory".to_owned(),
        ),
        (&["a.json", "--with", "empty"], "empty: there is no *.json in this folder".to_owned()),
        (&["a.json", "--with", "half.json"], "half.json: not JSON: EOF while parsing".to_owned()),
        (&["a.json", "--with", "none.json"], "none.json: it is empty".to_owned()),
        (&["a.json:jitter", "--with", "a.json"], format!("a.json has no jitter; it has {known}")),
        (
            &["a.json", "--with", "b.json", "--only", "jitter"],
            "--only jitter: neither side has it; there is flush, irqs_off, lock_hold".to_owned(),
        ),
        (
            &["a.json", "--with", "b.json", "--fail-on", "p99>1ms"],
            format!("--fail-on p99>1ms: nothing here is called (no name); there is {known}"),
        ),
        (
            &["a.json", "--with", "b.json", "--fail-on", "jitter.p99>1ms"],
            format!("--fail-on jitter.p99>1ms: nothing here is called jitter; there is {known}"),
        ),
        (&["-", "--with", "-"], "- is named twice, but there is only one standard input".to_owned()),
        (&["-:flush", "-:irqs_off", "--with", "a.json"], "- is named twice".to_owned()),
        (&[&micro, "--with", "a.json"], format!("{} holds no histogram named", sample("21").display())),
    ] {
        let line = refusal(&compare(folder.path(), arguments.iter().copied()));
        assert!(line.starts_with(&right), "{arguments:?}: {line}\nis not\n{right}");
    }
}

/// clap says these, in more than one line.
#[test]
fn of_usage() {
    for (arguments, names) in [
        (&["a.json"][..], &["--with <[LABEL=]FILE[:NAME]>"][..]),
        (&["--with", "a.json"], &["<[LABEL=]FILE[:NAME]>"]),
        (&["a", "--with", "b", "--fail-on", "irqs_off.p99"], &["there is no > or <", "irqs_off.p99>+10%"]),
        (&["a", "--with", "b", "--fail-on", ".p99>1ms"], &["there is no measure", "irqs_off.p99>+10%"]),
        (&["a", "--with", "b", "--fail-on", "x.p98>1ms"], &["p50, p90, p99, p99.9, max, above_TIME"]),
        (&["a", "--with", "b", "--confidence", "100%"], &["from 50% to below 100%"]),
        (&["a", "--with", "b", "--least-change=-1"], &["--least-change"]),
        (&["a", "--with", "b", "--resamples", "10"], &["100..=1000000"]),
        (&["a", "--with", "b", "--above", "soon"], &["write it as 30s, 500ms or 2m"]),
        (&["a", "--with", "b", "--resample", "cpu"], &["interval, run, host"]),
    ] {
        let output = compare(Path::new("."), arguments.iter().copied());
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{arguments:?}: {output:?}");
        for name in names {
            assert!(text(&output.stderr).contains(name), "{arguments:?}: no {name} in {output:?}");
        }
    }
}

/// Who has read enough gets the verdict all the same.
#[test]
fn of_reports_that_nobody_reads() {
    let folder = folder();
    for (candidate, code) in [("b.json", 0), ("slow.json", 1)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rstat-probe"));
        command.current_dir(folder.path()).args(["compare", "a.json", "--with", candidate]);
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let output = command.stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(code), ""), "{candidate}");

        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.starts_with("verdict: "), "{first}");
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(code), ""), "{candidate}");
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rstat-probe"));
    command.current_dir(folder.path()).args(["compare", "a.json", "--with", "b.json"]);
    assert!(refusal(&command.stdout(full).output().unwrap()).contains("No space left on device"));
}
