//! Reads line by line.

mod maps;
mod others;

use std::{
    collections::{HashMap, HashSet},
    mem,
};

use super::{
    super::{ImportError, Imported, Line, Source, Unit, shortened},
    draft::{Draft, DraftRow},
    events,
    name::{self, MapLine, parse_map_line},
    row::{self, Bar, Parsed},
    summary,
};

/// The map whose lines are read.
#[derive(Default)]
struct Open<'a> {
    line: usize,
    map: String,
    key: Option<String>,
    /// Frames below it, or in its key.
    frames: Vec<String>,
    draft: Draft<'a>,
    /// A line after its first row that is none of its.
    foreign: Option<usize>,
}

/// A line of prose.
#[derive(Default)]
enum Prose {
    #[default]
    None,
    Plain,
    Heading(String),
}

/// What stood before a map and goes with it.
#[derive(Default)]
struct Context {
    heading: Option<String>,
    /// The last line of prose since the last map.
    prose: Prose,
    time: Option<String>,
    elapsed_s: Option<f64>,
    /// Names printed since the elapsed time: it holds for the first print of each.
    printed: HashSet<String>,
    unit: Option<Unit>,
}

/// State of a reading.
pub(super) struct Reader<'s, 'a> {
    source: &'s Source<'a>,
    open: Option<Open<'a>>,
    context: Context,
    /// The beginning of a row that the next line may complete.
    piece: Option<(Line<'a>, String)>,
    /// Times an event or message was repeated, for one warning each.
    troubles: HashMap<String, usize>,
    imported: Imported,
}

impl<'s, 'a> Reader<'s, 'a> {
    pub(super) fn new(source: &'s Source<'a>) -> Self {
        Self {
            source,
            open: None,
            context: Context::default(),
            piece: None,
            troubles: HashMap::new(),
            imported: Imported::default(),
        }
    }

    /// Everything in the text.
    pub(super) fn read(mut self) -> Result<Imported, ImportError> {
        let mut at = 0;
        while let Some(&line) = self.source.lines.get(at) {
            at += self.line(line, at)?;
        }
        self.drop_piece();
        self.close()?;
        let troubles = mem::take(&mut self.troubles);
        summary::conclude(self.source, self.imported, troubles)
    }

    /// Reads the line at `at`; gives the number of lines used.
    fn line(&mut self, line: Line<'a>, at: usize) -> Result<usize, ImportError> {
        let text = line.text.trim();
        if text.is_empty() {
            return Ok(1);
        }
        if let Some((first, piece)) = &self.piece
            && let Some(joined) = row::joined(piece, text)
        {
            let first = *first;
            match row::parse(&joined) {
                Parsed::Row(row, rest) => {
                    self.piece = None;
                    self.row(first, row)?;
                    self.all_rows(line, rest)?;
                    return Ok(1);
                }
                Parsed::Piece => {
                    self.piece = Some((first, joined));
                    return Ok(1);
                }
                Parsed::Bad(message) => return Err(self.source.damaged(first, message)),
                Parsed::Other => {}
            }
        }
        self.drop_piece();
        if text.starts_with('|') || row::is_bar(text) {
            let (bar, rest) = row::parse_bar(text);
            self.bar(bar);
            self.all_rows(line, rest)?;
            return Ok(1);
        }
        let rest = match events::split_time(text) {
            Some((time, rest)) => {
                self.context.time = Some(time.to_owned());
                rest
            }
            None => text,
        };
        if rest.is_empty() {
            return Ok(1);
        }
        if let Some(map) = parse_map_line(rest) {
            self.map(line, map)?;
            return Ok(1);
        }
        if name::opens_key(rest)
            && let Some((used, key, frames, after)) = self.long_key(rest, at)
        {
            let map = rest.split_once('[').map_or(rest, |(map, _)| map);
            self.map(line, MapLine { map, key: Some(&key), rest: after })?;
            if let Some(open) = &mut self.open {
                open.frames = frames;
            } else if let Some(row) = self.imported.rows.last_mut() {
                row.insert("frames".to_owned(), frames.into());
            }
            return Ok(used);
        }
        if self.rows(line, rest)? {
            return Ok(1);
        }
        if let Some(used) = self.event(rest, text, at) {
            return Ok(used);
        }
        if self.without_at(line, rest, at)? || self.late_value(line, rest)? || self.frame(line) {
            return Ok(1);
        }
        self.prose(line, rest)?;
        Ok(1)
    }

    /// What might have become a row is none.
    fn drop_piece(&mut self) {
        if let Some((line, _)) = self.piece.take()
            && self.open.is_some()
        {
            self.imported.warnings.push(format!("line {}: begins like a row and is none", line.number));
        }
    }

    /// The rows `text` consists of, if it is not empty.
    fn all_rows(&mut self, line: Line<'a>, text: &str) -> Result<(), ImportError> {
        if !text.is_empty() && !self.rows(line, text)? {
            self.not_understood(line, text);
        }
        Ok(())
    }

    fn not_understood(&mut self, line: Line<'a>, text: &str) {
        let text = shortened(text);
        self.imported.warnings.push(format!("line {}: `{text}` after a row is not understood", line.number));
    }

    /// The rows `text` consists of, `false` if there is none; what follows them is a doubt.
    fn rows(&mut self, line: Line<'a>, text: &str) -> Result<bool, ImportError> {
        let mut rest = text;
        let mut any = false;
        loop {
            match row::parse(rest) {
                Parsed::Row(row, after) => {
                    self.row(line, row)?;
                    rest = after;
                    any = true;
                }
                Parsed::Piece => {
                    self.piece = Some((line, rest.to_owned()));
                    return Ok(true);
                }
                Parsed::Bad(message) => return Err(self.source.damaged(line, message)),
                Parsed::Other => break,
            }
        }
        if any && !rest.is_empty() {
            self.not_understood(line, rest);
        }
        Ok(any)
    }

    fn row(&mut self, line: Line<'a>, row: row::Row) -> Result<(), ImportError> {
        if self.open.is_none() {
            self.imported
                .warnings
                .push(format!("line {}: a row without the name of a map before it", line.number));
            self.start(line, MapLine { map: "@", key: None, rest: "" })?;
        }
        if let Some(open) = &mut self.open {
            if let Some(foreign) = open.foreign.take().filter(|_| !open.draft.rows.is_empty()) {
                let warning = format!(
                    "line {foreign}: not understood, between rows of {}",
                    shortened(&open.draft.name)
                );
                self.imported.warnings.push(warning);
            }
            open.draft.rows.push(DraftRow { line, bucket: row.bucket, bar: Some(row.bar) });
        }
        Ok(())
    }

    /// More of the bar of the last row.
    fn bar(&mut self, more: Bar) {
        let bar = self.open.as_mut().and_then(|open| open.draft.rows.last_mut()?.bar.as_mut());
        if let Some(bar) = bar
            && bar.ends < 2
        {
            bar.length += more.length;
            bar.ends += more.ends;
        }
    }
}
