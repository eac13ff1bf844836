//! Saves the files that [`KernelSupport`](super::support::KernelSupport) is read from, trimmed to
//! what it takes from them, below another root: for bug reports and test fixtures.

use std::{
    fs::{self, File},
    io::{self, BufReader, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};

use super::{
    btf,
    formats::{build_id_note, is_capabilities, is_tracefs, mounted_tracefs, tracers_file},
    kallsyms,
    name_set::NameSet,
    names::{BTF, read_btf, wanted_symbols},
};
use crate::whole_file::give_to_user;

/// Saved as they are; each is a line.
const WHOLE: [&str; 9] = [
    "proc/sys/kernel/version",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/kptr_restrict",
    "proc/self/uid_map",
    "sys/devices/system/cpu/possible",
    "sys/devices/system/cpu/online",
    "sys/kernel/security/lockdown",
    "sys/bus/event_source/devices/kprobe/type",
    ARCH,
];
/// Linux has it from 6.1 on.
const ARCH: &str = "proc/sys/kernel/arch";

/// The lowest of the saved addresses. A real kernel has none this low, nor is it 0, which would
/// mean that the kernel hides it.
const LOWEST: u64 = 0x1000;

/// Saves what can be read below `root` below `folder`, which must be empty or not exist.
pub(crate) fn save(root: &Path, folder: &Path) -> anyhow::Result<()> {
    let folder = Target::new(folder)?;
    for path in WHOLE {
        match fs::read(root.join(path)) {
            Ok(content) => folder.write(path, &content)?,
            // What stands in for it is a constant of the program and differs elsewhere.
            Err(_) if path == ARCH => folder.write(path, std::env::consts::ARCH.as_bytes())?,
            Err(_) => {}
        }
    }
    if root.join("proc/sys/kernel/hostname").exists() {
        folder.write("proc/sys/kernel/hostname", b"host\n")?;
    }
    for (path, keep) in
        [("proc/self/status", is_capabilities as fn(&str) -> bool), ("proc/self/mounts", is_tracefs)]
    {
        if let Ok(text) = fs::read_to_string(root.join(path)) {
            let kept: String = text.split_inclusive('\n').filter(|line| keep(line)).collect();
            folder.write(path, kept.as_bytes())?;
            if let Some(path) = mounted_tracefs(&kept).map(|tracefs| tracers_file(&tracefs))
                && let Ok(listed) = fs::read(root.join(&path))
            {
                folder.write(&path, &listed)?;
            }
        }
    }
    // Other notes, of Xen, have addresses: CVE-2024-26816.
    if let Ok(notes) = fs::read(root.join("sys/kernel/notes")) {
        folder.write("sys/kernel/notes", build_id_note(&notes).unwrap_or_default())?;
    }
    if let Ok(found) = read_btf(root) {
        folder.write(BTF, &btf::trimmed(&found))?;
    }
    if let Ok(lines) = symbols(root) {
        folder.write(kallsyms::PATH, &lines)?;
    }
    Ok(())
}

/// The lines of kallsyms about symbols of interest. Addresses are shifted, all by the same, so that
/// they do not tell where the kernel is (KASLR); those that the kernel hides stay 0.
fn symbols(root: &Path) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let wanted = wanted_symbols();
    kallsyms::scan(
        BufReader::new(File::open(root.join(kallsyms::PATH))?),
        &NameSet::new(wanted.iter().map(String::as_str)),
        |line| kept.push((line.address, line.address_digits, line.rest.to_owned())),
    )?;
    let lowest = kept.iter().map(|(address, ..)| *address).filter(|address| *address != 0).min();
    let shifted = |address: u64| match lowest {
        Some(lowest) if address != 0 => (address - lowest).saturating_add(LOWEST),
        _ => 0,
    };
    let mut lines = Vec::new();
    for (address, digits, rest) in kept {
        write!(lines, "{:0digits$x}", shifted(address))?;
        lines.extend(rest);
        lines.push(b'\n');
    }
    Ok(lines)
}

/// Where to.
struct Target(PathBuf);

impl Target {
    fn new(folder: &Path) -> anyhow::Result<Self> {
        let at = || format!("cannot save the facts in {}", folder.display());
        match fs::read_dir(folder) {
            Ok(mut entries) => {
                ensure!(entries.next().is_none(), "{}: the folder is not empty", at());
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(folder).with_context(at)?;
                give_to_user(&File::open(folder)?)?;
            }
            Err(error) => return Err(error).with_context(at),
        }
        Ok(Self(folder.to_owned()))
    }

    fn write(&self, path: &str, content: &[u8]) -> anyhow::Result<()> {
        let path = self.0.join(path);
        let write = || {
            self.create_folders(&path)?;
            let mut file = File::create_new(&path)?;
            file.write_all(content)?;
            give_to_user(&file)
        };
        write().with_context(|| format!("cannot save {}", path.display()))
    }

    /// Creates the folders between this one and the file at `path`.
    fn create_folders(&self, path: &Path) -> anyhow::Result<()> {
        let mut missing: Vec<&Path> =
            path.ancestors().skip(1).take_while(|folder| *folder != self.0).collect();
        while let Some(folder) = missing.pop() {
            match fs::create_dir(folder) {
                Ok(()) => give_to_user(&File::open(folder)?)?,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
