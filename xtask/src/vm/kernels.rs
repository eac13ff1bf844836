//! The kernels of the matrix, and which Debian package holds each.

use std::cmp::Ordering;

/// A kernel of the matrix: the newest one that Debian has of a series and flavour.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// As the user names it.
    pub(crate) name: &'static str,
    /// The part of the version that does not change within the series.
    series: &'static str,
    /// The part of the package's name after the version.
    flavour: &'static str,
    /// The yield behaviour that the tool must find.
    pub(crate) yields: &'static str,
}

const fn cloud(name: &'static str, yields: &'static str) -> Kernel {
    Kernel { name, series: name, flavour: "-cloud-amd64", yields }
}

/// The whole matrix, oldest first.
pub(crate) static KERNELS: [Kernel; 8] = [
    cloud("5.10", "under_contention"),
    cloud("6.1", "under_contention"),
    cloud("6.12", "every_cpu"),
    cloud("6.16", "every_cpu"),
    cloud("6.18", "every_cpu"),
    cloud("7.0", "every_cpu"),
    cloud("7.3", "every_cpu"),
    Kernel { name: "7.3-rt", series: "7.3", flavour: "-rt-amd64", yields: "every_cpu" },
];

/// From 6.19 on `linux-image` is empty and this package has the kernel; it wins where both exist.
const PREFIXES: [&str; 2] = ["linux-binary-", "linux-image-"];

impl Kernel {
    /// The packages that hold a kernel of this series and flavour, of a list of all names. Metapackages such as
    /// `linux-image-6.1-cloud-amd64` are not among them.
    pub(crate) fn packages<'a>(&self, names: &'a str) -> Vec<&'a str> {
        let with = |prefix: &'static str| {
            names.lines().filter(|name| self.release(name, prefix).is_some()).collect::<Vec<_>>()
        };
        PREFIXES.into_iter().map(with).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// The release of the kernel in a package with this name: what `uname -r` says there.
    fn release<'a>(&self, package: &'a str, prefix: &str) -> Option<&'a str> {
        let release = package.strip_prefix(prefix)?;
        let rest = release.strip_prefix(self.series)?.strip_prefix('.')?;
        (rest.starts_with(|first: char| first.is_ascii_digit()) && rest.ends_with(self.flavour))
            .then_some(release)
    }
}

/// A package and its version, as `apt-get download` takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
}

/// The package with the highest version in the output of `apt-cache madison`.
pub(crate) fn newest(madison: &str) -> Option<Package> {
    let packages = madison.lines().filter_map(|line| {
        let mut fields = line.split('|').map(str::trim);
        Some(Package { name: fields.next()?.to_owned(), version: fields.next()?.to_owned() })
    });
    packages.max_by(|a, b| compare_versions(&a.version, &b.version))
}

/// The order of Debian's versions: digits by value, `~` before the end, letters before other characters.
fn compare_versions(a: &str, b: &str) -> Ordering {
    // `cmp` of the weights is that of dpkg: the end of a part, or a digit in it, weighs 0.
    let weight = |byte: Option<&u8>| match byte {
        None | Some(b'0'..=b'9') => 0,
        Some(b'~') => -1,
        Some(letter) if letter.is_ascii_alphabetic() => i32::from(*letter),
        Some(other) => i32::from(*other) + 256,
    };
    let number = |bytes: &mut &[u8]| {
        let length = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = bytes.split_at(length);
        *bytes = rest;
        digits
            .iter()
            .fold(0_u64, |value, digit| value.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
    };
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    while !a.is_empty() || !b.is_empty() {
        loop {
            let (one, other) = (weight(a.first()), weight(b.first()));
            if one != other {
                return one.cmp(&other);
            }
            if one == 0 {
                break;
            }
            (a, b) = (&a[1..], &b[1..]);
        }
        let order = number(&mut a).cmp(&number(&mut b));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str) -> &'static Kernel {
        KERNELS.iter().find(|kernel| kernel.name == name).unwrap()
    }

    #[test]
    fn packages_of_a_series() {
        let names = "linux-image-6.1-cloud-amd64\nlinux-image-6.1.0-57-cloud-amd64\nlinux-image-6.1.0-57-rt-amd64\n\
            linux-image-6.12.118+deb13-cloud-amd64\nlinux-image-6.1.0-57-cloud-amd64-dbg\n\
            linux-image-6.1.0-57-cloud-amd64-unsigned\nlinux-headers-6.1.0-57-cloud-amd64\n\
            linux-image-6.1.0-0.deb11.52-cloud-amd64";
        assert_eq!(
            kernel("6.1").packages(names),
            ["linux-image-6.1.0-57-cloud-amd64", "linux-image-6.1.0-0.deb11.52-cloud-amd64"]
        );
        assert_eq!(kernel("6.12").packages(names), ["linux-image-6.12.118+deb13-cloud-amd64"]);
        assert!(kernel("5.10").packages(names).is_empty());
    }

    #[test]
    fn the_package_that_is_not_empty() {
        let names = "linux-image-7.3.4+deb13-rt-amd64\nlinux-binary-7.3.4+deb13-rt-amd64\n\
            linux-binary-7.3.4+deb13-cloud-amd64\nlinux-binary-7.3.4+deb13-amd64";
        assert_eq!(kernel("7.3-rt").packages(names), ["linux-binary-7.3.4+deb13-rt-amd64"]);
        assert_eq!(kernel("7.3").packages(names), ["linux-binary-7.3.4+deb13-cloud-amd64"]);
    }

    #[test]
    fn the_newest_by_version_not_by_name() {
        let madison = "\
linux-image-6.1.0-9-cloud-amd64 |  6.1.27-1 | http://deb.debian.org/debian bookworm/main amd64 Packages
linux-image-6.1.0-57-cloud-amd64 |  6.1.192-3 | http://deb.debian.org/debian-security bookworm-security/main amd64 Packages
linux-image-6.1.0-0.deb11.52-cloud-amd64 | 6.1.180-1~deb11u1 | http://deb.debian.org/debian-security bullseye-security/main amd64 Packages
";
        let package = newest(madison).unwrap();
        assert_eq!(package.name, "linux-image-6.1.0-57-cloud-amd64");
        assert_eq!(package.version, "6.1.192-3");
        assert_eq!(newest(""), None);
    }

    #[test]
    fn versions() {
        let ascending = [
            "6.12.9-1",
            "6.12.100-1~bpo12+1",
            "6.12.100-1",
            "6.12.100-1+b1",
            "6.12.100-2",
            "1:1.30.1-6+b3",
            "1:1.30.1-6+deb11u1",
            "1:1.37.0-6+b9",
        ];
        for (index, one) in ascending.iter().enumerate() {
            for (other_index, other) in ascending.iter().enumerate() {
                // The epoch is compared as a number of its own here, which is right where both have one or none.
                if one.contains(':') == other.contains(':') {
                    assert_eq!(compare_versions(one, other), index.cmp(&other_index), "{one} {other}");
                }
            }
        }
    }
}
