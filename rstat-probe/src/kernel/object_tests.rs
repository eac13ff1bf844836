//! The golden table of the programs' sizes: whoever makes one longer shows it in the review.

use super::attempt::OBJECT;

/// Other compilers make somewhat other programs.
const TOLERANCE_PERCENT: usize = 5;
/// With this variable set the table is written anew.
const OVERWRITE: &str = "RSTAT_PROBE_GOLDEN";
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/instructions.txt");

/// Every program's and subprogram's name and number of instructions, as they are in the object.
fn instructions() -> Vec<(String, usize)> {
    let object = aya_obj::Object::parse(OBJECT).unwrap();
    let functions = object.functions.values();
    let mut rows: Vec<_> = functions.map(|one| (plain(&one.name), one.instructions.len())).collect();
    rows.sort();
    rows
}

/// The last word of a mangled path, without the hash, which is another one with every change.
fn plain(name: &str) -> String {
    let Some(path) = name.strip_prefix("_ZN") else { return name.to_owned() };
    let (mut rest, mut words) = (path, Vec::new());
    while let Some(digits) = rest.find(|c: char| !c.is_ascii_digit()).filter(|digits| *digits > 0) {
        let length: usize = rest[..digits].parse().unwrap();
        words.push(&rest[digits..digits + length]);
        rest = &rest[digits + length..];
    }
    words[words.len() - 2].to_owned()
}

#[test]
fn no_program_has_grown() {
    let rows = instructions();
    if std::env::var_os(OVERWRITE).is_some() {
        let lines: Vec<String> =
            rows.iter().map(|(name, count)| format!("{name:<20} {count:>5}\n")).collect();
        std::fs::write(TABLE, lines.concat()).unwrap();
    }
    let golden = std::fs::read_to_string(TABLE).unwrap();
    let golden: Vec<(String, usize)> = golden
        .lines()
        .map(|line| {
            let (name, count) = line.split_once(' ').unwrap();
            (name.to_owned(), count.trim().parse().unwrap())
        })
        .collect();
    let close = |(name, count): &(String, usize), (golden_name, golden): &(String, usize)| {
        name == golden_name && count.abs_diff(*golden) * 100 <= TOLERANCE_PERCENT * golden
    };
    let same = rows.len() == golden.len() && rows.iter().zip(&golden).all(|(row, golden)| close(row, golden));
    assert!(
        same,
        "{rows:?}\nis not what {TABLE} says; if it shall be so: {OVERWRITE}=1 cargo test no_program_has_grown"
    );
}
