//! Files that `run` writes.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use rstat_probe_report::Recording;

use crate::whole_file::{give_to_user, write_elsewhere, write_whole};

/// Saves `recording` at `path`; readers see the old file or the new one.
pub(crate) fn save(recording: &Recording, path: &Path) -> anyhow::Result<()> {
    write_whole(path, |w| recording.write(w))
}

/// Saves `recording` in the folder for temporary files, after its own place failed.
pub(crate) fn save_elsewhere(recording: &Recording) -> anyhow::Result<PathBuf> {
    write_elsewhere(|w| recording.write(w))
}

/// Opens a stream file.
pub(crate) fn create(path: &Path) -> anyhow::Result<File> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    if file.metadata()?.is_file() {
        give_to_user(&file)?;
    }
    Ok(file)
}
