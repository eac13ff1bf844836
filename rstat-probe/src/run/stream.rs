//! `--stream`: one JSON object a line, as it happens.

use std::{fs::File, io::Write as _};

use anyhow::Context as _;
use rstat_probe_report::{Interval, Recording, recording::Provenance};
use serde::Serialize;

use super::{save, settings::Target, stdout::Stdout};

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
    file: Option<File>,
    /// The first failure; nothing is written after it.
    error: Option<anyhow::Error>,
    name: String,
}

impl Stream {
    /// Opens the target.
    pub(crate) fn open(target: &Target) -> anyhow::Result<Self> {
        let (file, name) = match target {
            Target::Stdout => (None, "stdout".to_owned()),
            Target::File(path) => (Some(save::create(path)?), path.display().to_string()),
        };
        Ok(Self { file, error: None, name })
    }

    pub(crate) fn start(&mut self, provenance: &Provenance, stdout: &mut Stdout) {
        self.line(&Line::Start { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), provenance }, stdout);
    }

    pub(crate) fn interval(&mut self, interval: &Interval, stdout: &mut Stdout) {
        self.line(&Line::Interval(interval), stdout);
    }

    pub(crate) fn end(&mut self, recording: &Recording, stdout: &mut Stdout) {
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

    /// The failure that stopped the stream, if any.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.error.map_or(Ok(()), Err)
    }

    fn line(&mut self, line: &Line<'_>, stdout: &mut Stdout) {
        if self.error.is_some() {
            return;
        }
        let write = || -> anyhow::Result<Vec<u8>> {
            let mut text = serde_json::to_vec(line)?;
            text.push(b'\n');
            Ok(text)
        };
        let result = write().and_then(|text| {
            if let Some(file) = &mut self.file {
                // One write a line: if the process is killed, no half of one stays behind.
                return Ok(file.write_all(&text)?);
            }
            stdout.print(text);
            Ok(())
        });
        if let Err(error) = result.with_context(|| format!("--stream {} ended early", self.name)) {
            self.error = Some(error);
        }
    }
}
