//! Files that are written whole or not at all, with the rights of a plainly created file, and owned
//! by the user behind sudo.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, BufWriter, Write},
    os::unix::fs::{PermissionsExt as _, fchown},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use tempfile::{Builder, NamedTempFile};

/// Links that are followed to a file that does not exist yet; the kernel follows as many.
const MAX_LINKS: usize = 40;

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

/// Has `write` write the content of `path`, through a temporary file in the same folder and a
/// rename: readers see the old file or the whole new one.
///
/// A device or a pipe such as `/dev/stdout` is written to directly and a link is followed: neither
/// may be replaced. A file that was there keeps its rights.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    if is_special(path) {
        let mut writer = BufWriter::new(OpenOptions::new().write(true).open(path)?);
        write(&mut writer)?;
        return Ok(writer.flush()?);
    }
    let path = resolved(path);
    let mut file = Builder::new()
        .prefix(".rstat-probe-")
        // The umask still applies.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder(&path))?;
    if let Ok(old) = fs::metadata(&path) {
        file.as_file().set_permissions(Permissions::from_mode(old.permissions().mode() & 0o777))?;
    }
    fill(&mut file, write)?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

/// Has `write` write a file of its own in the folder for temporary files, for what cannot be written
/// where it belongs. Only its owner can read it.
pub(crate) fn write_elsewhere(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<PathBuf> {
    let mut file = Builder::new().prefix("rstat-probe-").suffix(".json").tempfile()?;
    fill(&mut file, write)?;
    Ok(file.keep()?.1)
}

/// Writes `file` and sees to it that it is on the disk.
fn fill(
    file: &mut NamedTempFile,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut writer = BufWriter::new(file.as_file_mut());
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    give_to_user(file.as_file())?;
    Ok(file.as_file().sync_all()?)
}

/// Under sudo the file belongs to the user who typed it.
pub(crate) fn give_to_user(file: &File) -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let id = |name: &str| std::env::var(name).ok().and_then(|id| id.parse::<u32>().ok());
    if let (Some(user), Some(group)) = (id("SUDO_UID"), id("SUDO_GID")) {
        fchown(file, Some(user), Some(group)).context("cannot give the file to the user behind sudo")?;
    }
    Ok(())
}

/// Whether two outputs would end up in one file. Devices take any number of writers.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let path = resolved(path);
        fs::canonicalize(folder(&path)).ok().zip(path.file_name().map(ToOwned::to_owned))
    };
    !is_special(one) && place(one).is_some() && place(one) == place(other)
}

/// A device, a pipe or a socket: renaming over it would replace it.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Where symbolic links point in the end, so that they stay.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(there) = fs::canonicalize(path) {
        return there;
    }
    // Nothing is there yet, but a link may say where it is to be.
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = folder(&path).join(target);
    }
    path
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn put(path: &Path, text: &str) -> anyhow::Result<()> {
        write_whole(path, |w| w.write_all(text.as_bytes()))
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn new_files_have_plain_rights_and_old_ones_keep_theirs() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, plain) = (folder.path().join("ours"), folder.path().join("plain"));
        fs::write(&plain, "x").unwrap();
        put(&ours, "new").unwrap();
        assert_eq!(mode(&ours), mode(&plain));
        fs::set_permissions(&ours, Permissions::from_mode(0o640)).unwrap();
        put(&ours, "newer").unwrap();
        assert_eq!((mode(&ours), fs::read_to_string(&ours).unwrap().as_str()), (0o640, "newer"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else stays");
    }

    #[test]
    fn what_fails_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        put(&path, "old").unwrap();
        let error = write_whole(&path, |w| {
            w.write_all(b"half")?;
            Err(io::Error::other("cable cut"))
        });
        assert_eq!(error.unwrap_err().to_string(), "cable cut");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_stay_whether_or_not_their_file_exists() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("second", at("first")).unwrap();
        symlink("file", at("second")).unwrap();
        for text in ["created", "replaced"] {
            put(&at("first"), text).unwrap();
            assert!(
                ["first", "second"].iter().all(|name| fs::symlink_metadata(at(name)).unwrap().is_symlink())
            );
            assert!(fs::symlink_metadata(at("file")).unwrap().is_file());
            assert_eq!(fs::read_to_string(at("file")).unwrap(), text);
        }
        assert!(is_same_file(&at("first"), &at("file")));
        symlink("loop", at("loop")).unwrap();
        // A link to itself has no end: it is replaced rather than followed for ever.
        put(&at("loop"), "x").unwrap();
    }

    #[test]
    fn devices_are_written_to() {
        put(Path::new("/dev/null"), "x").unwrap();
        assert!(is_special(Path::new("/dev/null")));
        let error = put(Path::new("/dev/full"), "x").unwrap_err();
        assert!(error.to_string().contains("No space left on device"), "{error}");
    }

    #[test]
    fn folders_and_places_that_do_not_exist_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_writable(folder.path()).is_err());
        assert!(check_writable(&folder.path().join("new/")).is_err());
        assert!(check_writable(&folder.path().join("missing/x")).is_err());
        check_writable(&folder.path().join("x")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "trying leaves nothing");
    }
}
