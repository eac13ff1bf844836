//! `--stream`: one JSON object a line, as it happens.

use anyhow::{Context as _, ensure};
use rstat_probe_report::{Interval, Recording, recording::Provenance};
use serde::Serialize;

use super::{outlet::Outlet, save, settings::Target};

/// Schema of the lines; the first line carries it.
const SCHEMA: &str = "rstat-probe/stream/1";

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
    Start {
        schema: &'static str,
        version: &'static str,
        provenance: &'a Provenance,
    },
    Interval(&'a Interval),
    End {
        duration_ns: u64,
        ended_by: &'a rstat_probe_report::recording::EndedBy,
        totals: &'a rstat_probe_report::recording::Totals,
        losses: &'a std::collections::BTreeMap<rstat_probe_report::Loss, u64>,
        open: &'a rstat_probe_report::recording::Open,
        overhead: &'a rstat_probe_report::recording::Overhead,
        #[serde(rename = "yield")]
        yield_behaviour: &'a rstat_probe_report::yields::YieldBehaviour,
    },
}

/// Where the lines go.
pub(crate) struct Stream {
    /// `None`: to stdout, which others print to as well.
    file: Option<Outlet>,
    /// The first line that could not be made.
    error: Option<anyhow::Error>,
    name: String,
}

impl Stream {
    /// Opens the target. Waits for a reader where that is a pipe.
    pub(crate) fn open(target: &Target) -> anyhow::Result<Self> {
        let (file, name) = match target {
            Target::Stdout => (None, "stdout".to_owned()),
            Target::File(path) => (Some(Outlet::start(save::create(path)?)), path.display().to_string()),
        };
        Ok(Self { file, error: None, name })
    }

    pub(crate) fn start(&mut self, provenance: &Provenance, stdout: &mut Outlet) {
        self.line(&Line::Start { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), provenance }, stdout);
    }

    pub(crate) fn interval(&mut self, interval: &Interval, stdout: &mut Outlet) {
        self.line(&Line::Interval(interval), stdout);
    }

    pub(crate) fn end(&mut self, recording: &Recording, stdout: &mut Outlet) {
        self.line(
            &Line::End {
                duration_ns: recording.duration_ns,
                ended_by: &recording.ended_by,
                totals: &recording.totals,
                losses: &recording.losses,
                open: &recording.open,
                overhead: &recording.overhead,
                yield_behaviour: &recording.provenance.yield_behaviour,
            },
            stdout,
        );
    }

    /// Waits until all lines are written.
    ///
    /// # Errors
    /// The failure that ended the stream early, or that lines were left out because nobody read.
    pub(crate) async fn finish(self) -> anyhow::Result<()> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let Some(file) = self.file else { return Ok(()) };
        let dropped = file.finish().await.with_context(|| format!("--stream {} ended early", self.name))?;
        ensure!(dropped == 0, "--stream {}: {dropped} lines were left out, nobody read them", self.name);
        Ok(())
    }

    fn line(&mut self, line: &Line<'_>, stdout: &mut Outlet) {
        match serde_json::to_vec(line) {
            Ok(mut text) => {
                text.push(b'\n');
                self.file.as_mut().unwrap_or(stdout).print(text);
            }
            Err(error) => self.error = Some(error.into()),
        }
    }
}
