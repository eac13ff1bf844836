//! Load results alone, as the published tables of throughput are made.

use std::{fs, path::Path};

use rstat_probe_report::{
    load_result::{LoadResult, Protection, SCHEMA, SendfileResult},
    recording::EndedBy,
};

use super::{compare, json, measure, report};

/// Writes results of `load sendfile` with these Mbit/s, and gives their names.
fn results(folder: &Path, side: &str, megabits: &[f64], pairs: u32) -> Vec<String> {
    let write = |(run, &mbit): (usize, &f64)| {
        let sendfile = SendfileResult {
            pairs,
            message_bytes: 10 << 10,
            file_bytes: 640 << 10,
            levels: 3,
            protection: Protection::Set { min_bytes: 512 << 10, low_bytes: 1 << 20 },
            bytes: 1 << 40,
            megabits_per_second: mbit,
            slowest_megabits_per_second: mbit * 0.9,
            fastest_megabits_per_second: mbit * 1.1,
            total_megabits_per_second: mbit * f64::from(pairs),
        };
        let result = LoadResult {
            schema: SCHEMA.to_owned(),
            kind: "sendfile".to_owned(),
            started: format!("2026-01-02T03:0{run}:05Z"),
            duration_ns: 60_000_000_000,
            cgroup_version: 2,
            cgroup: format!("/rstat-probe-load-{run}"),
            stat_reader: None,
            hogs: None,
            sendfile: Some(sendfile),
            charge: None,
            ended_by: EndedBy::Duration,
        };
        let name = format!("{side}-{run}.json");
        fs::write(folder.join(&name), serde_json::to_vec(&result).unwrap()).unwrap();
        name
    };
    megabits.iter().enumerate().map(write).collect()
}

/// The words `compare` gets.
fn words<'a>(baseline: &'a [String], candidate: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    let baseline = baseline.iter().map(String::as_str);
    baseline
        .chain(["--with"])
        .chain(candidate.iter().map(String::as_str))
        .chain(more.iter().copied())
        .collect()
}

const BEFORE: [f64; 6] = [10_431.2, 10_508.9, 10_476.0, 10_502.3, 10_455.1, 10_522.7];
const AFTER: [f64; 6] = [12_398.0, 12_441.5, 12_377.3, 12_420.0, 12_430.8, 12_414.6];

#[test]
fn six_runs_a_side_show_the_percentage_and_its_interval() {
    let folder = tempfile::tempdir().unwrap();
    let before = results(folder.path(), "before", &BEFORE, 36);
    let after = results(folder.path(), "after", &AFTER, 36);
    let json = json(&compare(folder.path(), words(&before, &after, &["--format", "json"])), 0);
    let throughput = measure(&json, "load.megabits_per_second");
    assert_eq!(throughput["verdict"]["outcome"], "better", "{throughput:#}");
    assert_eq!(throughput["units"], serde_json::json!([6, 6]));

    let output = compare(folder.path(), words(&before, &after, &[]));
    let text = report(&output, 0);
    let throughput = text.split_once("measure: load.megabits_per_second\n").unwrap().1;
    // 10,482.7 to 12,413.7 Mbit/s is what was published for rearranging struct page_counter: +18.4 %.
    for part in ["change     95 % interval\n", "mean   10483 Mbit/s  12414 Mbit/s  +18.4 %  [+18.", "] %\n"] {
        assert!(throughput.contains(part), "no {part} in\n{text}");
    }

    // The other way round it is worse.
    let after = results(folder.path(), "after", &AFTER, 36);
    let code = compare(folder.path(), words(&after, &before, &[])).status.code();
    assert_eq!(code, Some(1));
}

#[test]
fn other_numbers_of_pairs_are_said_to_be_another_load() {
    let folder = tempfile::tempdir().unwrap();
    let before = results(folder.path(), "before", &BEFORE, 36);
    let after = results(folder.path(), "after", &AFTER, 12);
    let output = compare(folder.path(), words(&before, &after, &[]));
    let text = report(&output, 0);
    assert!(text.contains("36 pairs") && text.contains("12 pairs"), "{text}");
}
