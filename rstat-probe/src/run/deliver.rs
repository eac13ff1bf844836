//! After the measurement: ends the command, saves, prints, chooses the exit code.

use std::{path::Path, pin::pin, time::Duration};

use anyhow::Context as _;
use rstat_probe_report::{
    Recording,
    recording::EndedBy,
    render::text::{TextOptions, write_report},
};
use tokio::time::timeout;

use super::{
    child::Child,
    save,
    settings::{Settings, Target},
    stdout::Stdout,
    stream::Stream,
};
use crate::signals::Signals;

/// A signal while the report is printed leaves it this long to get through.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Ends the command of a measurement that ended before it. Another signal ends its grace.
pub(crate) async fn stop(child: &mut Child, ended_by: &EndedBy, signals: &mut Signals) {
    let interrupted = matches!(ended_by, EndedBy::Signal { name } if name == "SIGINT");
    let stopped = tokio::select! {
        stopped = child.stop(interrupted) => Some(stopped),
        _ = signals.next() => None,
    };
    let stopped = match stopped {
        Some(stopped) => stopped,
        None => child.kill().await,
    };
    if let Err(error) = stopped {
        log::error!("cannot end the command: {error}");
    }
}

/// Saves and prints. The file comes first: nobody can block it. Returns the exit code.
pub(crate) async fn deliver(
    settings: &Settings,
    recording: &Recording,
    mut stream: Option<Stream>,
    mut stdout: Stdout,
    mut signals: Signals,
    command: Option<u8>,
) -> anyhow::Result<u8> {
    let saved = save(recording, settings);
    if let Some(stream) = &mut stream {
        stream.end(recording, &mut stdout);
    }
    stdout.print(report(recording, settings)?);
    let mut printing = pin!(stdout.finish());
    let printed = tokio::select! {
        printed = &mut printing => Some(printed),
        // The user has seen enough, or pressed Ctrl-C once more than needed: only a reader of
        // stdout that hangs is left behind.
        _ = signals.next() => timeout(LAST_WORDS, printing).await.ok(),
    };
    if let Some(printed) = printed {
        let dropped = printed.context("cannot print the report")?;
        if dropped > 0 {
            log::error!("{dropped} lines were not printed: nobody read stdout");
        }
    }
    saved?;
    stream.map_or(Ok(()), Stream::finish)?;
    if let EndedBy::Error { message } = &recording.ended_by {
        log::error!("the measurement ended early: {message}");
        return Ok(crate::FAILED);
    }
    Ok(command.unwrap_or(0))
}

/// What goes to stdout at the end.
fn report(recording: &Recording, settings: &Settings) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    if settings.output == Some(Target::Stdout) {
        recording.write(&mut text)?;
    } else if settings.prints_report() {
        let options = TextOptions { width: crate::stdout_width(), heading: true };
        write_report(&mut text, recording, &options)?;
    }
    Ok(text)
}

/// Saves where the user wants it, else in the folder for temporary files.
fn save(recording: &Recording, settings: &Settings) -> anyhow::Result<()> {
    let Some(Target::File(path)) = &settings.output else { return Ok(()) };
    let Err(error) = save::save(recording, path) else { return Ok(()) };
    Err(error.context(elsewhere(recording, path)))
}

fn elsewhere(recording: &Recording, path: &Path) -> String {
    match save::save_elsewhere(recording) {
        Ok(other) => format!("cannot save {}, saved {} instead", path.display(), other.display()),
        Err(_) => format!("cannot save {}, and nothing else takes the recording either", path.display()),
    }
}
