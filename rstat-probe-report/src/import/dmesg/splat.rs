//! One splat: what opens it, what its records say, and what that means.

use serde_json::{Map, Value, json};

use super::is_rstat;

/// A splat with what has been read of it.
#[derive(Debug)]
pub(super) struct Splat {
    line: usize,
    pub(super) fields: Map<String, Value>,
    in_trace: bool,
    reliable: Vec<String>,
    unreliable: Vec<String>,
}

/// The whole number after `label`.
pub(super) fn number_after(text: &str, label: &str) -> Option<u64> {
    let (_, rest) = text.split_once(label)?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The text between `start` and the next `end`.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}

/// Kind and fields, if this record opens a splat.
pub(super) fn opens(text: &str) -> Option<(&'static str, Map<String, Value>)> {
    const STARTS: [&str; 8] =
        ["watchdog:", "NMI watchdog:", "Watchdog", "BUG:", "INFO:", "rcu:", "WARNING:", "kernel BUG at"];
    STARTS.iter().any(|start| text.starts_with(start)).then_some(())?;
    let mut fields = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(key.to_owned(), value);
        }
    };
    let mut task = |task: Option<&str>, separator: char| {
        if let Some((comm, pid)) = task.and_then(|task| task.rsplit_once(separator)) {
            set("comm", Some(json!(comm.trim())));
            set("pid", pid.trim().parse::<u64>().ok().map(Value::from));
        }
    };
    let number = |label: &str| number_after(text, label).map(Value::from);
    let kind = if text.contains("soft lockup - CPU#") {
        task(text.rsplit_once('[').and_then(|(_, task)| task.split_once(']')).map(|(task, _)| task), ':');
        set("cpu", number("CPU#"));
        set("stuck_s", number("stuck for "));
        "soft-lockup"
    } else if text.contains("hard LOCKUP on cpu ") {
        set("cpu", number("LOCKUP on cpu "));
        "hard-lockup"
    } else if text.contains(" blocked for more than ") {
        task(between(text, "INFO: task ", " blocked for more than "), ':');
        set("blocked_s", number("blocked for more than "));
        "hung-task"
    } else if text.contains("detected stalls on CPUs") || text.contains("self-detected stall on CPU") {
        "rcu-stall"
    } else if let Some(rest) = text.strip_prefix("WARNING: CPU:") {
        set("cpu", number("CPU:"));
        set("pid", number("PID:"));
        set("at", rest.split_once(" at ").and_then(|(_, at)| at.split_whitespace().next()).map(Value::from));
        "warning"
    } else if let Some((at, rest)) = text.strip_prefix("WARNING: ").and_then(|rest| rest.split_once(" at ")) {
        // As of 2025: `WARNING: FILE:LINE at SYMBOL, CPU#3: comm/pid`.
        let (_, who) = rest.split_once("CPU#")?;
        task(who.split_once(": ").map(|(_, who)| who), '/');
        set("cpu", number("CPU#"));
        set("at", Some(json!(at)));
        "warning"
    } else if let Some(at) = text.strip_prefix("kernel BUG at ") {
        set("at", Some(json!(at.split('!').next().unwrap_or(at))));
        "bug"
    } else if text.starts_with("BUG: ") {
        "bug"
    } else {
        return None;
    };
    Some((kind, fields))
}

impl Splat {
    pub(super) fn new(line: usize, kind: &str, time: Option<f64>, mut fields: Map<String, Value>) -> Self {
        fields.insert("kind".to_owned(), json!(kind));
        if let Some(time) = time {
            fields.insert("time_s".to_owned(), json!(time));
        }
        Self { line, fields, in_trace: false, reliable: Vec::new(), unreliable: Vec::new() }
    }

    /// What was said first stays.
    fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.fields.entry(key).or_insert_with(|| value.into());
    }

    /// Takes what a record says.
    pub(super) fn detail(&mut self, text: &str) {
        if let Some((place, task)) =
            text.split_once(" Comm: ").filter(|(place, _)| place.starts_with("CPU: "))
        {
            self.task(place, task);
        } else if text.starts_with("Not tainted ") || text.starts_with("Tainted: ") {
            self.kernel(text);
        } else if let Some(symbol) = text.strip_prefix("RIP: ") {
            let symbol = symbol.split_once(':').map_or(symbol, |(_, symbol)| symbol);
            self.pointer("rip", symbol);
        } else if let Some(symbol) = text.strip_prefix("NIP [").and_then(|text| text.split_once(']')) {
            self.pointer("ip", symbol.1);
        } else if let Some(symbol) = text.strip_prefix("pc : ") {
            self.pointer("ip", symbol);
        } else if let Some(work) = text.strip_prefix("Workqueue: ") {
            self.set("workqueue", work.trim());
        } else if let Some(flags) = text.strip_prefix("MSR:").and_then(|text| between(text, "<", ">")) {
            let little = flags.split(',').any(|flag| flag == "LE");
            self.set("arch", if little { "ppc64le" } else { "ppc64" });
        } else if text.contains("IRQMASK: ") {
            if let Some(mask) = number_after(text, "IRQMASK: ") {
                self.set("irqmask", mask);
            }
        } else if text.eq_ignore_ascii_case("call trace:") {
            self.in_trace = true;
        } else if self.fields.get("kind").is_some_and(|kind| kind == "rcu-stall") && self.stall(text) {
        } else if self.in_trace {
            self.frame(text);
        }
    }

    /// `CPU: 156 UID: 0 PID: 91861 Comm: kworker/156:0 Tainted: G D W 6.14.0 #1`.
    fn task(&mut self, place: &str, task: &str) {
        for (key, label) in [("cpu", "CPU: "), ("pid", "PID: ")] {
            if let Some(number) = number_after(place, label) {
                self.set(key, number);
            }
        }
        let ends = [" Tainted:", " Not tainted", " Kdump:"];
        let end = ends.iter().filter_map(|end| task.find(end)).min().unwrap_or(task.len());
        self.set("comm", task[..end].trim());
        self.kernel(&task[end..]);
    }

    /// The first word that looks like a release.
    fn kernel(&mut self, text: &str) {
        let release = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
        if let Some(word) = text.split_whitespace().find(release) {
            self.set("kernel", word);
        }
    }

    /// Where the CPU was; not in user space.
    fn pointer(&mut self, key: &str, symbol: &str) {
        if let Some(symbol) = symbol.split_whitespace().next().filter(|symbol| symbol.contains("+0x")) {
            self.set(key, symbol);
        }
    }

    /// What RCU says about a stall. Returns whether it did.
    fn stall(&mut self, text: &str) -> bool {
        if text.contains("(detected by ") {
            for (key, label) in [("detected_by", "(detected by "), ("jiffies", "t="), ("ncpus", "ncpus=")] {
                if let Some(number) = number_after(text, label) {
                    self.set(key, number);
                }
            }
            return true;
        }
        let stalled =
            text.strip_prefix("rcu:").and_then(|text| text.trim().split_once('-')).and_then(|(cpu, rest)| {
                let ours = rest.split_once(':').is_some_and(|(_, rest)| rest.contains("ticks this GP"));
                cpu.parse::<u64>().ok().filter(|_| ours)
            });
        let Some(cpu) = stalled else { return false };
        if let Value::Array(cpus) = self.fields.entry("cpus").or_insert_with(|| json!([])) {
            cpus.push(json!(cpu));
        }
        true
    }

    /// `? symbol+0x1/0x2 [module]`, on ppc64 `[sp] [ip] symbol+0x1/0x2 (unreliable)`.
    fn frame(&mut self, text: &str) {
        let doubtful = text.strip_prefix("? ");
        let mut words = doubtful.unwrap_or(text).split_whitespace().skip_while(|word| word.starts_with('['));
        let Some(symbol) = words.next().filter(|word| word.contains("+0x") && word.contains("/0x")) else {
            return;
        };
        let unreliable = doubtful.is_some() || words.any(|word| word == "(unreliable)");
        let frames = if unreliable { &mut self.unreliable } else { &mut self.reliable };
        frames.push(symbol.to_owned());
    }

    /// Adds the stack and what follows from it.
    pub(super) fn finish(&mut self, warnings: &mut Vec<String>) {
        let pointer = self.fields.get("rip").or(self.fields.get("ip")).and_then(Value::as_str).unwrap_or("");
        let pointer = pointer.to_owned();
        let function = |symbol: &str| symbol.split('+').next().unwrap_or("").to_owned();
        let seen = !self.reliable.is_empty() || !self.unreliable.is_empty();
        let on_stack = is_rstat(&pointer) || self.reliable.iter().any(|frame| is_rstat(frame));
        // Who waits for a lock can have been called by anybody.
        let known = seen || on_stack || !(pointer.is_empty() || pointer.contains("lock_slowpath"));
        self.set("rstat_on_stack", if known { json!(on_stack) } else { Value::Null });
        if !seen {
            warnings.push(format!("line {}: the stack is not in the text", self.line));
        }
        let doubtful: Vec<String> =
            self.unreliable.iter().filter(|frame| frame.contains("rstat")).cloned().collect();
        if !doubtful.is_empty() && !on_stack {
            warnings.push(format!(
                "line {}: rstat is only in frames that are not reliable ({}): it does not count",
                self.line,
                doubtful.join(", ")
            ));
        }
        if let Some(first) = self.reliable.first().cloned() {
            if pointer.contains("spin_lock_slowpath") && first.contains("spin_lock_irq") {
                let inferred = format!("{} under {}", function(&pointer), function(&first));
                self.set("irq_off_inferred", inferred);
            }
            self.set("first_reliable_frame", first);
        }
        self.set("rstat_unreliable_frames", doubtful);
        let (reliable, unreliable) =
            (std::mem::take(&mut self.reliable), std::mem::take(&mut self.unreliable));
        self.set("stack_reliable", reliable);
        self.set("unreliable", unreliable);
    }
}
