//! Damage to a text, the same for the same seed.

/// Numbers that are put in the place of others.
const NUMBERS: [&str; 12] = [
    "10000000000000000000",
    "1000000000000000000000000000000",
    "-1",
    "0",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "340282366920938463463374607431768211456",
    "1e308",
    "NaN",
    "0.000000000000000000001",
    "1,000",
];

/// xorshift64*: the tests need the same numbers everywhere, not good ones.
pub(crate) struct Random(u64);

impl Random {
    /// From any seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `end`; 0 if that is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap_or(0).checked_rem(end).unwrap_or(0)
    }
}

/// `text` with one to three kinds of damage, as a program reads it.
pub(crate) fn damaged(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        bytes = damage(bytes, random);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn damage(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(20)).min(bytes.len());
    match random.below(14) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(..at)),
        2 => {
            for _ in 0..=random.below(8) {
                let at = random.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
        3 => drop(bytes.drain(at..end)),
        4 => {
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
        5 => return lines(&bytes, random, |lines, a, b| lines.swap(a, b)),
        6 => return lines(&bytes, random, |lines, a, b| lines.insert(b, lines[a])),
        7 => return lines(&bytes, random, |lines, a, b| drop(lines.drain(a.min(b)..a.max(b)))),
        8 | 9 => number(&mut bytes, at, NUMBERS[random.below(NUMBERS.len())]),
        10 => drop(bytes.splice(at..at, std::iter::repeat_n(0, 1 + random.below(3)))),
        11 => return line_ends(&bytes, random),
        12 => {
            let piece = if end > at { bytes[at..end].repeat(1000) } else { Vec::new() };
            bytes.splice(at..at, piece);
        }
        _ => {
            for _ in 0..3 {
                let (a, b) = (random.below(bytes.len()), random.below(bytes.len()));
                if a < bytes.len() && b < bytes.len() {
                    bytes.swap(a, b);
                }
            }
        }
    }
    bytes
}

/// Changes whole lines.
fn lines(bytes: &[u8], random: &mut Random, change: impl Fn(&mut Vec<&[u8]>, usize, usize)) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.is_empty() {
        return Vec::new();
    }
    for _ in 0..=random.below(4) {
        let (a, b) = (random.below(lines.len()), random.below(lines.len()));
        if !lines.is_empty() {
            change(&mut lines, a, b);
        }
    }
    lines.concat()
}

/// Puts `other` in the place of the first number from `at` on.
fn number(bytes: &mut Vec<u8>, at: usize, other: &str) {
    let start = bytes.iter().skip(at).position(u8::is_ascii_digit).map(|found| at + found);
    if let Some(start) = start {
        let end =
            bytes[start..].iter().position(|byte| !byte.is_ascii_digit()).map_or(bytes.len(), |n| start + n);
        bytes.splice(start..end, other.bytes());
    }
}

/// Line ends of all kinds.
fn line_ends(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'\n' => out.extend([&b"\n"[..], b"\r\n", b"\r", b"\n\n"][random.below(4)]),
            byte => out.push(*byte),
        }
    }
    out
}
