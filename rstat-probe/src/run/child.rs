//! The command of `run -- COMMAND`.

use std::{ffi::OsString, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration};

use rstat_probe_report::recording::Workload;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::{process, time};

use crate::load::RESULT_FILE_VARIABLE;

/// After Ctrl-C, which the command sees as well, it gets this long to end by itself.
const INTERRUPT_GRACE: Duration = Duration::from_secs(2);
/// After SIGTERM it gets this long before SIGKILL.
const TERMINATE_GRACE: Duration = Duration::from_secs(5);

/// Why a command did not start.
pub(crate) struct SpawnError {
    /// 127 when it does not exist, 126 when it cannot be run, as in a shell.
    pub exit_code: u8,
    pub error: std::io::Error,
}

/// A running command.
pub(crate) struct Child {
    command: Vec<OsString>,
    process: process::Child,
    status: Option<ExitStatus>,
    /// Where a load can leave its result; `None` when there is no place for temporary files.
    results: Option<TempDir>,
}

impl Child {
    /// Starts `command`, unless it is empty.
    pub(crate) fn spawn_if_any(command: &[OsString]) -> Result<Option<Self>, SpawnError> {
        let Some((program, arguments)) = command.split_first() else { return Ok(None) };
        let start = || {
            let results = tempfile::tempdir()
                .inspect_err(|error| log::warn!("no folder for the result of a load: {error}"))
                .ok();
            let mut builder = process::Command::new(program);
            builder.args(arguments).kill_on_drop(true);
            if let Some(results) = &results {
                builder.env(RESULT_FILE_VARIABLE, results.path().join("result.json"));
            }
            let process = builder.spawn()?;
            Ok(Some(Self { command: command.to_vec(), process, status: None, results }))
        };
        start().map_err(|error: std::io::Error| SpawnError {
            exit_code: if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 },
            error,
        })
    }

    /// Waits for its end. Can be dropped and called again.
    pub(crate) async fn ended(&mut self) -> std::io::Result<()> {
        if self.status.is_none() {
            self.status = Some(self.process.wait().await?);
        }
        Ok(())
    }

    /// Makes it end: at once politely, or after it had time to see the Ctrl-C that we saw.
    pub(crate) async fn stop(&mut self, interrupted: bool) -> std::io::Result<()> {
        if interrupted && time::timeout(INTERRUPT_GRACE, self.ended()).await.is_ok() {
            return Ok(());
        }
        self.signal(Signal::TERM);
        if time::timeout(TERMINATE_GRACE, self.ended()).await.is_err() {
            self.kill().await?;
        }
        Ok(())
    }

    /// Kills it without waiting for manners.
    pub(crate) async fn kill(&mut self) -> std::io::Result<()> {
        self.signal(Signal::KILL);
        self.ended().await
    }

    /// Its exit code, or 128 plus the signal that killed it, as a shell has it.
    pub(crate) fn exit_code(&self) -> u8 {
        let code = self.status.map_or(0, |status| {
            status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
        });
        u8::try_from(code).unwrap_or(1)
    }

    /// What a recording says about it.
    pub(crate) fn workload(&self) -> Workload {
        let result = self
            .results
            .as_ref()
            .and_then(|results| std::fs::read(results.path().join("result.json")).ok())
            .and_then(|text| serde_json::from_slice(&text).ok());
        Workload {
            command: self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            exit_code: self.status.and_then(|status| status.code()),
            signal: self.status.and_then(|status| status.signal()),
            result,
        }
    }

    fn signal(&self, signal: Signal) {
        let id = self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(id) = id {
            // It may have ended just now, which is as good.
            let _ = kill_process(id, signal);
        }
    }
}
