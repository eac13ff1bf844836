//! The names of what is measured, counted and lost. The names are part of the recording format:
//! never rename one, only add.

/// Defines an enum whose variants have one name in code, output and files, and one phrase for
/// people.
macro_rules! named_enum {
    (
        $(#[$enum_doc:meta])*
        $enum:ident, $what:literal, $(#[$text_doc:meta])* $text:ident {
            $($(#[$doc:meta])* $variant:ident = $name:literal, $phrase:literal;)*
        }
    ) => {
        $(#[$enum_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $enum {
            $($(#[$doc])* $variant,)*
        }

        impl $enum {
            /// Every variant, in the order in which they are shown.
            pub const ALL: &'static [$enum] = &[$($enum::$variant,)*];

            /// The name in output and files, snake_case.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $($enum::$variant => $name,)*
                }
            }

            $(#[$text_doc])*
            #[must_use]
            pub const fn $text(self) -> &'static str {
                match self {
                    $($enum::$variant => $phrase,)*
                }
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $enum {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<Self, UnknownName> {
                Self::ALL
                    .iter()
                    .copied()
                    .find(|variant| variant.name() == name)
                    .ok_or_else(|| UnknownName { what: $what, name: name.to_owned() })
            }
        }

        impl serde::Serialize for $enum {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                name.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// A name that is none of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {name:?}")]
pub struct UnknownName {
    what: &'static str,
    name: String,
}

named_enum! {
    /// A time that is measured per event, in ns.
    Metric, "metric",
    /// What it is, in a few words.
    title {
        /// Wait and hold of one acquisition: unbroken time with IRQs disabled. Absent on
        /// PREEMPT_RT, where IRQs stay on.
        IrqsOff = "irqs_off", "IRQs off because of rstat";
        /// From the failed try (or the call of the lock function) to the acquisition; only
        /// contended acquisitions have one.
        LockWait = "lock_wait", "wait for an rstat lock (contended acquisitions)";
        /// Length of a section.
        LockHold = "lock_hold", "hold of an rstat lock (sections)";
        /// One call of the flush function, including every yield.
        Flush = "flush", "one flush, start to end, yields included";
        /// Wait for a per-CPU rstat lock (kernels 6.10 to 6.16).
        CpuLockWait = "cpu_lock_wait", "wait for a per-CPU rstat lock (contended acquisitions)";
        /// Hold of a per-CPU rstat lock (kernels 6.10 to 6.16).
        CpuLockHold = "cpu_lock_hold", "hold of a per-CPU rstat lock";
    }
}

named_enum! {
    /// Something that is counted.
    Counter, "counter",
    /// What it counts, in a few words.
    title {
        /// Acquisitions of a main rstat lock.
        Sections = "sections", "acquisitions of an rstat lock";
        /// Flushes that ended.
        Flushes = "flushes", "flushes that ended";
        /// Releases inside a flush: with the tracepoint argument `cpu` >= 0, or inside the walk
        /// over the CPUs.
        Yields = "yields", "releases inside a flush, after one CPU";
        /// Acquisitions that had to wait.
        Contended = "contended", "acquisitions that had to wait";
        /// Flushes whose return from the flush function was not seen: `flush` has them up to their
        /// last release.
        UnseenReturns = "unseen_returns", "flushes timed up to their last release";
        /// Flushes whose call of the flush function was not seen, although its programs were
        /// there: `flush` has them from their first acquisition, and their lock is not known.
        UnseenEntries = "unseen_entries", "flushes timed from their first acquisition";
        /// Sections whose release could not be seen and whose end was inferred.
        InferredEnds = "inferred_ends", "sections whose end was inferred";
        /// Upper bound of what all sections with an inferred end together lack, ns.
        UnseenHoldNs = "unseen_hold_ns", "ns that sections with an inferred end lack at most";
    }
}

named_enum! {
    /// Why something was missed.
    Loss, "cause of loss",
    /// What was lost, and which metric lacks it, in one sentence.
    explain {
        /// A contended acquisition without a known begin of its wait.
        WaitStartMissing = "wait_start_missing",
            "the begin of a wait was not seen: lock_wait and irqs_off lack that acquisition";
        /// Too many threads waited at once.
        WaitMapFull = "wait_map_full",
            "too many threads waited at once: lock_wait and irqs_off lack those, and wait_start_missing counts them, too";
        /// The acquisition after a wait was never seen.
        WaitOverwritten = "wait_overwritten",
            "the acquisition after a wait was not seen: lock_wait and irqs_off lack it";
        /// The release of a section was never seen.
        SectionOverwritten = "section_overwritten",
            "the release of a section was not seen: lock_hold and irqs_off lack that section";
        /// The section that follows a yield could not be seen.
        SectionUnseen = "section_unseen",
            "the section after a yield was not seen: sections, lock_hold and irqs_off lack at least so many";
        /// A release was not that of the section: on another cgroup, or by another thread where there are no
        /// tracepoints.
        TaskMismatch = "task_mismatch",
            "a release was not that of the section: lock_hold and irqs_off lack that section";
        /// Too many flushes at once.
        FlushMapFull = "flush_map_full", "too many flushes ran at once: flush lacks those";
        /// An interval of time ended before it began.
        ClockBackwards = "clock_backwards",
            "a time ended before it began: the metric it belonged to lacks one event";
        /// Any of the faults above, on a per-CPU lock.
        CpuLockUnpaired = "cpu_lock_unpaired",
            "begin or end was not seen on a per-CPU lock: cpu_lock_wait or cpu_lock_hold lacks it";
        /// The kernel skipped a program because one was already running on that CPU.
        RecursionMisses = "recursion_misses",
            "the kernel skipped a program that interrupted another: at most so many events are missing";
    }
}

impl Loss {
    /// Whether what it counts is counted under another cause as well, and must not be added to it.
    #[must_use]
    pub const fn is_counted_twice(self) -> bool {
        matches!(self, Self::WaitMapFull)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn names_are_unique_and_parse_back() {
        for metric in Metric::ALL {
            assert_eq!(metric.name().parse(), Ok(*metric));
        }
        for counter in Counter::ALL {
            assert_eq!(counter.name().parse(), Ok(*counter));
        }
        for loss in Loss::ALL {
            assert_eq!(loss.name().parse(), Ok(*loss));
            assert!(loss.explain().contains(':'), "{loss} says which metric it touches");
        }
        let error = "lock_held".parse::<Metric>().unwrap_err();
        assert_eq!(error.to_string(), "unknown metric \"lock_held\"");
    }

    #[test]
    fn names_are_keys_in_json() {
        let map = BTreeMap::from([(Metric::LockHold, 1), (Metric::IrqsOff, 2)]);
        let json = serde_json::to_string(&map).unwrap();
        assert_eq!(json, r#"{"irqs_off":2,"lock_hold":1}"#);
        assert_eq!(serde_json::from_str::<BTreeMap<Metric, i32>>(&json).unwrap(), map);
        // An escaped key cannot be borrowed from the input.
        assert!(serde_json::from_str::<BTreeMap<Metric, i32>>(r#"{"\u0066lush":2}"#).is_ok());
        let error = serde_json::from_str::<BTreeMap<Loss, u64>>(r#"{"gremlins":2}"#).unwrap_err();
        assert!(error.to_string().starts_with("unknown cause of loss \"gremlins\""), "{error}");
    }
}
