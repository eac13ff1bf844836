//! `run -- COMMAND`.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::{Duration, Instant},
};

use rstat_probe_report::{load_result::LoadResult, recording::EndedBy};
use serde_json::Value;

use super::{
    process::{LIMIT, Running, TOOL, finish, tool},
    ready,
    recorded::{assert_is_report, assert_nothing_lost, recording, sections},
};

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_command_that_ends_at_once_is_not_waited_for() {
    if !ready() {
        return;
    }
    for _ in 0..100 {
        let finished = Running::start(&mut tool(["run", "--", "true"])).wait(Duration::from_secs(10));
        finished.assert_success();
    }
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn exit_codes_are_passed_on() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    for (script, code, exited, killed) in
        [("exit 7", 7, Some(7), None), ("kill -9 $$", 137, None, Some(9)), ("exit 0", 0, Some(0), None)]
    {
        let finished = finish(tool(["run", "-o"]).arg(&file).args(["--", "sh", "-c", script]));
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(code), ""), "{script}");
        assert_is_report(&finished.stdout);
        let recording = recording(&file);
        assert_eq!(recording.ended_by, EndedBy::Command);
        let workload = recording.workload.unwrap();
        assert_eq!(workload.command, ["sh", "-c", script]);
        assert_eq!((workload.exit_code, workload.signal), (exited, killed));
    }
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_command_that_cannot_run_is_told_as_a_shell_does() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let not_executable = folder.path().join("data");
    fs::write(&not_executable, "no program").unwrap();
    let missing = folder.path().join("missing");
    for (path, code, reason) in
        [(&missing, 127, "No such file or directory"), (&not_executable, 126, "Permission denied")]
    {
        let finished = finish(tool(["run", "--"]).arg(path));
        let line = finished.assert_refused(code);
        assert!(line.contains(path.to_str().unwrap()) && line.contains(reason), "{line}");
    }
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn the_duration_ends_the_command() {
    if !ready() {
        return;
    }
    // A length that nothing else sleeps for, to find it by.
    let length = format!("60.0{}", std::process::id());
    let begin = Instant::now();
    let finished = finish(&mut tool(["run", "-d", "500ms", "--", "sleep", &length]));
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(143), ""), "{}", finished.stdout);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_is_report(&finished.stdout);
    let left = fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        fs::read_to_string(process.path().join("cmdline")).is_ok_and(|line| line.contains(&length))
    });
    assert_eq!(left.count(), 0);
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn files_belong_to_the_user_behind_sudo() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (output, stream) = (folder.path().join("run.json"), folder.path().join("run.ndjson"));
    let mut command = tool(["run", "-d", "200ms", "-o"]);
    command.arg(&output).arg("--stream").arg(&stream);
    finish(command.env("SUDO_UID", "65534").env("SUDO_GID", "65534")).assert_success();
    for file in [&output, &stream] {
        let metadata = fs::metadata(file).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (65534, 65534), "{}", file.display());
    }
    recording(&output);
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn the_result_of_a_load_is_in_the_recording() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let mut command = tool(["run", "-o"]);
    command.arg(&file).args(["--", TOOL, "load", "stat-reader", "--duration", "1s"]);
    let finished = Running::start(&mut command).wait(LIMIT);
    finished.assert_success();
    assert_is_report(&finished.stdout);
    let recording = recording(&file);
    assert_nothing_lost(&recording);
    let workload = recording.workload.as_ref().unwrap();
    assert_eq!(workload.exit_code, Some(0));
    let result: LoadResult = serde_json::from_value(workload.result.clone().unwrap()).unwrap();
    assert_eq!(result.schema, rstat_probe_report::load_result::SCHEMA);
    let result = result.stat_reader.unwrap();
    println!("{} accesses, {} sections", result.accesses, sections(&recording));
    assert!(result.accesses > 100 && result.errors == 0);
    let per_read = u64::from(recording.provenance.cpus.possible) + 1;
    assert!(sections(&recording) >= result.accesses * per_read);
    assert!(!Path::new(&result.file).exists(), "the load's cgroup is gone");
    show(&file, &finished.stdout, sections(&recording));
}

/// The recording shown again in each format.
fn show(file: &Path, report: &str, sections: u64) {
    let show = |format| {
        let finished = finish(tool(["show", "--format", format]).arg(file));
        finished.assert_success();
        finished.stdout
    };
    // The load prints to the same stdout before the report.
    assert!(report.ends_with(&show("text")), "{report}");
    let json: Value = serde_json::from_str(&show("json")).unwrap();
    assert_eq!(json["scalars"]["sections"], sections);
    let holds = json["histograms"].as_array().unwrap().iter().find(|it| it["name"] == "lock_hold").unwrap();
    assert_eq!(holds["total"], sections);
    let csv = show("csv");
    assert!(csv.lines().count() > 10 && csv.contains("lock_hold"), "{csv}");
    let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(columns.iter().all(|count| *count == columns[0]), "{csv}");
}
