//! Small formats of files in /proc and /sys.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// A set of CPU numbers as the kernel writes it, e.g. `0-3,8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuList {
    pub text: String,
    pub cpus: Vec<u32>,
}

const CAPABILITIES: &str = "CapEff:";

/// Whether a line of `/proc/self/status` has what [`capabilities`] is read from.
pub(super) fn is_capabilities(line: &str) -> bool {
    line.starts_with(CAPABILITIES)
}

/// The effective capabilities in `/proc/self/status`, one bit each.
pub(super) fn capabilities(status: &str) -> Option<u64> {
    let hex = status.lines().find(|line| is_capabilities(line))?.strip_prefix(CAPABILITIES)?;
    u64::from_str_radix(hex.trim(), 16).ok()
}

/// The bracketed word of `none [integrity] confidentiality`.
pub(super) fn chosen(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// Where tracefs is mounted, from `/proc/self/mounts`.
pub(super) fn mounted_tracefs(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find(|line| is_tracefs(line))?.split(' ').nth(1).map(PathBuf::from)
}

/// The file with the names of the tracers, below a root folder.
pub(super) fn tracers_file(tracefs: &Path) -> String {
    format!("{}/available_tracers", tracefs.display()).trim_start_matches('/').to_owned()
}

/// Whether a line of `/proc/self/mounts` is about tracefs.
pub(super) fn is_tracefs(line: &str) -> bool {
    line.split(' ').nth(2) == Some("tracefs")
}

/// Parses the kernel's list format (Documentation/admin-guide/cputopology.rst).
pub(super) fn cpu_list(text: &str) -> anyhow::Result<CpuList> {
    let mut cpus = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<u32>().with_context(|| format!("bad CPU list `{text}`"));
        cpus.extend(number(first)?..=number(last)?);
    }
    Ok(CpuList { text: text.to_owned(), cpus })
}

/// The GNU build id among ELF notes (`/sys/kernel/notes`), as hex.
pub(super) fn build_id(notes: &[u8]) -> Option<String> {
    // Three words and the name `GNU`.
    let bytes = build_id_note(notes)?.get(16..)?;
    Some(bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}")))
}

/// The note with the GNU build id among ELF notes: three words (lengths of name and description,
/// type), name, description, each padded to four bytes.
pub(super) fn build_id_note(mut notes: &[u8]) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: u32 = 3;
    loop {
        let word = |at: usize| Some(u32::from_ne_bytes(notes.get(at..at + 4)?.try_into().ok()?));
        let (name_length, length, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let description = 12 + name_length.next_multiple_of(4);
        let name = notes.get(12..12 + name_length)?;
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" {
            return notes.get(..description + length);
        }
        notes = notes.get(description + length.next_multiple_of(4)..)?;
    }
}
