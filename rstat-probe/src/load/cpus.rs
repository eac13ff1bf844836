//! How many CPUs there are.

use std::thread;

use anyhow::ensure;

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

/// The number of a load's threads, processes or pairs: the one asked for, in its limits, or `each` for every online CPU.
///
/// `noun` names the option as well, and `verb` what each of them does.
pub(super) fn count(
    asked: Option<u32>,
    each: u32,
    most: u32,
    (noun, verb): (&str, &str),
) -> anyhow::Result<u32> {
    let count = asked.unwrap_or_else(|| online().saturating_mul(each).min(most));
    ensure!(count > 0, "0 {noun} {verb} nothing: --{noun} must be at least 1");
    ensure!(count <= most, "{count} {noun} are too many: --{noun} must be at most {most}");
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_in_its_limits() {
        let words = ("threads", "read");
        assert_eq!(count(Some(10_000), 2, 10_000, words).unwrap(), 10_000);
        assert_eq!(count(None, 2, 10_000, words).unwrap(), 2 * online());
        assert_eq!(count(None, 2, 1, words).unwrap(), 1);
        let refused = |asked| count(Some(asked), 2, 9, words).unwrap_err().to_string();
        assert_eq!(refused(0), "0 threads read nothing: --threads must be at least 1");
        assert_eq!(refused(10), "10 threads are too many: --threads must be at most 9");
    }

    #[test]
    fn cpu_lists_are_counted() {
        assert_eq!(cpus_in("0-3,8,10-11\n"), Some(7));
        assert_eq!(cpus_in("0\n"), Some(1));
        for bad in ["", "3-1", "a", "0-4294967295"] {
            assert_eq!(cpus_in(bad), None, "{bad}");
        }
    }
}
