//! `load`: from arguments to the loads in [`crate::load`], and what becomes of their results.

use std::{
    env,
    io::{self, Write as _},
    path::Path,
    sync::atomic::AtomicBool,
};

use anyhow::Context as _;
use rstat_probe_report::load_result::LoadResult;

use crate::{
    args::{ChargeArguments, HogsArguments, LoadCommand, SendfileArguments, StatReaderArguments},
    load::{
        BesideOptions, ChargeOptions, HogsOptions, RESULT_FILE_VARIABLE, SendfileOptions, StatFile,
        StatReaderOptions, built_in_load_default, charge, hogs, sendfile, stat_reader, stop_flag_on_signals,
        write_result,
    },
    whole_file::check_writable,
};

pub(crate) fn run(command: LoadCommand) -> anyhow::Result<()> {
    match command {
        LoadCommand::StatReader(arguments) => {
            let output = arguments.output.clone();
            put_on(output.as_deref(), |stop| read_stat(arguments, stop))
        }
        LoadCommand::Hogs(HogsArguments { processes, duration, memory, output }) => {
            put_on(output.as_deref(), |stop| hogs(&HogsOptions { processes, duration, memory }, stop))
        }
        LoadCommand::Sendfile(SendfileArguments { pairs, message, duration, output }) => {
            put_on(output.as_deref(), |stop| sendfile(&SendfileOptions { pairs, message, duration }, stop))
        }
        LoadCommand::Charge(ChargeArguments { processes, bytes, duration, output }) => {
            put_on(output.as_deref(), |stop| charge(&ChargeOptions { processes, bytes, duration }, stop))
        }
    }
}

/// Runs a load to its end, prints its result, and leaves it where it is wanted.
fn put_on(
    output: Option<&Path>,
    load: impl FnOnce(&AtomicBool) -> anyhow::Result<LoadResult>,
) -> anyhow::Result<()> {
    if let Some(path) = output {
        check_writable(path).with_context(|| format!("--output {}: no load was run", path.display()))?;
    }
    let stop = stop_flag_on_signals()?;
    let result = load(&stop)?;
    // What was measured is printed before anything else can go wrong.
    let mut out = io::stdout().lock();
    let printed = result.write_text(&mut out).and_then(|()| out.flush());
    if let Some(path) = env::var_os(RESULT_FILE_VARIABLE)
        && let Err(error) = write_result(&result, Path::new(&path))
    {
        log::warn!("the result cannot be handed to rstat-probe run: {error:#}");
    }
    if let Some(path) = output {
        write_result(&result, path)?;
    }
    Ok(printed?)
}

fn read_stat(arguments: StatReaderArguments, stop: &AtomicBool) -> anyhow::Result<LoadResult> {
    // In a cgroup that the user names, cpu.stat may not exist or not flush (the root's).
    let stat = match arguments.stat {
        Some(stat) => stat,
        None if arguments.cgroup.is_some() => StatFile::MemoryStat,
        None => built_in_load_default(arguments.duration)?.stat,
    };
    let memory = arguments.hog_memory;
    let options = StatReaderOptions {
        threads: arguments.threads,
        duration: arguments.duration,
        file: arguments.file,
        cgroup: arguments.cgroup,
        stat,
        hogs: arguments.with_hogs.map(|processes| BesideOptions { processes, memory }),
    };
    stat_reader(&options, stop)
}
