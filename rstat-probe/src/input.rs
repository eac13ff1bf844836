//! Files as people name them on the command line: `[LABEL=]FILE[:NAME]`, a folder, or `-`.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Read},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use rstat_probe_report::input::{self, Input};

/// Another name of `-`.
const STDIN: &str = "/dev/stdin";

/// The command line, with `-:NAME` as what clap does not take for an option.
pub(crate) fn command_line(arguments: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let mut is_over = false;
    arguments.map(move |argument| {
        is_over |= argument == "--";
        match argument.as_bytes().strip_prefix(b"-:") {
            Some(name) if !is_over => OsString::from_vec([STDIN.as_bytes(), b":", name].concat()),
            _ => argument,
        }
    })
}

/// One argument, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// What the user calls it.
    pub(crate) label: Option<String>,
    pub(crate) path: PathBuf,
    /// The measure or histogram that is meant.
    pub(crate) name: Option<String>,
}

impl Named {
    /// Takes `argument` apart by what exists: names and paths may hold `:` and `=` themselves.
    pub(crate) fn parse(argument: &OsStr) -> Self {
        if exists(argument.as_bytes()) {
            return Self { label: None, path: argument.into(), name: None };
        }
        if let Some(named) = Self::with_name(argument.as_bytes(), None) {
            return named;
        }
        let bytes = argument.as_bytes();
        let equals = bytes.iter().position(|byte| *byte == b'=').filter(|at| !bytes[..*at].contains(&b'/'));
        if let Some(at) = equals {
            let label = String::from_utf8_lossy(&bytes[..at]).into_owned();
            if let Some(named) = Self::with_name(&bytes[at + 1..], Some(label.clone())) {
                return named;
            }
            // The file does not exist, so that its name is what the error is about.
            return Self { label: Some(label), path: path(&bytes[at + 1..]), name: None };
        }
        Self { label: None, path: argument.into(), name: None }
    }

    /// The longest file that exists, and what follows its colon.
    fn with_name(bytes: &[u8], label: Option<String>) -> Option<Self> {
        if exists(bytes) {
            return Some(Self { label, path: path(bytes), name: None });
        }
        let colons = (0..bytes.len()).rev().filter(|at| bytes[*at] == b':');
        let at = colons.into_iter().find(|at| exists(&bytes[..*at]))?;
        let name = String::from_utf8_lossy(&bytes[at + 1..]).into_owned();
        Some(Self { label, path: path(&bytes[..at]), name: Some(name) })
    }

    pub(crate) fn is_stdin(&self) -> bool {
        self.path.as_os_str() == "-" || self.path.as_os_str() == STDIN
    }

    /// The file in messages.
    pub(crate) fn what(&self) -> String {
        if self.is_stdin() { "standard input".to_owned() } else { self.path.display().to_string() }
    }

    pub(crate) fn read(&self) -> anyhow::Result<Input> {
        Ok(input::read(self.open()?, &self.what())?)
    }

    /// The file itself.
    pub(crate) fn open(&self) -> anyhow::Result<Box<dyn Read>> {
        if self.is_stdin() {
            return Ok(Box::new(io::stdin().lock()));
        }
        let what = self.what();
        ensure!(!what.is_empty(), "a file name is empty");
        let cannot = || format!("cannot read {what}");
        let file = File::open(&self.path).with_context(cannot)?;
        ensure!(!file.metadata().with_context(cannot)?.is_dir(), "{what} is a folder; name the files in it");
        Ok(Box::new(file))
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Whether there is such a file; standard input always is.
fn exists(bytes: &[u8]) -> bool {
    bytes == b"-"
        || bytes == STDIN.as_bytes()
        || !bytes.is_empty() && fs::symlink_metadata(path(bytes)).is_ok()
}

/// The arguments, each taken apart, with each folder replaced by its files.
pub(crate) fn expanded(arguments: &[OsString]) -> anyhow::Result<Vec<Named>> {
    let mut all = Vec::new();
    for argument in arguments {
        let named = Named::parse(argument);
        if !named.is_stdin() && named.path.is_dir() {
            let files = files_in(&named.path)?.into_iter();
            all.extend(files.map(|path| Named { path, ..named.clone() }));
        } else {
            all.push(named);
        }
    }
    Ok(all)
}

/// Refuses a second reader of standard input.
pub(crate) fn check_stdin_once<'a>(files: impl Iterator<Item = &'a Named>) -> anyhow::Result<()> {
    let readers = files.filter(|named| named.is_stdin()).count();
    ensure!(readers <= 1, "- is named twice, but there is only one standard input");
    Ok(())
}

/// The `*.json` directly in `folder`, by name, without hidden ones: those are being written.
fn files_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let cannot_read = || format!("cannot read {}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot_read)? {
        let path = entry.with_context(cannot_read)?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension() == Some(OsStr::new("json")) && !path.is_dir() {
            files.push(path);
        }
    }
    ensure!(!files.is_empty(), "{}: there is no *.json in this folder", folder.display());
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(argument: &str) -> (Option<String>, String, Option<String>) {
        let Named { label, path, name } = Named::parse(OsStr::new(argument));
        (label, path.display().to_string(), name)
    }

    #[test]
    fn arguments_are_taken_apart_by_what_exists() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = folder.path().join(name);
            fs::write(&path, "").unwrap();
            path.display().to_string()
        };
        let (plain, colon, equals) = (make("a.txt"), make("b:c.txt"), make("x=y.txt"));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(parts(&plain), (None, plain.clone(), None));
        assert_eq!(
            parts(&format!("{plain}:@ret[kworker/u388:15]")),
            (None, plain.clone(), some("@ret[kworker/u388:15]"))
        );
        assert_eq!(parts(&format!("{colon}:x")), (None, colon.clone(), some("x")));
        assert_eq!(parts(&equals), (None, equals.clone(), None));
        assert_eq!(parts(&format!("new={equals}:a=b")), (some("new"), equals, some("a=b")));
        assert_eq!(parts(&format!("6.6 patched={plain}")), (some("6.6 patched"), plain, None));
        assert_eq!(parts("old=/nowhere/x.json"), (some("old"), "/nowhere/x.json".to_owned(), None));
        assert_eq!(parts("/nowhere/a=b"), (None, "/nowhere/a=b".to_owned(), None));
        assert_eq!(parts("-:lock_hold"), (None, "-".to_owned(), some("lock_hold")));
        let line = command_line(["-", "-:x", "a:-:b", "--", "-:x"].map(OsString::from).into_iter());
        assert_eq!(line.collect::<Vec<_>>(), ["-", "/dev/stdin:x", "a:-:b", "--", "-:x"]);
        assert_eq!(parts(""), (None, String::new(), None));
    }
}
