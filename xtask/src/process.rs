//! Child processes: run, capture, retry, limit in time.

use std::{
    env,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

/// How often a step that downloads is tried.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(5);

/// Runs to the end with this terminal's output; an unsuccessful exit is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", name(command)))?;
    if !status.success() {
        bail!("{} failed: {}", name(command), outcome(status));
    }
    Ok(())
}

/// What the command prints to stdout, or nothing when it is absent or fails.
pub(crate) fn capture(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Tries a step that may fail for the network's sake, with growing pauses.
pub(crate) fn retry(mut step: impl FnMut() -> Result<()>) -> Result<()> {
    let mut attempt = 1;
    loop {
        match step() {
            Err(error) if attempt < ATTEMPTS => {
                let pause = PAUSE * attempt;
                eprintln!("setup: {error:#}; trying again in {} s", pause.as_secs());
                thread::sleep(pause);
                attempt += 1;
            }
            result => return result,
        }
    }
}

/// Runs to the end, but is killed after `limit`.
pub(crate) fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    let mut child =
        command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot start {}", name(command)))?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            if status.success() {
                return Ok(());
            }
            bail!("{} failed: {}", name(command), outcome(status));
        }
        if start.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            bail!("{} did not end within {} s", name(command), limit.as_secs_f32());
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The exit code a shell would report: a death by signal N is 128 + N.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// How a process ended, in words.
pub(crate) fn outcome(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// The executable a shell would start for `program`.
pub(crate) fn find_program(program: &str) -> Option<PathBuf> {
    find_in(env::split_paths(&env::var_os("PATH")?), program)
}

fn find_in(folders: impl IntoIterator<Item = PathBuf>, program: &str) -> Option<PathBuf> {
    folders.into_iter().map(|folder| folder.join(program)).find(|path| is_executable(path))
}

/// Whether the path is a file that somebody may execute.
pub(crate) fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Whether nobody watches: then nothing may ask, and nothing may be skipped.
pub(crate) fn in_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or(program.as_os_str()).to_string_lossy()];
    words.extend(command.get_args().take(4).map(|word| word.to_string_lossy()));
    if command.get_args().len() > 4 {
        words.push("...".into());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn failures_name_the_command_and_the_exit() {
        let error = run(&mut sh("exit 3")).unwrap_err();
        assert_eq!(error.to_string(), "sh -c exit 3 failed: exit code 3");
        let error = run(&mut Command::new("/nonexistent/tool")).unwrap_err();
        assert_eq!(error.to_string(), "cannot start tool");
    }

    #[test]
    fn capture_is_none_on_failure() {
        assert_eq!(capture(&mut sh("echo yes")), Some("yes".to_owned()));
        assert_eq!(capture(&mut sh("echo no; false")), None);
        assert_eq!(capture(&mut Command::new("/nonexistent/tool")), None);
    }

    #[test]
    fn time_limit() {
        let start = Instant::now();
        assert!(run_within(&mut sh("exec sleep 20"), Duration::from_millis(100)).is_err());
        assert!(start.elapsed() < Duration::from_secs(10));
        assert!(run_within(&mut sh("true"), Duration::from_secs(10)).is_ok());
    }

    #[test]
    fn exit_codes() {
        assert_eq!(exit_code(sh("exit 7").status().unwrap()), 7);
        assert_eq!(exit_code(sh("kill -TERM $$").status().unwrap()), 143);
    }

    #[test]
    fn programs_are_executable_files() {
        assert!(find_in([PathBuf::from("/bin")], "sh").is_some());
        assert!(find_in([PathBuf::from("/")], "bin").is_none());
        assert!(find_in([PathBuf::from("/etc")], "passwd").is_none());
        assert!(find_in([], "sh").is_none());
    }
}
