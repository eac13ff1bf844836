//! A comparison as markdown, for issues and pull requests.

use std::io::{self, Write};

use super::{cells, facts, histogram};
use crate::compare::Comparison;

/// Writes the whole report: tables of the figures, histograms as code.
///
/// # Errors
/// Those of the writer.
pub fn write_markdown(w: &mut impl Write, comparison: &Comparison) -> io::Result<()> {
    for (label, text) in facts::head(comparison) {
        writeln!(w, "- **{label}**: {}", inline(&text))?;
    }
    for measure in &comparison.measures {
        let title = measure.title.as_deref().map_or_else(String::new, |title| format!(": {title}"));
        writeln!(w, "\n### {}{title}\n", inline(&crate::render::text::escaped(&measure.name)))?;
        if !measure.figures.is_empty() {
            writeln!(w, "| | {} |", cells::heads(&comparison.options).join(" | "))?;
            writeln!(w, "|:---|---:|---:|---:|---:|")?;
            for row in cells::rows(measure) {
                writeln!(w, "| {} |", row.map(|cell| inline(&cell)).join(" | "))?;
            }
            writeln!(w)?;
            let lines = histogram::lines(measure);
            if !lines.is_empty() {
                writeln!(w, "```\n{}\n```\n", lines.join("\n"))?;
            }
        }
        for (label, text) in facts::below(measure, comparison.measures.len() == 1) {
            writeln!(w, "- **{label}**: {}", inline(&text))?;
        }
    }
    writeln!(w, "\n{}", inline(&facts::legend(comparison)))
}

/// Text in which nothing is markup.
fn inline(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => plain.push_str("&amp;"),
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                plain.push('\\');
                plain.push(character);
            }
            _ => plain.push(character),
        }
    }
    plain
}
