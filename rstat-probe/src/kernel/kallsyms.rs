//! `/proc/kallsyms`: some 10 MB in 200,000 lines, read once, line by line into one buffer.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

use super::name_set::NameSet;

/// Below the root.
pub(crate) const PATH: &str = "proc/kallsyms";

/// What is known of the address of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Known(u64),
    /// The kernel shows 0.
    Hidden,
    /// There are several symbols of this name.
    Ambiguous,
}

/// The wanted symbols that exist in the kernel itself, not in modules.
pub(crate) type Symbols = BTreeMap<String, Address>;

/// Looks up `wanted` in the kallsyms below `root`.
pub(crate) fn read(root: &Path, wanted: &NameSet<'_>) -> io::Result<Symbols> {
    let mut symbols = Symbols::new();
    scan(BufReader::new(File::open(root.join(PATH))?), wanted, |line| {
        let address = if line.address == 0 { Address::Hidden } else { Address::Known(line.address) };
        let known = symbols.entry(line.name.to_owned());
        known.and_modify(|known| *known = Address::Ambiguous).or_insert(address);
    })?;
    Ok(symbols)
}

/// A line about a wanted symbol.
pub(crate) struct Line<'a> {
    pub address: u64,
    /// The address as it is written; its length depends on the machine.
    pub address_digits: usize,
    /// What stands behind the address, from the blank on, without the end of the line.
    pub rest: &'a [u8],
    pub name: &'a str,
}

/// Calls `found` for every line about a wanted symbol of the kernel itself. Lines that are not
/// what the kernel writes are passed over.
pub(crate) fn scan(
    mut file: impl BufRead,
    wanted: &NameSet<'_>,
    mut found: impl FnMut(&Line<'_>),
) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(1024);
    loop {
        buffer.clear();
        if file.read_until(b'\n', &mut buffer)? == 0 {
            return Ok(());
        }
        if let Some(line) = parse(buffer.trim_ascii_end(), wanted) {
            found(&line);
        }
    }
}

/// Parses `address type name`; after it modules have `\t[module]`, which makes it no wanted name.
/// The type is not looked at: data has the type of code from 6.16 on.
fn parse<'a>(line: &'a [u8], wanted: &NameSet<'a>) -> Option<Line<'a>> {
    let digits = line.iter().position(|byte| *byte == b' ')?;
    let name = line.get(digits + 3..)?;
    if line[digits + 2] != b' ' {
        return None;
    }
    let name = wanted.get(name)?;
    let address = u64::from_str_radix(std::str::from_utf8(&line[..digits]).ok()?, 16).ok()?;
    Some(Line { address, address_digits: digits, rest: &line[digits..], name })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(text: &[u8], wanted: &[&str]) -> Symbols {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join(PATH), text).unwrap();
        read(root.path(), &NameSet::new(wanted.iter().copied())).unwrap()
    }

    #[test]
    fn only_whole_names_of_the_kernel_itself() {
        let text = b"\
ffffffff81000010 T known
ffffffff81000020 T known_not
ffffffff81000030 T __pfx_known
ffffffffc0000010 t known\t[module]
ffffffffc0000020 d of_module\t[module]
0000000000000000 b hidden
ffffffff81000040 b twice
ffffffff81000050 b twice
ffffffff81000060 b thrice
ffffffff81000060 b thrice
ffffffff81000060 b thrice
c0001000 d of_32_bits";
        let wanted = ["known", "of_module", "hidden", "twice", "thrice", "of_32_bits", "absent"];
        let expected = [
            ("hidden", Address::Hidden),
            ("known", Address::Known(0xffff_ffff_8100_0010)),
            ("of_32_bits", Address::Known(0xc000_1000)),
            ("thrice", Address::Ambiguous),
            ("twice", Address::Ambiguous),
        ];
        assert_eq!(symbols(text, &wanted), expected.map(|(name, it)| (name.to_owned(), it)).into());
    }

    #[test]
    fn junk_is_passed_over() {
        for line in [
            &b""[..],
            b"\n\n",
            b"name",
            b" T name",
            b"  name",
            b"-1 T name",
            b"xyz T name",
            b"0x10 T name",
            b"\xff\xff\xff T name",
            b"10 Tname",
            b"10 TT name",
            b"10 T",
            b"10 T ",
            b"10 ",
            b"10",
            b"10 T  name",
            b"1ffffffff81000010 T name",
            b"10 T nam\xff",
            b"10 T name extra",
        ] {
            let text = [line, b"\nffff T other\r\n"].concat();
            let expected = [("other".to_owned(), Address::Known(0xffff))];
            assert_eq!(symbols(&text, &["name", "other"]), expected.into(), "{}", line.escape_ascii());
        }
    }
}
