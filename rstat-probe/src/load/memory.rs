//! The memory of the host.

use anyhow::Context;

/// What the kernel thinks can be had without swapping, bytes.
pub(super) fn available() -> anyhow::Result<u64> {
    let path = "/proc/meminfo";
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    available_in(&text).with_context(|| format!("{path} has no MemAvailable"))
}

fn available_in(meminfo: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read() {
        assert_eq!(available_in("MemTotal: 9 kB\nMemAvailable:    1000 kB\n"), Some(1_024_000));
        assert_eq!(available_in("MemTotal: 9 kB\n"), None);
        assert!(available().unwrap() > 1 << 20);
    }
}
