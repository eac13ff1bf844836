//! `load`: from arguments to the loads in [`crate::load`], and what becomes of their results.

use std::{
    env,
    io::{self, Write as _},
    path::Path,
    sync::atomic::AtomicBool,
};

use crate::{
    args::{LoadCommand, StatReaderArguments},
    load::{
        RESULT_FILE_VARIABLE, StatFile, StatReaderOptions, built_in_load_default, dirtier_main,
        run as stat_reader, stop_flag_on_signals, write_result,
    },
};

pub(crate) fn run(command: LoadCommand) -> anyhow::Result<()> {
    match command {
        LoadCommand::StatReader(arguments) => read_stat(arguments),
        LoadCommand::Dirtier(arguments) => dirtier_main(&arguments),
    }
}

fn read_stat(arguments: StatReaderArguments) -> anyhow::Result<()> {
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
    if let Some(path) = &arguments.output {
        write_result(&result, path)?;
    }
    if let Some(path) = env::var_os(RESULT_FILE_VARIABLE) {
        write_result(&result, Path::new(&path))?;
    }
    let mut out = io::stdout().lock();
    result.write_text(&mut out)?;
    out.flush()?;
    Ok(())
}
