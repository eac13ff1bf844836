//! What is measured: nothing, programs of our own, and commands that attach theirs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use aya::programs::raw_trace_point::RawTracePointLink;
use rustix::process::{Pid, Signal, kill_process};

use crate::programs::{figures, ids_without};
use crate::storm::find;
use crate::witness::Own;

/// What takes longer to attach or to end hangs.
const LIMIT: Duration = Duration::from_secs(30);
/// How often it is looked whether it is attached. What is measured is many times longer.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// How long a command without programs of its own is given.
const UNSEEN: Duration = Duration::from_secs(2);

/// The cheapest form that gives waits and holds: nothing but a look at the flag on the way in when there was no wait.
/// `{hook}` and `{contended}` are for the kind of hook.
const BPFTRACE: &str = "
{hook}cgroup_rstat_lock_contended { @came[tid] = nsecs; }
{hook}cgroup_rstat_locked {
    @held[cpu] = nsecs;
    if ({contended}) { @wait = hist(nsecs - @came[tid]); delete(@came[tid]); }
}
{hook}cgroup_rstat_unlock { @hold = hist(nsecs - @held[cpu]); }
";

/// One line of the table.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    /// What is said of it below the table.
    pub(crate) note: String,
    pub(crate) kind: Kind,
}

impl Subject {
    /// Whether others are measured by it.
    pub(crate) fn is_base(&self) -> bool {
        ["nothing", "empty", "floor"].contains(&self.name)
    }
}

pub(crate) enum Kind {
    Nothing,
    /// Programs of our own.
    Own(&'static str),
    Command(CommandLine),
}

/// A command that measures until it is interrupted.
pub(crate) struct CommandLine {
    pub(crate) program: PathBuf,
    arguments: Vec<OsString>,
    /// Whether it has eBPF programs.
    has_programs: bool,
}

/// All that can be measured here. Says what cannot.
pub(crate) fn all(tool: &Path) -> Vec<Subject> {
    let own = |name, kind, note: &str| Subject { name, note: note.to_owned(), kind: Kind::Own(kind) };
    let mut subjects = vec![
        Subject { name: "nothing", note: "no program on any hook".to_owned(), kind: Kind::Nothing },
        own("empty", "empty", "programs that return at once: what the kernel's statistics themselves cost"),
        own("floor", "floor", "a clock read and one store on each hook"),
        own("bare histogram", "bare", "holds by power of two, and nothing else"),
    ];
    for (name, arguments) in [
        ("rstat-probe", &["run"][..]),
        ("rstat-probe -i 100ms", &["run", "-i", "100ms"]),
        ("rstat-probe -v", &["run", "-v"]),
    ] {
        let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
        let note = format!("`rstat-probe {}`", arguments.join(" ".as_ref()).to_string_lossy());
        subjects.push(command(name, note, tool.to_owned(), arguments, true));
    }
    let tracefs = mount_tracefs();
    let classic = tracefs.and_then(|()| classic_events_are_safe());
    if let Some(bpftrace) = find("bpftrace") {
        let version = version(&bpftrace);
        let raw = "rawtracepoint:";
        let forms = [
            ("bpftrace", "tracepoint:cgroup:", "args->contended", classic.clone()),
            ("bpftrace raw", raw, "arg2 & 0xff", knows(&bpftrace, raw)),
        ];
        for (name, hook, contended, usable) in forms {
            match usable {
                Ok(()) => {
                    let program = BPFTRACE.replace("{hook}", hook).replace("{contended}", contended);
                    let note =
                        format!("{version}, `{}`", program.split_whitespace().collect::<Vec<_>>().join(" "));
                    let arguments = vec!["-e".into(), program.into()];
                    subjects.push(command(name, note, bpftrace.clone(), arguments, true));
                }
                Err(reason) => println!("bench: without {name}: {reason}"),
            }
        }
    } else {
        println!("bench: without bpftrace: not installed");
    }
    match (find("perf"), classic) {
        (Some(perf), Ok(())) => {
            let note = format!("{}, `perf record` of the three events to /dev/null", version(&perf));
            let events =
                "cgroup:cgroup_rstat_lock_contended,cgroup:cgroup_rstat_locked,cgroup:cgroup_rstat_unlock";
            let arguments = ["record", "-q", "-a", "-e", events, "-o", "/dev/null"].map(Into::into);
            subjects.push(command("perf record", note, perf, arguments.into(), false));
        }
        (None, _) => println!("bench: without perf: not installed"),
        (_, Err(reason)) => println!("bench: without perf: {reason}"),
    }
    subjects
}

fn command(
    name: &'static str,
    note: String,
    program: PathBuf,
    arguments: Vec<OsString>,
    has_programs: bool,
) -> Subject {
    Subject { name, note, kind: Kind::Command(CommandLine { program, arguments, has_programs }) }
}

/// In this mount namespace only: bpftrace and perf do not mount it themselves.
fn mount_tracefs() -> Result<(), String> {
    let events = Path::new("/sys/kernel/tracing/events/cgroup");
    if !events.exists() {
        let arguments = ["-t", "tracefs", "tracefs", "/sys/kernel/tracing"];
        let _ = Command::new("mount").args(arguments).stderr(Stdio::null()).status();
    }
    if events.exists() {
        Ok(())
    } else {
        Err("tracefs cannot be mounted, or has no events of cgroups".to_owned())
    }
}

/// Before commit a97915559f5c (6.16) the classic events read pointers that can be NULL.
fn classic_events_are_safe() -> Result<(), String> {
    let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    if symbols.lines().any(|line| line.ends_with(" css_rstat_flush")) {
        Ok(())
    } else {
        Err("the classic events of the rstat tracepoints can crash this kernel".to_owned())
    }
}

/// Whether bpftrace knows this kind of probe.
fn knows(bpftrace: &Path, kind: &str) -> Result<(), String> {
    let program = format!("{kind}cgroup_rstat_locked {{ @ = count(); }} BEGIN {{ exit(); }}");
    let output = Command::new(bpftrace).args(["-e", &program]).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(text.lines().next().unwrap_or("refused").to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_default()
}

/// A subject at work. Dropping it ends it.
pub(crate) enum Running {
    Nothing,
    Own { _links: Vec<RawTracePointLink>, ids: Vec<u32> },
    Command { child: Child, attached_after: Option<Duration>, others: Vec<u32> },
}

impl Running {
    /// Starts it and waits until its programs run. The kernel's BPF statistics are on, and sections happen.
    pub(crate) fn start(subject: &Subject, own: &mut Own) -> anyhow::Result<Self> {
        let line = match &subject.kind {
            Kind::Nothing => return Ok(Self::Nothing),
            Kind::Own(kind) => return Ok(Self::Own { _links: own.attach(kind)?, ids: own.ids(kind)? }),
            Kind::Command(line) => line,
        };
        let others = ids_without(&[]);
        let begin = Instant::now();
        let child = Command::new(&line.program)
            .args(&line.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", line.program.display()))?;
        let mut running = Self::Command { child, attached_after: None, others };
        let Self::Command { child, attached_after, others } = &mut running else { return Ok(running) };
        if !line.has_programs {
            thread::sleep(UNSEEN);
            return Ok(running);
        }
        // The program of waits has nothing to run for.
        while figures(&ids_without(others)).values().filter(|(_, runs)| *runs > 0).count() < 2 {
            if let Some(status) = child.try_wait()? {
                bail!("{} ended before it was attached: {status}", subject.name);
            }
            if begin.elapsed() > LIMIT {
                bail!("{} is not attached after {LIMIT:?}", subject.name);
            }
            thread::sleep(LOOK_EVERY);
        }
        *attached_after = Some(begin.elapsed());
        Ok(running)
    }

    /// Its programs.
    pub(crate) fn ids(&self) -> Vec<u32> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Own { ids, .. } => ids.clone(),
            Self::Command { others, .. } => ids_without(others),
        }
    }

    /// From its start until its programs ran.
    pub(crate) fn attached_after(&self) -> Option<Duration> {
        match self {
            Self::Command { attached_after, .. } => *attached_after,
            _ => None,
        }
    }

    /// The most memory that it has had at a time, KiB.
    pub(crate) fn peak_kib(&self) -> Option<u64> {
        let Self::Command { child, .. } = self else { return None };
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse().ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Self::Command { child, .. } = self else { return };
        let _ = kill_process(Pid::from_child(child), Signal::INT);
        let begin = Instant::now();
        while matches!(child.try_wait(), Ok(None)) {
            if begin.elapsed() > LIMIT {
                let _ = child.kill();
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}
