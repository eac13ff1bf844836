//! The compressed histogram of an interval: bounded, then decoded by the hdrhistogram crate.

use std::io::Read as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::read::ZlibDecoder;
use hdrhistogram::{Histogram, serialization::Deserializer};

const COMPRESSED: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
const PLAIN: [u8; 4] = 0x1c84_9313_u32.to_be_bytes();

/// Bytes of the plain form before its counts.
const HEADER: usize = 40;

/// Largest plain form that is decoded. Five digits over all of `u64` make 6.4 million counts, of
/// which the most are zero or small.
const LARGEST: u64 = 16 << 20;

/// Decodes `text`, the last column of a line.
pub(super) fn decode(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = STANDARD.decode(text).map_err(|error| format!("the histogram is not base64: {error}"))?;
    let plain = plain(&bytes)?;
    check(&plain)?;
    Deserializer::new().deserialize(&mut plain.as_slice()).map_err(|error| format!("the histogram: {error}"))
}

/// The form that is not compressed.
fn plain(bytes: &[u8]) -> Result<Vec<u8>, String> {
    if bytes.starts_with(&PLAIN) {
        return Ok(bytes.to_owned());
    }
    let (Some(head), Some(body)) = (bytes.first_chunk::<8>(), bytes.get(8..)) else {
        return Err("the histogram is cut off".to_owned());
    };
    if !head.starts_with(&COMPRESSED) {
        return Err("the histogram is not of version 2".to_owned());
    }
    let length = usize::try_from(word(head.get(4..))?).unwrap_or(usize::MAX);
    let body = body.get(..length).ok_or("the histogram is cut off")?;
    let mut plain = Vec::new();
    ZlibDecoder::new(body)
        .take(LARGEST + 1)
        .read_to_end(&mut plain)
        .map_err(|error| format!("the histogram does not decompress: {error}"))?;
    if plain.len() as u64 > LARGEST {
        return Err(format!("the histogram is larger than {LARGEST} bytes"));
    }
    Ok(plain)
}

/// Refuses what the crate would take memory for, or negate an `i64::MIN` for.
fn check(plain: &[u8]) -> Result<(), String> {
    let counts = plain.get(HEADER..).ok_or("the histogram is cut off")?;
    if !plain.starts_with(&PLAIN) {
        return Err("the histogram is not of version 2".to_owned());
    }
    if word(plain.get(4..))? as usize > counts.len() {
        return Err("the histogram is cut off".to_owned());
    }
    let mut ones = 0;
    for byte in counts {
        ones = if *byte == 0xff { ones + 1 } else { 0 };
        if ones == 9 {
            return Err("the histogram has a run of zeros that is out of range".to_owned());
        }
    }
    Ok(())
}

/// The big-endian number at the start of `bytes`.
fn word(bytes: Option<&[u8]>) -> Result<u32, String> {
    let bytes = bytes.and_then(|bytes| bytes.first_chunk()).ok_or("the histogram is cut off")?;
    Ok(u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::ZlibEncoder};
    use proptest::prelude::*;

    use super::*;

    fn header(length: u32, digits: u32, low: u64, high: u64) -> Vec<u8> {
        let mut bytes = PLAIN.to_vec();
        for number in [length, 0, digits] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.extend(low.to_be_bytes());
        bytes.extend(high.to_be_bytes());
        bytes.extend(1.0f64.to_be_bytes());
        bytes
    }

    fn compressed(plain: &[u8]) -> String {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(plain).unwrap();
        let body = encoder.finish().unwrap();
        let mut bytes = COMPRESSED.to_vec();
        bytes.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
        bytes.extend(body);
        STANDARD.encode(bytes)
    }

    #[test]
    fn the_example_of_the_format() {
        let read = decode("HISTFAAAACh42pNpmSzMwMDAyQABTFCaEYj5/wOB/QeIwEF2to2MQvs5mQCupgjp").unwrap();
        assert_eq!(
            (read.len(), read.count_at(900), read.count_at(1500), read.count_at(40_000)),
            (13, 3, 9, 1)
        );
    }

    #[test]
    fn bombs_and_lies_are_refused() {
        let mut bomb = header(1 << 30, 3, 1, 1000);
        bomb.resize(64 << 20, 0);
        assert!(decode(&compressed(&bomb)).unwrap_err().contains("larger than"));
        assert!(decode(&compressed(&header(u32::MAX, 3, 1, 1000))).unwrap_err().contains("cut off"));
        let mut least = header(9, 3, 1, 1000);
        least.extend([0xff; 9]);
        assert!(decode(&compressed(&least)).unwrap_err().contains("out of range"));
        for (digits, low, high) in
            [(6, 1, 1000), (300, 1, 1000), (3, 0, 1000), (3, 5, 9), (5, u64::MAX / 2, u64::MAX)]
        {
            assert!(decode(&compressed(&header(0, digits, low, high))).is_err(), "{digits} {low} {high}");
        }
        let mut long = header(9, 0, 1, 2);
        long.extend([2; 9]);
        assert!(decode(&compressed(&long)).unwrap_err().contains("longer"));
        for text in ["", "HIST", "====", "HISTFAAA", "AAAAAAAAAAAAAAAA", "HISTFAAAACh42pNpmSzM"] {
            assert!(decode(text).is_err(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn nothing_panics(
            digits in 0u32..7, low in prop_oneof![0u64..5, any::<u64>()], high in any::<u64>(),
            counts in proptest::collection::vec(prop_oneof![any::<u8>(), Just(0xff)], 0..60),
        ) {
            let mut plain = header(u32::try_from(counts.len()).unwrap(), digits, low, high);
            plain.extend(counts);
            if let Ok(read) = decode(&STANDARD.encode(plain)) {
                for step in read.iter_recorded() {
                    prop_assert!(read.lowest_equivalent(step.value_iterated_to()) <= step.value_iterated_to());
                }
            }
        }
    }
}
