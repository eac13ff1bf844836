//! The kernel's own count of events and function calls, as the truth to compare with.
//!
//! Each counter is a trace instance of its own. What it counts is what its ring buffers took in, which the kernel
//! tells to the event whether or not old events were overwritten meanwhile. Hist triggers would do as well, but
//! 5.10 has none.

use std::{
    fmt::Write as _,
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::machine;

/// The group of our kprobe events.
const GROUP: &str = "rstat_probe_test";

/// A tracefs, mounted where nothing else looks for it.
pub(super) struct Ftrace {
    root: PathBuf,
}

impl Ftrace {
    pub(super) fn mount() -> Self {
        let root = std::env::temp_dir().join(format!("tracefs-{}", next_number()));
        fs::create_dir(&root).unwrap();
        mount("tracefs", &root, "tracefs", MountFlags::empty(), None).unwrap();
        Self { root }
    }

    pub(super) fn path(&self) -> &Path {
        &self.root
    }

    /// Gets ready to count a trace event, such as `cgroup/cgroup_rstat_locked`.
    pub(super) fn event(&self, event: &str, filter: &str) -> Count<'_> {
        Count::make(self, event, filter, None)
    }

    /// Gets ready to count calls of a function. `arguments` are those of a kprobe event, such as `lock=$arg1:x64`;
    /// the filter can use their names.
    pub(super) fn function(&self, function: &str, arguments: &str, filter: &str) -> Count<'_> {
        let probe = format!("{function}_{}", next_number());
        self.append("kprobe_events", &format!("p:{GROUP}/{probe} {function} {arguments}"));
        Count::make(self, &format!("{GROUP}/{probe}"), filter, Some(probe))
    }

    /// Gets ready to count calls of a lock function for one lock, which is named by its symbol.
    pub(super) fn lock(&self, function: &str, lock: &str, filter: &str) -> Count<'_> {
        let address = machine::address(lock).unwrap_or_else(|| panic!("no symbol {lock}"));
        let and = if filter.is_empty() { "" } else { " && " };
        self.function(function, "lock=$arg1:x64", &format!("lock == {address:#x}{and}{filter}"))
    }

    fn append(&self, file: &str, text: &str) {
        let path = self.root.join(file);
        let opened = OpenOptions::new().append(true).open(&path);
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        written.unwrap_or_else(|error| panic!("{text:?} into {}: {error}", path.display()));
    }
}

impl Drop for Ftrace {
    fn drop(&mut self) {
        let _ = unmount(&self.root, UnmountFlags::DETACH);
        let _ = fs::remove_dir(&self.root);
    }
}

/// A count of one event.
pub(super) struct Count<'a> {
    ftrace: &'a Ftrace,
    instance: PathBuf,
    event: String,
    /// The name of a kprobe event of our own.
    probe: Option<String>,
}

/// What was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) hits: u64,
    /// Calls that the kernel knows it did not see. These are not filtered.
    pub(super) misses: u64,
}

impl<'a> Count<'a> {
    fn make(ftrace: &'a Ftrace, event: &str, filter: &str, probe: Option<String>) -> Self {
        let instance = ftrace.root.join("instances").join(format!("count-{}", next_number()));
        fs::create_dir(&instance).unwrap();
        let count = Self { ftrace, instance, event: event.to_owned(), probe };
        // The events themselves are not needed.
        count.write("buffer_size_kb", "16");
        if !filter.is_empty() {
            count.write(&format!("events/{event}/filter"), filter);
        }
        count
    }

    /// Starts to count.
    pub(super) fn started(self) -> Self {
        self.write(&self.switch(), "1");
        self
    }

    /// Stops counting, but for what is in the middle of an event.
    pub(super) fn stop(&self) {
        self.write(&self.switch(), "0");
    }

    /// The file that takes 1 to start and 0 to stop.
    pub(super) fn switch_path(&self) -> PathBuf {
        self.instance.join(self.switch())
    }

    fn switch(&self) -> String {
        format!("events/{}/enable", self.event)
    }

    /// The count so far.
    pub(super) fn counted(&self) -> Counted {
        let hits = machine::cpus("possible").into_iter().map(|cpu| self.hits(cpu)).sum();
        Counted { hits, misses: self.misses() }
    }

    /// Stops, and returns the count.
    pub(super) fn finish(self) -> Counted {
        self.stop();
        self.counted()
    }

    fn hits(&self, cpu: u32) -> u64 {
        let stats = self.instance.join(format!("per_cpu/cpu{cpu}/stats"));
        let stats = fs::read_to_string(stats).unwrap();
        let figure = |name: &str| -> u64 {
            let value = stats.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.unwrap_or_else(|| panic!("no {name} in {stats}")).trim().parse().unwrap()
        };
        // In the buffer, overwritten, without room, and read by somebody.
        ["entries", "overrun", "commit overrun", "dropped events", "read events"].map(figure).iter().sum()
    }

    /// The third column of `kprobe_profile`. Tracepoints miss nothing.
    fn misses(&self) -> u64 {
        let Some(probe) = &self.probe else { return 0 };
        let profile = fs::read_to_string(self.ftrace.root.join("kprobe_profile")).unwrap();
        let mut rows = profile.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = rows.find(|row| row[0] == probe).unwrap_or_else(|| panic!("no {probe} in {profile}"));
        row[2].parse().unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.instance.join(file);
        fs::write(&path, text).unwrap_or_else(|error| {
            let mut said = format!("{text:?} into {}: {error}", path.display());
            // tracefs says more in a file of its own.
            let log = fs::read_to_string(self.ftrace.root.join("error_log")).unwrap_or_default();
            let _ = write!(said, "\n{log}");
            panic!("{said}")
        });
    }
}

impl Drop for Count<'_> {
    fn drop(&mut self) {
        let _ = fs::write(self.switch_path(), "0");
        let _ = fs::remove_dir(&self.instance);
        if let Some(probe) = &self.probe {
            let file = OpenOptions::new().append(true).open(self.ftrace.root.join("kprobe_events"));
            let _ = file.and_then(|mut file| writeln!(file, "-:{GROUP}/{probe}"));
        }
    }
}

fn next_number() -> u32 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}
