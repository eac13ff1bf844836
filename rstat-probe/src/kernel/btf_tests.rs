use super::*;

/// Words of types, names as offsets into the strings that come with them.
#[derive(Default)]
struct Types {
    types: Vec<u8>,
    strings: Vec<u8>,
}

impl Types {
    /// A name, at an offset of its own each time: not every writer joins equal ones.
    fn name(&mut self, name: &str) -> u32 {
        if self.strings.is_empty() {
            self.strings.push(0);
        }
        let at = self.strings.len();
        self.strings.extend(name.bytes().chain([0]));
        u32::try_from(at).unwrap()
    }

    fn add(&mut self, name: &str, words: &[u32]) {
        let name = if name.is_empty() { 0 } else { self.name(name) };
        for word in [name].iter().chain(words) {
            self.types.extend(word.to_ne_bytes());
        }
    }

    fn finish(self) -> Vec<u8> {
        let mut data = MAGIC.to_ne_bytes().to_vec();
        data.extend([1, 0]);
        for value in [24, 0, self.types.len(), self.types.len(), self.strings.len()] {
            data.extend(u32::try_from(value).unwrap().to_ne_bytes());
        }
        [data, self.types, self.strings].concat()
    }
}

/// A BTF blob: int, `struct cgroup { pad, kn }`, typedef, func_proto, func, enums.
fn blob() -> Vec<u8> {
    let mut types = Types::default();
    types.add("int", &[1 << 24, 4, 32]);
    types.add("cgroup", &[4 << 24 | 2, 512]);
    types.add("pad", &[1, 0]);
    types.add("kn", &[1, 256 * 8]);
    types.add("btf_trace_x", &[8 << 24, 1]);
    types.add("", &[13 << 24 | 1, 0]);
    types.add("parameter", &[1]);
    types.add("flush", &[12 << 24, 4]);
    types.add("ids", &[6 << 24, 4]); // a forward declaration
    types.add("ids", &[6 << 24 | 2, 4]);
    types.add("memory_id", &[4]);
    types.add("all_ids", &[u32::MAX]);
    types.add("signed", &[1 << 31 | 6 << 24 | 1, 4]);
    types.add("minus_two", &[u32::MAX - 1]);
    types.add("wide", &[19 << 24 | 2, 8]);
    types.add("five_gi", &[1 << 30, 1]);
    types.add("minus_one", &[u32::MAX, u32::MAX]);
    // Bit-fields: the upper byte of the offset is the width.
    types.add("fields", &[1 << 31 | 4 << 24 | 1, 8]);
    types.add("field", &[1, 3 << 24 | 5 << 3]);
    // Definitions of names that were there before.
    types.add("cgroup", &[4 << 24 | 1, 4]);
    types.add("kn", &[1, 0]);
    types.add("flush", &[12 << 24, 4]);
    types.add("btf_trace_x", &[8 << 24, 1]);
    types.add("ids", &[6 << 24 | 1, 4]);
    types.add("memory_id", &[9]);
    types.finish()
}

const WANTED: Wanted<'_> = Wanted {
    typedefs: &["btf_trace_x", "btf_trace_y"],
    functions: &["flush", "gone"],
    members: &[("cgroup", "kn"), ("cgroup", "gone"), ("css", "ss"), ("fields", "field")],
    enums: &["ids", "signed", "wide", "gone"],
};

#[test]
fn finds_what_is_there() {
    let found = find(&blob(), &WANTED).unwrap();
    assert_eq!(found.typedefs, ["btf_trace_x"]);
    assert_eq!(found.functions, BTreeMap::from([("flush".to_owned(), 5)]));
    let members = [("cgroup.kn", 256), ("fields.field", 5)];
    assert_eq!(found.members, members.map(|(name, offset)| (name.to_owned(), offset)).into());
    let enumerators = |of: &str| -> Vec<(&str, i64)> {
        found.enums[of].iter().map(|(name, value)| (name.as_str(), *value)).collect()
    };
    assert_eq!(enumerators("ids"), [("memory_id", 4), ("all_ids", u32::MAX.into())]);
    assert_eq!(enumerators("signed"), [("minus_two", -2)]);
    assert_eq!(enumerators("wide"), [("five_gi", 5 << 30), ("minus_one", -1)]);
    assert_eq!(found.enums.len(), 3);
}

#[test]
fn an_excerpt_keeps_the_ids() {
    let kind = aya_obj::btf::BtfKind::Func;
    for ids in [&[1][..], &[2], &[70_000], &[1, 2, 3], &[900, 70_000, 3]] {
        let names: Vec<String> = ids.iter().map(|id| format!("f{id}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let functions: Vec<(&str, u32)> = names.iter().copied().zip(ids.iter().copied()).collect();
        let blob = excerpt(&functions);
        let wanted = Wanted { typedefs: &[], functions: &names, members: &[], enums: &[] };
        let found = find(&blob, &wanted).unwrap();
        let btf = aya::Btf::parse(&blob, aya::Endianness::default()).unwrap();
        for (name, id) in functions {
            assert_eq!(found.functions[name], id);
            assert_eq!(btf.id_by_type_name_kind(name, kind).unwrap(), id);
        }
    }
    assert_eq!(excerpt(&[("void", 0)]), excerpt(&[]));
    assert_eq!(find(&excerpt(&[]), &WANTED).unwrap(), Found::default());
}

/// What is found in a trimmed blob is what was found in the whole one, but for the ids of functions.
#[track_caller]
fn assert_trims(data: &[u8], wanted: &Wanted<'_>) -> Found {
    let whole = find(data, wanted).unwrap();
    let trimmed = trimmed(&whole);
    let mut again = find(&trimmed, wanted).unwrap();
    assert!(again.functions.keys().eq(whole.functions.keys()));
    // Their order is the same.
    let by_id = |found: &Found| {
        let mut ids: Vec<_> = found.functions.iter().map(|(name, id)| (*id, name.clone())).collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    assert_eq!(by_id(&again), by_id(&whole));
    again.functions.clone_from(&whole.functions);
    assert_eq!(again, whole);
    aya::Btf::parse(&trimmed, aya::Endianness::default()).unwrap();
    whole
}

#[test]
fn trimming_keeps_what_is_wanted() {
    assert_trims(&blob(), &WANTED);
    let nothing = assert_trims(&blob(), &Wanted { typedefs: &[], functions: &[], members: &[], enums: &[] });
    assert_eq!(nothing, Found::default());
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

/// Whatever one byte is changed to: an answer or an error, no panic.
#[test]
fn junk_is_no_panic() {
    let blob = blob();
    for at in 0..blob.len() {
        for value in [0, 1, 4, 6, 19, 0x7f, 0x80, 0xff] {
            let mut junk = blob.clone();
            junk[at] = value;
            if let Ok(found) = find(&junk, &WANTED) {
                let _ = find(&trimmed(&found), &WANTED).unwrap();
            }
        }
    }
}
