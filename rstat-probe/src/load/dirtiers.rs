//! The load's side of the dirtier processes: starts them, stops them, and never leaves one behind.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::dirtier::{DIRTIED, DirtierArgs, FAILED, READY};

/// More processes than this would take long to start; with more CPUs each visits several.
const MOST: usize = 128;
/// How long a dirtier may take to end by itself before it is killed.
const END_WITHIN: Duration = Duration::from_secs(1);
/// The environment variable that carries the command line when the test program is the dirtier.
#[cfg(test)]
pub(super) const TEST_LINE: &str = "RSTAT_PROBE_TEST_DIRTIER";

/// Running dirtiers; dropping it kills them and waits for them.
#[derive(Debug, Default)]
pub(super) struct Dirtiers(Vec<Running>);

#[derive(Debug)]
struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Dirtiers {
    /// Starts dirtiers in the cgroup at `cgroup` on all CPUs this process may use, and waits until they are in it.
    ///
    /// The calling thread must stay alive as long as they: the kernel kills them when it ends.
    pub(super) fn start(cgroup: &Path) -> anyhow::Result<Self> {
        let mut dirtiers = Self::default();
        for args in plan(cgroup, &allowed_cpus()) {
            dirtiers.0.push(Running::start(&args)?);
        }
        for dirtier in &mut dirtiers.0 {
            dirtier.wait_until_ready()?;
        }
        Ok(dirtiers)
    }

    /// Ends all of them and gives the number of pages they allocated. Nothing fails here: what does not end is killed.
    pub(super) fn stop(mut self) -> u64 {
        for dirtier in &mut self.0 {
            drop(dirtier.child.stdin.take());
        }
        let deadline = Instant::now() + END_WITHIN;
        self.0.iter_mut().map(|dirtier| dirtier.pages_at_end(deadline)).sum()
    }
}

impl Drop for Dirtiers {
    fn drop(&mut self) {
        // All first, so that they end side by side.
        for dirtier in &mut self.0 {
            let _ = dirtier.child.kill();
        }
        for dirtier in &mut self.0 {
            let _ = dirtier.child.wait();
        }
    }
}

impl Running {
    fn start(args: &DirtierArgs) -> anyhow::Result<Self> {
        use std::os::unix::process::CommandExt as _;

        let mut child = command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            // Ctrl-C is for the load: it ends its dirtiers itself and asks them what they did.
            .process_group(0)
            .spawn()
            .context("cannot start a dirtier process")?;
        match child.stdout.take() {
            Some(output) => Ok(Self { child, output: BufReader::new(output) }),
            None => bail!("a dirtier process has no output"),
        }
    }

    fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let mut line = String::new();
        loop {
            line.clear();
            let length = self.output.read_line(&mut line).context("cannot hear a dirtier process")?;
            // `contains`, because the test program prints something of its own first.
            if line.trim_end().ends_with(READY) {
                return Ok(());
            }
            if let Some((_, reason)) = line.trim_end().split_once(FAILED) {
                bail!("{reason}");
            }
            if length == 0 {
                bail!("a dirtier process ended at once");
            }
        }
    }

    fn pages_at_end(&mut self, deadline: Instant) -> u64 {
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return 0;
            }
            thread::sleep(Duration::from_millis(1));
        }
        let mut output = String::new();
        let _ = self.output.read_to_string(&mut output);
        output.lines().find_map(|line| line.strip_prefix(DIRTIED)?.parse().ok()).unwrap_or(0)
    }
}

/// What each dirtier is told: one per CPU, or `MOST` that share the CPUs.
fn plan(cgroup: &Path, cpus: &[usize]) -> Vec<DirtierArgs> {
    let count = cpus.len().clamp(1, MOST);
    let one = |index| DirtierArgs {
        procs: cgroup.join("cgroup.procs"),
        parent: std::process::id(),
        cpus: cpus.iter().copied().skip(index).step_by(count).collect(),
        of: u32::try_from(count).unwrap_or(u32::MAX),
    };
    (0..count).map(one).collect()
}

/// CPUs this thread may run on; empty when the kernel does not say.
fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// This program again, as a dirtier.
#[cfg(not(test))]
fn command(args: &DirtierArgs) -> Command {
    use std::os::unix::process::CommandExt as _;

    // Not the path of the program: it may have been replaced or removed meanwhile.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("rstat-probe").args(["load", "dirtier"]).args(args.command_line());
    command
}

/// The test program again, at the ignored test that is a dirtier's body.
#[cfg(test)]
fn command(args: &DirtierArgs) -> Command {
    let line: Vec<_> = args.command_line().into_iter().map(|word| word.into_string().unwrap()).collect();
    let name = format!("{}::dirtier::tests::dirtier_process", super::tests::module_path_in_tests());
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", "--ignored", "--nocapture", &name]).env(TEST_LINE, line.join("\n"));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_is_visited_by_exactly_one_dirtier() {
        for count in [1, 2, 127, 128, 129, 400, 1024] {
            let cpus: Vec<usize> = (0..count).map(|cpu| cpu * 3).collect();
            let plan = plan(Path::new("/cg"), &cpus);
            assert!(plan.len() <= MOST && plan.iter().all(|args| args.of as usize == plan.len()));
            assert!(plan.iter().all(|args| args.procs == Path::new("/cg/cgroup.procs")));
            let mut visited: Vec<usize> = plan.into_iter().flat_map(|args| args.cpus).collect();
            visited.sort_unstable();
            assert_eq!(visited, cpus);
        }
        assert_eq!(plan(Path::new("/cg"), &[]).len(), 1);
    }

    #[test]
    fn the_reason_of_a_dirtier_that_cannot_join_arrives() {
        let error = Dirtiers::start(Path::new("/nonexistent")).unwrap_err();
        let text = format!("{error:#}");
        assert!(
            text.starts_with("cannot join the cgroup through /nonexistent/cgroup.procs: No such file"),
            "{text}"
        );
    }
}
