//! One boot of a kernel under QEMU: emulated, because /dev/kvm hangs on some hosts, and on one host thread, because
//! emulation on several makes the newest kernels stumble when they patch their code.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs::File,
    io::{self, BufRead as _, BufReader, Read, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use super::{archive::Image, console::Console};
use crate::process;

/// The emulator, and the package that has it.
pub(crate) const PROGRAM: &str = "qemu-system-x86_64";
pub(crate) const PACKAGE: &str = "qemu-system-x86";

/// Memory of a guest that asks for no more.
pub(crate) const MEMORY_MB: u32 = 1024;
/// The guest's time to end by itself after the tests or a fault of its kernel.
const GRACE: Duration = Duration::from_secs(15);
/// Lines that are shown when something failed.
const TAIL: usize = 40;

/// What a boot came to.
pub(crate) struct Outcome {
    pub(crate) console: Console,
    /// From the start to the first test.
    pub(crate) boot: Option<Duration>,
    pub(crate) took: Duration,
    /// How QEMU ended, if that is a failure by itself.
    pub(crate) end: Option<String>,
    /// The last lines of both serial lines.
    pub(crate) tail: VecDeque<String>,
}

impl Outcome {
    /// Everything that is wrong, a line each.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.end.iter().cloned().chain(self.console.complaints()).collect()
    }
}

/// What is booted, and how.
pub(crate) struct Boot<'a> {
    pub(crate) image: &'a Image,
    pub(crate) initramfs: &'a Path,
    pub(crate) cpus: &'a str,
    pub(crate) command_line: &'a str,
    pub(crate) memory_mb: u32,
    /// A folder of the host that the guest can mount as `lab` (9p over virtio).
    pub(crate) shared: Option<&'a Path>,
    pub(crate) limit: Duration,
    /// Where both serial lines are written.
    pub(crate) log: &'a Path,
}

impl Boot<'_> {
    /// Boots, reads what the guest says, and ends with it. `began` is told once the tests begin.
    pub(crate) fn run(&self, began: impl Fn(&str, Duration)) -> Result<Outcome> {
        let mut log =
            File::create(self.log).with_context(|| format!("cannot make {}", self.log.display()))?;
        writeln!(log, "# {} {}", self.image.path.display(), self.command_line)?;
        let start = Instant::now();
        let mut machine = Machine::start(Command::new(PROGRAM).args(self.arguments()))?;
        let lines = machine.lines();

        let mut outcome = Outcome {
            console: Console::default(),
            boot: None,
            took: Duration::ZERO,
            end: None,
            tail: VecDeque::with_capacity(TAIL),
        };
        let mut deadline = start + self.limit;
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok((line, text)) => {
                    let now = start.elapsed();
                    outcome.read(line, &text, now, &began);
                    let text = format!("{:7.2} {} {text}", now.as_secs_f64(), line.mark());
                    writeln!(log, "{text}")?;
                    outcome.keep(text);
                }
                Err(RecvTimeoutError::Timeout) => {
                    outcome.end = Some(format!("no end after {:.0} s", start.elapsed().as_secs_f64()));
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if outcome.console.exit.is_some() || !outcome.console.faults.is_empty() {
                deadline = deadline.min(Instant::now() + GRACE);
            }
        }
        if outcome.end.is_none() {
            let status = machine.0.wait()?;
            outcome.end = (!status.success()).then(|| format!("QEMU: {}", process::outcome(status)));
        }
        outcome.took = start.elapsed();
        Ok(outcome)
    }

    fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> =
            ["-accel", "tcg,thread=single", "-cpu", "max", "-smp", self.cpus].map(Into::into).into();
        arguments.extend(["-m".into(), self.memory_mb.to_string().into()]);
        // The first serial line is the kernel's and comes out where QEMU's own messages do; the second is the tests'.
        let devices =
            "-nodefaults -display none -monitor none -serial file:/dev/stderr -serial stdio -no-reboot";
        arguments.extend(devices.split(' ').map(Into::into));
        arguments.extend(["-kernel".into(), self.image.path.as_os_str().to_owned()]);
        arguments.extend(["-initrd".into(), self.initramfs.as_os_str().to_owned()]);
        arguments.extend(["-append".into(), self.command_line.into()]);
        if let Some(folder) = self.shared {
            let mut share = OsString::from("local,mount_tag=lab,security_model=none,path=");
            share.push(folder);
            arguments.extend(["-virtfs".into(), share]);
        }
        arguments
    }
}

impl Outcome {
    fn read(&mut self, line: Line, text: &str, now: Duration, began: &impl Fn(&str, Duration)) {
        match line {
            Line::Kernel => self.console.kernel_line(text),
            Line::Guest => self.console.guest_line(text),
        }
        if self.boot.is_none()
            && let Some(release) = &self.console.release
        {
            self.boot = Some(now);
            began(release, now);
        }
    }

    fn keep(&mut self, line: String) {
        if self.tail.len() == TAIL {
            self.tail.pop_front();
        }
        self.tail.push_back(line);
    }
}

/// A serial line.
#[derive(Clone, Copy)]
enum Line {
    Kernel,
    Guest,
}

impl Line {
    /// Tells the lines apart in a log.
    const fn mark(self) -> char {
        match self {
            Self::Kernel => '|',
            Self::Guest => '>',
        }
    }
}

/// A QEMU that runs; killed when dropped.
struct Machine(Child);

impl Machine {
    fn start(command: &mut Command) -> Result<Self> {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(Self(command.spawn().with_context(|| format!("cannot start {PROGRAM}"))?))
    }

    /// The lines of both streams as they come; disconnected when both have ended.
    fn lines(&mut self) -> mpsc::Receiver<(Line, String)> {
        let (sender, receiver) = mpsc::channel();
        if let Some(stdout) = self.0.stdout.take() {
            let sender = sender.clone();
            thread::spawn(move || send_lines(stdout, Line::Guest, &sender));
        }
        if let Some(stderr) = self.0.stderr.take() {
            thread::spawn(move || send_lines(stderr, Line::Kernel, &sender));
        }
        receiver
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn send_lines(from: impl Read, line: Line, to: &Sender<(Line, String)>) -> io::Result<()> {
    let mut from = BufReader::new(from);
    let mut bytes = Vec::new();
    while from.read_until(b'\n', &mut bytes)? > 0 {
        let text = String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned();
        bytes.clear();
        if to.send((line, text)).is_err() {
            break;
        }
    }
    Ok(())
}
