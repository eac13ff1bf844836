use super::*;
use crate::fleet::tests::{merged, run, sample};
use crate::metric::Metric;
use crate::recording::Recording;

fn text(fleet: &Fleet, width: Option<usize>) -> String {
    let mut text = Vec::new();
    write_text(&mut text, fleet, &TextOptions { width, heading: true }).unwrap();
    String::from_utf8(text).unwrap()
}

fn short(fleet: &Fleet) -> String {
    let mut text = Vec::new();
    write_short(&mut text, fleet, &TextOptions::default()).unwrap();
    String::from_utf8(text).unwrap()
}

fn csv(fleet: &Fleet) -> String {
    let mut text = Vec::new();
    write_csv(&mut text, fleet).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn golden() {
    insta::assert_snapshot!(text(&sample(), None));
}

#[test]
fn golden_short() {
    insta::assert_snapshot!(short(&sample()));
}

#[test]
fn golden_runs() {
    let runs = [run("a", 10, 1_000), run("a", 20, 2_000)];
    insta::assert_snapshot!(text(&merged(&runs), None));
}

#[test]
fn the_worst_of_many_come_first() {
    let runs: Vec<Recording> = (0..25).map(|n| run(&format!("h{n:02}"), 10, 1_000 << (n % 13))).collect();
    let text = text(&merged(&runs), None);
    let (_, table) = text.split_once("hosts: by p99 of irqs_off, the longest first\n").unwrap();
    let names: Vec<&str> = table.lines().skip(1).take(10).map(|line| &line[..3]).collect();
    assert_eq!(names, ["h12", "h11", "h24", "h10", "h23", "h09", "h22", "h08", "h21", "h07"]);
    assert_eq!(table.lines().nth(11), Some("... and 15 more"));
}

#[test]
fn few_events_and_few_units_are_told() {
    let mut runs = vec![run("a", 10, 1_000), run("b", 10, 1_000)];
    let text = short(&merged(&runs));
    assert!(text.contains("outliers: not looked for: there are 2 hosts, and it takes 3\n"), "{text}");
    runs.push(run("c", 10, 1_000));
    runs[0].totals.metrics.insert(Metric::Flush, crate::Histogram::new());
    let text = short(&merged(&runs));
    let line = "left out: flush p99: 1 host with fewer than 100 events, which leaves too few to compare\n";
    assert!(text.contains(line), "{text}");
    // No time in flushes is something that can be compared.
    assert!(text.contains("outliers: a in flush; the score is"), "{text}");
    // Too few to compare, and so no row.
    assert!(!text.contains("\nflush      p99"), "{text}");
    assert!(text.contains("\nflush      time share"), "{text}");
}

#[test]
fn losses_are_never_silent() {
    let mut recording = run("a", 10, 1_000);
    assert!(short(&merged(&[recording.clone()])).contains("lost: wait_map_full 3\n"));
    recording.losses.values_mut().for_each(|count| *count = 0);
    assert!(short(&merged(&[recording.clone()])).contains("losses: none\n"));
    recording.losses.clear();
    assert!(short(&merged(&[recording])).contains("losses: none known\n"));
}

#[test]
fn differences_name_their_number() {
    let mut runs: Vec<Recording> = (0..6).map(|n| run(&format!("h{n}"), 10, 1_000)).collect();
    for (index, recording) in runs.iter_mut().enumerate() {
        recording.provenance.kernel.release = format!("6.{}", index / 2 * 2);
        recording.provenance.cpus.online = u32::try_from(index).unwrap();
    }
    let basis = &mut runs[0].provenance.metrics.get_mut(&Metric::Flush).unwrap().basis;
    *basis = Some("fentry and fexit".to_owned());
    let text = text(&merged(&runs), None).replace("\n  ", " ");
    assert!(text.contains("differs: kernel: 6.0 (2 hosts); 6.2 (2 hosts); 6.4 (2 hosts)\n"), "{text}");
    let cpus = "differs: online CPUs: 0 (1 host); 1 (1 host); 2 (1 host); 3 (1 host); ... and 2 more\n";
    assert!(text.contains(cpus), "{text}");
    let hooks =
        "differs: hooks: flush: derived from raw tracepoints (5 hosts); flush: fentry and fexit (1 host)\n";
    assert!(text.contains(hooks), "{text}");
    assert!(!text.contains("\nkernel: "), "a heading names what all have: {text}");
}

#[test]
fn csv_rows_add_up_and_names_are_quoted() {
    let runs = [run("a,\"b\"\n", 10, 1_000), run("c", 10, 2_000)];
    let csv = csv(&merged(&runs));
    assert!(csv.starts_with("metric,host,started,length_ns,low_ns,high_ns,count\nirqs_off,,,5000000000,"));
    let quoted = "\"a,\"\"b\"\"\n\"";
    assert!(csv.contains(&format!("irqs_off,{quoted},2026-01-02T03:04:10.5Z,2500000000,")), "{csv}");
    let (mut total, mut parts) = (0, 0);
    for line in csv.replace(quoted, "q").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), 7, "{line}");
        *if fields[1].is_empty() { &mut total } else { &mut parts } += fields[6].parse::<u64>().unwrap();
    }
    assert_eq!((total, parts), (1600, 1600));
}

#[test]
fn nothing_steers_the_terminal() {
    let evil = || "a\u{1b}[2J\r\u{202e}b".to_owned();
    let mut runs: Vec<Recording> = (0..4).map(|n| run(&format!("{}{n}", evil()), 10, 1_000)).collect();
    runs.push(run(&format!("{}0", evil()), 11, 50_000_000));
    for (index, recording) in runs.iter_mut().enumerate() {
        recording.provenance.started += &evil();
        recording.provenance.kernel.release = format!("{}{index}", evil());
    }
    let mut fleet = merged(&runs);
    fleet.tool.version = evil();
    fleet.warnings.push(evil());
    for text in [text(&fleet, None), short(&fleet)] {
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(bad), "{text:?}");
        assert!(text.matches("\\u{1b}").count() >= 2);
    }
}

#[test]
fn lines_fit() {
    for columns in [100, 200] {
        for line in text(&sample(), Some(columns)).lines() {
            assert!(line.chars().count() <= 100, "{columns}: {line}");
            assert!(!line.ends_with(' '), "{line}");
        }
    }
}

#[test]
fn no_metric_says_so() {
    let mut recording = run("a", 10, 1_000);
    recording.totals.metrics.clear();
    let text = text(&merged(&[recording]), None);
    assert!(text.contains("no metric could be measured"), "{text}");
}
