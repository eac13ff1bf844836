//! Writes small BTF blobs.

use std::collections::{BTreeMap, HashMap};

use super::btf::{Found, KIND_ENUM, KIND_ENUM64, KIND_FUNC, KIND_STRUCT, KIND_TYPEDEF, MAGIC};

const KIND_INT: u32 = 1;
const KIND_CONST: u32 = 10;
const KIND_FUNC_PROTO: u32 = 13;
/// Bit of `info`: a signed enum.
const FLAG: u32 = 1 << 31;
/// Linkage of a function, in place of the count (include/uapi/linux/btf.h).
const FUNC_GLOBAL: u32 = 1;

/// A BTF blob in which each of `functions` has its type id, as in the kernel's, and all other
/// types are fillers: aya wants a whole BTF to learn these numbers from it. Of two functions with
/// one id the last is kept; id 0, which is no type, is left out.
pub(crate) fn excerpt(functions: &[(&str, u32)]) -> Vec<u8> {
    let by_id: BTreeMap<u32, &str> = functions.iter().map(|(name, id)| (*id, *name)).collect();
    let mut blob = Blob::default();
    for (id, name) in by_id.range(1..) {
        while blob.last_id + 1 < *id {
            blob.nameless(KIND_CONST << 24, 0);
        }
        blob.add(name, KIND_FUNC << 24, 0);
    }
    blob.finish()
}

/// A small BTF blob in which [`find`](super::btf::find) finds what `found` has, but for the ids of
/// functions. Byte offsets and values are the real ones; all members are of type `int`.
pub(crate) fn trimmed(found: &Found) -> Vec<u8> {
    let mut blob = Blob::default();
    let int = blob.add("int", KIND_INT << 24, 4);
    blob.word(32); // no encoding, offset 0, 32 bits
    let prototype = blob.nameless(KIND_FUNC_PROTO << 24, 0); // void f(void)
    for (owner, mut members) in by_struct(&found.members) {
        members.sort_by_key(|(_, offset)| *offset);
        let size = members.last().map_or(0, |(_, offset)| offset.saturating_add(4));
        blob.add(owner, KIND_STRUCT << 24 | count(members.len()), size);
        for (member, offset) in members {
            blob.name(member);
            blob.word(int);
            blob.word(offset.saturating_mul(8));
        }
    }
    for (name, enumerators) in &found.enums {
        blob.enumeration(name, enumerators);
    }
    for typedef in &found.typedefs {
        blob.add(typedef, KIND_TYPEDEF << 24, int);
    }
    let mut functions: Vec<_> = found.functions.iter().collect();
    functions.sort_by_key(|(_, id)| **id);
    for (function, _) in functions {
        blob.add(function, KIND_FUNC << 24 | FUNC_GLOBAL, prototype);
    }
    blob.finish()
}

/// Members and their offsets by struct, from `struct.member`.
fn by_struct(members: &BTreeMap<String, u32>) -> BTreeMap<&str, Vec<(&str, u32)>> {
    let mut structs = BTreeMap::<_, Vec<_>>::new();
    for (path, offset) in members {
        if let Some((owner, member)) = path.split_once('.') {
            structs.entry(owner).or_default().push((member, *offset));
        }
    }
    structs
}

/// A count of members as BTF has it, in 16 bits; what is more is not written by anybody.
fn count(length: usize) -> u32 {
    u16::try_from(length).unwrap_or(u16::MAX).into()
}

#[derive(Default)]
struct Blob {
    types: Vec<u8>,
    /// Without the empty one that comes first.
    strings: Vec<u8>,
    string_at: HashMap<String, u32>,
    last_id: u32,
}

impl Blob {
    /// Adds the common part of a type and returns its id.
    fn add(&mut self, name: &str, info: u32, size_or_type: u32) -> u32 {
        self.name(name);
        self.rest(info, size_or_type)
    }

    fn nameless(&mut self, info: u32, size_or_type: u32) -> u32 {
        self.word(0);
        self.rest(info, size_or_type)
    }

    fn rest(&mut self, info: u32, size_or_type: u32) -> u32 {
        self.word(info);
        self.word(size_or_type);
        self.last_id += 1;
        self.last_id
    }

    fn enumeration(&mut self, name: &str, enumerators: &[(String, i64)]) {
        let values = || enumerators.iter().map(|(_, value)| *value);
        let signed = values().any(|value| value < 0);
        let narrow = |value: i64| {
            if signed { i32::try_from(value).is_ok() } else { u32::try_from(value).is_ok() }
        };
        let wide = !values().all(narrow);
        let (kind, size) = if wide { (KIND_ENUM64, 8) } else { (KIND_ENUM, 4) };
        let flag = if signed { FLAG } else { 0 };
        self.add(name, kind << 24 | flag | count(enumerators.len()), size);
        for (enumerator, value) in enumerators {
            self.name(enumerator);
            let bytes = value.to_le_bytes();
            let half =
                |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
            self.word(half(0));
            if wide {
                self.word(half(4));
            }
        }
    }

    fn word(&mut self, word: u32) {
        self.types.extend(word.to_ne_bytes());
    }

    fn name(&mut self, name: &str) {
        let next = 1 + length(&self.strings);
        let at = *self.string_at.entry(name.to_owned()).or_insert(next);
        if at == next {
            self.strings.extend(name.bytes().chain([0]));
        }
        self.word(at);
    }

    fn finish(self) -> Vec<u8> {
        let strings = [&[0], self.strings.as_slice()].concat();
        let mut blob = MAGIC.to_ne_bytes().to_vec();
        blob.extend([1, 0]); // version, flags
        for word in [24, 0, length(&self.types), length(&self.types), length(&strings)] {
            blob.extend(word.to_ne_bytes());
        }
        [blob, self.types, strings].concat()
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}
