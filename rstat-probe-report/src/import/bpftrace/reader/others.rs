//! Lines that are neither the name of a map nor a row.

use serde_json::Value;

use super::{
    super::{
        super::{ImportError, Line},
        events,
        name::{self, MapLine},
        row::{self, Parsed},
        summary,
    },
    Prose, Reader,
};

/// Most lines of one key: a kernel and a user stack.
const LONGEST_KEY: usize = 300;

impl<'a> Reader<'_, 'a> {
    /// A key over several lines, which has a stack in it: lines used, the key, the frames and
    /// the text after it.
    pub(super) fn long_key(&self, first: &str, at: usize) -> Option<(usize, String, Vec<String>, &'a str)> {
        let mut frames = Vec::new();
        let mut parts = vec![first.split_once('[')?.1.trim().trim_end_matches(',').to_owned()];
        for (used, line) in self.source.lines.iter().skip(at + 1).take(LONGEST_KEY).enumerate() {
            let text = line.text.trim();
            if text.starts_with('@') {
                return None;
            }
            if let Some((last, rest)) = text.split_once("]:") {
                parts.push(last.trim_matches(|c: char| c == ',' || c.is_whitespace()).to_owned());
                parts.retain(|part| !part.is_empty());
                let key = if parts.is_empty() { frames.join(" ") } else { parts.join(", ") };
                return Some((used + 2, key, frames, rest.trim()));
            }
            let frame = text.trim_end_matches(',');
            if !frame.is_empty() {
                frames.push(frame.to_owned());
            }
        }
        None
    }

    /// A line of `printf`, or of bpftrace itself; gives the number of lines used.
    pub(super) fn event(&mut self, rest: &str, text: &str, at: usize) -> Option<usize> {
        if let Some((elapsed, interval)) = events::parse_elapsed(rest) {
            self.context.elapsed_s = Some(elapsed);
            self.context.printed.clear();
            self.scalar("elapsed_s", summary::plain_number(elapsed));
            if let Some(interval) = interval {
                self.scalar("interval_s", summary::plain_number(interval));
            }
            return Some(1);
        }
        if let Some((name, rates)) = events::parse_rates(rest) {
            self.scalar(name, rates.into());
            return Some(1);
        }
        if let Some(message) = events::parse_trouble(rest) {
            *self.troubles.entry(message).or_insert(0) += 1;
            return Some(1);
        }
        let next = self.source.lines.get(at + 1).map_or("", |line| line.text.trim());
        let wrapped = ["comm:", "CPU:", "on CPU:"].iter().any(|start| next.starts_with(start));
        let joined = wrapped.then(|| row::joined(rest, next)).flatten();
        let time = (rest.len() < text.len()).then(|| self.context.time.clone()).flatten();
        let whole = joined.as_deref().unwrap_or(rest);
        let (row, doubt) = events::parse_event(whole, time.as_deref())?;
        if let Some(doubt) = doubt {
            let number = self.source.lines.get(at).map_or(0, |line| line.number);
            self.imported.warnings.push(format!("line {number}: {doubt}"));
        }
        self.imported.rows.push(row);
        Some(if joined.is_some() { 2 } else { 1 })
    }

    pub(super) fn scalar(&mut self, name: &str, value: Value) {
        self.imported.scalars.insert(name.to_owned(), value);
    }

    /// `name[key]:` with its `@` lost: a map if frames or rows follow.
    pub(super) fn without_at(&mut self, line: Line<'a>, text: &str, at: usize) -> Result<bool, ImportError> {
        let Some((name, key)) = name::parse_without_at(text) else {
            return Ok(false);
        };
        let next = self.source.lines.get(at + 1).map_or("", |line| line.text);
        let follows = next.starts_with(char::is_whitespace) && !next.trim().is_empty();
        if !follows && !matches!(row::parse(next), Parsed::Row(..)) {
            return Ok(false);
        }
        let map = format!("@{name}");
        self.imported.warnings.push(format!("line {}: {name}[{key}] is taken for {map}[{key}]", line.number));
        self.start(line, MapLine { map: &map, key: Some(key), rest: "" })?;
        Ok(true)
    }

    /// An indented line below the name of a map: a frame of a stack.
    pub(super) fn frame(&mut self, line: Line<'a>) -> bool {
        let Some(open) =
            self.open.as_mut().filter(|open| open.draft.rows.is_empty() && open.foreign.is_none())
        else {
            return false;
        };
        let indented = line.text.starts_with(char::is_whitespace);
        if indented {
            open.frames.push(line.text.trim().to_owned());
        }
        indented
    }

    /// A value that was wrapped to the line below its map.
    pub(super) fn late_value(&mut self, line: Line<'a>, text: &str) -> Result<bool, ImportError> {
        let fresh = self.open.as_ref().is_some_and(|open| {
            open.draft.rows.is_empty() && open.frames.is_empty() && open.line + 1 == line.number
        });
        if fresh && summary::is_value(text) {
            self.value(text);
            return Ok(true);
        }
        // What looks like a row and is none must not vanish.
        let bar = text.contains("|@") || (text.ends_with('|') && text.contains(|c: char| c.is_ascii_digit()));
        if bar && (self.open.is_some() || text.starts_with(['[', '('])) {
            return Err(self.source.damaged(line, "not a row of a histogram"));
        }
        Ok(false)
    }

    /// Any other line: a heading, a unit, or nothing.
    pub(super) fn prose(&mut self, line: Line<'a>, text: &str) -> Result<(), ImportError> {
        let noise = text == "^C" || text.starts_with("Attaching ") || text.starts_with("Attached ");
        if noise {
            return Ok(());
        }
        let last = line.number >= self.source.lines.len();
        if (self.open.is_some() && text.starts_with(['[', '('])) || (last && text.starts_with('@')) {
            self.imported
                .warnings
                .push(format!("line {}: begins like a row or a map and is none", line.number));
        }
        if let Some(open) = &mut self.open {
            open.foreign.get_or_insert(line.number);
        }
        let heading = name::heading(text);
        if let Some(heading) = &heading {
            self.context.elapsed_s = None;
            self.context.time = None;
            // Rows below a new heading are not those of the map above it.
            if text.ends_with(':') && self.open.as_ref().is_some_and(|open| !open.draft.rows.is_empty()) {
                self.close()?;
            }
            if name::unit_of_prose(heading).is_some() {
                self.context.unit = name::unit_of_prose(heading);
            }
        }
        self.context.prose = heading.map_or(Prose::Plain, Prose::Heading);
        Ok(())
    }
}
