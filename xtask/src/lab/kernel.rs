//! The two kernels: Debian's source, our configuration, two builds; kept by the hash of all that went in.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use super::variant::{FILE, Variant};
use crate::{
    process,
    vm::{Archive, Image},
};

/// Debian's package of the source. 6.12 is the last series with one flush loop and all the tracepoints.
const PACKAGE: &str = "linux-source-6.12";
/// The configuration of both.
const CONFIG: &str = include_str!("kernel.config");
/// Programs the build needs, and Debian's packages that have them.
pub(crate) const TOOLS: [(&str, &str); 8] = [
    ("gcc", "gcc"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("xz", "xz-utils"),
    ("perl", "perl"),
    // Writes BTF.
    ("pahole", "pahole"),
];
/// A library without a program: `tools/objtool` is linked to it.
pub(crate) const LIBRARY: (&str, &str) = ("/usr/include/libelf.h", "libelf-dev");

/// Where the version of the source stands in a kept pair's folder. Written last: without it the pair is not whole.
const SOURCE: &str = "source";
const IMAGE: &str = "arch/x86/boot/bzImage";
/// How often the build says how far it is.
const PROGRESS: Duration = Duration::from_secs(20);

/// Both kernels, built.
#[derive(Debug)]
pub(crate) struct Pair {
    folder: PathBuf,
    /// Debian's version of the source.
    pub(crate) source: String,
}

impl Pair {
    /// The pair that an earlier run built of this configuration, whichever version of the source it was.
    pub(crate) fn kept(cache: &Path) -> Option<Self> {
        let entries = fs::read_dir(cache).ok()?.flatten();
        let pairs = entries.filter_map(|entry| {
            let folder = entry.path();
            let source = fs::read_to_string(folder.join(SOURCE)).ok()?;
            (folder.file_name()?.to_str()? == key(&source)).then_some(Self { folder, source })
        });
        // The newest, should there be several.
        pairs.max_by_key(|pair| pair.folder.metadata().and_then(|folder| folder.modified()).ok())
    }

    /// The kept pair, or one that is built now: some ten minutes on two CPUs. With `refresh` a kept one of an older
    /// source is not good enough.
    pub(crate) fn get(
        cache: &Path,
        archive: &mut Archive,
        refresh: bool,
        step: &impl Fn(&str),
    ) -> Result<Self> {
        if let Some(pair) = Self::kept(cache).filter(|_| !refresh) {
            return Ok(pair);
        }
        let package = archive.newest_of(PACKAGE, step)?;
        let folder = cache.join(key(&package.version));
        if folder.join(SOURCE).exists() {
            return Ok(Self { folder, source: package.version });
        }
        let tree = archive.unpack(&package, step)?;
        let pair = Self { folder, source: package.version };
        pair.build(&tree, step)?;
        fs::remove_dir_all(&tree).with_context(|| format!("cannot remove {}", tree.display()))?;
        Ok(pair)
    }

    /// The kernel of a variant.
    pub(crate) fn image(&self, variant: Variant) -> Image {
        let release = format!("{}-rstat-{}", upstream(&self.source), variant.name());
        Image { path: self.folder.join(variant.name()), release }
    }

    fn build(&self, tree: &Path, step: &impl Fn(&str)) -> Result<()> {
        fs::create_dir_all(&self.folder).with_context(|| format!("cannot make {}", self.folder.display()))?;
        step(&format!("unpacking the source, {}", self.source));
        let archive = tree.join(format!("usr/src/{PACKAGE}.tar.xz"));
        process::run(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(tree))?;
        let source = tree.join(PACKAGE);
        configure(&source)?;
        fs::copy(source.join(".config"), self.folder.join("config"))?;

        let file = source.join(FILE);
        let given = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        for variant in Variant::BOTH {
            fs::write(&file, variant.apply(&given)?)?;
            let log = self.folder.join(format!("{}.log", variant.name()));
            let mut make = make(&source);
            let jobs = thread::available_parallelism().map_or(1, usize::from);
            make.arg(format!("-j{jobs}"))
                .arg("bzImage")
                .arg(format!("LOCALVERSION=-rstat-{}", variant.name()));
            step(&format!("building the kernel that yields {}", variant.words()));
            with_progress(&mut make, &log, step)?;
            fs::copy(source.join(IMAGE), self.folder.join(variant.name()))
                .with_context(|| format!("make left no {IMAGE}"))?;
        }
        fs::write(self.folder.join(SOURCE), &self.source)?;
        Ok(())
    }
}

/// Names what the pair is made of: the source by Debian's version, the configuration and both loops by their text.
fn key(source: &str) -> String {
    let loops = Variant::BOTH.map(Variant::loop_end);
    let mut hash = Sha256::new();
    for part in [source, CONFIG, loops[0], loops[1]] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let bytes = hash.finalize();
    // Enough of it to tell the few pairs of one cache apart.
    format!("{:016x}", bytes.iter().take(8).fold(0_u64, |value, byte| value << 8 | u64::from(*byte)))
}

/// The kernel's own version in that of the package: `6.12.118` of `6.12.118-1`.
fn upstream(version: &str) -> &str {
    version.split_once('-').map_or(version, |(upstream, _)| upstream)
}

/// A make of the kernel that gives the same result on every machine with these tools.
fn make(source: &Path) -> Command {
    let mut make = Command::new("make");
    make.arg("-C").arg(source).stdin(Stdio::null());
    for (name, value) in [
        ("KBUILD_BUILD_USER", "rstat-probe"),
        ("KBUILD_BUILD_HOST", "lab"),
        ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970"),
        ("LC_ALL", "C"),
    ] {
        make.env(name, value);
    }
    // Cargo's own settings for make would make this one a part of its build.
    for name in ["MAKEFLAGS", "MFLAGS", "CARGO_MAKEFLAGS", "MAKELEVEL", "ARCH", "CROSS_COMPILE"] {
        make.env_remove(name);
    }
    make
}

fn configure(source: &Path) -> Result<()> {
    let fragment = source.join("rstat-probe.config");
    fs::write(&fragment, CONFIG)?;
    let quiet = |make: &mut Command| -> Result<()> { process::run(make.arg("-s").stdout(Stdio::null())) };
    quiet(make(source).arg("tinyconfig"))?;
    let mut merge = Command::new("scripts/kconfig/merge_config.sh");
    merge
        .args(["-m", ".config"])
        .arg(&fragment)
        .current_dir(source)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    process::run(&mut merge)?;
    quiet(make(source).arg("olddefconfig"))?;
    let config = fs::read_to_string(source.join(".config"))?;
    let missing = unheeded(CONFIG, &config);
    if !missing.is_empty() {
        bail!("the kernel's configuration leaves out what the lab needs: {}", missing.join(", "));
    }
    Ok(())
}

/// Lines of a fragment that a finished configuration does not have.
fn unheeded<'a>(fragment: &'a str, config: &str) -> Vec<&'a str> {
    let has = |line: &str| match line.strip_suffix("=n") {
        // What is off is a comment or not there at all.
        Some(name) => {
            !config.lines().any(|other| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
        }
        None => config.lines().any(|other| other == line),
    };
    fragment.lines().filter(|line| line.starts_with("CONFIG_") && !has(line)).collect()
}

/// Runs a long build with its output in a file, and says now and then how far it is.
fn with_progress(make: &mut Command, log: &Path, step: &impl Fn(&str)) -> Result<()> {
    let output = File::create(log).with_context(|| format!("cannot make {}", log.display()))?;
    make.stdout(output.try_clone()?).stderr(output);
    let mut child = make.spawn().context("cannot start make")?;
    let mut said = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        thread::sleep(Duration::from_millis(200));
        if said.elapsed() >= PROGRESS {
            said = Instant::now();
            let text = fs::read_to_string(log).unwrap_or_default();
            let last = text.lines().next_back().unwrap_or_default().trim().to_owned();
            step(&format!("  {} steps so far, now {last}", text.lines().count()));
        }
    };
    if !status.success() {
        let text = fs::read(log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        for line in &lines[lines.len().saturating_sub(15)..] {
            eprintln!("    {line}");
        }
        bail!("building the kernel failed: {}; all of it is in {}", process::outcome(status), log.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_were_not_heeded_are_found() {
        let config = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_CD=y\nCONFIG_N=512\n";
        let fragment = "# words\nCONFIG_A=y\nCONFIG_B=n\nCONFIG_C=n\nCONFIG_N=512\n";
        assert!(unheeded(fragment, config).is_empty());
        assert_eq!(
            unheeded("CONFIG_A=n\nCONFIG_B=y\nCONFIG_N=51\n", config),
            ["CONFIG_A=n", "CONFIG_B=y", "CONFIG_N=51"]
        );
    }

    #[test]
    fn the_configuration_has_what_the_issue_asks() {
        for option in
            ["DEBUG_INFO_BTF", "KPROBES", "MEMCG", "IRQSOFF_TRACER", "BPF_SYSCALL", "IPV6", "KALLSYMS_ALL"]
        {
            assert!(CONFIG.lines().any(|line| line == format!("CONFIG_{option}=y")), "{option}");
        }
        assert!(CONFIG.contains("\nCONFIG_NR_CPUS=512\n"));
        let options: Vec<&str> = CONFIG.lines().filter(|line| line.starts_with("CONFIG_")).collect();
        let mut once = options.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), options.len(), "an option stands twice");
    }

    /// A pair as a build leaves it.
    fn keep(cache: &Path, folder: &str, source: &str) {
        let folder = cache.join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(SOURCE), source).unwrap();
    }

    #[test]
    fn kept_kernels_are_found_by_what_went_in() {
        let cache = tempfile::tempdir().unwrap();
        assert!(Pair::kept(cache.path()).is_none());
        // Of another configuration, and one whose build did not end.
        keep(cache.path(), "0123456789abcdef", "6.12.118-1");
        fs::create_dir(cache.path().join(key("6.12.117-1"))).unwrap();
        assert!(Pair::kept(cache.path()).is_none());
        keep(cache.path(), &key("6.12.118-1"), "6.12.118-1");
        let pair = Pair::kept(cache.path()).unwrap();
        assert_eq!(pair.source, "6.12.118-1");
        let image = pair.image(Variant::EveryCpu);
        assert_eq!(image.release, "6.12.118-rstat-every-cpu");
        assert!(image.path.ends_with("every-cpu"));
    }

    #[test]
    fn the_key_depends_on_the_source() {
        assert_eq!(key("6.12.118-1").len(), 16);
        assert_ne!(key("6.12.118-1"), key("6.12.118-2"));
        assert_eq!(upstream("6.12.118-1"), "6.12.118");
        assert_eq!(upstream("6.12.95-1~bpo12+1"), "6.12.95");
    }
}
