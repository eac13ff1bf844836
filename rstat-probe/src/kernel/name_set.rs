//! A few names to be found among a hundred thousand.

use std::collections::HashMap;

/// Names to look for. Nearly every other name is told apart by its length and first byte.
pub(crate) struct NameSet<'a> {
    names: HashMap<&'a [u8], &'a str>,
    /// One bit for each length; those of 63 and more share the last.
    lengths: u64,
    first_bytes: [bool; 256],
}

impl<'a> NameSet<'a> {
    pub(crate) fn new(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut set = Self { names: HashMap::new(), lengths: 0, first_bytes: [false; 256] };
        for name in names {
            let Some(first) = name.bytes().next() else { continue };
            set.first_bytes[usize::from(first)] = true;
            set.lengths |= length_bit(name.as_bytes());
            set.names.insert(name.as_bytes(), name);
        }
        set
    }

    /// `name` as it was given, if it is one of the names.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&'a str> {
        let first = usize::from(*name.first()?);
        if !self.first_bytes[first] || self.lengths & length_bit(name) == 0 {
            return None;
        }
        self.names.get(name).copied()
    }
}

fn length_bit(name: &[u8]) -> u64 {
    1 << name.len().min(63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_given() {
        let long = "x".repeat(200);
        let set = NameSet::new(["cgroup", "kn", "", &long]);
        for name in ["cgroup", "kn", &long] {
            assert_eq!(set.get(name.as_bytes()), Some(name));
        }
        for name in ["", "cgroux", "cgrou", "ck", "nk", "kn\0", &long[1..], &format!("{long}x")] {
            assert_eq!(set.get(name.as_bytes()), None, "{name}");
        }
        assert_eq!(set.get(&[0xff; 6]), None);
    }
}
