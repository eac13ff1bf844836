//! Files of ftrace `hist` triggers: `{ pid: 1, lat: ~ 2^4 } hitcount: 7`. Rows that differ in their
//! other keys share a bucket.

mod section;

use serde_json::{Map, Value, json};

use self::section::Section;
use super::{ImportError, Imported, Line, Source};

/// An entry whose `}` or hits have not come yet.
#[derive(Debug)]
struct Open<'a> {
    line: Line<'a>,
    text: String,
}

/// Reads the histograms, `None` if there are none.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    let ours = source.lines.iter().any(|line| {
        let text = line.trimmed();
        comment(text).is_some_and(|text| text == "event histogram" || text.starts_with("trigger info: hist:"))
            || (text.starts_with('{') && text.contains("} hitcount:"))
    });
    ours.then(|| read(source))
}

/// The text of a `#` line.
fn comment(text: &str) -> Option<&str> {
    text.strip_prefix('#').map(str::trim)
}

fn read(source: &Source<'_>) -> Result<Imported, ImportError> {
    let mut sections: Vec<Section> = Vec::new();
    let mut open: Option<Open<'_>> = None;
    let mut warnings = Vec::new();
    let mut synthetic = false;
    for line in &source.lines {
        let text = line.trimmed();
        synthetic |= text.contains("/events/synthetic/");
        if let Some(Open { line, .. }) = open.take_if(|_| text.starts_with(['{', '#']) || text == "Totals:") {
            warnings.push(format!("line {}: the entry has no end; it is left out", line.number));
        }
        if let Some(entry) = &mut open {
            entry.text.push('\n');
            entry.text.push_str(text);
        } else if let Some(text) = comment(text) {
            if let Some(trigger) = text.strip_prefix("trigger info:") {
                sections.push(Section::new(trigger.trim(), line.number));
            }
            continue;
        } else if text.starts_with('{') {
            open = Some(Open { line: *line, text: text.to_owned() });
        } else {
            if let Some(section) = sections.last_mut() {
                total(source, *line, text, &mut section.totals)?;
            }
            continue;
        }
        if let Some(entry) = open.take_if(|_| closes(text)) {
            if sections.is_empty() {
                sections.push(Section::headless(entry.line.number));
            }
            if let Some(section) = sections.last_mut() {
                section.entry(&entry).map_err(|what| source.damaged(entry.line, what))?;
            }
        }
    }
    if let Some(entry) = open {
        warnings.push(format!("line {}: the entry has no end; it is left out", entry.line.number));
    }
    finish(source, sections, warnings, synthetic)
}

/// Whether `text` ends an entry: `hitcount:` with a number.
fn closes(text: &str) -> bool {
    text.rsplit_once("hitcount:").is_some_and(|(_, hits)| !hits.trim().is_empty())
}

/// `Hits: 2122` below `Totals:`.
fn total(
    source: &Source<'_>,
    line: Line<'_>,
    text: &str,
    totals: &mut Map<String, Value>,
) -> Result<(), ImportError> {
    let Some((key @ ("Hits" | "Entries" | "Dropped"), value)) = text.split_once(':') else { return Ok(()) };
    let value: u64 = value
        .trim()
        .parse()
        .map_err(|_| source.damaged(line, format!("{key} `{}` is not a whole number", value.trim())))?;
    totals.insert(key.to_owned(), json!(value));
    Ok(())
}

fn finish(
    source: &Source<'_>,
    sections: Vec<Section>,
    warnings: Vec<String>,
    synthetic: bool,
) -> Result<Imported, ImportError> {
    let mut imported = Imported { format: "tracefs-hist".to_owned(), warnings, ..Imported::default() };
    let single = sections.len() == 1;
    for section in sections {
        section.check(&mut imported.warnings);
        if !section.buckets.is_empty() {
            let mut histogram = section.histogram(source, "all keys".to_owned())?;
            histogram.heading = section.trigger.clone().filter(|_| !single);
            histogram.unit = section.unit(synthetic, &mut imported.warnings);
            imported.histograms.push(histogram);
        }
        if single {
            imported.scalars = section.totals;
        }
        imported.rows.extend(section.rows);
    }
    if imported.rows.is_empty() {
        let line = source.lines.iter().find(|line| line.trimmed().starts_with('#'));
        let line = line.copied().unwrap_or(Line { number: 1, text: "" });
        return Err(source.damaged(line, "a hist trigger file without entries"));
    }
    Ok(imported)
}

#[cfg(test)]
mod tests {
    use super::super::{corpus, import};

    #[test]
    fn the_samples_give_their_right_values() {
        assert_eq!(corpus::imported("47").warnings, Vec::<String>::new());
    }

    #[test]
    fn damage_is_an_error_or_a_warning() {
        let read = |text: &str| import(text, "x");
        let head = "# event histogram\r\n# trigger info: hist:keys=lat.log2:vals=hitcount:sort=lat.log2\r\n";
        let entry = "{ lat: ~ 2^2 } hitcount: 18446744073709551615\r\n";
        let imported = read(&format!("{head}{entry}")).unwrap();
        assert_eq!(imported.histograms[0].total(), Some(u64::MAX));
        assert_eq!(imported.warnings, ["line 2: no totals: the file may be cut"]);
        assert_eq!(
            read(&format!("{head}{entry}{entry}")).unwrap_err().to_string(),
            "x:4: the hits of a bucket add up to more than 2^64 - 1"
        );
        assert_eq!(read(head).unwrap_err().to_string(), "x:1: a hist trigger file without entries");
        let cut = read(&format!("{head}{{ lat: ~ 2^2 }} hitcount: 1\n{{ lat: ~ 2^3 ")).unwrap();
        assert_eq!(cut.warnings[0], "line 4: the entry has no end; it is left out");
        assert_eq!(
            read(&format!("{head}{{ lat: ~ 2^99 }} hitcount: 1\n")).unwrap_err().to_string(),
            "x:3: `~ 2^99` is not a bucket"
        );
    }
}
