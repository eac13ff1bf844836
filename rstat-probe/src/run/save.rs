//! Files that `run` writes: whole or not at all, and owned by the user behind sudo.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufWriter, Write as _},
    os::unix::fs::{PermissionsExt as _, fchown},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use rstat_probe_report::Recording;
use tempfile::Builder;

/// Refuses a `path` that could not be written at the end.
pub(crate) fn check_writable(path: &Path) -> anyhow::Result<()> {
    let names_a_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    ensure!(!path.is_dir() && !names_a_folder, "is a folder; name a file in it");
    if is_special(path) {
        return Ok(());
    }
    let path = resolved(path);
    let folder = folder(&path);
    ensure!(folder.exists(), "the folder {} does not exist; create it first", folder.display());
    ensure!(folder.is_dir(), "{} is not a folder", folder.display());
    Builder::new()
        .prefix(".rstat-probe-")
        .tempfile_in(folder)
        .with_context(|| format!("cannot write into {}", folder.display()))?;
    Ok(())
}

/// Saves `recording` at `path`; readers see the old file or the new one.
pub(crate) fn save(recording: &Recording, path: &Path) -> anyhow::Result<()> {
    if is_special(path) {
        let mut file = BufWriter::new(OpenOptions::new().write(true).open(path)?);
        recording.write(&mut file)?;
        return Ok(file.flush()?);
    }
    let path = resolved(path);
    let mut file = Builder::new().prefix(".rstat-probe-").tempfile_in(folder(&path))?;
    {
        let mut writer = BufWriter::new(file.as_file_mut());
        recording.write(&mut writer)?;
        writer.flush()?;
    }
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    give_to_user(file.as_file())?;
    file.as_file().sync_data()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

/// Saves `recording` in the folder for temporary files, after its own place failed.
pub(crate) fn save_elsewhere(recording: &Recording) -> anyhow::Result<PathBuf> {
    let mut file = Builder::new().prefix("rstat-probe-").suffix(".json").tempfile()?;
    {
        let mut writer = BufWriter::new(file.as_file_mut());
        recording.write(&mut writer)?;
        writer.flush()?;
    }
    give_to_user(file.as_file())?;
    file.as_file().sync_data()?;
    Ok(file.keep()?.1)
}

/// Opens a stream file.
pub(crate) fn create(path: &Path) -> anyhow::Result<File> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    if file.metadata()?.is_file() {
        give_to_user(&file)?;
    }
    Ok(file)
}

/// Under sudo the file belongs to the user who typed it.
fn give_to_user(file: &File) -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let id = |name: &str| std::env::var(name).ok().and_then(|id| id.parse::<u32>().ok());
    if let (Some(user), Some(group)) = (id("SUDO_UID"), id("SUDO_GID")) {
        fchown(file, Some(user), Some(group)).context("cannot give the file to the user behind sudo")?;
    }
    Ok(())
}

/// A device, a pipe or a socket: renaming over it would replace it.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Whether two outputs would end up in one file. Devices take any number of writers.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let path = resolved(path);
        fs::canonicalize(folder(&path)).ok().zip(path.file_name().map(ToOwned::to_owned))
    };
    !is_special(one) && place(one).is_some() && place(one) == place(other)
}

/// Where a symbolic link points, so that the link stays.
fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path)
        // A link to a file that does not exist yet.
        .or_else(|_| fs::read_link(path).map(|target| folder(path).join(target)))
        .unwrap_or_else(|_| path.to_owned())
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
