//! How many CPUs there are.

use std::thread;

/// How many CPUs are online, whether or not this process may run on all of them.
pub(super) fn online() -> u32 {
    let listed =
        std::fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|text| cpus_in(&text));
    listed
        .unwrap_or_else(|| thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1)))
}

/// How many CPUs a list such as `0-3,8,10-11` has.
fn cpus_in(list: &str) -> Option<u32> {
    let mut count: u32 = 0;
    for part in list.trim().split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
        count = count.checked_add(high.checked_sub(low)?.checked_add(1)?)?;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_counted() {
        assert_eq!(cpus_in("0-3,8,10-11\n"), Some(7));
        assert_eq!(cpus_in("0\n"), Some(1));
        for bad in ["", "3-1", "a", "0-4294967295"] {
            assert_eq!(cpus_in(bad), None, "{bad}");
        }
    }
}
