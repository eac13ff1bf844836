//! The lines of a foreign file as their author had them: mail quotes and carriage returns removed,
//! numbers kept for messages.

use std::borrow::Cow;

use super::ImportError;
use crate::render::text::escaped;

/// Most lines. All pasted texts have less, and each line costs more memory than its text.
const MOST_LINES: usize = 2_000_000;
/// Characters of an error or a warning.
pub(super) const LONGEST_MESSAGE: usize = 400;

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// In the file, from 1 on.
    pub(crate) number: usize,
    /// Without quotes and line end.
    pub(crate) text: &'a str,
}

impl<'a> Line<'a> {
    /// Without blanks around it and the `+` of a patch before it.
    pub(crate) fn trimmed(self) -> &'a str {
        let text = self.text.trim();
        text.strip_prefix('+').map_or(text, str::trim_start)
    }
}

/// A foreign file.
#[derive(Clone, Debug)]
pub(crate) struct Source<'a> {
    /// Name for messages.
    pub(crate) what: &'a str,
    /// All lines, blank ones included.
    pub(crate) lines: Vec<Line<'a>>,
    /// The last line has an end.
    pub(crate) ended: bool,
}

impl<'a> Source<'a> {
    /// Splits `text`.
    pub(crate) fn new(text: &'a str, what: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text
            .lines()
            .take(MOST_LINES + 1)
            .enumerate()
            .map(|(index, line)| Line { number: index + 1, text: unquoted(line.trim_end_matches('\r')) })
            .collect();
        Self { what, lines, ended: text.ends_with(['\n', '\r']) }
    }

    /// The error of a text that is too long.
    pub(crate) fn too_long(&self) -> Option<ImportError> {
        (self.lines.len() > MOST_LINES).then(|| ImportError::Damaged {
            what: self.what.to_owned(),
            line: MOST_LINES + 1,
            message: format!("more than {MOST_LINES} lines are not read; cut the text or sum it up"),
        })
    }

    /// The error of a file that no importer takes.
    pub(crate) fn unrecognised(&self, known: &[&str]) -> ImportError {
        let first = self.lines.iter().map(|line| line.text.trim()).find(|text| !text.is_empty());
        let beginning = first.map_or_else(
            || "there is no text in it".to_owned(),
            |text| format!("it begins with \"{}\"", shortened(text)),
        );
        ImportError::Unrecognised { what: self.what.to_owned(), beginning, known: known.join(", ") }
    }

    /// The error of what is recognised by `line` and not read.
    pub(crate) fn refused(&self, line: Line<'_>, recognised: &str, advice: &str) -> ImportError {
        ImportError::Refused {
            what: self.what.to_owned(),
            line: line.number,
            recognised: recognised.to_owned(),
            advice: advice.to_owned(),
        }
    }

    /// An error at `line`.
    pub(crate) fn damaged(&self, line: Line<'_>, message: impl Into<String>) -> ImportError {
        // It may quote the text.
        let message = clipped(&message.into(), LONGEST_MESSAGE);
        ImportError::Damaged { what: self.what.to_owned(), line: line.number, message }
    }
}

/// `text` with blanks that mail programs made unbreakable as plain ones.
pub(crate) fn plain_blanks(text: &str) -> Cow<'_, str> {
    const UNBREAKABLE: [char; 2] = ['\u{a0}', '\u{202f}'];
    if text.contains(UNBREAKABLE) { text.replace(UNBREAKABLE, " ").into() } else { text.into() }
}

/// The beginning of `text` on one line, for messages.
pub(crate) fn shortened(text: &str) -> String {
    clipped(text, 40)
}

/// At most `most` characters of `text`, on one line.
pub(super) fn clipped(text: &str, most: usize) -> String {
    let mut characters = text.chars();
    let short: String = characters.by_ref().take(most).collect();
    let mut short = escaped(&short);
    if characters.next().is_some() {
        short.push_str("...");
    }
    short
}

/// Without the `> ` of mail quotes, however deep.
fn unquoted(line: &str) -> &str {
    let mut rest = line;
    while let Some(inner) = rest.strip_prefix('>') {
        rest = inner.strip_prefix(' ').unwrap_or(inner);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_line_ends_go_and_numbers_stay() {
        let source = Source::new("a\r\n> b\n>>>> c\n> > d\n\n>\n", "x");
        let lines: Vec<_> = source.lines.iter().map(|line| (line.number, line.text)).collect();
        assert_eq!(lines, [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, ""), (6, "")]);
    }
}
