//! The lines of a foreign file as their author had them: mail quotes, carriage returns and
//! non-breaking blanks removed, numbers kept for messages.

use super::ImportError;

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
}

impl<'a> Source<'a> {
    /// Splits `text`.
    pub(crate) fn new(text: &'a str, what: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text
            .lines()
            .enumerate()
            .map(|(index, line)| Line { number: index + 1, text: unquoted(line.trim_end_matches('\r')) })
            .collect();
        Self { what, lines }
    }

    /// The error of a file that no importer takes.
    pub(crate) fn unrecognised(&self, known: &[&str]) -> ImportError {
        ImportError::Unrecognised { what: self.what.to_owned(), known: known.join(", ") }
    }

    /// An error at `line`.
    pub(crate) fn damaged(&self, line: Line<'_>, message: impl Into<String>) -> ImportError {
        ImportError::Damaged { what: self.what.to_owned(), line: line.number, message: message.into() }
    }
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
