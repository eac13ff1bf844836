//! A hog: touches one page of memory after the other until the kernel's OOM killer takes it.
//!
//! Page by page and without huge pages, because each charge of a page moves statistics of the cgroup.

use std::convert::Infallible;
use std::fs;
use std::io::{PipeReader, Read};

use anyhow::Context;
use memmap2::{Advice, MmapOptions};
use rustix::param::page_size;
use rustix::thread::set_name;

use super::super::priority;
use super::super::worker::tie_to;
use super::counters::Counters;
use super::fork::Entry;

/// Mapped at a time, bytes. The kernel joins neighbours to one mapping.
const CHUNK: usize = 256 << 10;
/// After the first, touched pages are told so many at a time: what a killed hog did not tell is less than that.
const STEP_PAGES: u64 = 16;

/// Body of a hog, a child of `parent`. It gets into its cgroup, waits until `gate` has no writer, and goes on until
/// it is killed.
pub(super) fn live(
    parent: u32,
    memcg: &Entry,
    mut gate: &PipeReader,
    counters: &Counters,
    slot: u32,
) -> anyhow::Result<Infallible> {
    tie_to(parent)?;
    // The one that starts hogs has a high one, which is not theirs.
    priority::normal();
    // Whoever else is in the cgroup or on the host, a hog is killed before.
    fs::write("/proc/self/oom_score_adj", "1000").context("cannot offer a hog to the OOM killer")?;
    memcg.enter()?;
    // Only cosmetic.
    let _ = set_name(c"rstat-hog");
    gate.read_exact(&mut [0]).or_else(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Ok(()),
        _ => Err(error).context("a hog cannot wait for the begin of the load"),
    })?;
    eat(counters, slot)
}

fn eat(counters: &Counters, slot: u32) -> anyhow::Result<Infallible> {
    let page = page_size();
    let mut touched = counters.touched(slot)?;
    let mut tell_at = touched + page as u64;
    let mut eaten = Vec::new();
    loop {
        let mut chunk = MmapOptions::new().len(CHUNK).map_anon().context("a hog gets no address space")?;
        // A kernel without huge pages does not know the advice and needs none.
        let _ = chunk.advise(Advice::NoHugePage);
        for first in chunk.iter_mut().step_by(page) {
            *first = 1;
            touched += page as u64;
            if touched >= tell_at {
                counters.set_touched(slot, touched)?;
                tell_at = touched + STEP_PAGES * page as u64;
            }
        }
        eaten.push(chunk);
    }
}
