use std::{collections::VecDeque, time::Duration};

use super::*;
use crate::vm::console::Console;

/// What is left of a boot whose guest and kernel said these lines.
fn run(guest: &[&str], kernel: &[&str]) -> Run {
    let (of, scenario) = scenario::select(&["6.1".to_owned()], Some("default")).unwrap()[0];
    let mut console = Console::default();
    for line in guest {
        console.guest_line(line);
    }
    for line in kernel {
        console.kernel_line(line);
    }
    let took = Duration::from_secs(9);
    let outcome = Outcome { console, boot: Some(took / 3), took, end: None, tail: VecDeque::new() };
    Run { position: 0, kernel: of, scenario, outcome: Ok(outcome), log: PathBuf::new(), before: Vec::new() }
}

const GOOD: [&str; 3] =
    ["@@ guest begins: 6.1.0", "test result: ok. 3 passed; 0 failed; 0 ignored", "@@ guest ends: 0"];
const BAD: [&str; 3] =
    ["@@ guest begins: 6.1.0", "test result: FAILED. 2 passed; 1 failed; 0 ignored", "@@ guest ends: 101"];

#[test]
fn verdicts() {
    assert!(run(&GOOD, &[]).verdict().starts_with("ok      6.1 "), "{}", run(&GOOD, &[]).verdict());
    let bad = run(&BAD, &[]);
    assert!(bad.verdict().starts_with("FAILED  6.1 ") && bad.verdict().contains("3 tests, 1 failed"));
    let second = Run { before: bad.complaints(), ..run(&GOOD, &[]) };
    assert!(second.verdict().starts_with("ok (2nd) 6.1 "), "{}", second.verdict());
}

#[test]
fn only_what_a_busy_host_can_cause_is_tried_again() {
    assert!(!run(&GOOD, &[]).deserves_another_try());
    assert!(run(&BAD, &[]).deserves_another_try());
    assert!(run(&GOOD, &["watchdog: BUG: soft lockup - CPU#1 stuck for 26s!"]).deserves_another_try());
    let oops = ["watchdog: BUG: soft lockup - CPU#1", "BUG: kernel NULL pointer dereference, address: 0"];
    assert!(!run(&BAD, &oops).deserves_another_try());
    assert!(!Run { outcome: Err(anyhow!("no kernel")), ..run(&GOOD, &[]) }.deserves_another_try());
}
