//! `merge`: the exact sum of any number of recordings, with the hosts kept apart.

use std::io::{self, BufWriter, Write as _};

use anyhow::{Context as _, ensure};
use rstat_probe_report::{
    document::Document,
    fleet::{Fleet, FleetBuilder},
    recording::Tool,
    render::{
        fleet::{write_short, write_text},
        text::{TextOptions, escaped},
    },
};

use crate::{
    args::MergeArguments,
    input::{Named, check_stdin_once, expanded},
    whole_file::{check_writable, write_whole},
};

pub(crate) fn run(arguments: &MergeArguments) -> anyhow::Result<()> {
    let output = arguments.output.as_deref().filter(|path| path.as_os_str() != "-");
    if let Some(path) = output {
        // Thousands of files take a while.
        check_writable(path).with_context(|| format!("-o {}: nothing was merged", path.display()))?;
    }
    let fleet = merge(arguments)?;
    for warning in &fleet.warnings {
        log::warn!("{}", escaped(warning));
    }
    let options = TextOptions { width: crate::stdout_width(), heading: true };
    let mut out = BufWriter::new(io::stdout().lock());
    match (output, &arguments.output) {
        (Some(path), _) => {
            write_whole(path, |w| fleet.write(w))
                .with_context(|| format!("cannot write {}", path.display()))?;
            write_short(&mut out, &fleet, &options)?;
        }
        (None, Some(_)) => fleet.write(&mut out)?,
        (None, None) => write_text(&mut out, &fleet, &options)?,
    }
    Ok(out.flush()?)
}

/// Reads the files one after the other; each is forgotten when its figures are added.
fn merge(arguments: &MergeArguments) -> anyhow::Result<Fleet> {
    let files = expanded(&arguments.files)?;
    check_stdin_once(files.iter())?;
    for Named { label, path, name } in &files {
        let path = path.display();
        ensure!(
            label.is_none() && name.is_none(),
            "{path} can only be merged as a whole, without LABEL= before it or :NAME after it; --only picks metrics"
        );
    }
    let tool =
        Tool { name: env!("CARGO_PKG_NAME").to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let mut builder = FleetBuilder::new(tool);
    if !arguments.only.is_empty() {
        builder = builder.only(arguments.only.iter().copied());
    }
    for file in &files {
        let what = file.what();
        match Document::read(file.open()?, &what)? {
            Document::Recording(recording) => builder.add_recording(&recording, &what)?,
            Document::Fleet(fleet) => builder.add_fleet(&fleet, &what)?,
        }
    }
    Ok(builder.finish()?)
}
