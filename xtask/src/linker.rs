//! bpf-linker: is it here, can it read the toolchain's bitcode, and how is it built.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{cargo, process};

const PROGRAM: &str = "bpf-linker";
/// The release we build, and the LLVM versions it has a feature for.
const VERSION: &str = "0.13.0";
const LLVM_FEATURES: std::ops::RangeInclusive<u32> = 21..=23;

/// A bpf-linker that runs.
pub(crate) struct Linker {
    pub(crate) path: PathBuf,
    version: String,
    /// Major version of the LLVM it is linked with; unknown when that is linked statically.
    llvm: Option<u32>,
}

impl Linker {
    /// The one in PATH, else the one `cargo install` made.
    pub(crate) fn find() -> Option<Self> {
        let installed = || cargo::bin_folder().map(|folder| folder.join(PROGRAM));
        let path = process::find_program(PROGRAM)
            .or_else(|| installed().filter(|path| process::is_executable(path)))?;
        let version = process::capture(Command::new(&path).arg("--version"))?;
        let llvm = fs::read(&path).ok().and_then(|program| linked_llvm(&program));
        Some(Self { path, version: version.trim_start_matches(PROGRAM).trim().to_owned(), llvm })
    }

    /// One phrase for the progress lines.
    pub(crate) fn describe(&self) -> String {
        let llvm = self.llvm.map_or("LLVM linked statically".to_owned(), |major| format!("LLVM {major}"));
        format!("{}, {llvm}", self.version)
    }

    /// Whether it can read bitcode of a rustc with this LLVM. Where a version is unknown the build
    /// itself will tell.
    pub(crate) fn reads(&self, rustc_llvm: Option<u32>) -> bool {
        reads(self.llvm, rustc_llvm)
    }
}

fn reads(linker_llvm: Option<u32>, rustc_llvm: Option<u32>) -> bool {
    match (linker_llvm, rustc_llvm) {
        // LLVM reads the bitcode of older versions, not of newer ones.
        (Some(linker), Some(rustc)) => linker >= rustc,
        _ => true,
    }
}

/// An installed LLVM that bpf-linker can be built against.
pub(crate) struct Llvm {
    pub(crate) major: u32,
    prefix: PathBuf,
}

impl Llvm {
    /// The oldest one with development files that reads bitcode of `rustc_llvm`.
    pub(crate) fn find(rustc_llvm: Option<u32>) -> Option<Self> {
        LLVM_FEATURES.filter(|major| reads(Some(*major), rustc_llvm)).find_map(|major| {
            [format!("/usr/lib/llvm-{major}"), format!("/usr/lib64/llvm{major}"), "/usr".to_owned()]
                .into_iter()
                .map(PathBuf::from)
                .find(|prefix| has_development_files(prefix, major))
                .map(|prefix| Self { major, prefix })
        })
    }

    /// Builds and installs bpf-linker against this LLVM.
    pub(crate) fn install_linker(&self) -> Result<()> {
        let Self { major, prefix } = self;
        // A folder that stays, so that another try after a failed download compiles nothing twice.
        let build_folder = cargo::workspace().join("target/bpf-linker");
        process::retry(|| {
            process::run(
                cargo::command("install")
                    .args([PROGRAM, "--version", VERSION, "--locked", "--force", "--no-default-features"])
                    .arg(format!("--features=llvm-{major}"))
                    .arg("--target-dir")
                    .arg(&build_folder)
                    .env("LLVM_PREFIX", prefix)
                    .env(format!("LLVM_SYS_{major}1_PREFIX"), prefix),
            )
        })?;
        fs::remove_dir_all(&build_folder).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error).with_context(|| format!("removing {}", build_folder.display())),
        })
    }
}

/// The packaged LLVM that fits a rustc, for a message or a package manager.
pub(crate) fn wanted_llvm(rustc_llvm: Option<u32>) -> Result<u32> {
    let wanted = rustc_llvm.unwrap_or(*LLVM_FEATURES.end());
    if wanted > *LLVM_FEATURES.end() {
        bail!("bpf-linker {VERSION} does not know LLVM {wanted}, which this rustc uses");
    }
    Ok(wanted.max(*LLVM_FEATURES.start()))
}

fn has_development_files(prefix: &Path, major: u32) -> bool {
    let ask = |option: &str| process::capture(Command::new(prefix.join("bin/llvm-config")).arg(option));
    ask("--version").is_some_and(|version| version.split('.').next() == Some(&*major.to_string()))
        && ask("--includedir").is_some_and(|folder| Path::new(&folder).join("llvm-c/Core.h").exists())
}

/// Finds `libLLVM.so.22.1` or `libLLVM-22.so` among the names of a program's shared libraries.
fn linked_llvm(program: &[u8]) -> Option<u32> {
    const STEM: &[u8] = b"libLLVM";
    program.windows(STEM.len()).enumerate().filter(|(_, window)| *window == STEM).find_map(|(at, _)| {
        let rest = &program[at + STEM.len()..];
        let rest = rest.strip_prefix(b"-").or_else(|| rest.strip_prefix(b".so."))?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linker_reads_older_bitcode() {
        assert!(reads(Some(22), Some(22)));
        assert!(reads(Some(23), Some(22)));
        assert!(!reads(Some(21), Some(22)));
        assert!(reads(None, Some(22)));
        assert!(reads(Some(22), None));
    }

    #[test]
    fn llvm_of_a_program() {
        assert_eq!(linked_llvm(b"\0libLLVM.so.22.1\0libc.so.6"), Some(22));
        assert_eq!(linked_llvm(b"\0libLLVM-17.so.1\0"), Some(17));
        assert_eq!(linked_llvm(b"libLLVM.so.22.1-rust-1.95.0-stable"), Some(22));
        assert_eq!(linked_llvm(b"libLLVMCore, libLLVM-, libLLVM.so.21.1"), Some(21));
        assert_eq!(linked_llvm(b"static program"), None);
        assert_eq!(linked_llvm(b"libLLVM"), None);
    }

    #[test]
    fn llvm_to_install() {
        assert_eq!(wanted_llvm(Some(22)).unwrap(), 22);
        assert_eq!(wanted_llvm(Some(19)).unwrap(), 21);
        assert_eq!(wanted_llvm(None).unwrap(), 23);
        assert!(wanted_llvm(Some(24)).is_err());
    }

    #[test]
    fn no_development_files_in_an_empty_prefix() {
        assert!(!has_development_files(Path::new("/nonexistent"), 22));
    }
}
