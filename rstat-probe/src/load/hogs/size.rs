//! How much memory hogs may have: enough to start, little enough for the host.

use anyhow::ensure;
use rstat_probe_report::units::bytes;

/// More hogs than this are taken for a mistake.
const MOST: u32 = 4096;
/// What each hog is charged for itself once it is in the cgroup, before it touches memory for the load: pages that it
/// shares no more with the process that started it. Page tables grow with what it touches.
const OWN: u64 = 32 << 10;
/// What each hog costs outside of the cgroup, because it is made outside: kernel structures, page tables, a kernel
/// stack. Measured with 400 of them (6.18, x86_64): 148 KiB, with what it is charged for itself.
const OUTSIDE: u64 = 160 << 10;
/// What each hog may charge at least when no limit is given.
const TO_CHARGE: u64 = 256 << 10;
/// The smallest limit when none is given: a few hogs then live for more than a moment.
const LEAST: u64 = 16 << 20;
/// Below this much for each hog beyond what it is charged for itself, none would get to charge anything.
const LEAST_TO_CHARGE: u64 = 32 << 10;

/// The limit for so many hogs on a host with so much memory available, bytes. `asked` is what the user wants.
pub(super) fn limit(processes: u32, asked: Option<u64>, available: u64) -> anyhow::Result<u64> {
    ensure!(processes > 0, "0 hogs charge nothing: there must be at least 1");
    ensure!(processes <= MOST, "{processes} hogs are too many: there may be at most {MOST}");
    let count = u64::from(processes);
    let limit = asked.unwrap_or_else(|| LEAST.max(count * (OWN + TO_CHARGE)));
    let least = count * (OWN + LEAST_TO_CHARGE);
    ensure!(
        limit >= least,
        "a limit of {} is too small for {processes} hogs, which need some memory themselves: allow at least {}, or \
         have fewer of them",
        bytes(limit),
        bytes(least)
    );
    let most = available / 2;
    ensure!(
        limit <= most,
        "hogs with a limit of {} are too much for this host, of whose memory {} are available: the limit may be half \
         of that, {}; have fewer hogs or a smaller limit",
        bytes(limit),
        bytes(available),
        bytes(most)
    );
    let with_themselves = limit + count * OUTSIDE;
    ensure!(
        with_themselves <= available / 4 * 3,
        "{processes} hogs need up to {} with their own memory, and only {} are available: have fewer of them",
        bytes(with_themselves),
        bytes(available)
    );
    Ok(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn four_hundred_fit_into_a_small_machine() {
        // A virtual machine of 1 GiB has some 800 MiB available.
        let limit = limit(400, None, 800 << 20).unwrap();
        assert!((64 << 20..=400 << 20).contains(&limit), "{limit}");
        assert_eq!(super::limit(2, None, GIB).unwrap(), LEAST);
        assert_eq!(super::limit(2, Some(5 << 20), GIB).unwrap(), 5 << 20);
    }

    #[test]
    fn too_much_and_too_little_are_refused_with_what_to_do() {
        let refused =
            |processes, asked, available| limit(processes, asked, available).unwrap_err().to_string();
        assert!(refused(0, None, GIB).contains("at least 1"));
        assert!(refused(4097, None, GIB).contains("at most 4096"));
        let small = refused(400, Some(10 << 20), 100 * GIB);
        assert!(small.starts_with("a limit of 10.0 MiB is too small for 400 hogs"), "{small}");
        assert!(small.contains("allow at least 25.0 MiB"), "{small}");
        let large = refused(2, Some(GIB / 2 + 1), GIB);
        assert!(large.contains("half of that, 512.0 MiB"), "{large}");
        assert!(limit(2, Some(GIB / 2), GIB).is_ok());
        let many = refused(4096, Some(800 << 20), 1600 << 20);
        assert!(many.starts_with("4096 hogs need up to 1.4 GiB with their own memory"), "{many}");
        assert!(refused(1, Some(u64::MAX), GIB).contains("half of that"));
    }
}
