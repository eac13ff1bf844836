//! `perf lock contention`: tables by caller, task (`-t`), address (`-l`) and cgroup (`-g`), with stacks
//! (`-v`) or not, and the separated form (`-x`).

mod by_hand;
mod duration;
mod footer;
mod row;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

use super::{ImportError, Imported, Line, Source, shortened};
pub(super) use by_hand::by_hand;
pub(super) use duration::{Figures, Printed, unit_ns};
use footer::Surroundings;
use row::{Head, Row, word};

/// All that was read so far.
#[derive(Default)]
struct Reading {
    imported: Imported,
    head: Option<Head>,
    tables: u64,
    surroundings: Surroundings,
    /// Whether a stack line may follow.
    after_row: bool,
    /// Rows of each caller of this table that were printed without a stack.
    callers: BTreeMap<String, u64>,
    /// The first row that could not be read.
    damaged: Option<(usize, String)>,
}

/// Reads the tables.
pub(super) fn import(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    let mut reading = Reading::default();
    let mut lines = source.lines.iter().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().map(|next| next.text.trim()).unwrap_or_default();
        if reading.take(*line, next) {
            lines.next();
        }
    }
    reading.end_table();
    reading.head.as_ref()?;
    let Reading { imported, damaged, .. } = reading;
    Some(match damaged {
        Some((number, message)) if imported.rows.is_empty() => {
            Err(source.damaged(Line { number, text: "" }, message))
        }
        _ => Ok(imported),
    })
}

impl Reading {
    /// Takes `line`; true if `next` was taken as well.
    fn take(&mut self, line: Line<'_>, next: &str) -> bool {
        let text = line.text.trim();
        let may_be_stack = std::mem::take(&mut self.after_row);
        if let Some(head) = Head::read(text) {
            self.end_table();
            if self.head.is_none() {
                head.format().clone_into(&mut self.imported.format);
            }
            self.head = Some(head);
            self.tables += 1;
        } else if text.is_empty() {
        } else if let Some(debug) = text.strip_prefix("# debug:") {
            self.surroundings.take_csv(line, debug, &mut self.imported);
        } else if self.surroundings.take(line, &mut self.imported) {
        } else if let (true, Some(frame)) = (may_be_stack, frame(text)) {
            self.push_frame(frame);
        } else {
            return self.take_row(line, text, next);
        }
        false
    }

    fn take_row(&mut self, line: Line<'_>, text: &str, next: &str) -> bool {
        let Some(head) = &self.head else { return false };
        if text.starts_with('#') || !text.starts_with(|c: char| c.is_ascii_digit()) {
            return false;
        }
        let read = match &head.separator {
            Some(separator) => Row::read_separated(head, separator, text),
            None => Row::read_aligned(head, text),
        };
        // A mail client may have put the caller on a line of its own.
        let wrapped = head.separator.is_none()
            && head.has("caller")
            && read.is_err()
            && next.contains("+0x")
            && !next.contains(char::is_whitespace);
        let (read, joined) = match read {
            Err(message) if wrapped => match Row::read_aligned(head, &format!("{text} {next}")) {
                Ok(row) => (Ok(row), true),
                Err(_) => (Err(message), false),
            },
            read => (read, false),
        };
        match read {
            Ok(row) => self.push_row(line, row),
            Err(message) => {
                let second = text.split_whitespace().nth(1).unwrap_or("0");
                if second.starts_with(|c: char| c.is_ascii_digit()) {
                    self.imported
                        .warnings
                        .push(format!("line {}: {message}; the row is left out", line.number));
                    self.damaged.get_or_insert((line.number, message));
                }
            }
        }
        joined
    }

    fn push_row(&mut self, line: Line<'_>, row: Row) {
        let Row { mut fields, figures } = row;
        let name = ["caller", "symbol", "comm", "owner", "cgroup"];
        let name = name.iter().find_map(|key| fields.get(*key)).and_then(Value::as_str).unwrap_or_default();
        self.imported.warnings.extend(figures.doubts(line.number, name));
        if fields.contains_key("caller") && !fields.contains_key("stack") {
            *self.callers.entry(name.to_owned()).or_default() += 1;
        }
        fields.insert("table".to_owned(), Value::from(self.tables.saturating_sub(1)));
        if let Some(heading) = &self.surroundings.heading {
            fields.insert("heading".to_owned(), Value::from(heading.as_str()));
        }
        self.imported.rows.push(fields);
        self.after_row = true;
    }

    fn push_frame(&mut self, frame: &str) {
        if let Some(row) = self.imported.rows.last_mut() {
            if let Some(Value::Array(stack)) = row.get_mut("stack") {
                stack.push(Value::from(frame));
            } else {
                row.insert("stack".to_owned(), Value::from(vec![frame]));
                if let Some(rows) =
                    row.get("caller").and_then(Value::as_str).and_then(|caller| self.callers.get_mut(caller))
                {
                    *rows -= 1;
                }
            }
        }
        if self.imported.format == "perf-lock-contention" {
            "perf-lock-contention-stacks".clone_into(&mut self.imported.format);
        }
        self.after_row = true;
    }

    /// Says which callers are on several rows.
    fn end_table(&mut self) {
        let callers = std::mem::take(&mut self.callers);
        for (caller, rows) in callers.iter().filter(|(_, rows)| **rows > 1).take(10) {
            self.imported.warnings.push(format!(
                "table {}: {} is on {rows} rows, of different stacks; they are not merged",
                self.tables.saturating_sub(1),
                shortened(caller)
            ));
        }
    }
}

/// The symbol of `0xffffffff903f60a3  native_queued_spin_lock_slowpath+0x1f3`.
fn frame(text: &str) -> Option<&str> {
    let mut rest = text;
    let address = word(&mut rest)?.strip_prefix("0x")?;
    let hex = !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit());
    let symbol = rest.trim();
    hex.then_some(if symbol.is_empty() { text } else { symbol })
}
