//! `rstat-probe`: parse, dispatch, turn errors into one line and an exit code.

mod args;
mod check;
mod compare;
mod input;
mod kernel;
mod load;
mod load_command;
mod merge;
mod run;
mod show;
mod signals;
mod whole_file;

use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
};

use clap::Parser as _;

use args::{Arguments, Command};

/// Exit code of everything that failed.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let mut words = env::args_os().skip(1).peekable();
    if words.peek().is_some_and(|word| word == load::WORKER) {
        // What fails is told to the load, through the same pipe as everything.
        return load::worker_main(words).map_or(ExitCode::from(FAILED), |()| ExitCode::SUCCESS);
    }
    let arguments = Arguments::parse_from(input::command_line(env::args_os()));
    let verbose = arguments.verbose;
    start_log(verbose);
    // `run` looks after its outputs itself; the others have none but stdout.
    let prints_only = !matches!(arguments.command, Command::Run(_));
    let result = match arguments.command {
        Command::Run(arguments) => run::run(&arguments, verbose),
        Command::Check(arguments) => check::run(&arguments),
        Command::Show(arguments) => show::run(&arguments).map(|()| 0),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments).map(|()| 0),
        Command::Load(command) => load_command::run(command).map(|()| 0),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        // Whoever closed the pipe has read enough.
        Err(error) if prints_only && is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error, verbose);
            ExitCode::from(FAILED)
        }
    }
}

/// Messages look like the errors: one line with the severity in front.
fn start_log(verbose: bool) {
    env_logger::Builder::new()
        .filter_level(if verbose { log::LevelFilter::Info } else { log::LevelFilter::Warn })
        // What of aya's warnings matters is in our errors.
        .filter_module("aya", if verbose { log::LevelFilter::Info } else { log::LevelFilter::Error })
        .format(|out, record| {
            let severity = match record.level() {
                log::Level::Error => "error",
                log::Level::Warn => "warning",
                _ => "note",
            };
            writeln!(out, "{severity}: {}", record.args())
        })
        .init();
}

/// Columns of the terminal on stdout, `None` when it is none.
fn stdout_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Prints the chain of causes as one line on stderr.
#[expect(clippy::print_stderr, reason = "the one place where errors reach the user")]
fn complain(error: &anyhow::Error, verbose: bool) {
    let text = format!("{error:#}");
    let line = text.lines().next().unwrap_or_default();
    if verbose || text.lines().count() <= 1 {
        eprintln!("error: {text}");
    } else {
        // Only the verifier writes more than a line.
        eprintln!("error: {line} (more with -v)");
    }
}
