//! Who we are, and how a command becomes root. Only measuring and installing packages need it.

use std::{
    ffi::OsStr,
    fs,
    io::{self, IsTerminal as _},
    os::unix::fs::MetadataExt as _,
    process::Command,
};

use anyhow::{Result, bail};

use crate::{cargo, process};

/// The way to root from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// We are root.
    Already,
    /// sudo works without a question.
    Sudo,
    /// sudo may ask for a password on the terminal.
    SudoAsks,
    /// Neither root nor a usable sudo.
    Unavailable,
}

impl Root {
    /// Looks at the user id, sudo and the terminal.
    pub(crate) fn detect() -> Self {
        let sudo = process::find_program("sudo").is_some();
        decide(
            effective_uid() == Some(0),
            sudo,
            || process::capture(Command::new("sudo").args(["-n", "true"])).is_some(),
            || io::stdin().is_terminal() && !process::in_ci(),
        )
    }

    /// A command that runs `program` as root, unless there is no way to.
    pub(crate) fn command(self, program: impl AsRef<OsStr>) -> Option<Command> {
        let sudo = |args: &[&str]| {
            let mut command = Command::new("sudo");
            command.args(args).arg(program.as_ref());
            command
        };
        match self {
            Self::Already => Some(Command::new(program.as_ref())),
            Self::Sudo => Some(sudo(&["-n"])),
            Self::SudoAsks => Some(sudo(&[])),
            Self::Unavailable => None,
        }
    }
}

fn decide(
    is_root: bool,
    has_sudo: bool,
    passwordless: impl FnOnce() -> bool,
    can_ask: impl FnOnce() -> bool,
) -> Root {
    if is_root {
        Root::Already
    } else if !has_sudo {
        Root::Unavailable
    } else if passwordless() {
        Root::Sudo
    } else if can_ask() {
        Root::SudoAsks
    } else {
        Root::Unavailable
    }
}

/// Refuses `sudo cargo xtask` in a user's own work tree: it would leave root's files there.
pub(crate) fn refuse_sudo(command: &str) -> Result<()> {
    let sudo_uid = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
    let owner = fs::metadata(cargo::workspace()).ok().map(|folder| folder.uid());
    if leaves_root_files(effective_uid(), sudo_uid, owner) {
        bail!("run `cargo xtask {command}` without sudo: it asks for root itself where it needs it");
    }
    Ok(())
}

fn leaves_root_files(euid: Option<u32>, sudo_uid: Option<u32>, owner: Option<u32>) -> bool {
    euid == Some(0) && sudo_uid.is_some_and(|uid| uid != 0) && owner == sudo_uid
}

fn effective_uid() -> Option<u32> {
    // The owner of /proc/self is the effective user of the reader.
    fs::metadata("/proc/self").ok().map(|folder| folder.uid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn way_to_root() {
        let never = || -> bool { unreachable!("asked without need") };
        assert_eq!(decide(true, true, never, never), Root::Already);
        assert_eq!(decide(false, false, never, never), Root::Unavailable);
        assert_eq!(decide(false, true, || true, never), Root::Sudo);
        assert_eq!(decide(false, true, || false, || true), Root::SudoAsks);
        assert_eq!(decide(false, true, || false, || false), Root::Unavailable);
    }

    #[test]
    fn commands() {
        let words = |command: &Command| {
            std::iter::once(command.get_program())
                .chain(command.get_args())
                .map(|word| word.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&Root::Already.command("id").unwrap()), ["id"]);
        assert_eq!(words(&Root::Sudo.command("id").unwrap()), ["sudo", "-n", "id"]);
        assert_eq!(words(&Root::SudoAsks.command("id").unwrap()), ["sudo", "id"]);
        assert!(Root::Unavailable.command("id").is_none());
    }

    #[test]
    fn sudo_in_the_users_tree_is_refused() {
        assert!(leaves_root_files(Some(0), Some(1000), Some(1000)));
        // A root shell opened through sudo that works in root's own tree is fine.
        assert!(!leaves_root_files(Some(0), Some(1000), Some(0)));
        assert!(!leaves_root_files(Some(0), None, Some(1000)));
        assert!(!leaves_root_files(Some(1000), Some(1000), Some(1000)));
        assert!(!leaves_root_files(Some(0), Some(0), Some(0)));
    }
}
