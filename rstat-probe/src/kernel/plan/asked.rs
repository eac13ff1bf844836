//! Facts, as the strategies ask for them, and the words for what is not there.

use super::{Basis, Feature, Group, Planned, hooks::slow_paths};
use crate::kernel::support::{KernelSupport, Names};

pub(super) const NO_TRACEPOINTS: &str = "the kernel has no rstat tracepoints (Linux has them from 6.10 on)";
pub(super) const NO_KPROBES: &str = "the kernel has no kprobes (CONFIG_KPROBE_EVENTS)";

/// The facts.
pub(super) struct Asked<'a> {
    pub(super) support: &'a KernelSupport,
    pub(super) names: &'a Names,
}

impl Asked<'_> {
    pub(super) fn has_tracepoints(&self) -> bool {
        self.names.has_lock_tracepoints()
    }

    pub(super) fn has(&self, function: &str) -> bool {
        self.names.function(function)
    }

    /// Whether fentry and fexit could attach to all of these.
    pub(super) fn fentry(&self, functions: &[&str]) -> bool {
        self.support.no_function_hooks.is_none()
            && functions.iter().all(|function| self.names.btf_id(function).is_some())
    }

    /// Addresses of the main locks, filled up with 0.
    pub(super) fn locks(&self) -> [u64; 4] {
        let mut locks = [0; 4];
        for (to, from) in locks.iter_mut().zip(&self.support.locks) {
            *to = from.address;
        }
        locks
    }

    pub(super) fn why_no_locks(&self) -> &str {
        let support = self.support;
        let reason = support.no_function_hooks.as_deref().or(support.locks_error.as_deref());
        reason.unwrap_or("the addresses of the locks are not known")
    }

    /// Why fentry cannot be used on `functions`.
    pub(super) fn why_no_fentry(&self, functions: &[&str]) -> String {
        if let Some(reason) = &self.support.no_function_hooks {
            return reason.clone();
        }
        if self.support.btf_error.is_some() {
            return "fentry needs BTF".to_owned();
        }
        let missing = functions.iter().find(|function| self.names.btf_id(function).is_none());
        format!("fentry needs {} in BTF", missing.unwrap_or(&"the slow path of spin locks"))
    }

    /// Groups of the slow paths: fentry, then kprobes.
    pub(super) fn spin(&self) -> Vec<Group> {
        if self.support.locks.is_empty() || self.support.preempt_rt {
            return Vec::new();
        }
        let groups = [false, true].map(|kprobes| self.slow_paths(kprobes)).into_iter();
        let groups = groups.filter(|programs| !programs.is_empty());
        groups.map(|programs| Group::optional(Feature::Spin, programs)).collect()
    }

    /// The lock's slow paths that fentry, or kprobes, could attach to.
    pub(super) fn slow_paths(&self, kprobes: bool) -> Vec<Planned> {
        if kprobes {
            slow_paths(|name| self.support.kprobes && self.has(name), true)
        } else {
            slow_paths(|name| self.fentry(&[name]), false)
        }
    }
}

pub(super) fn from(text: &str) -> Basis {
    Basis::From(text.to_owned())
}
