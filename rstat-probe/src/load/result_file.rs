//! Writes a load's result to a file in one piece: a reader sees the old content or the whole new one.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rstat_probe_report::load_result::LoadResult;

/// Writes the result as JSON to `path`, through a temporary file in the same folder and a rename.
///
/// A device or pipe such as `/dev/stdout` is written to directly, and a link is followed: neither may be replaced.
pub(crate) fn write_result(result: &LoadResult, path: &Path) -> anyhow::Result<()> {
    write(result, path).with_context(|| format!("cannot write the load's result to {}", path.display()))
}

fn write(result: &LoadResult, path: &Path) -> anyhow::Result<()> {
    let mut json = serde_json::to_vec_pretty(result)?;
    json.push(b'\n');
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&path).is_ok_and(|existing| !existing.is_file() && !existing.is_dir()) {
        File::options().write(true).open(&path)?.write_all(&json)?;
        return Ok(());
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".rstat-probe-")
        // What a plainly created file gets: the umask still applies.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    file.write_all(&json)?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    Ok(())
}
