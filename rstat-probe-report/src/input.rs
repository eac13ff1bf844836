//! Any file that `show`, `compare` and `merge` take: what it is, told from its content.

use std::io::{self, Read};

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::document::{Document, ReadError};
use crate::fleet::Fleet;
use crate::import::{ImportError, Imported, import, refuse_binary};
use crate::load_result::{self, LoadResult};
use crate::recording::Recording;
use crate::render::text::escaped;

/// So much tells what a file may be, bytes.
const BEGINNING: u64 = 1 << 20;
/// Longest foreign file that is read, bytes: they are what people paste, not what machines log.
const LONGEST_FOREIGN: u64 = 64 << 20;
/// Some editors put it before UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// Files of ours name their schema within so many bytes.
const HEAD: usize = 400;

/// What a file holds.
#[derive(Clone, Debug)]
pub enum Input {
    /// A recording of `run`.
    Recording(Box<Recording>),
    /// The sum of recordings, of `merge`.
    Fleet(Box<Fleet>),
    /// The result of `load`.
    Load(Box<LoadResult>),
    /// What another tool printed.
    Foreign(Imported),
}

/// Why a file could not be read; one line that names it.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A recording or a fleet.
    #[error(transparent)]
    Document(#[from] ReadError),
    /// A file of another tool.
    #[error(transparent)]
    Foreign(#[from] ImportError),
    /// A load result.
    #[error("{what}: damaged load result: {error}")]
    Load {
        /// The file.
        what: String,
        /// What is wrong; names line and column.
        error: serde_json::Error,
    },
    /// A load result of a later version.
    #[error(
        "{what}: load result schema {found} is newer than this rstat-probe reads ({}); update rstat-probe",
        load_result::SCHEMA
    )]
    NewerLoad {
        /// The file.
        what: String,
        /// Its schema.
        found: String,
    },
    /// Nothing, or only blanks.
    #[error("{what}: {found}")]
    Blank {
        /// The file.
        what: String,
        /// What is in it instead of text.
        found: &'static str,
    },
    /// The reader failed.
    #[error("cannot read {what}: {error}")]
    Io {
        /// The file.
        what: String,
        /// What the reader said. Part of the message, so it is no further link of the chain.
        error: io::Error,
    },
    /// Longer than anything that another tool prints for people.
    #[error("{what}: longer than {} MiB, which is too much for a file of another tool", LONGEST_FOREIGN >> 20)]
    TooLong {
        /// The file.
        what: String,
    },
}

/// Reads a file of any kind. `what` names it in errors. What is plainly none of them is told by its
/// beginning, however long it is.
///
/// # Errors
/// It cannot be read, is nothing that is known, or contradicts itself.
pub fn read(mut reader: impl Read, what: &str) -> Result<Input, InputError> {
    let failed = |error| InputError::Io { what: what.to_owned(), error };
    let mut text = Vec::new();
    reader.by_ref().take(BEGINNING).read_to_end(&mut text).map_err(failed)?;
    let cut = text.len() as u64 == BEGINNING;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len());
    }
    let start = text.trim_ascii_start();
    let blank = |found| InputError::Blank { what: what.to_owned(), found };
    match schema(start) {
        _ if start.is_empty() && cut => Err(blank("nothing but blanks in its first MiB")),
        _ if text.is_empty() => Err(blank("it is empty")),
        _ if start.is_empty() => Err(blank("nothing but blanks in it")),
        Some(name) if name.starts_with(load_result::SCHEMA_FAMILY) => {
            let name = name.to_owned();
            reader.take(LONGEST_FOREIGN).read_to_end(&mut text).map_err(failed)?;
            load(&text, &name, what)
        }
        Some(_) => ours(&text, reader, cut, what),
        None if may_be_ours(start) => match late_schema(&text).filter(|_| !cut) {
            Some(name) if name.starts_with(load_result::SCHEMA_FAMILY) => load(&text, &name, what),
            _ => ours(&text, reader, cut, what),
        },
        None => foreign(text, reader, what),
    }
}

fn load(text: &[u8], schema: &str, what: &str) -> Result<Input, InputError> {
    let version = |schema: &str| schema.rsplit('/').next().and_then(|version| version.parse::<u64>().ok());
    if version(schema) > version(load_result::SCHEMA) {
        return Err(InputError::NewerLoad { what: what.to_owned(), found: escaped(schema) });
    }
    let load =
        serde_json::from_slice(text).map_err(|error| InputError::Load { what: what.to_owned(), error })?;
    Ok(Input::Load(Box::new(load)))
}

/// Reads a document of ours, or says why it is none.
fn ours(beginning: &[u8], reader: impl Read, cut: bool, what: &str) -> Result<Input, InputError> {
    // A log with an object on each line is known by its first, and may be longer than memory is.
    let mut values = serde_json::Deserializer::from_slice(beginning).into_iter::<IgnoredAny>();
    let document = if cut && matches!(values.next(), Some(Ok(_))) {
        Document::read(beginning, what)?
    } else {
        Document::read(beginning.chain(reader), what)?
    };
    Ok(match document {
        Document::Recording(recording) => Input::Recording(recording),
        Document::Fleet(fleet) => Input::Fleet(fleet),
    })
}

fn foreign(mut text: Vec<u8>, reader: impl Read, what: &str) -> Result<Input, InputError> {
    if let Some(error) = refuse_binary(&String::from_utf8_lossy(&text), what) {
        return Err(error.into());
    }
    let rest = (LONGEST_FOREIGN + 1).saturating_sub(text.len() as u64);
    reader
        .take(rest)
        .read_to_end(&mut text)
        .map_err(|error| InputError::Io { what: what.to_owned(), error })?;
    if text.len() as u64 > LONGEST_FOREIGN {
        return Err(InputError::TooLong { what: what.to_owned() });
    }
    Ok(Input::Foreign(import(&String::from_utf8_lossy(&text), what)?))
}

/// Whether what begins so is JSON of ours, perhaps with its keys in another order, or of nobody
/// that is known. Only bpftrace prints objects, too, and each has a type.
fn may_be_ours(start: &[u8]) -> bool {
    let word = b"\"type\"";
    start.starts_with(b"{") && !start.windows(word.len()).any(|part| part == word)
}

/// The schema that a file of ours names, from the beginning of it.
fn schema(start: &[u8]) -> Option<&str> {
    let head = &start[..start.len().min(HEAD)];
    let key = b"\"schema\"";
    let at = head.windows(key.len()).position(|word| word == key).filter(|_| head.starts_with(b"{"))?;
    let value = head[at + key.len()..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let value = value.strip_prefix(b"\"").unwrap_or_default();
    let end = value.iter().position(|byte| *byte == b'"').unwrap_or(0);
    Some(std::str::from_utf8(&value[..end]).unwrap_or_default())
}

/// The schema of JSON whose keys somebody sorted.
fn late_schema(text: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    serde_json::from_slice(text).ok().map(|head: Head| head.schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::tests::sample;

    fn error(text: &[u8]) -> String {
        read(text, "x").unwrap_err().to_string()
    }

    #[test]
    fn files_are_told_by_their_content() {
        let mut json = Vec::new();
        sample().write(&mut json).unwrap();
        assert!(matches!(read(&json[..], "x").unwrap(), Input::Recording(_)));
        let text = b"@ns:\n[1, 2)  3 |@@@|\n";
        assert!(matches!(read(&text[..], "x").unwrap(), Input::Foreign(_)));
    }

    #[test]
    fn ours_keep_their_own_errors() {
        let newer = error(br#"{"schema": "rstat-probe/recording/99"}"#);
        assert!(newer.contains("newer than this rstat-probe reads"), "{newer}");
        assert!(error(br#"{"schema": 7}"#).contains("its schema is 7"));
        let load = error(br#"{"schema": "rstat-probe/load-result/1", "kind": "stat-reader"}"#);
        assert!(load.starts_with("x: damaged load result: missing field"), "{load}");
        let late = error(br#"{"kind": "stat-reader", "schema": "rstat-probe/load-result/1"}"#);
        assert!(late.starts_with("x: damaged load result: missing field"), "{late}");
        let newer = error(br#"{"schema": "rstat-probe/load-result/3"}"#);
        assert!(newer.starts_with("x: load result schema rstat-probe/load-result/3 is newer"), "{newer}");
        let mut json = Vec::new();
        sample().write(&mut json).unwrap();
        assert!(error(&json[..json.len() / 2]).starts_with("x: not JSON"));
    }

    #[test]
    fn ours_may_be_in_any_order_and_behind_a_mark() {
        let mut json = Vec::new();
        sample().write(&mut json).unwrap();
        let marked = [BYTE_ORDER_MARK, &json].concat();
        assert!(matches!(read(&marked[..], "x").unwrap(), Input::Recording(_)));
        let sorted: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let sorted = serde_json::to_vec_pretty(&sorted).unwrap();
        assert!(!sorted[..HEAD].windows(8).any(|word| word == b"\"schema\""), "no test of the order");
        assert!(matches!(read(&sorted[..], "x").unwrap(), Input::Recording(_)));
    }

    #[test]
    fn nothing_is_said_as_such() {
        for (text, right) in
            [("", "it is empty"), ("\u{feff}", "it is empty"), (" \n\t", "nothing but blanks in it")]
        {
            assert_eq!(error(text.as_bytes()), format!("x: {right}"));
        }
    }

    /// As long as one likes, of one byte or of one line.
    struct Endless {
        line: &'static [u8],
        read: u64,
    }

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.line.len().min(buffer.len());
            buffer[..length].copy_from_slice(&self.line[..length]);
            self.read += length as u64;
            Ok(length)
        }
    }

    /// The error about endless lines, and how many MiB were read.
    fn endless(line: &'static [u8]) -> (String, u64) {
        let mut endless = Endless { line, read: 0 };
        let error = read(&mut endless, "x").unwrap_err().to_string();
        (error, endless.read >> 20)
    }

    #[test]
    fn what_is_plainly_nothing_is_told_by_its_beginning() {
        for (line, right) in [
            (&b" "[..], "x: nothing but blanks in its first MiB"),
            (b"\0\0\0\0", "x:1: recognised binary data"),
            (b"@\0n\0s\0:\0\n\0", "x:1: recognised UTF-16"),
            (b"{\"level\": \"info\"}\n", "x: not JSON: trailing characters at line 2"),
        ] {
            let (error, mib) = endless(line);
            assert!(error.starts_with(right), "{error}");
            assert_eq!(mib, 1, "{error}");
        }
        let (error, mib) = endless(b"text\n");
        assert!(error.starts_with("x: longer than 64 MiB"), "{error}");
        assert_eq!(mib, 64, "{error}");
    }
}
