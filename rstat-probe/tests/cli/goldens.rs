//! Everything users read, compared with files.

use std::path::Path;

use trycmd::{TestCases, schema::Bin};

/// Runs the cases in `folder` that are written in files ending in `extension`.
fn cases(folder: &str, extension: &str) {
    // trycmd is content with no cases at all.
    assert!(Path::new(folder).is_dir(), "{folder} is not below the current folder");
    TestCases::new()
        .register_bin("rstat-probe", Bin::Path(env!("CARGO_BIN_EXE_rstat-probe").into()))
        // clap asks a terminal on any of the three streams for its width, and else this.
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .timeout(super::TIMEOUT)
        .case(format!("{folder}/*.{extension}"))
        .run();
}

#[test]
fn help() {
    cases("tests/cli/help", "trycmd");
}

#[test]
fn check() {
    cases("tests/cli/check", "trycmd");
}

#[test]
fn show() {
    cases("tests/cli/show", "toml");
}

#[test]
fn version() {
    for option in ["--version", "-V"] {
        let output = super::tool().arg(option).output().unwrap();
        assert_eq!(super::text(&output.stdout), concat!("rstat-probe ", env!("CARGO_PKG_VERSION"), "\n"));
        assert_eq!(output.status.code(), Some(0));
    }
}

/// Options and commands that only tests, or the tool itself, use.
#[test]
fn hidden_things_stay_hidden() {
    for (command, hidden) in [(&["run"][..], &["--strategy", "--max-threads"][..]), (&["check"], &["--root"])]
    {
        let output = super::tool().args(command).arg("--help").output().unwrap();
        let help = super::text(&output.stdout);
        for name in hidden {
            assert!(!help.contains(name), "{name} in the help of {command:?}");
            // Hidden, and not gone: else this test would be of no use.
            let mut used = super::tool();
            used.args(command).arg(name).arg("--help");
            let stderr = used.output().unwrap().stderr;
            let stderr = super::text(&stderr);
            assert!(!stderr.contains("unexpected") && !stderr.contains("unrecognized"), "{stderr}");
        }
    }
}
