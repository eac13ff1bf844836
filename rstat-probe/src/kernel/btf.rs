//! Looks up a handful of names in the kernel's BTF in one pass over the raw bytes.
//!
//! aya's `Btf` finds ids by name but has no member look-up, and building its whole type table
//! takes some 50 MB and 80 ms; this takes the size of the file and a few milliseconds. Format:
//! Documentation/bpf/btf.rst and include/uapi/linux/btf.h.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};

const MAGIC: u16 = 0xeb9f;
const KIND_STRUCT: u32 = 4;
const KIND_TYPEDEF: u32 = 8;
const KIND_FUNC: u32 = 12;

/// What to look for.
pub(crate) struct Wanted<'a> {
    /// Typedefs, e.g. `btf_trace_cgroup_rstat_locked`: one exists for every tracepoint.
    pub typedefs: &'a [&'a str],
    /// Functions.
    pub functions: &'a [&'a str],
    /// Struct members as (struct, member).
    pub members: &'a [(&'a str, &'a str)],
}

/// What was found; what is absent was not in the BTF.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub typedefs: Vec<String>,
    /// Type ids by name.
    pub functions: BTreeMap<String, u32>,
    /// Byte offsets by `struct.member`.
    pub members: BTreeMap<String, u32>,
}

/// Looks up `wanted` in the BTF blob `data`.
pub(crate) fn find(data: &[u8], wanted: &Wanted<'_>) -> anyhow::Result<Found> {
    let header = Words(data);
    ensure!(header.u16(0)? == MAGIC, "no BTF in the byte order of this machine");
    let header_length = header.u32(4)? as usize;
    let (types_at, types_length) = (header.u32(8)? as usize, header.u32(12)? as usize);
    let (strings_at, strings_length) = (header.u32(16)? as usize, header.u32(20)? as usize);
    let section = |at: usize, length: usize| {
        let begin = header_length.checked_add(at)?;
        data.get(begin..begin.checked_add(length)?)
    };
    let types = Words(section(types_at, types_length).context("BTF type section is cut off")?);
    let strings = section(strings_at, strings_length).context("BTF string section is cut off")?;

    let mut found = Found::default();
    let mut at = 0;
    let mut id = 0; // 0 is void, which is not in the section
    while at < types.0.len() {
        id += 1;
        let (name, info) = (types.u32(at)?, types.u32(at + 4)?);
        let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        let body = at + 12;
        match kind {
            KIND_STRUCT => {
                let bit_fields = info >> 31 != 0;
                let name = string(strings, name)?;
                for (owner, member) in wanted.members.iter().filter(|(owner, _)| *owner == name) {
                    if let Some(offset) = member_offset(&types, strings, body, count, member, bit_fields)? {
                        // Two structs of one name exist at times; the first definition wins as in
                        // the kernel's own look-up by name.
                        found.members.entry(format!("{owner}.{member}")).or_insert(offset);
                    }
                }
            }
            KIND_TYPEDEF => {
                let name = string(strings, name)?;
                if wanted.typedefs.contains(&name) && !found.typedefs.iter().any(|other| other == name) {
                    found.typedefs.push(name.to_owned());
                }
            }
            KIND_FUNC => {
                let name = string(strings, name)?;
                if wanted.functions.contains(&name) {
                    found.functions.entry(name.to_owned()).or_insert(id);
                }
            }
            _ => {}
        }
        at = body + body_length(kind, count)?;
    }
    Ok(found)
}

/// A BTF blob in which `function` has type id `id`, as in the kernel's, and all other types are
/// fillers: aya wants a whole BTF to learn this one number from it.
pub(crate) fn excerpt(function: &str, id: u32) -> Vec<u8> {
    const KIND_CONST: u32 = 10;
    let strings = [b"\0", function.as_bytes(), b"\0"].concat();
    let words = |words: [u32; 3]| words.map(u32::to_ne_bytes).concat();
    let mut types = words([0, KIND_CONST << 24, 0]).repeat(id.saturating_sub(1) as usize);
    types.extend(words([1, KIND_FUNC << 24, 0]));
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut blob = MAGIC.to_ne_bytes().to_vec();
    blob.extend([1, 0]); // version, flags
    for word in [24, 0, length(&types), length(&types), length(&strings)] {
        blob.extend(word.to_ne_bytes());
    }
    [blob, types, strings].concat()
}

/// Bytes after the common 12 of a type.
fn body_length(kind: u32, count: usize) -> anyhow::Result<usize> {
    Ok(match kind {
        // PTR, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, FLOAT, TYPE_TAG
        2 | 7..=12 | 16 | 18 => 0,
        // INT, VAR, DECL_TAG
        1 | 14 | 17 => 4,
        // ARRAY
        3 => 12,
        // STRUCT, UNION, DATASEC, ENUM64
        4 | 5 | 15 | 19 => 12 * count,
        // ENUM, FUNC_PROTO
        6 | 13 => 8 * count,
        other => bail!("BTF kind {other} is newer than this rstat-probe reads; update rstat-probe"),
    })
}

fn member_offset(
    types: &Words<'_>,
    strings: &[u8],
    body: usize,
    count: usize,
    member: &str,
    bit_fields: bool,
) -> anyhow::Result<Option<u32>> {
    for index in 0..count {
        let at = body + 12 * index;
        if string(strings, types.u32(at)?)? == member {
            let offset = types.u32(at + 8)?;
            return Ok(Some(if bit_fields { offset & 0x00ff_ffff } else { offset } / 8));
        }
    }
    Ok(None)
}

fn string(strings: &[u8], offset: u32) -> anyhow::Result<&str> {
    let rest = strings.get(offset as usize..).context("BTF string offset out of range")?;
    let end = rest.iter().position(|byte| *byte == 0).context("BTF string without an end")?;
    std::str::from_utf8(&rest[..end]).context("BTF string is not UTF-8")
}

/// Native-endian words at byte offsets.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn u16(&self, at: usize) -> anyhow::Result<u16> {
        let bytes = self.0.get(at..at + 2).context("BTF is cut off")?;
        Ok(u16::from_ne_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&self, at: usize) -> anyhow::Result<u32> {
        let bytes = self.0.get(at..at + 4).context("BTF is cut off")?;
        Ok(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A BTF blob: int, `struct cgroup { pad, kn }`, typedef, func_proto, func.
    fn blob() -> Vec<u8> {
        let strings = b"\0cgroup\0kn\0pad\0btf_trace_x\0flush\0other\0";
        let at = |name: &str| {
            let bytes = name.as_bytes();
            u32::try_from(strings.windows(bytes.len()).position(|window| window == bytes).unwrap()).unwrap()
        };
        let mut types = Vec::new();
        let mut word = |value: u32| types.extend_from_slice(&value.to_ne_bytes());
        for value in [at("other"), 1 << 24, 4, 32] {
            word(value); // int
        }
        for value in [at("cgroup"), 4 << 24 | 2, 512] {
            word(value);
        }
        for value in [at("pad"), 1, 0, at("kn"), 1, 256 * 8] {
            word(value);
        }
        for value in [at("btf_trace_x"), 8 << 24, 1] {
            word(value);
        }
        for value in [0, 13 << 24 | 1, 0, 0, 1] {
            word(value); // func_proto with one parameter
        }
        for value in [at("flush"), 12 << 24, 4] {
            word(value);
        }
        let mut data = Vec::new();
        data.extend_from_slice(&MAGIC.to_ne_bytes());
        data.extend_from_slice(&[1, 0]);
        for value in [24, 0, types.len(), types.len(), strings.len()] {
            data.extend_from_slice(&u32::try_from(value).unwrap().to_ne_bytes());
        }
        data.extend_from_slice(&types);
        data.extend_from_slice(strings);
        data
    }

    const WANTED: Wanted<'_> = Wanted {
        typedefs: &["btf_trace_x", "btf_trace_y"],
        functions: &["flush", "gone"],
        members: &[("cgroup", "kn"), ("cgroup", "gone"), ("css", "ss")],
    };

    #[test]
    fn finds_what_is_there() {
        let found = find(&blob(), &WANTED).unwrap();
        assert_eq!(found.typedefs, ["btf_trace_x"]);
        assert_eq!(found.functions, BTreeMap::from([("flush".to_owned(), 5)]));
        assert_eq!(found.members, BTreeMap::from([("cgroup.kn".to_owned(), 256)]));
    }

    #[test]
    fn an_excerpt_keeps_the_id() {
        for id in [1, 2, 70_000] {
            let blob = excerpt("css_rstat_flush", id);
            let wanted = Wanted { typedefs: &[], functions: &["css_rstat_flush"], members: &[] };
            assert_eq!(find(&blob, &wanted).unwrap().functions["css_rstat_flush"], id);
            let btf = aya::Btf::parse(&blob, aya::Endianness::default()).unwrap();
            let kind = aya_obj::btf::BtfKind::Func;
            assert_eq!(btf.id_by_type_name_kind("css_rstat_flush", kind).unwrap(), id);
        }
    }

    #[test]
    fn every_cut_is_an_error() {
        let blob = blob();
        for length in 0..blob.len() {
            assert!(find(&blob[..length], &WANTED).is_err(), "{length} bytes were accepted");
        }
    }

    #[test]
    fn unknown_kind_is_named() {
        let mut blob = blob();
        blob[24 + 7] = 31; // kind of the first type
        assert!(find(&blob, &WANTED).unwrap_err().to_string().contains("kind 31"));
    }
}
