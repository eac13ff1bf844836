//! Scheduling priority of the threads that must not wait behind hundreds of readers per CPU.

use rustix::process::{getpriority_process, setpriority_process};

/// The highest priority of the normal scheduling class. Those that take it sleep nearly all of the time.
const HIGHEST: i32 = -20;

/// Raises the calling thread's priority. Best effort: without the right to, ending the load only takes longer.
pub(super) fn raise() {
    let _ = setpriority_process(None, HIGHEST);
}

/// Gives the calling thread the usual priority, whatever it inherited. Best effort, as [`raise`].
pub(super) fn normal() {
    let _ = setpriority_process(None, 0);
}

/// The calling thread's priority is raised as long as this value lives.
#[derive(Debug)]
pub(super) struct Raised(Option<i32>);

impl Raised {
    /// Threads started meanwhile inherit the priority: start them before.
    pub(super) fn new() -> Self {
        let before = getpriority_process(None).ok();
        raise();
        Self(before)
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            let _ = setpriority_process(None, before);
        }
    }
}
