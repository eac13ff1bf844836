//! Debian's archive, read through an apt of our own: nothing of the machine's apt is changed, and apt checks the
//! signatures and the sums. What was taken out of a package is kept, so that a second run needs no network.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};

use super::kernels::{self, Kernel, Package};
use crate::process;

/// The public keys of Debian, and the package that has them.
pub(crate) const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
pub(crate) const KEYRING_PACKAGE: &str = "debian-archive-keyring";

const MIRROR: &str = "http://deb.debian.org";
const SUITES: [(&str, &str); 8] = [
    ("debian", "bullseye"),
    ("debian-security", "bullseye-security"),
    ("debian", "bookworm"),
    ("debian-security", "bookworm-security"),
    ("debian", "bookworm-backports"),
    ("debian", "trixie"),
    ("debian-security", "trixie-security"),
    ("debian", "trixie-backports"),
];

/// A kernel that can be booted.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    /// What `uname -r` says there.
    pub(crate) release: String,
}

/// The kept files, and apt's own folders below them.
pub(crate) struct Archive {
    folder: PathBuf,
    /// Whether the package lists were fetched by this process.
    is_updated: bool,
}

impl Archive {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), is_updated: false }
    }

    /// The kernel, fetched if it is not here or a newer one is wanted.
    pub(crate) fn kernel(&mut self, kernel: &Kernel, refresh: bool, step: impl Fn(&str)) -> Result<Image> {
        let folder = self.folder.join(kernel.name);
        if let Some(image) = image_in(&folder).filter(|_| !refresh) {
            return Ok(image);
        }
        self.update(&step)?;
        let names = self.cache(&["pkgnames", "linux-"])?;
        let packages = kernel.packages(&names);
        if packages.is_empty() {
            bail!("Debian's archive has no kernel {} any more", kernel.name);
        }
        let package = self.newest(&packages)?;
        let tree = self.unpack(&package, &step)?;
        let found = find_kernel(&tree).with_context(|| format!("there is no kernel in {}", package.name))?;
        let release = package.name.splitn(3, '-').nth(2).unwrap_or(&package.name);
        // The old image goes last, so that an interrupted run leaves one.
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{IMAGE_PREFIX}{release}"));
        fs::rename(&found, &path).with_context(|| format!("cannot keep {}", path.display()))?;
        for entry in fs::read_dir(&folder)?.flatten().filter(|entry| entry.path() != path) {
            fs::remove_file(entry.path())?;
        }
        fs::remove_dir_all(&tree)?;
        Ok(Image { path, release: release.to_owned() })
    }

    /// busybox, linked statically.
    pub(crate) fn busybox(&mut self, step: impl Fn(&str)) -> Result<PathBuf> {
        let path = self.folder.join("busybox");
        if !path.exists() {
            self.update(&step)?;
            let package = self.newest(&["busybox-static"])?;
            let tree = self.unpack(&package, &step)?;
            // On releases before the merge of / and /usr it is in the former.
            let found = ["usr/bin/busybox", "bin/busybox"].map(|name| tree.join(name));
            let found = found.iter().find(|path| path.is_file()).context("busybox-static has no busybox")?;
            fs::rename(found, &path)?;
            fs::remove_dir_all(&tree)?;
        }
        Ok(path)
    }

    /// The newest version of a package.
    pub(crate) fn newest_of(&mut self, package: &str, step: &impl Fn(&str)) -> Result<Package> {
        self.update(step)?;
        self.newest(&[package])
    }

    fn newest(&self, packages: &[&str]) -> Result<Package> {
        let madison = self.cache(&[&["madison"], packages].concat())?;
        kernels::newest(&madison).with_context(|| format!("apt knows no version of {}", packages.join(", ")))
    }

    /// Fetches the package lists. A suite that is gone is told and does not keep the others away.
    fn update(&mut self, step: &impl Fn(&str)) -> Result<()> {
        if self.is_updated {
            return Ok(());
        }
        if process::find_program("apt-get").is_none() || process::find_program("dpkg").is_none() {
            bail!("fetching Debian's kernels needs apt-get and dpkg");
        }
        if !Path::new(KEYRING).exists() {
            bail!("fetching Debian's kernels needs {KEYRING}, which the package {KEYRING_PACKAGE} has");
        }
        self.configure()?;
        step("fetching Debian's package lists");
        let fetched = process::retry(|| process::run(self.get(&self.folder).args(["-q", "update"])));
        if let Err(error) = fetched {
            step(&format!("some package lists are missing: {error:#}"));
        }
        self.is_updated = true;
        Ok(())
    }

    /// Downloads a package and unpacks it into a folder, which is returned.
    pub(crate) fn unpack(&self, package: &Package, step: &impl Fn(&str)) -> Result<PathBuf> {
        let Package { name, version } = package;
        step(&format!("fetching {name} {version}"));
        let folder = self.folder.join("unpack").join(name);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => fs::create_dir_all(&folder)?,
        }
        process::retry(|| {
            process::run(self.get(&folder).args(["-q", "download", &format!("{name}={version}")]))
        })?;
        let package = fs::read_dir(&folder)?.flatten().map(|entry| entry.path()).next();
        let package = package.with_context(|| format!("apt-get left no package {name}"))?;
        let tree = folder.join("tree");
        process::run(Command::new("dpkg").arg("-x").arg(&package).arg(&tree))?;
        fs::remove_file(&package)?;
        Ok(tree)
    }

    fn get(&self, working_folder: &Path) -> Command {
        let mut command = Command::new("apt-get");
        command.env("APT_CONFIG", self.apt_folder().join(FIRST)).env("LC_ALL", "C");
        command.current_dir(working_folder).stdin(Stdio::null());
        command
    }

    fn cache(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new("apt-cache");
        command.args(arguments).env("APT_CONFIG", self.apt_folder().join(FIRST)).env("LC_ALL", "C");
        process::capture(&mut command).with_context(|| format!("apt-cache {} failed", arguments[0]))
    }

    fn apt_folder(&self) -> PathBuf {
        self.folder.join("apt")
    }

    /// apt reads the file in `APT_CONFIG` first, then the machine's folder of settings (which may name a proxy),
    /// then its main file: that one is ours, and so has the last word.
    fn configure(&self) -> Result<()> {
        let folder = self.apt_folder();
        for part in ["lists/partial", "archives/partial", "empty", "log"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).with_context(|| format!("cannot make {}", part.display()))?;
        }
        let root = folder.to_str().context("the cache's path is not UTF-8")?;
        fs::write(folder.join("status"), "")?;
        fs::write(folder.join("sources.list"), sources())?;
        fs::write(folder.join(FIRST), format!("Dir::Etc::main \"{root}/{MAIN}\";\n"))?;
        fs::write(folder.join(MAIN), settings(root, Path::new("/etc/apt/apt.conf").exists()))?;
        Ok(())
    }
}

const FIRST: &str = "first.conf";
const MAIN: &str = "main.conf";
const IMAGE_PREFIX: &str = "vmlinuz-";

fn sources() -> String {
    let line =
        |(archive, suite)| format!("deb [arch=amd64 signed-by={KEYRING}] {MIRROR}/{archive} {suite} main\n");
    SUITES.into_iter().map(line).collect()
}

fn settings(root: &str, has_main: bool) -> String {
    let include = if has_main { "#include \"/etc/apt/apt.conf\";\n" } else { "" };
    format!(
        "{include}\
        // Hooks of the machine's apt are not for ours.\n\
        #clear APT::Update;\n#clear DPkg;\n\
        Dir::State \"{root}\";\nDir::State::lists \"{root}/lists\";\nDir::State::status \"{root}/status\";\n\
        Dir::Cache \"{root}\";\nDir::Cache::archives \"{root}/archives\";\nDir::Log \"{root}/log\";\n\
        Dir::Etc::sourcelist \"{root}/sources.list\";\nDir::Etc::sourceparts \"{root}/empty\";\n\
        Dir::Etc::preferences \"/dev/null\";\nDir::Etc::preferencesparts \"{root}/empty\";\n\
        APT::Architecture \"amd64\";\n#clear APT::Architectures;\nAPT::Architectures {{ \"amd64\"; }};\n\
        // As root apt would fetch as _apt, which cannot write below a home folder.\n\
        APT::Sandbox::User \"root\";\n\
        // The lists of a release that is no longer updated expire; the signature still says whose they are.\n\
        Acquire::Check-Valid-Until \"false\";\nAcquire::Retries \"3\";\n\
        Acquire::Languages \"none\";\nAcquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n"
    )
}

/// The kernel that an earlier run kept.
fn image_in(folder: &Path) -> Option<Image> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        let release = path.file_name()?.to_str()?.strip_prefix(IMAGE_PREFIX)?.to_owned();
        Some(Image { path, release })
    })
}

/// The kernel in an unpacked package: in /boot, or beside its modules.
fn find_kernel(tree: &Path) -> Option<PathBuf> {
    let modules = tree.join("usr/lib/modules");
    let folders = fs::read_dir(&modules).into_iter().flatten().flatten().map(|entry| entry.path());
    let folders = std::iter::once(tree.join("boot")).chain(folders);
    let files = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    files
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_checked_against_debians_keys() {
        assert_eq!(sources().lines().count(), SUITES.len());
        assert!(sources().lines().all(|line| line.contains("[arch=amd64 signed-by=/usr/share/keyrings/")));
        assert!(!settings("/c", true).contains("Insecure"));
    }

    #[test]
    fn the_main_settings_of_the_machine_come_first() {
        assert!(settings("/c", true).starts_with("#include \"/etc/apt/apt.conf\";\n// Hooks"));
        assert!(settings("/c", false).starts_with("// Hooks"));
        assert!(settings("/c", false).contains("\nDir::State::lists \"/c/lists\";\n"));
    }

    #[test]
    fn nothing_is_kept_in_a_missing_folder() {
        assert!(image_in(Path::new("/nonexistent")).is_none());
        assert!(find_kernel(Path::new("/nonexistent")).is_none());
    }
}
