//! Comparisons as text for a terminal or a mail, as markdown and as JSON. What is said is in
//! `cells` and `facts`, once for all of them.

mod cells;
mod facts;
mod histogram;
mod markdown;
#[cfg(test)]
mod tests;
mod text;

use std::io::{self, Write};

pub use markdown::write_markdown;
pub use text::write_text;

use crate::compare::Comparison;

/// Columns of a report: what mails and their quotes leave.
pub const WIDTH: usize = 72;

/// Writes the comparison as one JSON object. Numbers that are not finite are null.
///
/// # Errors
/// Those of the writer.
pub fn write_json(w: &mut impl Write, comparison: &Comparison) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *w, comparison)?;
    writeln!(w)
}
