//! The reader threads: all released at one moment, then nothing but reads.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use super::latency::Latencies;
use super::priority::Raised;

/// Bytes per read. The statistics of a cgroup fit; longer files take several reads.
const BUFFER: usize = 16 * 1024;
/// Stack of a reader: its buffer and some calls.
const STACK: usize = 128 * 1024;
/// A reader that fails this often in a row gives up: its cgroup is gone.
const FAILURES_IN_A_ROW: u32 = 1000;

/// What all readers together did.
#[derive(Debug)]
pub(super) struct Outcome {
    /// From the release of the readers to their deadline, or to the moment they were told to stop before it.
    pub(super) elapsed: Duration,
    pub(super) latencies: Latencies,
    /// Reads that failed.
    pub(super) errors: u64,
    pub(super) first_error: Option<io::Error>,
}

/// Reads `path` with `threads` threads for `duration`, or until `wait` returns before.
///
/// `wait` gets the moment of the release and a function that tells whether all readers have given up.
pub(super) fn read_while(
    path: &Path,
    threads: u32,
    duration: Duration,
    wait: impl FnOnce(Instant, &dyn Fn() -> bool),
) -> anyhow::Result<Outcome> {
    let halt = AtomicBool::new(false);
    let gate = Gate::default();
    let reading = AtomicU32::new(threads);
    thread::scope(|scope| {
        let mut readers = Vec::new();
        for _ in 0..threads {
            match start_reader(scope, path, threads, (&halt, &gate, &reading)) {
                Ok(reader) => readers.push(reader),
                Err(error) => {
                    // The scope waits for those already started.
                    halt.store(true, Ordering::Relaxed);
                    gate.open(Instant::now());
                    return Err(error.context(format!("reader {} of {threads}", readers.len() + 1)));
                }
            }
        }
        gate.wait_for(threads);
        let _raised = Raised::new();
        let begin = Instant::now();
        gate.open(begin + duration);
        wait(begin, &|| reading.load(Ordering::Relaxed) == 0);
        halt.store(true, Ordering::Relaxed);
        // This thread may come late where it has to queue behind the readers; they watch the deadline themselves.
        let elapsed = begin.elapsed().min(duration);
        let mut all = Outcome { elapsed, latencies: Latencies::new(threads)?, errors: 0, first_error: None };
        for reader in readers {
            let one = reader.join().map_err(|_| anyhow!("a reader thread panicked"))?;
            all.latencies.merge(&one.latencies)?;
            all.errors += one.errors;
            all.first_error = all.first_error.or(one.first_error);
        }
        Ok(all)
    })
}

/// Starts one reader, with everything it needs taken before it waits at the gate.
fn start_reader<'scope>(
    scope: &'scope Scope<'scope, '_>,
    path: &Path,
    threads: u32,
    (halt, gate, reading): (&'scope AtomicBool, &'scope Gate, &'scope AtomicU32),
) -> anyhow::Result<thread::ScopedJoinHandle<'scope, Reader>> {
    // A descriptor for each: the kernel serialises the readers of one.
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut reader = Reader { file, latencies: Latencies::new(threads)?, errors: 0, first_error: None };
    thread::Builder::new()
        .name("rstat-reader".to_owned())
        .stack_size(STACK)
        .spawn_scoped(scope, move || {
            reader.read_until(gate.pass(), halt);
            reading.fetch_sub(1, Ordering::Relaxed);
            reader
        })
        .context("cannot start a thread")
}

/// One thread's file and figures.
struct Reader {
    file: File,
    latencies: Latencies,
    errors: u64,
    first_error: Option<io::Error>,
}

impl Reader {
    /// The measured loop: nothing here allocates or locks.
    fn read_until(&mut self, deadline: Instant, halt: &AtomicBool) {
        let mut buffer = [0; BUFFER];
        let mut failures = 0;
        while !halt.load(Ordering::Relaxed) && failures < FAILURES_IN_A_ROW {
            let start = Instant::now();
            if start >= deadline {
                break;
            }
            let outcome = read_to_end(&self.file, &mut buffer);
            let latency = start.elapsed();
            if let Err(error) = outcome {
                failures += 1;
                self.errors += 1;
                self.first_error.get_or_insert(error);
            } else {
                failures = 0;
                self.latencies.record(latency);
            }
        }
    }
}

/// Reads the file from its beginning to its end. A read at offset 0 makes the kernel produce the content anew, which
/// is what flushes; the one that finds the end does not.
fn read_to_end(file: &File, buffer: &mut [u8]) -> io::Result<u64> {
    let mut offset = 0;
    loop {
        match file.read_at(buffer, offset) {
            Ok(0) => return Ok(offset),
            Ok(length) => offset += length as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Where the readers wait for each other. Unlike `Barrier` it can be opened when not all could be started.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    waiting: u32,
    /// When the readers are to stop; `None` while the gate is closed.
    deadline: Option<Instant>,
}

impl Gate {
    /// Waits until the gate is open; gives the deadline.
    fn pass(&self) -> Instant {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting += 1;
        self.changed.notify_all();
        loop {
            if let Some(deadline) = state.deadline {
                return deadline;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until this many wait at the gate.
    fn wait_for(&self, count: u32) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.waiting < count {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn open(&self, deadline: Instant) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).deadline = Some(deadline);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    #[test]
    fn the_readers_stop_at_the_deadline_even_when_nobody_tells_them() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let short = Duration::from_millis(20);
        let outcome = read_while(file.path(), 2, short, |begin, all_gone| {
            while !all_gone() {
                assert!(begin.elapsed() < Duration::from_secs(10));
                thread::sleep(Duration::from_millis(1));
            }
        });
        assert_eq!(outcome.unwrap().elapsed, short);
    }

    #[test]
    fn every_read_of_every_thread_is_counted() {
        let text = "x".repeat(BUFFER * 2 + 5);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &text).unwrap();
        assert_eq!(read_to_end(file.as_file(), &mut [0; BUFFER]).unwrap(), text.len() as u64);
        let outcome =
            read_while(file.path(), 3, LONG, |_, _| thread::sleep(Duration::from_millis(30))).unwrap();
        let summary = outcome.latencies.summary();
        assert!(summary.count > 0 && outcome.errors == 0);
        assert_eq!(summary.log2.iter().map(|bucket| bucket[2]).sum::<u64>(), summary.count);
        assert!(outcome.elapsed >= Duration::from_millis(30));
    }

    #[test]
    fn readers_that_cannot_read_give_up() {
        // A folder opens but does not read.
        let folder = tempfile::tempdir().unwrap();
        let outcome = read_while(folder.path(), 2, LONG, |begin, all_gone| {
            while !all_gone() && begin.elapsed() < Duration::from_secs(10) {
                thread::sleep(Duration::from_millis(1));
            }
        });
        let outcome = outcome.unwrap();
        assert_eq!((outcome.errors, outcome.latencies.count()), (2 * u64::from(FAILURES_IN_A_ROW), 0));
        assert_eq!(outcome.first_error.unwrap().kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn a_file_that_does_not_open_ends_it_at_once() {
        let error =
            read_while(Path::new("/nonexistent"), 4, LONG, |_, _| panic!("nothing to wait for")).unwrap_err();
        assert!(format!("{error:#}").starts_with("reader 1 of 4: cannot open /nonexistent: No such file"));
    }
}
