//! As many readers and hogs as in the published experiment.

use super::hogs::{self, Numbers};

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn four_hundred_readers_beside_four_hundred_hogs() {
    hogs::beside_readers("memory.stat", &Numbers { threads: 400, hogs: 400, seconds: 10 });
}
