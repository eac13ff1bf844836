//! `show`: recordings and foreign files as text, JSON or CSV.

use std::{
    fs::File,
    io::{self, BufWriter, Read, Write},
    path::Path,
};

use anyhow::{Context as _, ensure};
use rstat_probe_report::{
    Recording,
    import::{ImportError, Imported, import},
    render::{
        csv, foreign, json,
        text::{TextOptions, write_report},
    },
};

use crate::args::{ShowArguments, ShowFormat};

/// So much tells what a file may be, bytes.
const BEGINNING: u64 = 1 << 20;
/// Longest foreign file that is read, bytes: they are what people paste, not what machines log.
const LONGEST_FOREIGN: u64 = 64 << 20;

enum Shown {
    Recording(Box<Recording>),
    Foreign(Imported),
}

pub(crate) fn run(arguments: &ShowArguments) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for (index, file) in arguments.files.iter().enumerate() {
        let shown = read(file)?;
        if index > 0 && arguments.format == ShowFormat::Text {
            writeln!(out)?;
        }
        match (shown, arguments.format) {
            (Shown::Recording(recording), ShowFormat::Text) => {
                let options = TextOptions { width: crate::stdout_width(), heading: true };
                write_report(&mut out, &recording, &options)?;
            }
            (Shown::Recording(recording), ShowFormat::Json) => json::write_json(&mut out, &recording)?,
            (Shown::Recording(recording), ShowFormat::Csv) => csv::write_csv(&mut out, &recording)?,
            (Shown::Foreign(imported), ShowFormat::Text) => foreign::write_text(&mut out, &imported)?,
            (Shown::Foreign(imported), ShowFormat::Json) => foreign::write_json(&mut out, &imported)?,
            (Shown::Foreign(imported), ShowFormat::Csv) => foreign::write_csv(&mut out, &imported)?,
        }
    }
    out.flush()?;
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Shown> {
    if path.as_os_str() == "-" {
        return read_from(io::stdin().lock(), "standard input");
    }
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    read_from(file, &name)
}

fn read_from(mut reader: impl Read, name: &str) -> anyhow::Result<Shown> {
    let mut text = Vec::new();
    reader.by_ref().take(BEGINNING).read_to_end(&mut text).with_context(|| format!("cannot read {name}"))?;
    if may_be_foreign(&text) {
        reader.by_ref().take(LONGEST_FOREIGN).read_to_end(&mut text)?;
        ensure!(
            text.len() as u64 <= LONGEST_FOREIGN,
            "{name}: longer than {} MiB, which is too much for a file of another tool",
            LONGEST_FOREIGN >> 20
        );
        match import(&String::from_utf8_lossy(&text), name) {
            Ok(imported) => return Ok(Shown::Foreign(imported)),
            // What is no recording either says more about a file that nobody knows.
            Err(ImportError::Unrecognised { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Shown::Recording(Box::new(Recording::read(text.chain(reader), name)?)))
}

/// Whether the beginning of a file is text, and not that of a recording.
fn may_be_foreign(beginning: &[u8]) -> bool {
    let start = beginning.trim_ascii_start();
    let ours =
        start.starts_with(b"{") && start[..start.len().min(400)].windows(8).any(|word| word == b"\"schema\"");
    !start.is_empty() && !beginning.contains(&0) && !ours
}
