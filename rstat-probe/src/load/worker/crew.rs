//! The child processes of one load.

use std::time::{Duration, Instant};

use super::{Running, Said, Worker};

/// How long a worker may take to end by itself before it is killed.
const END_WITHIN: Duration = Duration::from_secs(1);
/// How much longer when many end at once, on emulated CPUs too.
const END_EACH: Duration = Duration::from_millis(20);

/// Workers of one load; dropping them kills all and waits for them.
#[derive(Debug, Default)]
pub(in crate::load) struct Crew(Vec<Running>);

impl Crew {
    /// Starts them side by side and waits until all are in their cgroups. See [`Running::start`].
    pub(in crate::load) fn start<W: Worker>(workers: &[W]) -> anyhow::Result<Self> {
        let mut crew = Self::default();
        for worker in workers {
            crew.push(Running::start(worker)?);
        }
        crew.wait_until_ready()?;
        Ok(crew)
    }

    /// Takes in one more.
    pub(in crate::load) fn push(&mut self, running: Running) {
        self.0.push(running);
    }

    /// Waits until all are in their cgroups.
    pub(in crate::load) fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        self.0.iter_mut().try_for_each(Running::wait_until_ready)
    }

    /// Each of them.
    pub(in crate::load) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Running> {
        self.0.iter_mut()
    }

    /// How many there are.
    pub(in crate::load) fn len(&self) -> usize {
        self.0.len()
    }

    /// Lets those that wait for it begin.
    pub(in crate::load) fn go(&mut self) {
        self.0.iter_mut().for_each(Running::go);
    }

    /// Tells each a line.
    pub(in crate::load) fn tell(&mut self, line: &str) {
        self.0.iter_mut().for_each(|running| running.tell(line));
    }

    /// Why one of them has ended, if one has, which none does unless something is wrong.
    pub(in crate::load) fn why_lost(&mut self) -> Option<String> {
        let at = self.0.iter_mut().position(Running::has_ended)?;
        let lost = &mut self.0[at];
        let why = match lost.end() {
            Ok((_, Said::Failed(reason))) => reason,
            Ok((status, _)) => status.to_string(),
            Err(error) => format!("{error:#}"),
        };
        Some(format!("a process of the load ended before its time: {why}"))
    }

    /// Ends all of them and gives the figures of each. Nothing fails here: what does not end is killed and has none.
    pub(in crate::load) fn stop(self) -> Vec<Option<Vec<u64>>> {
        let processes = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.stop_all(processes)
    }

    /// As [`Self::stop`], where they end so many `processes` in all, children of theirs.
    pub(in crate::load) fn stop_all(mut self, processes: u32) -> Vec<Option<Vec<u64>>> {
        self.0.iter_mut().for_each(Running::tell_end);
        let each = END_EACH.saturating_mul(processes);
        let deadline = Instant::now() + END_WITHIN + each;
        self.0.iter_mut().map(|running| running.figures(deadline)).collect()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // All first, so that they end side by side.
        self.0.iter_mut().for_each(Running::kill);
    }
}
