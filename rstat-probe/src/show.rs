//! `show`: recordings, fleets and foreign files as text, JSON or CSV.

use std::io::{self, BufWriter, Write};

use anyhow::ensure;
use rstat_probe_report::{
    input::Input,
    render::{
        csv, fleet, foreign, json,
        text::{TextOptions, write_report},
    },
};

use crate::{
    args::{ShowArguments, ShowFormat},
    input::{Named, check_stdin_once},
};

pub(crate) fn run(arguments: &ShowArguments) -> anyhow::Result<()> {
    let files: Vec<Named> = arguments.files.iter().map(|file| Named::parse(file)).collect();
    check_stdin_once(files.iter())?;
    for (file, argument) in files.iter().zip(&arguments.files) {
        ensure!(
            file.label.is_none(),
            "{}: there is no such file; labels are for compare",
            argument.display()
        );
    }
    let mut out = BufWriter::new(io::stdout().lock());
    for (index, file) in files.iter().enumerate() {
        let input = chosen(file.read()?, file, arguments)?;
        if index > 0 && arguments.format == ShowFormat::Text {
            writeln!(out)?;
        }
        write(&mut out, &input, arguments.format)?;
    }
    out.flush()?;
    Ok(())
}

fn write(out: &mut impl Write, input: &Input, format: ShowFormat) -> io::Result<()> {
    let options = TextOptions { width: crate::stdout_width(), heading: true };
    match (input, format) {
        (Input::Recording(recording), ShowFormat::Text) => write_report(out, recording, &options),
        (Input::Recording(recording), ShowFormat::Json) => json::write_json(out, recording),
        (Input::Recording(recording), ShowFormat::Csv) => csv::write_csv(out, recording),
        (Input::Fleet(merged), ShowFormat::Text) => fleet::write_text(out, merged, &options),
        (Input::Fleet(merged), ShowFormat::Json) => merged.write(out),
        (Input::Fleet(merged), ShowFormat::Csv) => fleet::write_csv(out, merged),
        (Input::Load(load), ShowFormat::Text) => load.write_text(out),
        (Input::Load(load), ShowFormat::Json) => {
            serde_json::to_writer_pretty(&mut *out, load)?;
            writeln!(out)
        }
        (Input::Load(load), ShowFormat::Csv) => load.write_csv(out),
        (Input::Foreign(imported), ShowFormat::Text) => foreign::write_text(out, imported),
        (Input::Foreign(imported), ShowFormat::Json) => foreign::write_json(out, imported),
        (Input::Foreign(imported), ShowFormat::Csv) => foreign::write_csv(out, imported),
    }
}

/// What of a file is shown: all of it, or the measure that its name picks.
fn chosen(input: Input, file: &Named, arguments: &ShowArguments) -> anyhow::Result<Input> {
    let what = file.what();
    match (input, file.name.as_deref()) {
        (Input::Foreign(mut imported), name) => {
            if let Some(unit) = arguments.unit {
                imported = imported.with_unit(unit.into());
            }
            if let Some(name) = name {
                let index = imported.select(name).map_err(|error| error.in_file(&what))?;
                imported.histograms = vec![imported.histograms.swap_remove(index)];
                imported.rows.clear();
            }
            Ok(Input::Foreign(imported))
        }
        (input, None) => Ok(input),
        (Input::Recording(mut recording), Some(name)) => {
            recording.keep_only(name).map_err(|error| anyhow::anyhow!("{what}: {error}"))?;
            Ok(Input::Recording(recording))
        }
        (_, Some(name)) => {
            anyhow::bail!("{what}: {name}: only recordings and files of other tools can be shown in part")
        }
    }
}
