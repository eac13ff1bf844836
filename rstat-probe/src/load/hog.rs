//! A hog: touches one page of memory after the other until the kernel's OOM killer takes it.
//!
//! Page by page and without huge pages, because each charge of a page moves statistics of the cgroup.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use anyhow::Context;
use memmap2::{Advice, MmapOptions};
use rustix::param::page_size;

use super::worker::{Home, Worker, serve, wait_for_go};

/// Mapped at a time, bytes. The kernel joins neighbours to one mapping.
const CHUNK: usize = 256 << 10;
/// Touched pages are added to the counter so many at a time: what a killed hog did not add is less than that.
const STEP_PAGES: usize = 16;
/// Bytes of a counter.
pub(super) const COUNTER: u64 = 8;

/// Arguments of a hog.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct HogArgs {
    #[command(flatten)]
    home: Home,
    /// The file with the counters, native 64-bit numbers: bytes touched for the first time, by all hogs of a slot.
    #[arg(long, value_name = "FILE")]
    counters: PathBuf,
    /// Which counter is this hog's.
    #[arg(long, value_name = "N")]
    slot: u64,
}

impl HogArgs {
    pub(super) fn new(home: Home, counters: PathBuf, slot: u64) -> Self {
        Self { home, counters, slot }
    }
}

impl Worker for HogArgs {
    const NAME: &'static str = "hog";

    fn home(&self) -> &Home {
        &self.home
    }

    fn words(&self) -> Vec<OsString> {
        vec!["--counters".into(), self.counters.clone().into(), "--slot".into(), self.slot.to_string().into()]
    }
}

/// Body of a hog process. It has no figures: as a rule it does not live to tell them.
pub(crate) fn hog_main(args: &HogArgs) -> anyhow::Result<()> {
    serve(|| Hog::enter(args), |hog| if wait_for_go()? { hog.eat() } else { Ok(Vec::new()) })
}

/// A hog that is in its cgroup.
struct Hog {
    counters: File,
    offset: u64,
}

impl Hog {
    fn enter(args: &HogArgs) -> anyhow::Result<Self> {
        // The thread that starts hogs has a high one, which is not theirs.
        super::priority::normal();
        // First of all: whoever else is in the cgroup or on the host, a hog is killed before.
        fs::write("/proc/self/oom_score_adj", "1000").context("cannot offer a hog to the OOM killer")?;
        let counters = File::options().read(true).write(true).open(&args.counters);
        let counters = counters.context("cannot open the counters of the hogs")?;
        args.home.enter(c"rstat-hog")?;
        Ok(Self { counters, offset: args.slot * COUNTER })
    }

    fn eat(&self) -> anyhow::Result<Vec<u64>> {
        let page = page_size();
        let mut counter = [0; size_of::<u64>()];
        self.counters.read_exact_at(&mut counter, self.offset).context("cannot read the counter of a hog")?;
        let mut touched = u64::from_ne_bytes(counter);
        let mut eaten = Vec::new();
        loop {
            let mut chunk =
                MmapOptions::new().len(CHUNK).map_anon().context("a hog gets no address space")?;
            // A kernel without huge pages does not know the advice and needs none.
            let _ = chunk.advise(Advice::NoHugePage);
            for step in chunk.chunks_mut(STEP_PAGES * page) {
                for first in step.iter_mut().step_by(page) {
                    *first = 1;
                }
                touched += step.len() as u64;
                self.counters
                    .write_all_at(&touched.to_ne_bytes(), self.offset)
                    .context("cannot write the counter of a hog")?;
            }
            eaten.push(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::worker::{WorkerCommand, tests::parsed};
    use super::*;

    #[test]
    fn the_command_line_parses_to_what_it_was_made_from() {
        let home = Home::in_cgroups([Path::new("/a b")]);
        let args = HogArgs::new(home, "/proc/7/fd/9".into(), 399);
        let WorkerCommand::Hog(parsed) = parsed(&args) else { panic!("another worker") };
        assert_eq!(parsed, args);
    }
}
