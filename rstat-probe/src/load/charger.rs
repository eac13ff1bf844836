//! The work of a `charge` process: maps memory, touches it page by page, unmaps it.
//!
//! Every touch is a page fault whose page is charged to the cgroup and all above it, every unmapping frees them.

use std::ffi::OsString;
use std::io;

use anyhow::Context;
use memmap2::MmapMut;
use rustix::param::page_size;
use rustix::thread::disable_transparent_huge_pages;

use super::window::{Done, Watch, now_ns, work};
use super::worker::{Home, Worker, serve};

/// Pages between two looks at the clock.
const LOOK_EVERY: usize = 64;

/// Arguments of a charger.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct ChargerArgs {
    #[command(flatten)]
    pub(super) home: Home,
    /// Bytes of a round, whole pages.
    #[arg(long, value_name = "BYTES")]
    pub(super) bytes: u64,
}

impl Worker for ChargerArgs {
    const NAME: &'static str = "charger";

    fn home(&self) -> &Home {
        &self.home
    }

    fn words(&self) -> Vec<OsString> {
        vec!["--bytes".into(), self.bytes.to_string().into()]
    }
}

/// Body of a charger process; its figures are the pages it charged, and the time.
pub(crate) fn charger_main(args: &ChargerArgs) -> anyhow::Result<()> {
    serve(
        || {
            args.home.enter(c"rstat-charger")?;
            Charger::new(usize::try_from(args.bytes).context("the rounds are too long")?)
        },
        |charger| work(io::stdin(), |watch| charger.charge(watch)),
    )
}

/// What a process charges and frees in one round.
struct Charger {
    bytes: usize,
}

impl Charger {
    /// Prepares rounds of this many bytes, whole pages.
    fn new(bytes: usize) -> anyhow::Result<Self> {
        // A huge page would be one fault and one charge for hundreds of pages.
        disable_transparent_huge_pages(true).context("cannot turn huge pages off")?;
        Ok(Self { bytes })
    }

    /// Charges and frees; counts the pages charged in the window.
    fn charge(&self, watch: &Watch) -> anyhow::Result<Done> {
        let mut amount = 0;
        'rounds: while watch.goes_on() {
            let mut memory = MmapMut::map_anon(self.bytes).context("cannot map memory")?;
            for pages in memory.chunks_mut(LOOK_EVERY * page_size()) {
                let touched = touch(pages);
                if !watch.goes_on() {
                    break 'rounds;
                }
                amount += touched;
            }
        }
        Ok(Done { amount, elapsed_ns: watch.window.elapsed_ns(now_ns()) })
    }
}

/// Writes to each page; gives how many there are.
fn touch(pages: &mut [u8]) -> u64 {
    let mut touched = 0;
    for page in pages.chunks_mut(page_size()) {
        page[0] = 1;
        touched += 1;
    }
    touched
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::Path;
    use std::time::Duration;

    use rustix::thread::transparent_huge_pages_are_disabled;

    use super::super::window::Window;
    use super::super::worker::{WorkerCommand, tests::parsed};
    use super::*;

    #[test]
    fn the_command_line_parses_to_what_it_was_made_from() {
        let charger = ChargerArgs { home: Home::in_cgroups([Path::new("/a b/c")]), bytes: u64::MAX };
        let WorkerCommand::Charger(args) = parsed(&charger) else { panic!("no charger") };
        assert_eq!(args, charger);
    }

    /// Page faults of this process without I/O.
    fn faults() -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // After the name, which can hold anything: state, ppid, pgrp, session, tty, tpgid, flags, minflt.
        text.rsplit_once(") ").unwrap().1.split(' ').nth(7).unwrap().parse().unwrap()
    }

    #[test]
    fn every_page_that_is_counted_was_a_fault() {
        let charger = Charger::new(1024 * page_size()).unwrap();
        assert!(transparent_huge_pages_are_disabled().unwrap());
        let (input, mut output) = io::pipe().unwrap();
        let window = Window::after(Duration::ZERO, Duration::from_millis(100));
        writeln!(output, "{window}").unwrap();
        let watch = Watch::begin(input).unwrap().unwrap();
        let before = faults();
        let done = charger.charge(&watch).unwrap();
        let faults = faults() - before;
        assert_eq!(done.elapsed_ns, window.elapsed_ns(u64::MAX));
        assert!(done.amount > 1024, "{done:?}");
        // More only by what the last, unfinished look took, and by what else this thread touched.
        assert!((done.amount..=done.amount + 1024).contains(&faults), "{} of {faults}", done.amount);
    }

    #[test]
    fn each_page_is_touched_once() {
        let mut memory = vec![0; 3 * page_size() + 1];
        assert_eq!(touch(&mut memory), 4);
        assert_eq!(memory.iter().map(|&byte| u64::from(byte)).sum::<u64>(), 4);
        assert_eq!(touch(&mut []), 0);
    }
}
