//! Single lines of a latency trace.

use serde_json::{Value, json};

/// One line of the trace.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) comm: String,
    pub(super) pid: u64,
    pub(super) cpu: u64,
    pub(super) flags: String,
    pub(super) time: u64,
    pub(super) mark: String,
    pub(super) what: String,
}

/// `fio-2701523 128.N.1. 10382681us+: what`.
pub(super) fn event(text: &str) -> Option<Result<Event, String>> {
    let (before, after) = text.split_once("us")?;
    let (task, time) = before.rsplit_once(char::is_whitespace)?;
    let (mark, what) = after.split_once(':')?;
    let (task, place) = task.trim_end().rsplit_once(char::is_whitespace)?;
    let (comm, pid) = task.trim_end().rsplit_once('-')?;
    let digits = place.find(|c: char| !c.is_ascii_digit()).unwrap_or(place.len());
    let (cpu, flags) = place.split_at(digits);
    let shape = !cpu.is_empty()
        && flags.chars().count() <= 8
        && time.bytes().all(|byte| byte.is_ascii_digit())
        && pid.bytes().all(|byte| byte.is_ascii_digit())
        && !pid.is_empty()
        && mark.chars().count() <= 1;
    if !shape {
        return None;
    }
    let number =
        |name: &str, word: &str| word.parse::<u64>().map_err(|_| format!("the {name} `{word}` is too large"));
    let parse = || {
        Ok(Event {
            comm: comm.trim().to_owned(),
            pid: number("pid", pid)?,
            cpu: number("CPU", cpu)?,
            flags: flags.to_owned(),
            time: number("time", time)?,
            mark: mark.trim().to_owned(),
            what: what.trim().to_owned(),
        })
    };
    Some(parse())
}

impl Event {
    /// What the tracer does to itself after the latency has ended.
    pub(super) fn of_the_tracer(&self) -> bool {
        let name = self.what.split([' ', '+', '(']).next().unwrap_or("");
        self.what.starts_with("<stack trace>")
            || matches!(
                name,
                "tracer_hardirqs_on" | "trace_hardirqs_on" | "tracer_preempt_on" | "trace_preempt_on"
            )
            || name.starts_with("trace_hardirqs_on")
    }

    pub(super) fn to_value(&self) -> Value {
        json!({
            "comm": self.comm, "pid": self.pid, "cpu": self.cpu, "flags": self.flags,
            "time_us": self.time, "mark": self.mark, "what": self.what,
        })
    }
}
