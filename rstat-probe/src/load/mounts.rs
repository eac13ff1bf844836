//! Where the cgroup hierarchies are mounted, from `/proc/self/mountinfo`. Nothing is assumed about `/sys/fs/cgroup`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use anyhow::Context;

/// The two hierarchies a load can live in. Either may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Mounts {
    /// Mount point of the cgroup2 file system: `/sys/fs/cgroup`, or `/sys/fs/cgroup/unified` on hybrid hosts.
    pub(crate) v2: Option<PathBuf>,
    /// Mount point of the cgroup v1 hierarchy that carries the memory controller.
    pub(crate) v1_memory: Option<PathBuf>,
}

impl Mounts {
    /// Reads the mounts this process sees.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let path = "/proc/self/mountinfo";
        let text = std::fs::read(path).with_context(|| format!("cannot read {path}"))?;
        Ok(Self::parse(&text))
    }

    /// Removes what killed loads left in either hierarchy.
    pub(crate) fn remove_leftovers(&self) {
        for parent in self.v2.iter().chain(&self.v1_memory) {
            super::cgroup::remove_leftovers(parent);
        }
    }

    /// Reads the lines of a mountinfo file; lines of other file systems and malformed ones are skipped.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let (mut v2, mut v1_memory) = (Choice::default(), Choice::default());
        for line in text.split(|&byte| byte == b'\n') {
            let Some(mount) = Mount::parse(line) else { continue };
            match mount.file_system {
                b"cgroup2" => v2.offer(&mount),
                b"cgroup"
                    if mount.super_options.split(|&byte| byte == b',').any(|word| word == b"memory") =>
                {
                    v1_memory.offer(&mount);
                }
                _ => {}
            }
        }
        Self { v2: v2.0.map(|(_, path)| path), v1_memory: v1_memory.0.map(|(_, path)| path) }
    }
}

/// The best mount so far and whether it shows the whole hierarchy.
#[derive(Default)]
struct Choice(Option<(bool, PathBuf)>);

impl Choice {
    /// Keeps the first mount, unless a later one shows the whole hierarchy and that one only a bind-mounted part.
    fn offer(&mut self, mount: &Mount<'_>) {
        let whole = mount.root == b"/";
        if self.0.as_ref().is_none_or(|(kept_whole, _)| whole && !kept_whole) {
            self.0 = Some((whole, unescape(mount.point)));
        }
    }
}

/// The fields of one mountinfo line that matter here, still escaped.
struct Mount<'a> {
    root: &'a [u8],
    point: &'a [u8],
    file_system: &'a [u8],
    super_options: &'a [u8],
}

impl<'a> Mount<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut fields = line.split(|&byte| byte == b' ');
        let root = fields.nth(3)?;
        let point = fields.next()?;
        // A varying number of optional fields ends with a lone dash.
        fields.find(|&field| field == b"-")?;
        let file_system = fields.next()?;
        let super_options = fields.nth(1)?;
        Some(Self { root, point, file_system, super_options })
    }
}

/// Undoes the kernel's `\ooo` escapes of space, tab, newline and backslash.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|digits| first == b'\\' && digits.iter().all(u8::is_ascii_digit));
        let value = octal.and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        if let Some(value) = value {
            bytes.push(value);
            rest = &after[3..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURE_V2: &[u8] = b"\
22 27 0:21 / /proc rw,nosuid shared:14 - proc proc rw
29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
";
    const HYBRID: &[u8] = b"\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 master:2 - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
    const V1: &[u8] = b"\
26 23 0:23 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
27 26 0:24 / /sys/fs/cgroup/systemd rw,nosuid - cgroup cgroup rw,xattr,name=systemd
30 26 0:27 / /sys/fs/cgroup/all\\040of\\134it rw,nosuid - cgroup cgroup rw,cpu,memory,pids
";
    const CONTAINER: &[u8] = b"\
50 40 0:32 /docker/abc /host/part rw - cgroup cgroup rw,memory
51 40 0:32 / /host/whole rw - cgroup cgroup rw,memory
52 40 0:32 /docker/def /host/part2 rw - cgroup cgroup rw,memory
";

    fn mounts(v2: Option<&str>, v1_memory: Option<&str>) -> Mounts {
        Mounts { v2: v2.map(PathBuf::from), v1_memory: v1_memory.map(PathBuf::from) }
    }

    #[test]
    fn finds_the_mounts_of_pure_v2_hybrid_and_v1_hosts() {
        assert_eq!(Mounts::parse(PURE_V2), mounts(Some("/sys/fs/cgroup"), None));
        assert_eq!(
            Mounts::parse(HYBRID),
            mounts(Some("/sys/fs/cgroup/unified"), Some("/sys/fs/cgroup/memory"))
        );
        assert_eq!(Mounts::parse(V1), mounts(None, Some("/sys/fs/cgroup/all of\\it")));
    }

    #[test]
    fn a_mount_of_the_whole_hierarchy_wins_over_a_bind_mount() {
        assert_eq!(Mounts::parse(CONTAINER), mounts(None, Some("/host/whole")));
    }

    #[test]
    fn a_memory_word_inside_another_option_is_no_memory_controller() {
        let text = b"27 26 0:24 / /a rw - cgroup cgroup rw,name=memory,nomemory\n";
        assert_eq!(Mounts::parse(text), Mounts::default());
    }

    #[test]
    fn malformed_lines_are_skipped() {
        for text in [&b""[..], b"\n\n", b"1 2 3", b"1 2 3 / /x rw - cgroup2", b"1 2 3 / /x rw cgroup2 a b"] {
            assert_eq!(Mounts::parse(text), Mounts::default(), "{text:?}");
        }
    }
}
