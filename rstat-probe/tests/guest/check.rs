//! `check` on this kernel.

use super::{machine, tool};

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn check_works() {
    let finished = tool::run(["check"]);
    println!("\n{}{}", finished.stdout, finished.stderr);
    assert!(matches!(finished.code, Some(0 | 1)), "{:?}", finished.code);
    let release = machine::release();
    assert!(finished.stdout.contains(&release), "no {release} in the output");
}
