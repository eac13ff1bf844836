//! The golden table of what the programs are once a kernel has them.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use aya::programs::loaded_programs;

use super::{cgroup::Cgroup, process::Running, tool};

/// Kernel, program, instructions that the verifier went through, bytes of machine code; `-` for what a kernel does not
/// tell. To change it: run `cargo xtask vm`, and take the lines from the verdict.
const TABLE: &str = include_str!("../golden/programs.txt");
/// Other compilers, and later versions of a kernel, make somewhat other programs.
const TOLERANCE_PERCENT: u32 = 5;

#[derive(Debug, PartialEq)]
struct Row {
    program: String,
    verified: Option<u32>,
    machine_code: u32,
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn no_program_has_grown() {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let kernel = release.split('.').take(2).collect::<Vec<_>>().join(".");
    let version = fs::read_to_string("/proc/sys/kernel/version").unwrap();
    let kernel = if version.contains("PREEMPT_RT") { format!("{kernel}-rt") } else { kernel };
    let _cgroup = Cgroup::in_calm();
    let before: Vec<u32> = loaded_programs().map(|program| program.unwrap().id()).collect();
    let run = Running::start(&mut tool::tool(["run"]));
    let mut rows = Vec::new();
    // Until no more come: some kernels take a second for each.
    let begin = Instant::now();
    loop {
        thread::sleep(Duration::from_secs(3));
        let now = others_than(&before);
        if !now.is_empty() && now == rows {
            break;
        }
        assert!(begin.elapsed() < Duration::from_mins(1), "{now:?}");
        rows = now;
    }
    drop(run);
    let golden: Vec<Row> = TABLE.lines().filter_map(|line| row(line, &kernel)).collect();
    println!();
    for Row { program, verified, machine_code } in &rows {
        let verified = verified.map_or("-".to_owned(), |count| count.to_string());
        println!("FIGURE: {kernel} {program} {verified} {machine_code}");
    }
    let close = |now: u32, golden: u32| now.abs_diff(golden) * 100 <= TOLERANCE_PERCENT * golden;
    let same = |now: &Row, golden: &Row| {
        let verified = match (now.verified, golden.verified) {
            (Some(now), Some(golden)) => close(now, golden),
            (now, golden) => now == golden,
        };
        now.program == golden.program && verified && close(now.machine_code, golden.machine_code)
    };
    let all = rows.len() == golden.len() && rows.iter().zip(&golden).all(|(now, golden)| same(now, golden));
    assert!(all, "not what tests/golden/programs.txt says: {golden:?}");
}

/// All programs that are loaded but for these.
fn others_than(before: &[u32]) -> Vec<Row> {
    // One that goes meanwhile was of an attempt.
    let programs = loaded_programs().filter_map(Result::ok).filter(|program| !before.contains(&program.id()));
    let mut rows: Vec<Row> = programs
        .map(|program| Row {
            program: program.name_as_str().unwrap().to_owned(),
            verified: program.verified_instruction_count().filter(|count| *count > 0),
            machine_code: program.size_jitted(),
        })
        .collect();
    rows.sort_by(|one, other| one.program.cmp(&other.program));
    rows
}

/// A line of the table, if it is about this kernel.
fn row(line: &str, kernel: &str) -> Option<Row> {
    let [of, program, verified, machine_code] = line.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{line:?} is no line of the table")
    };
    (of == kernel).then(|| Row {
        program: program.to_owned(),
        verified: verified.parse().ok(),
        machine_code: machine_code.parse().unwrap(),
    })
}
