//! Sets of load results: every kind has its rate, and two sets of different loads are told apart.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{compare, json as json_of, measure};

/// What all results have.
fn result(kind: &str, block: (&str, Value)) -> Value {
    let mut result = json!({
        "schema": "rstat-probe/load-result/2", "kind": kind, "started": "2026-01-02T03:04:05Z",
        "duration_ns": 10_000_000_000_u64, "cgroup_version": 2, "cgroup": "/x", "ended_by": {"reason": "duration"},
    });
    result[block.0] = block.1;
    result
}

fn hogs(processes: u32, rate: f64) -> Value {
    json!({
        "processes": processes, "cgroup_version": 2, "cgroup": "/x", "limit_bytes": 16 << 20, "peak_bytes": 16 << 20,
        "oom_kills": 9, "oom_kills_per_second": 0.9, "killed": 9, "starts": 13, "charged_bytes": 1 << 30,
        "charged_bytes_per_second": rate,
    })
}

fn sendfile(pairs: u32, rate: f64) -> Value {
    json!({
        "pairs": pairs, "message_bytes": 10240, "file_bytes": 1 << 20, "levels": 3, "bytes": 1 << 30,
        "protection": {"set": {"min_bytes": 1, "low_bytes": 2}}, "megabits_per_second": rate,
        "slowest_megabits_per_second": rate / 2.0, "fastest_megabits_per_second": rate * 2.0,
        "total_megabits_per_second": rate * f64::from(pairs),
    })
}

fn charge(processes: u32, rate: f64) -> Value {
    json!({
        "processes": processes, "levels": 3, "protection": {"unset": {"reason": "v1"}}, "page_bytes": 4096,
        "round_bytes": 1 << 22, "limit_bytes": 1 << 27, "charges": 1000, "charges_per_second": rate,
    })
}

/// Writes six results a side, the rates of `b` being a fifth higher, and compares them.
fn compared(folder: &Path, kind: &str, block: impl Fn(u32, f64) -> Value, sizes: [u32; 2]) -> Value {
    let mut arguments = Vec::new();
    for (side, factor, size) in [("a", 1.0, sizes[0]), ("b", 1.2, sizes[1])] {
        if side == "b" {
            arguments.push("--with".to_owned());
        }
        for run in 0..6 {
            let name = format!("{side}{run}.json");
            let rate = (1000.0 + f64::from(run)) * factor;
            let result = result(kind, (kind, block(size, rate)));
            fs::write(folder.join(&name), result.to_string()).unwrap();
            arguments.push(name);
        }
    }
    arguments.extend(["--format", "json"].map(str::to_owned));
    json_of(&compare(folder, arguments.iter().map(String::as_str)), 0)
}

#[test]
fn the_rate_of_every_kind_is_compared_and_more_is_better() {
    type Block = fn(u32, f64) -> Value;
    for (kind, block, name) in [
        ("hogs", hogs as Block, "load.charged_bytes_per_second"),
        ("sendfile", sendfile, "load.megabits_per_second"),
        ("charge", charge, "load.charges_per_second"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let alike = compared(folder.path(), kind, block, [4, 4]);
        let rate = measure(&alike, name);
        assert_eq!(rate["verdict"]["outcome"], "better", "{rate}");
        assert_eq!(rate["higher_is_better"], true);
        assert_eq!(alike["differences"], json!([]), "{alike}");
        let other = compared(folder.path(), kind, block, [4, 5]);
        assert_eq!(other["differences"][0]["what"], "load", "{other}");
    }
}
