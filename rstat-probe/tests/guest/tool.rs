//! The tool, which is not where Cargo built it.

use std::{ffi::OsStr, fs, path::PathBuf, process::Command, time::Duration};

use rstat_probe_report::Recording;

use super::{
    cgroup::Cgroup,
    machine,
    process::{Finished, Running},
    recorded,
};

/// Everything takes its time on an emulated CPU.
pub(super) const LIMIT: Duration = Duration::from_secs(90);

/// The tool's path.
pub(super) fn path() -> String {
    machine::expected("RSTAT_PROBE")
}

/// The tool with these arguments.
pub(super) fn tool<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(path());
    command.args(arguments);
    command
}

/// Runs the tool to its end.
pub(super) fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Finished {
    Running::start(&mut tool(arguments)).wait(LIMIT)
}

/// Arguments of a load on `cgroup`: threads that read its `cpu.stat`, which flushes at every read.
pub(super) fn load(cgroup: &Cgroup, threads: usize, duration: &str) -> Vec<String> {
    let threads = threads.to_string();
    let words =
        ["load", "stat-reader", "--cgroup", cgroup.name(), "--stat", "cpu.stat", "--threads", &threads];
    words.into_iter().chain(["--duration", duration]).map(str::to_owned).collect()
}

/// A measurement of a load, with what the tool printed.
pub(super) struct Measured {
    pub(super) recording: Recording,
    pub(super) finished: Finished,
}

/// Measures a load from its start to its end; `options` are further ones of `run`.
pub(super) fn measure(options: &[&str], load: Vec<String>) -> Measured {
    let file = temporary("recording.json");
    let file_name = file.to_str().unwrap();
    let mut arguments: Vec<String> = ["run", "-o", file_name].map(str::to_owned).into();
    arguments.extend(options.iter().map(|&option| option.to_owned()));
    arguments.extend(["--".to_owned(), path()]);
    arguments.extend(load);
    let finished = run(arguments);
    assert_eq!((finished.code, finished.signal), (Some(0), None), "{}{}", finished.stdout, finished.stderr);
    let recording = recorded::recording(&file);
    fs::remove_file(&file).unwrap();
    Measured { recording, finished }
}

/// Runs of the tool inside each other, the first one outermost, with these options and a file each for their
/// recordings; the command of the innermost is still to come.
pub(super) fn nest(runs: &[&[&str]]) -> (Vec<String>, Vec<PathBuf>) {
    let files: Vec<PathBuf> =
        (0..runs.len()).map(|number| temporary(&format!("run-{number}.json"))).collect();
    let mut command = Vec::new();
    for (options, file) in runs.iter().zip(&files) {
        command.extend([path(), "run".to_owned(), "-o".to_owned(), file.to_str().unwrap().to_owned()]);
        command.extend(options.iter().map(|&option| option.to_owned()));
        command.push("--".to_owned());
    }
    (command, files)
}

/// Waits for nested runs and takes their recordings.
pub(super) fn recordings(running: Running, files: &[PathBuf]) -> Vec<Recording> {
    let finished = running.wait(LIMIT);
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert_eq!((finished.code, finished.signal), (Some(0), None), "{said}");
    let take = |file: &PathBuf| {
        let recording = recorded::recording(file);
        fs::remove_file(file).unwrap();
        recording
    };
    files.iter().map(take).collect()
}

pub(super) fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("{}-{name}", rustix::thread::gettid().as_raw_nonzero()))
}
