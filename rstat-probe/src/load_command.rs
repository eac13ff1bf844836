//! `load`: from arguments to the loads in [`crate::load`], and what becomes of their results.

use std::{
    env,
    io::{self, Write as _},
    path::Path,
    sync::atomic::AtomicBool,
};

use anyhow::Context as _;

use crate::{
    args::{LoadCommand, StatReaderArguments},
    load::{
        RESULT_FILE_VARIABLE, StatFile, StatReaderOptions, built_in_load_default, run as stat_reader,
        stop_flag_on_signals, write_result,
    },
    whole_file::check_writable,
};

pub(crate) fn run(command: LoadCommand) -> anyhow::Result<()> {
    match command {
        LoadCommand::StatReader(arguments) => read_stat(arguments),
    }
}

fn read_stat(arguments: StatReaderArguments) -> anyhow::Result<()> {
    if let Some(path) = &arguments.output {
        check_writable(path).with_context(|| format!("--output {}: nothing was read", path.display()))?;
    }
    let stop = stop_flag_on_signals()?;
    let stop: &AtomicBool = &stop;
    // In a cgroup that the user names, cpu.stat may not exist or not flush (the root's).
    let stat = match arguments.stat {
        Some(stat) => stat,
        None if arguments.cgroup.is_some() => StatFile::MemoryStat,
        None => built_in_load_default(arguments.duration)?.stat,
    };
    let result = stat_reader(
        &StatReaderOptions {
            threads: arguments.threads,
            duration: arguments.duration,
            file: arguments.file,
            cgroup: arguments.cgroup,
            stat,
        },
        stop,
    )?;
    // What was measured is printed before anything else can go wrong.
    let mut out = io::stdout().lock();
    let printed = result.write_text(&mut out).and_then(|()| out.flush());
    if let Some(path) = env::var_os(RESULT_FILE_VARIABLE)
        && let Err(error) = write_result(&result, Path::new(&path))
    {
        log::warn!("the result cannot be handed to rstat-probe run: {error:#}");
    }
    if let Some(path) = &arguments.output {
        write_result(&result, path)?;
    }
    Ok(printed?)
}
