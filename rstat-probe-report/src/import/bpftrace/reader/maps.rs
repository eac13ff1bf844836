//! Maps: where one begins, what stood before it, and what becomes of it when it ends.

use std::mem;

use super::{
    super::{
        super::{ImportError, Line},
        draft::Draft,
        name::{self, MapLine},
        summary,
    },
    Open, Prose, Reader,
};

impl<'a> Reader<'_, 'a> {
    /// A map's first line.
    pub(super) fn map(&mut self, line: Line<'a>, map: MapLine<'_>) -> Result<(), ImportError> {
        self.start(line, map)?;
        if map.rest.is_empty() || self.rows(line, map.rest)? {
            return Ok(());
        }
        if map.rest.starts_with(['[', '(']) && map.rest.contains('|') {
            return Err(self.source.damaged(line, "not a row of a histogram"));
        }
        self.value(map.rest);
        Ok(())
    }

    /// Opens a map; what stood before it goes with it.
    pub(super) fn start(&mut self, line: Line<'a>, map: MapLine<'_>) -> Result<(), ImportError> {
        self.close()?;
        match mem::take(&mut self.context.prose) {
            Prose::None => {}
            Prose::Plain => self.context.heading = None,
            Prose::Heading(heading) => self.context.heading = Some(heading),
        }
        let name = match map.key {
            Some(key) => format!("{}[{key}]", map.map),
            None => map.map.to_owned(),
        };
        let first = self.context.printed.insert(name.clone());
        let unit = name::unit_of_map(map.map).or(self.context.unit);
        self.open = Some(Open {
            line: line.number,
            map: map.map.to_owned(),
            key: map.key.map(str::to_owned),
            draft: Draft {
                name,
                unit,
                heading: self.context.heading.clone(),
                time: self.context.time.clone(),
                elapsed_s: self.context.elapsed_s.filter(|_| first),
                rows: Vec::new(),
            },
            ..Open::default()
        });
        Ok(())
    }

    /// The open map becomes a row with a value.
    pub(super) fn value(&mut self, text: &str) {
        if let Some(open) = self.open.take() {
            let mut row = summary::map_row(&open.map, open.key.as_deref(), open.draft.time.as_deref());
            if !open.frames.is_empty() {
                row.insert("frames".to_owned(), open.frames.into());
            }
            summary::insert_value(&mut row, text);
            self.imported.rows.push(row);
        }
    }

    /// The open map is complete.
    pub(super) fn close(&mut self) -> Result<(), ImportError> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        if !open.draft.rows.is_empty() {
            let histogram = mem::take(&mut open.draft).finish(self.source, &mut self.imported.warnings)?;
            self.imported.histograms.push(histogram);
        } else if open.frames.is_empty() {
            self.imported.warnings.push(format!("line {}: {} is empty", open.line, open.draft.name));
        } else {
            let mut row = summary::map_row(&open.map, open.key.as_deref(), open.draft.time.as_deref());
            row.insert("frames".to_owned(), open.frames.into());
            self.imported.rows.push(row);
        }
        Ok(())
    }
}
