//! Room for the pipes and files of hundreds of processes and threads.

use anyhow::{Context, ensure};
use rustix::process::{Resource, getrlimit, setrlimit};

/// Files that are open beside those that a load counts.
const OTHERS: u64 = 100;

/// Raises the limit of open files of this process, where it is lower, so that it may have `more` of them at a time.
pub(super) fn allow(more: u64) -> anyhow::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    let needed = OTHERS.saturating_add(more);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let most = limit.maximum.unwrap_or(u64::MAX);
    ensure!(
        most >= needed,
        "the load needs {needed} open files, and the limit is {most}: raise it (ulimit -n), or have fewer threads and \
         processes"
    );
    limit.current = Some(needed);
    setrlimit(Resource::Nofile, limit).context("cannot raise the limit of open files")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_as_far_as_it_may_be() {
        let before = getrlimit(Resource::Nofile);
        allow(1).unwrap();
        let more = before.current.unwrap_or(1024);
        if before.maximum.is_none_or(|most| most >= more + OTHERS) {
            allow(more).unwrap();
            assert!(getrlimit(Resource::Nofile).current.is_none_or(|now| now >= more));
        }
        if let Some(most) = before.maximum {
            let error = allow(most).unwrap_err().to_string();
            assert!(error.contains("ulimit -n"), "{error}");
        }
    }
}
