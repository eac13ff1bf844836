//! The file system that the guests boot from: a cpio archive in the kernel's "newc" format. Not compressed, because
//! the emulated CPU would take seconds to unpack it.

use std::fmt::Write as _;

/// File types in a mode.
const FOLDER: u32 = 0o040_000;
const CHARACTER_DEVICE: u32 = 0o020_000;
const FILE: u32 = 0o100_000;

/// A cpio archive in the making. Everything in it is root's.
#[derive(Default)]
pub(crate) struct Initramfs {
    bytes: Vec<u8>,
    entries: u32,
}

impl Initramfs {
    pub(crate) fn folder(&mut self, name: &str, permissions: u32) -> &mut Self {
        self.entry(name, FOLDER | permissions, (0, 0), &[])
    }

    pub(crate) fn file(&mut self, name: &str, permissions: u32, content: &[u8]) -> &mut Self {
        self.entry(name, FILE | permissions, (0, 0), content)
    }

    /// A character device with this major and minor number.
    pub(crate) fn device(&mut self, name: &str, permissions: u32, numbers: (u32, u32)) -> &mut Self {
        self.entry(name, CHARACTER_DEVICE | permissions, numbers, &[])
    }

    /// The finished archive.
    pub(crate) fn finish(&mut self) -> &[u8] {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        &self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) -> &mut Self {
        self.entries += 1;
        // A size that does not fit makes a broken archive; the largest binary has some ten MB.
        let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let name_size = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        // inode, mode, user, group, links, time, size, device (2), device it is (2), size of the name, check sum
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name_size, 0];
        let mut header = "070701".to_owned();
        for field in fields {
            // Writing to a String cannot fail.
            let _ = write!(header, "{field:08x}");
        }
        self.bytes.extend_from_slice(header.as_bytes());
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
        self
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout() {
        let mut archive = Initramfs::default();
        archive.file("init", 0o755, b"hello").device("dev/console", 0o600, (5, 1));
        let bytes = archive.finish();
        let header = "07070100000001000081ed000000000000000000000001000000000000000500000000000000000000000000000000\
            0000000500000000";
        assert_eq!(std::str::from_utf8(&bytes[..110]).unwrap(), header);
        // Header and name are padded to 116 bytes, the content to 8.
        assert_eq!(&bytes[110..124], b"init\0\0hello\0\0\0");
        assert_eq!(&bytes[124..130], b"070701");
        let device = std::str::from_utf8(&bytes[124..234]).unwrap();
        assert_eq!(&device[14..22], "00002180");
        assert_eq!(&device[78..94], "0000000500000001");
        assert!(bytes.ends_with(b"TRAILER!!!\0\0\0\0"));
        assert_eq!(bytes.len() % 4, 0);
    }
}
