//! A span of the tracer: what its `trace` file says, and whose it is.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ALLOWED_NS, Bounds};
use crate::import::import;

/// Half of the tracer's unit: it rounds (`ns2usecs` in kernel/trace/trace.c).
const HALF_US: u64 = 500;

/// Functions that take or release a main rstat lock, by kernel: up to 6.14, and later. Which ones
/// are inlined into which depends on the compiler.
const RSTAT: [&str; 14] = [
    "__cgroup_rstat_lock",
    "__cgroup_rstat_unlock",
    "cgroup_rstat_flush",
    "cgroup_rstat_flush_atomic",
    "cgroup_rstat_flush_hold",
    "cgroup_rstat_flush_irqsafe",
    "cgroup_rstat_flush_locked",
    "cgroup_rstat_flush_release",
    "cgroup_rstat_exit",
    "cgroup_base_stat_cputime_show",
    "__css_rstat_lock",
    "__css_rstat_unlock",
    "css_rstat_flush",
    "css_rstat_exit",
];

/// Beginnings of functions that only carry out what their caller wants: of locks, of tracing, and the trampolines
/// through which hooked functions are called. One of those stands where a hooked function ends with a jump to the lock
/// function; the next frame is the hooked function itself.
const PRIMITIVES: [&str; 8] = [
    "_raw_spin_",
    "_raw_read_",
    "_raw_write_",
    "trace_hardirqs_",
    "tracer_hardirqs_",
    "trace_irq_",
    "bpf_trampoline_",
    "ftrace_trampoline",
];

fn is_primitive(function: &str) -> bool {
    PRIMITIVES.iter().any(|prefix| function.starts_with(prefix))
        || matches!(function, "stop_critical_timing" | "check_critical_timing" | "stop_critical_timings")
}

/// A span with IRQs off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Its length, rounded to us.
    pub tracer_us: u64,
    /// The function that switched IRQs off, as the tracer says.
    pub started_at: String,
    /// The one that switched them on, as the tracer says.
    pub ended_at: String,
    /// The stack at its end, the innermost frame first.
    pub stack: Vec<String>,
}

impl Span {
    /// Reads the text of the tracer's `trace` file.
    ///
    /// # Errors
    /// It is none, or says neither how long nor where; a clause.
    pub fn from_trace(text: &str) -> Result<Self, String> {
        let imported = import(text, "trace").map_err(|error| error.to_string())?;
        let [row] = &imported.rows[..] else {
            return Err(format!("{} traces where there should be one", imported.rows.len()));
        };
        let field = |key: &str| row.get(key).and_then(Value::as_str);
        let stack = row.get("stack").and_then(Value::as_array).into_iter().flatten();
        match (row.get("latency_us").and_then(Value::as_u64), field("started_at"), field("ended_at")) {
            (Some(tracer_us), Some(started_at), Some(ended_at)) => Ok(Self {
                tracer_us,
                started_at: started_at.to_owned(),
                ended_at: ended_at.to_owned(),
                stack: stack.filter_map(Value::as_str).map(str::to_owned).collect(),
            }),
            _ => Err("a trace without latency, start or end".to_owned()),
        }
    }

    /// The function that had IRQs switched on again: not the lock function that did it.
    #[must_use]
    pub fn function(&self) -> &str {
        let frames = [self.ended_at.as_str()].into_iter().chain(self.stack.iter().map(String::as_str));
        frames.map(bare).find(|function| !is_primitive(function)).unwrap_or(bare(&self.ended_at))
    }

    /// Whether it is a section of a main rstat lock.
    #[must_use]
    pub fn is_rstat(&self) -> bool {
        RSTAT.contains(&self.function())
    }

    /// How far apart both may be, ns.
    #[must_use]
    pub fn allowed_ns(&self) -> u64 {
        // A tenth of us as ns.
        ALLOWED_NS.max(self.tracer_us.saturating_mul(100))
    }

    /// `ours` less this, ns: the least that both allow.
    #[must_use]
    pub fn difference_ns(&self, ours: Option<Bounds>) -> i64 {
        let (low, high) = self.bounds_ns();
        match ours {
            None => -signed(low),
            Some(ours) if ours.low_ns > high => signed(ours.low_ns - high),
            Some(ours) => -signed(low.saturating_sub(ours.high_ns)),
        }
    }

    /// How far apart both are at most, ns.
    pub(super) fn most_apart_ns(&self, ours: Option<Bounds>) -> u64 {
        let (low, high) = self.bounds_ns();
        let apart = |ns: u64| ns.saturating_sub(high).max(low.saturating_sub(ns));
        ours.map_or(low, |ours| apart(ours.low_ns).max(apart(ours.high_ns)))
    }

    /// What is rounded to `tracer_us`, first and last.
    fn bounds_ns(&self) -> (u64, u64) {
        let middle = self.tracer_us.saturating_mul(1000);
        (middle.saturating_sub(HALF_US), middle.saturating_add(HALF_US - 1))
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// A symbol without offset, module and the compiler's suffix, as `f` of `f.isra.0+0x12/0x80 [m]`.
fn bare(symbol: &str) -> &str {
    let end = symbol.find(['+', ' ', '/']).unwrap_or(symbol.len());
    let symbol = &symbol[..end];
    // A leading dot would be another architecture's.
    symbol.find('.').filter(|at| *at > 0).map_or(symbol, |at| &symbol[..at])
}
