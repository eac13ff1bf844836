//! The process that starts the hogs, and starts those again that the OOM killer took.
//!
//! It is outside of their memory limit: where all hogs are dying, the OOM killer takes whoever is left. They get into
//! their cgroups without `cgroup.procs`: that waits for a grace period of RCU (`cgroup_attach_lock` in
//! kernel/cgroup/cgroup.c), which beside hundreds of readers takes a second for each hog, and nothing can kill a process
//! that waits there. It forks without a new program, so that a hog has little memory of its own.

use std::ffi::OsString;
use std::io::{PipeReader, PipeWriter, pipe, stdin};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rstat_probe_report::units::bytes;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

use super::super::memcg::Memcg;
use super::super::priority;
use super::super::worker::{Home, Worker, closed, serve, tell_failure, wait_for_go};
use super::counters::Counters;
use super::fork::{Entry, Forked, fork};
use super::hog;

/// The place of a hog is filled again no earlier than this after its last start.
const RESTART_AFTER: Duration = Duration::from_millis(100);
/// How often it looks for ends, and for places to fill.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// So many more deaths than there are hogs, all before their hog touched anything: then none can.
const IN_VAIN: u32 = 50;

/// Arguments of the process that starts the hogs.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct SpawnerArgs {
    /// The cgroups that hogs inherit.
    #[command(flatten)]
    pub(super) home: Home,
    /// The cgroup that limits their memory.
    #[arg(long, value_name = "DIR")]
    pub(super) memcg: PathBuf,
    /// The file with the counters.
    #[arg(long, value_name = "FILE")]
    pub(super) counters: PathBuf,
    /// Hogs at a time.
    #[arg(long, value_name = "N")]
    pub(super) hogs: u32,
    /// Memory limit of the cgroup, only for an error.
    #[arg(long, value_name = "BYTES")]
    pub(super) limit: u64,
}

impl Worker for SpawnerArgs {
    const NAME: &'static str = "spawner";

    fn home(&self) -> &Home {
        &self.home
    }

    fn words(&self) -> Vec<OsString> {
        let [hogs, limit] = [u64::from(self.hogs), self.limit].map(|number| number.to_string().into());
        let [memcg, counters] = [&self.memcg, &self.counters].map(|path| path.clone().into());
        let words = ["--memcg", "--counters", "--hogs", "--limit"].map(OsString::from);
        words.into_iter().zip([memcg, counters, hogs, limit]).flat_map(<[_; 2]>::from).collect()
    }
}

/// Body of the process. Its figures: how many hogs lived until the end.
pub(crate) fn spawner_main(args: &SpawnerArgs) -> anyhow::Result<()> {
    serve(|| Spawner::enter(args), Spawner::keep)
}

/// The place of one hog.
#[derive(Debug)]
struct Slot {
    hog: Option<Pid>,
    started: Instant,
    /// What hogs of this place had touched when this one was started.
    touched: u64,
}

/// The process in its cgroups, with its hogs. Dropping it ends them.
struct Spawner {
    memcg: Entry,
    counters: Counters,
    limit: u64,
    slots: Vec<Slot>,
    gate: PipeReader,
    /// As long as it is there the hogs wait.
    closed: Option<PipeWriter>,
    killed: u64,
    starts: u64,
    /// Deaths one after the other of hogs that touched nothing.
    in_vain: u32,
}

impl Spawner {
    /// Starts the hogs, which wait.
    fn enter(args: &SpawnerArgs) -> anyhow::Result<Self> {
        // Hundreds of hogs and readers share the CPUs, and this process is to be in time.
        priority::raise();
        let counters = Counters::open(&args.counters)?;
        let memcg = Memcg::of(&args.memcg).context("the cgroup of the hogs is gone")?;
        let memcg = Entry::open(&memcg)?;
        args.home.enter(c"rstat-hogs")?;
        let (gate, closed) = pipe().context("cannot make a pipe")?;
        let mut spawner = Self {
            memcg,
            counters,
            limit: args.limit,
            slots: Vec::new(),
            gate,
            closed: Some(closed),
            killed: 0,
            starts: 0,
            in_vain: 0,
        };
        for slot in 0..args.hogs {
            spawner.slots.push(Slot { hog: None, started: Instant::now(), touched: 0 });
            spawner.start(slot)?;
        }
        Ok(spawner)
    }

    /// Lets the hogs begin when the load says so, and keeps their number until it says that they are to end.
    fn keep(mut self) -> anyhow::Result<Vec<u64>> {
        if wait_for_go()? {
            self.closed = None;
            while !closed(stdin(), LOOK_EVERY)? {
                self.bury()?;
                self.fill()?;
            }
        }
        let living = self.slots.iter().filter(|slot| slot.hog.is_some()).count();
        Ok(vec![living as u64])
    }

    /// Takes notice of the hogs that have ended.
    fn bury(&mut self) -> anyhow::Result<()> {
        while let Some((pid, status)) = ended()? {
            let Some(number) = self.slots.iter().position(|slot| slot.hog == Some(pid)) else { continue };
            let slot = &mut self.slots[number];
            slot.hog = None;
            // One that could not go on has told why, before this.
            ensure!(
                status.terminating_signal() == Some(Signal::KILL.as_raw()),
                "a hog ended by itself ({status:?}), which it never does"
            );
            self.killed += 1;
            let touched = self.counters.touched(u32::try_from(number)?)?;
            if touched > slot.touched {
                self.in_vain = 0;
            } else {
                self.in_vain()?;
            }
            self.counters.set_lives(self.killed, self.starts)?;
        }
        Ok(())
    }

    /// Starts hogs in empty places.
    fn fill(&mut self) -> anyhow::Result<()> {
        for number in 0..self.slots.len() {
            let slot = &self.slots[number];
            if slot.hog.is_none() && slot.started.elapsed() >= RESTART_AFTER {
                self.start(u32::try_from(number)?)?;
            }
        }
        Ok(())
    }

    fn start(&mut self, number: u32) -> anyhow::Result<()> {
        let touched = self.counters.touched(number)?;
        let parent = std::process::id();
        let hog = match fork(&self.memcg).context("cannot start a hog")? {
            Forked::Child => self.be_a_hog(parent, number),
            Forked::Parent { child } => Some(child),
        };
        self.starts += 1;
        self.slots[number as usize] = Slot { hog, started: Instant::now(), touched };
        self.counters.set_lives(self.killed, self.starts)
    }

    fn in_vain(&mut self) -> anyhow::Result<()> {
        self.in_vain += 1;
        let hogs = self.slots.len();
        if self.in_vain as usize > hogs + IN_VAIN as usize {
            bail!(
                "the last {} hogs were killed before they could charge anything: a limit of {} is too small for {hogs} \
                 of them",
                self.in_vain,
                bytes(self.limit)
            );
        }
        Ok(())
    }

    /// In the child: never returns.
    fn be_a_hog(&mut self, parent: u32, number: u32) -> ! {
        // Its copy would keep all of them waiting.
        self.closed = None;
        let Err(error) = hog::live(parent, &self.memcg, &self.gate, &self.counters, number);
        // Where this fails nobody is left who could hear it.
        let _ = tell_failure(&error);
        std::process::exit(1);
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        // All first, so that they end side by side.
        for hog in self.slots.iter().filter_map(|slot| slot.hog) {
            let _ = kill_process(hog, Signal::KILL);
        }
        while let Ok(Some(_)) = wait(WaitOptions::empty()) {}
    }
}

/// A child that has ended, if one has.
fn ended() -> anyhow::Result<Option<(Pid, WaitStatus)>> {
    match wait(WaitOptions::NOHANG) {
        Ok(child) => Ok(child),
        Err(Errno::CHILD | Errno::INTR) => Ok(None),
        Err(error) => Err(error).context("cannot wait for a hog"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::super::worker::{WorkerCommand, tests::parsed};
    use super::*;

    #[test]
    fn the_command_line_parses_to_what_it_was_made_from() {
        let home = Home::in_cgroups([Path::new("/a b"), Path::new("/c")]);
        let args = SpawnerArgs {
            home,
            memcg: "/m".into(),
            counters: "/proc/7/fd/9".into(),
            hogs: 399,
            limit: u64::MAX,
        };
        let WorkerCommand::Spawner(parsed) = parsed(&args) else { panic!("another worker") };
        assert_eq!(parsed, args);
    }
}
