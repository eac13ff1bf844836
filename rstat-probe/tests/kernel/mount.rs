//! File systems that refuse to be written.

use std::{fs, io::Write as _, path::Path, process::Command};

use tempfile::TempDir;

/// A mount on a folder of its own, gone at the end.
pub(super) struct Mount {
    folder: TempDir,
}

impl Mount {
    /// A tmpfs of 64 KiB without a free block.
    pub(super) fn full() -> Self {
        let folder = tempfile::tempdir().unwrap();
        mount(&["-t", "tmpfs", "-o", "size=64k", "rstat-probe-test"], folder.path());
        let mount = Self { folder };
        let mut filler = fs::File::create(mount.path().join("filler")).unwrap();
        while filler.write_all(&[0; 4096]).is_ok() {}
        mount
    }

    /// A folder on a read-only mount.
    pub(super) fn read_only() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().to_str().unwrap().to_owned();
        mount(&["--bind", &source], folder.path());
        let bound = Self { folder };
        mount(&["-o", "remount,bind,ro"], bound.path());
        bound
    }

    /// The kernel's tracefs.
    pub(super) fn tracefs() -> Self {
        let folder = tempfile::tempdir().unwrap();
        mount(&["-t", "tracefs", "tracefs"], folder.path());
        Self { folder }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: what is still open must not keep it.
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

fn mount(options: &[&str], on: &Path) {
    let status = Command::new("mount").args(options).arg(on).status().unwrap();
    assert!(status.success(), "mount {options:?} {}: {status}", on.display());
}
