//! After the measurement: ends the command, saves, prints, chooses the exit code.

use std::{io, path::Path, pin::pin, time::Duration};

use anyhow::{Context as _, bail};
use rstat_probe_report::{
    Recording,
    recording::EndedBy,
    render::text::{TextOptions, write_report},
};
use tokio::time::timeout;

use super::{
    child::Child,
    outlet::Outlet,
    save,
    settings::{Settings, Target},
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

/// Saves and prints. Returns the exit code.
pub(crate) async fn deliver(
    settings: &Settings,
    recording: Recording,
    mut stream: Option<Stream>,
    mut stdout: Outlet,
    mut signals: Signals,
    command: Option<u8>,
) -> anyhow::Result<u8> {
    if let Some(stream) = &mut stream {
        stream.end(&recording, &mut stdout);
    }
    stdout.print(report(&recording, settings)?);
    let ended_by = recording.ended_by.clone();
    // A pipe as the file can block as well as stdout can.
    let output = settings.output.clone();
    let saving = tokio::task::spawn_blocking(move || save(&recording, output));
    let streaming = async {
        match stream {
            Some(stream) => stream.finish().await,
            None => Ok(()),
        }
    };
    // All three go on by themselves, in threads; here they are only waited for.
    let Some((saved, streamed)) = or_signal(async { tokio::join!(saving, streaming) }, &mut signals).await
    else {
        bail!("interrupted while a reader of the output hung");
    };
    let printed = or_signal(stdout.finish(), &mut signals).await;
    saved.context("saving failed")??;
    streamed?;
    match printed.unwrap_or(Ok(0)) {
        Ok(0) => {}
        Ok(dropped) => log::error!("{dropped} lines were not printed: nobody read stdout"),
        // Whoever closed stdout has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(error).context("cannot print the report"),
    }
    if let EndedBy::Error { message } = &ended_by {
        log::error!("the measurement ended early: {message}");
        return Ok(crate::FAILED);
    }
    Ok(command.unwrap_or(0))
}

/// The outcome of `future`, unless a signal comes and it does not end soon after: the user has
/// seen enough, or pressed Ctrl-C once more than needed, and only what hangs is left behind.
async fn or_signal<T>(future: impl Future<Output = T>, signals: &mut Signals) -> Option<T> {
    let mut future = pin!(future);
    tokio::select! {
        outcome = &mut future => Some(outcome),
        _ = signals.next() => timeout(LAST_WORDS, future).await.ok(),
    }
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
fn save(recording: &Recording, output: Option<Target>) -> anyhow::Result<()> {
    let Some(Target::File(path)) = output else { return Ok(()) };
    let Err(error) = save::save(recording, &path) else { return Ok(()) };
    Err(error.context(elsewhere(recording, &path)))
}

fn elsewhere(recording: &Recording, path: &Path) -> String {
    match save::save_elsewhere(recording) {
        Ok(other) => format!("cannot save {}, saved {} instead", path.display(), other.display()),
        Err(_) => format!("cannot save {}, and nothing else takes the recording either", path.display()),
    }
}
