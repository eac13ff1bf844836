//! What the kernel knows about our programs: run counts and times while its BPF statistics are
//! on, and how often it skipped a program.

use std::{fs, os::fd::AsRawFd as _};

use anyhow::Context as _;
use aya::programs::Program;

/// The kernel's figures about one program, cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProgramFigures {
    /// Total run time in ns, counted only while BPF statistics are on.
    pub run_time_ns: u64,
    /// Runs, counted only while BPF statistics are on.
    pub run_count: u64,
    /// Runs skipped because the program was already running on that CPU. Absent before 5.12.
    pub recursion_misses: Option<u64>,
}

/// Reads the figures from `/proc/self/fdinfo` (`bpf_prog_show_fdinfo`, kernel/bpf/syscall.c):
/// aya's own program information lacks the misses.
pub(crate) fn figures(program: &Program) -> anyhow::Result<ProgramFigures> {
    use std::os::fd::AsFd as _;
    let fd = program.fd().context("program is not loaded")?.as_fd().as_raw_fd();
    let path = format!("/proc/self/fdinfo/{fd}");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    Ok(parse(&text))
}

fn parse(text: &str) -> ProgramFigures {
    let field = |name: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| *key == name)
            .and_then(|(_, value)| value.trim().parse().ok())
    };
    ProgramFigures {
        run_time_ns: field("run_time_ns").unwrap_or(0),
        run_count: field("run_cnt").unwrap_or(0),
        recursion_misses: field("recursion_misses"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_fdinfo() {
        let text = "pos:\t0\nflags:\t02000002\nprog_type:\t17\nprog_jited:\t1\nrun_time_ns:\t1234\nrun_cnt:\t5\nrecursion_misses:\t6\nverified_insns:\t99\n";
        assert_eq!(
            parse(text),
            ProgramFigures { run_time_ns: 1234, run_count: 5, recursion_misses: Some(6) }
        );
        assert_eq!(parse("pos:\t0\n"), ProgramFigures::default());
    }
}
