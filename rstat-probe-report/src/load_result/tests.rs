//! Every kind of load as text and JSON, and the versions that are read.

use super::*;

fn stat_reader() -> LoadResult {
    LoadResult {
        schema: SCHEMA.to_owned(),
        kind: "stat-reader".to_owned(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        duration_ns: 10_000_123_456,
        cgroup_version: 2,
        cgroup: "rstat-probe-load.\x1b[7m".to_owned(),
        stat_reader: Some(StatReaderResult {
            threads: 2,
            file: "/sys/fs/cgroup/rstat-probe-load/memory.stat".to_owned(),
            accesses: 8,
            accesses_per_second: 0.8,
            errors: 0,
            latency: LatencySummary {
                unit: "ns".to_owned(),
                count: 8,
                min: 5_000,
                max: 70_000,
                mean: 16_250.5,
                p50: 9_000,
                p90: 70_000,
                p99: 70_000,
                p999: 70_000,
                log2: vec![[4096, 8192, 2], [8192, 16384, 5], [65536, 131_072, 1]],
                mode_log2: Some([8192, 16384]),
                mode_pairs: Some([4096, 16384]),
            },
            dirtied: 1_000,
        }),
        hogs: None,
        sendfile: None,
        charge: None,
        ended_by: EndedBy::Signal { name: "SIGINT".to_owned() },
    }
}

/// Another kind, without the block of the stat reader.
fn of_kind(kind: &str) -> LoadResult {
    LoadResult { kind: kind.to_owned(), stat_reader: None, ended_by: EndedBy::Duration, ..stat_reader() }
}

fn hogs_block() -> HogsResult {
    HogsResult {
        processes: 400,
        cgroup_version: 1,
        cgroup: "/rstat-probe-load-7".to_owned(),
        limit_bytes: 150 << 20,
        peak_bytes: Some(150 << 20),
        oom_kills: 1_234,
        oom_kills_per_second: 123.4,
        killed: 1_230,
        starts: 1_630,
        charged_bytes: 5 << 30,
        charged_bytes_per_second: 536_870_912.0,
    }
}

fn hogs() -> LoadResult {
    LoadResult { hogs: Some(hogs_block()), cgroup_version: 1, ..of_kind("hogs") }
}

fn sendfile(protection: Protection) -> LoadResult {
    let block = SendfileResult {
        pairs: 36,
        message_bytes: 10 << 10,
        file_bytes: 1 << 20,
        levels: 3,
        protection,
        bytes: 13 << 30,
        megabits_per_second: 310.2,
        slowest_megabits_per_second: 298.7,
        fastest_megabits_per_second: 322.0,
        total_megabits_per_second: 11_168.2,
    };
    LoadResult { sendfile: Some(block), ..of_kind("sendfile") }
}

fn charge() -> LoadResult {
    let block = ChargeResult {
        processes: 4,
        levels: 3,
        protection: Protection::Set { min_bytes: 1 << 20, low_bytes: 64 << 20 },
        round_bytes: 4 << 20,
        limit_bytes: 80 << 20,
        page_bytes: 4096,
        charges: 12_345_678,
        charges_per_second: 1_234_567.8,
    };
    LoadResult { charge: Some(block), ..of_kind("charge") }
}

fn unprotected() -> Protection {
    Protection::Unset { reason: "cgroup v1 has neither".to_owned() }
}

fn all() -> Vec<LoadResult> {
    let both = LoadResult { hogs: Some(hogs_block()), ..stat_reader() };
    vec![stat_reader(), both, hogs(), sendfile(unprotected()), charge()]
}

fn text(result: &LoadResult) -> String {
    let mut text = Vec::new();
    result.write_text(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn text_for_people() {
    insta::assert_snapshot!(text(&stat_reader()));
    insta::assert_snapshot!(stat_reader().sentence());
    for result in &all()[1..] {
        let (text, sentence, identity) = (text(result), result.sentence(), result.identity());
        insta::assert_snapshot!(format!("{text}\n{sentence}\n{identity}\n{:?}", result.rates()));
    }
}

#[test]
fn no_accesses_have_no_latency() {
    let mut result = stat_reader();
    let reader = result.stat_reader.as_mut().unwrap();
    reader.latency = LatencySummary {
        unit: "ns".to_owned(),
        count: 0,
        min: 0,
        max: 0,
        mean: 0.0,
        p50: 0,
        p90: 0,
        p99: 0,
        p999: 0,
        log2: Vec::new(),
        mode_log2: None,
        mode_pairs: None,
    };
    reader.accesses = 0;
    assert!(text(&result).ends_with("latency:    no accesses\n"));
    assert!(result.sentence().ends_with("0 failed"));
}

#[test]
fn hogs_beside_a_reader_are_no_figure_but_part_of_what_is_compared() {
    let names = |result: &LoadResult| result.rates().iter().map(|rate| rate.name).collect::<Vec<_>>();
    let both = &all()[1];
    assert_eq!(names(both), ["load.accesses_per_second"]);
    assert_eq!(names(&hogs()), ["load.charged_bytes_per_second"]);
    assert_ne!(both.identity(), stat_reader().identity());
    let protected = Protection::Set { min_bytes: 1, low_bytes: 1 };
    assert_ne!(sendfile(protected).identity(), sendfile(unprotected()).identity());
}

#[test]
fn json_round_trip() {
    for result in all() {
        let json = serde_json::to_string(&result).unwrap();
        assert_eq!(serde_json::from_str::<LoadResult>(&json).unwrap(), result);
        // Absent, and not null: what did not run has no block.
        assert!(!json.contains("null"), "{json}");
    }
}

#[test]
fn version_1_is_read() {
    let mut json = serde_json::to_value(stat_reader()).unwrap();
    let fields = json.as_object_mut().unwrap();
    let Some(serde_json::Value::Object(block)) = fields.remove("stat_reader") else { panic!("no block") };
    fields.extend(block);
    fields.insert("schema".to_owned(), SCHEMA_1.into());
    assert_eq!(serde_json::from_value::<LoadResult>(json.clone()).unwrap(), stat_reader());
    json.as_object_mut().unwrap().remove("latency");
    let error = serde_json::from_value::<LoadResult>(json).unwrap_err().to_string();
    assert_eq!(error, "missing field `latency`");
}

#[test]
fn what_is_not_ours_is_refused() {
    let error = |key: &str, value: &str| {
        let mut json = serde_json::to_value(hogs()).unwrap();
        json[key] = value.into();
        serde_json::from_value::<LoadResult>(json).unwrap_err().to_string()
    };
    assert_eq!(
        error("schema", "rstat-probe/load-result/3"),
        format!("its schema is rstat-probe/load-result/3, not {SCHEMA}")
    );
    assert_eq!(error("kind", "sendfile"), "missing field `sendfile`");
    assert_eq!(error("kind", "pigs\n"), "its kind is pigs\\n, which is unknown");
}

#[test]
fn csv_has_latencies_or_rates() {
    let csv = |result: &LoadResult| {
        let mut text = Vec::new();
        result.write_csv(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    assert!(csv(&stat_reader()).starts_with("name,unit,low,high,count\n\"latency\",ns,4096,8192,2\n"));
    assert_eq!(csv(&charge()), "name,unit,value\nload.charges_per_second,/s,1234567.8\n");
}
