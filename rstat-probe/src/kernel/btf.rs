//! Looks up a handful of names in the kernel's BTF in one pass over the raw bytes.
//!
//! aya's `Btf` finds ids by name but has no member look-up, and building its whole type table
//! takes some 50 MB and 80 ms; this takes the size of the file and a few milliseconds. Format:
//! Documentation/bpf/btf.rst and include/uapi/linux/btf.h.

use std::{collections::BTreeMap, ffi::CStr};

use anyhow::{Context as _, bail, ensure};

pub(crate) use super::btf_blob::{excerpt, trimmed};
use super::name_set::NameSet;

pub(super) const MAGIC: u16 = 0xeb9f;
pub(super) const KIND_STRUCT: u32 = 4;
pub(super) const KIND_ENUM: u32 = 6;
pub(super) const KIND_TYPEDEF: u32 = 8;
pub(super) const KIND_FUNC: u32 = 12;
pub(super) const KIND_ENUM64: u32 = 19;

/// What to look for.
pub(crate) struct Wanted<'a> {
    /// Typedefs, e.g. `btf_trace_cgroup_rstat_locked`: one exists for every tracepoint.
    pub typedefs: &'a [&'a str],
    /// Functions.
    pub functions: &'a [&'a str],
    /// Struct members as (struct, member).
    pub members: &'a [(&'a str, &'a str)],
    /// Enums.
    pub enums: &'a [&'a str],
}

/// What was found; what is absent was not in the BTF.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub typedefs: Vec<String>,
    /// Type ids by name.
    pub functions: BTreeMap<String, u32>,
    /// Byte offsets by `struct.member`.
    pub members: BTreeMap<String, u32>,
    /// Enumerators with their values, in the order of the kernel's source, by enum.
    pub enums: BTreeMap<String, Vec<(String, i64)>>,
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

    let typedefs = NameSet::new(wanted.typedefs.iter().copied());
    let functions = NameSet::new(wanted.functions.iter().copied());
    let structs = NameSet::new(wanted.members.iter().map(|(owner, _)| *owner));
    let enums = NameSet::new(wanted.enums.iter().copied());
    let mut found = Found::default();
    let mut at = 0;
    let mut id = 0; // 0 is void, which is not in the section
    while at < types.0.len() {
        id += 1;
        let (name, info) = (types.u32(at)?, types.u32(at + 4)?);
        let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        let flag = info >> 31 != 0;
        let body = Body { types: &types, strings, at: at + 12, count };
        // Two types of one name and kind exist at times; the first definition wins as in the
        // kernel's own look-up by name.
        match kind {
            KIND_STRUCT => {
                if let Some(owner) = structs.get(string(strings, name)?) {
                    body.members(owner, wanted, flag, &mut found)?;
                }
            }
            KIND_TYPEDEF => {
                if let Some(name) = typedefs.get(string(strings, name)?)
                    && !found.typedefs.iter().any(|other| other == name)
                {
                    found.typedefs.push(name.to_owned());
                }
            }
            KIND_FUNC => {
                if let Some(name) = functions.get(string(strings, name)?) {
                    found.functions.entry(name.to_owned()).or_insert(id);
                }
            }
            KIND_ENUM | KIND_ENUM64 => {
                if let Some(name) = enums.get(string(strings, name)?)
                    && count != 0 // a count of 0 is a forward declaration
                    && !found.enums.contains_key(name)
                {
                    found.enums.insert(name.to_owned(), body.enumerators(kind, flag)?);
                }
            }
            _ => {}
        }
        at = body.at + body_length(kind, count)?;
    }
    Ok(found)
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

/// What follows the common part of a type.
struct Body<'a> {
    types: &'a Words<'a>,
    strings: &'a [u8],
    at: usize,
    count: usize,
}

impl Body<'_> {
    /// Adds the wanted members of the struct `owner`.
    fn members(
        &self,
        owner: &str,
        wanted: &Wanted<'_>,
        bit_fields: bool,
        found: &mut Found,
    ) -> anyhow::Result<()> {
        let wanted = wanted.members.iter().filter(|(of, _)| *of == owner).map(|(_, member)| *member);
        let wanted = NameSet::new(wanted);
        for at in (0..self.count).map(|index| self.at + 12 * index) {
            if let Some(member) = wanted.get(string(self.strings, self.types.u32(at)?)?) {
                let offset = self.types.u32(at + 8)?;
                let bits = if bit_fields { offset & 0x00ff_ffff } else { offset };
                found.members.entry(format!("{owner}.{member}")).or_insert(bits / 8);
            }
        }
        Ok(())
    }

    fn enumerators(&self, kind: u32, signed: bool) -> anyhow::Result<Vec<(String, i64)>> {
        let wide = kind == KIND_ENUM64;
        let length = if wide { 12 } else { 8 };
        let enumerator = |index| {
            let at = self.at + length * index;
            let name = std::str::from_utf8(string(self.strings, self.types.u32(at)?)?);
            let low = self.types.u32(at + 4)?;
            let value = if wide {
                // A value of 2^63 and more comes out negative; no id is that large.
                i64::from(self.types.u32(at + 8)?.cast_signed()) << 32 | i64::from(low)
            } else if signed {
                low.cast_signed().into()
            } else {
                low.into()
            };
            Ok((name.context("BTF string is not UTF-8")?.to_owned(), value))
        };
        (0..self.count).map(enumerator).collect()
    }
}

fn string(strings: &[u8], offset: u32) -> anyhow::Result<&[u8]> {
    let rest = strings.get(offset as usize..).context("BTF string offset out of range")?;
    Ok(CStr::from_bytes_until_nul(rest).context("BTF string without an end")?.to_bytes())
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
#[path = "btf_tests.rs"]
mod tests;
