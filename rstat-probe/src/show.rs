//! `show`: recordings as text, JSON or CSV.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use anyhow::Context as _;
use rstat_probe_report::{
    Recording,
    render::{
        csv::write_csv,
        json::write_json,
        text::{TextOptions, write_report},
    },
};

use crate::args::{ShowArguments, ShowFormat};

pub(crate) fn run(arguments: &ShowArguments) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for (index, file) in arguments.files.iter().enumerate() {
        let recording = read(file)?;
        if index > 0 && arguments.format == ShowFormat::Text {
            writeln!(out)?;
        }
        match arguments.format {
            ShowFormat::Text => {
                write_report(
                    &mut out,
                    &recording,
                    &TextOptions { width: crate::stdout_width(), heading: true },
                )?;
            }
            ShowFormat::Json => write_json(&mut out, &recording)?,
            ShowFormat::Csv => write_csv(&mut out, &recording)?,
        }
    }
    out.flush()?;
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Recording> {
    if path.as_os_str() == "-" {
        return Ok(Recording::read(io::stdin().lock(), "standard input")?);
    }
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    Ok(Recording::read(file, &name)?)
}
