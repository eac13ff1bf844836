//! The loads of the lab, and the script that runs them in a guest.

use std::{fmt::Write as _, time::Duration};

use anyhow::{Result, bail};

/// A load, as the guest runs it under `rstat-probe run`.
#[derive(Debug)]
pub(crate) struct Load {
    /// Of its folder and its reports.
    pub(crate) name: &'static str,
    /// In a sentence.
    pub(crate) what: &'static str,
    /// `rstat-probe load ...`; `{cpus}` stands for the number of the guest's CPUs.
    arguments: &'static str,
    /// Whether everything it does flushes, so that what is measured is the work of flushes. Elsewhere flushes are few, and
    /// on an emulated machine the times of a few are those of its turns.
    pub(crate) flushes_always: bool,
}

/// All loads: two that flush all the time and three in whose way a flush can be.
static LOADS: [Load; 5] = [
    Load {
        name: "cpu-stat",
        what: "two readers a CPU of cpu.stat, which flushes at every read",
        arguments: "stat-reader --stat cpu.stat",
        flushes_always: true,
    },
    Load {
        name: "stat-reader-hogs",
        what: "two readers a CPU of memory.stat, beside as many hogs that the OOM killer takes",
        arguments: "stat-reader --stat memory.stat --with-hogs {cpus}",
        flushes_always: false,
    },
    Load {
        name: "hogs",
        what: "hogs alone: memory charged until the OOM killer comes",
        arguments: "hogs --processes {cpus}",
        flushes_always: false,
    },
    Load {
        name: "charge",
        what: "page faults and frees three cgroups deep",
        arguments: "charge",
        flushes_always: false,
    },
    Load {
        name: "sendfile",
        what: "sendfile over IPv6 loopback, 10K messages, three cgroups deep",
        arguments: "sendfile --pairs {cpus}",
        flushes_always: false,
    },
];

/// How long the recorder may take longer than the load: starting and stopping hundreds of processes.
const SPARE: Duration = Duration::from_mins(10);

/// The loads that are named, in their own order; all of them if none is.
///
/// # Errors
/// A name is none of theirs.
pub(crate) fn select(names: &[String]) -> Result<Vec<&'static Load>> {
    if let Some(unknown) = names.iter().find(|name| LOADS.iter().all(|load| load.name != **name)) {
        let known: Vec<&str> = LOADS.iter().map(|load| load.name).collect();
        bail!("there is no load '{unknown}'; the lab has {}", known.join(", "));
    }
    Ok(LOADS.iter().filter(|load| names.is_empty() || names.iter().any(|name| name == load.name)).collect())
}

impl Load {
    /// The command that makes the recording: its file, its report and its messages have the load's name.
    fn job(&self, cpus: u32, length: Duration) -> String {
        let arguments = self.arguments.replace("{cpus}", &cpus.to_string());
        let (name, seconds) = (self.name, length.as_secs());
        let limit = (length + SPARE).as_secs();
        format!(
            "rstat-probe run -d {limit}s -i 1s -o /lab/{name}.json -- \
             rstat-probe load {arguments} --duration {seconds}s >/lab/{name}.txt 2>/lab/{name}.messages"
        )
    }
}

/// The script of one boot: the loads one after the other. It ends with the exit code of the first that failed.
pub(crate) fn script(loads: &[&Load], cpus: u32, length: Duration) -> String {
    let mut script = "status=0\n".to_owned();
    for load in loads {
        let (job, name) = (load.job(cpus, length), load.name);
        // Writing to a String cannot fail.
        let _ = write!(
            script,
            "{job}\ncode=$?\necho \"{name} ended with $code\"\n\
             if [ $code -ne 0 ]; then cat /lab/{name}.messages; [ $status -ne 0 ] || status=$code; fi\n"
        );
    }
    script.push_str("exit $status\n");
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_chosen_by_name() {
        assert_eq!(select(&[]).unwrap().len(), LOADS.len());
        let some = select(&["sendfile".to_owned(), "cpu-stat".to_owned()]).unwrap();
        assert_eq!(some.iter().map(|load| load.name).collect::<Vec<_>>(), ["cpu-stat", "sendfile"]);
        let error = select(&["sendfiles".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("there is no load 'sendfiles'; the lab has cpu-stat, "), "{error}");
    }

    #[test]
    fn each_job_leaves_a_recording_and_its_exit_code() {
        let loads = select(&["stat-reader-hogs".to_owned(), "charge".to_owned()]).unwrap();
        let script = script(&loads, 32, Duration::from_secs(20));
        assert_eq!(
            script.lines().nth(1).unwrap(),
            "rstat-probe run -d 620s -i 1s -o /lab/stat-reader-hogs.json -- rstat-probe load stat-reader \
             --stat memory.stat --with-hogs 32 --duration 20s >/lab/stat-reader-hogs.txt \
             2>/lab/stat-reader-hogs.messages"
        );
        assert_eq!(script.matches("code=$?").count(), 2);
        assert!(script.ends_with("exit $status\n"));
    }
}
