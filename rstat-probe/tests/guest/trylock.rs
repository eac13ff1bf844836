//! Why the lock functions alone are not enough from 6.10 on.

use super::{bracket::Open, cgroup::Cgroup, ftrace::Ftrace, machine, recorded::sections, tool};

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn without_the_trylock_almost_no_section_is_seen() {
    if !machine::has_tracepoints() || machine::is_preempt_rt() {
        println!("\nFIGURE: trylock: the first attempt is none here");
        return;
    }
    let ftrace = Ftrace::mount();
    let cgroup = Cgroup::in_calm();
    let forced: &[&str] = &["--strategy", "lock-functions-without-trylock"];
    let bracket = Open::start(&ftrace, &[forced], tool::load(&cgroup, 1, "1s")).finish();
    let seen = sections(&bracket.recordings[0]);
    let all = bracket.inner.sections;
    let flushes = bracket.inner.all_flushes();
    println!("\nFIGURE: trylock: {seen} sections seen of {all} in {flushes} flushes without the trylock");
    assert!(all > 100);
    if machine::has("cgroup_rstat_flush_locked") {
        // The walk stands in for the first section of each flush, and for no other.
        let share = all / (machine::cpus("possible").len() as u64 + 1);
        assert!(seen <= share + share / 20, "{share} expected");
    } else {
        assert!(seen * 20 < all);
    }
}
