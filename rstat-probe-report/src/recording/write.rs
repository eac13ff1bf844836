//! Writing a recording: JSON with one line for each field of the outer two levels, so that an
//! interval is one line and `diff` and `grep` are of use.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use super::Recording;

impl Recording {
    /// Writes the recording as JSON. The same recording always gives the same bytes.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, mut writer: impl Write) -> io::Result<()> {
        write_json(self, &mut writer)
    }
}

/// Writes `value` as JSON in the layout of recordings, with a newline at the end.
pub(crate) fn write_json(value: &impl Serialize, writer: &mut impl Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *writer, Layout::default());
    value.serialize(&mut serializer)?;
    writer.write_all(b"\n")
}

/// Deepest level whose members have a line each.
const LINES: usize = 2;

/// One line for each member down to level [`LINES`], everything deeper in one line.
#[derive(Default)]
struct Layout {
    level: usize,
    /// The object or array that is about to end had members: `{}` needs no line.
    occupied: bool,
}

impl Layout {
    fn begin<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level += 1;
        self.occupied = false;
        writer.write_all(bracket)
    }

    fn member<W: ?Sized + Write>(&self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        if self.level <= LINES { self.line(writer) } else { Ok(()) }
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level -= 1;
        if self.occupied && self.level < LINES {
            self.line(writer)?;
        }
        writer.write_all(bracket)
    }

    fn line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.level).try_for_each(|_| writer.write_all(b" "))
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.member(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.occupied = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.member(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(if self.level <= LINES { b": " } else { b":" })
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.occupied = true;
        Ok(())
    }
}
