//! As many readers and hogs as in the published experiment.

use super::hogs::{self, Numbers};

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn four_hundred_readers_beside_four_hundred_hogs() {
    // Little more than 400 hogs need themselves: one emulated CPU is to reach it in the time.
    let many = Numbers { threads: 400, hogs: 400, seconds: 10, memory: "32M" };
    assert!(hogs::beside_readers("memory.stat", &many) > 0, "no hog was killed");
}
