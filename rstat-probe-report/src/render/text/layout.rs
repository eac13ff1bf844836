//! Lines: wrapping, columns, and text from outside made harmless.

use std::fmt::Write as _;
use std::io::{self, Write};

/// Wider lines are hard to read and break in mails.
const MAX_WIDTH: usize = 100;

/// Narrower, wrapping makes it worse.
const MIN_WIDTH: usize = 40;

/// The columns there are.
#[derive(Clone, Copy)]
pub(in crate::render) struct Page {
    pub(in crate::render) width: usize,
}

impl Page {
    pub(in crate::render) fn new(terminal: Option<usize>) -> Self {
        Self { width: terminal.unwrap_or(MAX_WIDTH).clamp(MIN_WIDTH, MAX_WIDTH) }
    }

    /// Writes `label: text`, wrapped between words, with the following lines indented.
    pub(in crate::render) fn write_fact(self, w: &mut impl Write, label: &str, text: &str) -> io::Result<()> {
        let mut line = format!("{label}:");
        // Not split_whitespace(): two blanks in a command line are two blanks.
        for word in text.split(' ') {
            if line.chars().count() + 1 + word.chars().count() > self.width && !line.trim().is_empty() {
                writeln!(w, "{}", line.trim_end())?;
                " ".clone_into(&mut line);
            }
            line.push(' ');
            line.push_str(word);
        }
        writeln!(w, "{}", line.trim_end())
    }
}

/// Text from outside (command lines, names) with everything escaped that can steer a terminal or
/// reorder a line: control characters, line separators and bidirectional controls.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut harmless = String::with_capacity(text.len());
    for character in text.chars() {
        let steers = character.is_control()
            || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if steers {
            // Writing to a string cannot fail.
            let _ = write!(harmless, "{}", character.escape_default());
        } else {
            harmless.push(character);
        }
    }
    harmless
}

/// A command line, harmless, with quotes where an argument would otherwise fall apart.
pub(in crate::render) fn command_line(arguments: &[String]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=+./:,@%^".contains(&byte) || byte >= 0x80;
    let quoted: Vec<String> = arguments
        .iter()
        .map(|argument| {
            if !argument.is_empty() && argument.bytes().all(plain) {
                escaped(argument)
            } else {
                format!("'{}'", escaped(argument).replace('\'', r"'\''"))
            }
        })
        .collect();
    quoted.join(" ")
}

/// Rows of cells in columns, the first left-aligned and the others right-aligned, all rows with
/// at most as many cells as the first.
pub(in crate::render) fn write_columns(w: &mut impl Write, rows: &[Vec<String>]) -> io::Result<()> {
    let widths = column_widths(rows);
    for row in rows {
        let mut line = String::new();
        for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ =
                if index == 0 { write!(line, "{cell:<width$}") } else { write!(line, "  {cell:>width$}") };
        }
        writeln!(w, "{}", line.trim_end())?;
    }
    Ok(())
}

fn column_widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    (0..columns)
        .map(|index| rows.iter().filter_map(|row| row.get(index)).map(String::len).max().unwrap_or(0))
        .collect()
}

/// Width of what [`write_columns`] writes.
pub(in crate::render) fn columns_width(rows: &[Vec<String>]) -> usize {
    let widths = column_widths(rows);
    widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_harmless() {
        assert_eq!(escaped("a\x1b[31mb\n\t\u{9b}\u{202e}é"), "a\\u{1b}[31mb\\n\\t\\u{9b}\\u{202e}é");
        let arguments = ["sh", "-c", "echo 'a b'\r", "", "x=1"].map(str::to_owned);
        assert_eq!(command_line(&arguments), r"sh -c 'echo '\''a b'\''\r' '' x=1");
    }

    #[test]
    fn facts_wrap_between_words() {
        let mut text = Vec::new();
        let long = "x".repeat(60);
        Page::new(Some(1)).write_fact(&mut text, "note", &format!("one two {long} three")).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), format!("note: one two\n  {long}\n  three\n"));
    }
}
