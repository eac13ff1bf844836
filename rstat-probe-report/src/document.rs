//! Reading files of ours, recordings and fleets: what is none of them, is of a later version, breaks
//! off or contradicts itself is told in one line.

use std::io::{self, Read};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::fleet::Fleet;
use crate::recording::Recording;
use crate::render::text::escaped;

/// Longest input that is read, bytes: a week of intervals of 1 s is about a third of it.
const LONGEST: u64 = 2 << 30;
/// So much is enough to tell what is plainly no document, bytes.
const BEGINNING: u64 = 1 << 20;

/// What [`Document::read`] reads.
const KINDS: &[&Kind] = &[&Kind::RECORDING, &Kind::FLEET];

/// A kind of document.
#[derive(Debug)]
pub(crate) struct Kind {
    /// What people call it.
    noun: &'static str,
    /// The schema that is read and written; the version follows the last slash.
    schema: &'static str,
}

impl Kind {
    pub(crate) const RECORDING: Self = Self { noun: "recording", schema: crate::recording::SCHEMA };
    pub(crate) const FLEET: Self = Self { noun: "fleet", schema: crate::fleet::SCHEMA };

    /// Whether `name` is the schema of a later version.
    fn is_older_than(&self, name: &str) -> bool {
        let version = |name: &str| name.rsplit_once('/').and_then(|(_, version)| version.parse::<u64>().ok());
        let family = &self.schema[..=self.schema.rfind('/').unwrap_or(0)];
        name.starts_with(family) && version(name) > version(self.schema)
    }
}

/// A file of either kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// One run.
    Recording(Box<Recording>),
    /// The sum of many.
    Fleet(Box<Fleet>),
}

impl Document {
    /// Reads and checks a recording or a fleet. `what` names it in errors, usually the file name.
    ///
    /// # Errors
    /// As [`Recording::read`] and [`Fleet::read`].
    pub fn read(reader: impl Read, what: &str) -> Result<Self, ReadError> {
        let (text, kind) = read_text(reader, what, KINDS)?;
        if kind.schema == Kind::FLEET.schema {
            Fleet::from_text(&text, what).map(|fleet| Self::Fleet(Box::new(fleet)))
        } else {
            Recording::from_text(&text, what).map(|recording| Self::Recording(Box::new(recording)))
        }
    }
}

/// Why a document could not be read. `what` is the name given to the function that read it.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The reader failed.
    #[error("{what}: {error}")]
    Io {
        /// What was read.
        what: String,
        /// What the reader said. Part of the message, so it is no further link of the chain.
        error: io::Error,
    },
    /// Not JSON, or JSON that breaks off.
    #[error("{what}: not JSON: {message} at line {line} column {column}")]
    Syntax {
        /// What was read.
        what: String,
        /// What the parser said.
        message: String,
        /// From 1 on.
        line: usize,
        /// From 1 on.
        column: usize,
    },
    /// Longer than anything that is read into memory.
    #[error("{what}: longer than {} MiB, which is no {noun}", LONGEST >> 20)]
    TooLong {
        /// What was read.
        what: String,
        /// What was expected.
        noun: String,
    },
    /// JSON, but not ours.
    #[error("{what}: no rstat-probe {noun}: {reason}")]
    NotOurs {
        /// What was read.
        what: String,
        /// What was expected.
        noun: String,
        /// What is missing or found instead.
        reason: String,
    },
    /// A document of a later version.
    #[error(
        "{what}: {noun} schema {found} is newer than this rstat-probe reads ({known}); update rstat-probe"
    )]
    NewerSchema {
        /// What was read.
        what: String,
        /// What it is.
        noun: &'static str,
        /// Its schema.
        found: String,
        /// The schema that is read here.
        known: &'static str,
    },
    /// A document with a field that is missing or wrong.
    #[error("{what}: damaged {noun}: {message} at line {line} column {column}")]
    Field {
        /// What was read.
        what: String,
        /// What it is.
        noun: &'static str,
        /// What is wrong with which field.
        message: String,
        /// From 1 on.
        line: usize,
        /// From 1 on.
        column: usize,
    },
    /// A document in which one figure contradicts others.
    #[error("{what}: damaged {noun}: {message}")]
    Contradiction {
        /// What was read.
        what: String,
        /// What it is.
        noun: &'static str,
        /// What contradicts what.
        message: String,
    },
}

impl ReadError {
    /// A figure of `kind` that contradicts others.
    pub(crate) fn contradiction(what: &str, kind: &Kind, message: String) -> Self {
        Self::Contradiction { what: what.to_owned(), noun: kind.noun, message }
    }
}

/// The one field that is read before the version is known.
#[derive(Deserialize)]
struct Head {
    schema: Option<serde_json::Value>,
}

/// Reads all of what may be one of `kinds`, and tells which it is. Endless or huge input that is
/// none is left early.
pub(crate) fn read_text(
    mut reader: impl Read,
    what: &str,
    kinds: &[&'static Kind],
) -> Result<(Vec<u8>, &'static Kind), ReadError> {
    let failed = |error| ReadError::Io { what: what.to_owned(), error };
    let mut text = Vec::new();
    reader.by_ref().take(BEGINNING).read_to_end(&mut text).map_err(failed)?;
    check_beginning(&text, what, kinds)?;
    reader.take(LONGEST - BEGINNING + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > LONGEST {
        return Err(ReadError::TooLong { what: what.to_owned(), noun: nouns(kinds) });
    }
    let kind = find_kind(&text, what, kinds)?;
    Ok((text, kind))
}

/// The fields of a document.
pub(crate) fn parse<T: DeserializeOwned>(text: &[u8], what: &str, kind: &Kind) -> Result<T, ReadError> {
    serde_json::from_slice(text).map_err(|error| ReadError::Field {
        what: what.to_owned(),
        noun: kind.noun,
        message: without_position(&error),
        line: error.line(),
        column: error.column(),
    })
}

/// Refuses what does not begin as a JSON object does.
fn check_beginning(text: &[u8], what: &str, kinds: &[&'static Kind]) -> Result<(), ReadError> {
    let syntax_at_end = |message: &str, column| ReadError::Syntax {
        what: what.to_owned(),
        message: message.to_owned(),
        line: text.split(|byte| *byte == b'\n').count(),
        column,
    };
    match text.trim_ascii_start().first() {
        Some(b'{') => Ok(()),
        None if text.len() as u64 == BEGINNING => Err(syntax_at_end("nothing but blanks", 1)),
        _ => {
            let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
            match values.next() {
                Some(Err(error)) if !(error.is_eof() && text.len() as u64 == BEGINNING) => {
                    Err(syntax(&error, what))
                }
                None => Err(syntax_at_end("EOF while parsing a value", 0)),
                _ => Err(ReadError::NotOurs {
                    what: what.to_owned(),
                    noun: nouns(kinds),
                    reason: "not a JSON object".to_owned(),
                }),
            }
        }
    }
}

fn syntax(error: &serde_json::Error, what: &str) -> ReadError {
    ReadError::Syntax {
        what: what.to_owned(),
        message: without_position(error),
        line: error.line(),
        column: error.column(),
    }
}

/// Tells other JSON and other versions from documents that can be read.
fn find_kind(text: &[u8], what: &str, kinds: &[&'static Kind]) -> Result<&'static Kind, ReadError> {
    let not = |reason: String| ReadError::NotOurs { what: what.to_owned(), noun: nouns(kinds), reason };
    let known = || kinds.iter().map(|kind| format!("\"{}\"", kind.schema)).collect::<Vec<_>>().join(" or ");
    let head: Head = serde_json::from_slice(text).map_err(|error| syntax(&error, what))?;
    let Some(schema) = head.schema else {
        return Err(not(format!("there is no \"schema\": {}", known())));
    };
    let name = schema.as_str().unwrap_or_default();
    if let Some(kind) = kinds.iter().find(|kind| kind.schema == name) {
        return Ok(kind);
    }
    if let Some(kind) = kinds.iter().find(|kind| kind.is_older_than(name)) {
        return Err(ReadError::NewerSchema {
            what: what.to_owned(),
            noun: kind.noun,
            found: escaped(name),
            known: kind.schema,
        });
    }
    Err(not(format!("its schema is {}, not {}", escaped(&schema.to_string()), known())))
}

fn nouns(kinds: &[&'static Kind]) -> String {
    kinds.iter().map(|kind| kind.noun).collect::<Vec<_>>().join(" or ")
}

/// The message of a parse error alone: the position is printed once, at the end of the line.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}
