//! Heads and rows of the tables of `perf lock contention`.

use serde_json::{Map, Value};

use super::super::shortened;
use super::duration::{Figures, Printed, unit_ns};

/// One column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Contended,
    Total,
    Max,
    Min,
    Average,
    /// What the row is about, the names that perf gives these.
    Key(&'static str),
}

impl Column {
    const NUMBERS: &[(&str, Self)] = &[
        ("contended", Self::Contended),
        ("total wait", Self::Total),
        ("max wait", Self::Max),
        ("min wait", Self::Min),
        ("avg wait", Self::Average),
    ];
    const KEYS: &[&str] =
        &["type", "caller", "stacktrace", "pid", "comm", "owner", "address", "symbol", "cgroup"];

    fn from_name(name: &str) -> Option<Self> {
        let number = Self::NUMBERS.iter().find(|(known, _)| *known == name).map(|(_, column)| *column);
        number.or_else(|| Self::KEYS.iter().find(|key| **key == name).map(|key| Self::Key(key)))
    }

    fn key(self) -> &'static str {
        match self {
            Self::Contended => "contended",
            Self::Total => "total_wait_ns",
            Self::Max => "max_wait_ns",
            Self::Min => "min_wait_ns",
            Self::Average => "avg_wait_ns",
            Self::Key("stacktrace") => "stack",
            Self::Key(key) => key,
        }
    }
}

/// The head of a table.
#[derive(Clone, Debug)]
pub(super) struct Head {
    columns: Vec<Column>,
    /// What is between two fields, in the separated form.
    pub(super) separator: Option<String>,
}

impl Head {
    /// `contended   total wait     max wait     avg wait         type   caller`, or `# output: ...`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(separated) = text.strip_prefix("# output:") {
            return Self::read_separated(separated.trim_start());
        }
        let mut columns = Vec::new();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let column = match word {
                "total" | "max" | "min" | "avg" if words.next() == Some("wait") => {
                    Column::from_name(&format!("{word} wait"))?
                }
                _ => Column::from_name(word)?,
            };
            columns.push(column);
        }
        let numbers = columns.iter().take_while(|column| !matches!(column, Column::Key(_))).count();
        let keys = columns.get(numbers..)?;
        let known = matches!(
            keys,
            [Column::Key("type"), Column::Key("caller")]
                | [Column::Key("pid"), Column::Key("comm" | "owner")]
                | [Column::Key("address"), Column::Key("symbol")]
                | [Column::Key("cgroup")]
        );
        (numbers > 0 && known).then_some(Self { columns, separator: None })
    }

    fn read_separated(text: &str) -> Option<Self> {
        let (first, _) = Column::NUMBERS.iter().find(|(name, _)| text.starts_with(name))?;
        let rest = text.strip_prefix(first)?;
        // The separator and one blank; two blanks if it is a blank itself.
        let separator = match rest.find(' ')? {
            0 => "  ".to_owned(),
            end => rest.get(..end)?.to_owned(),
        };
        let columns: Option<Vec<Column>> =
            text.split(separator.as_str()).map(|name| Column::from_name(name.trim())).collect();
        let columns = columns?;
        columns
            .iter()
            .any(|column| matches!(column, Column::Key(_)))
            .then_some(Self { columns, separator: Some(separator) })
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.columns.iter().any(|column| *column == Column::Key(key_name(key)))
    }

    pub(super) fn format(&self) -> &'static str {
        if self.separator.is_some() {
            "perf-lock-contention-csv"
        } else if self.has("address") {
            "perf-lock-contention-addr"
        } else if self.has("pid") {
            "perf-lock-contention-task"
        } else if self.has("cgroup") {
            "perf-lock-contention-cgroup"
        } else {
            "perf-lock-contention"
        }
    }
}

/// The static spelling of `key`.
fn key_name(key: &str) -> &'static str {
    Column::KEYS.iter().copied().find(|known| *known == key).unwrap_or("")
}

/// A row under way: its fields and the figures to check.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) fields: Map<String, Value>,
    pub(super) figures: Figures,
}

impl Row {
    fn count(&mut self, text: &str) -> Result<(), String> {
        let count = text.parse().map_err(|_| format!("{} is not a count", shortened(text)))?;
        self.figures.count = Some(count);
        self.fields.insert(Column::Contended.key().to_owned(), Value::from(count));
        Ok(())
    }

    fn time(&mut self, column: Column, time: Printed) {
        match column {
            Column::Total => self.figures.total = Some(time),
            Column::Max => self.figures.max = Some(time),
            Column::Average => self.figures.average = Some(time),
            _ => {}
        }
        self.fields.insert(column.key().to_owned(), Value::from(time.ns));
    }

    fn text(&mut self, key: &str, text: &str) -> Result<(), String> {
        let value = match key {
            "pid" => {
                Value::from(text.parse::<i64>().map_err(|_| format!("{} is not a pid", shortened(text)))?)
            }
            "stack" => text.split(':').filter(|frame| !frame.is_empty()).collect(),
            _ => Value::from(text),
        };
        self.fields.insert(key.to_owned(), value);
        Ok(())
    }

    /// Of a table of aligned columns.
    pub(super) fn read_aligned(head: &Head, text: &str) -> Result<Self, String> {
        let mut row = Self::default();
        let mut rest = text;
        for column in &head.columns {
            match column {
                Column::Contended => row.count(word(&mut rest).unwrap_or_default())?,
                Column::Key(_) => break,
                time => {
                    let (number, unit) =
                        (word(&mut rest).unwrap_or_default(), word(&mut rest).unwrap_or_default());
                    let unit =
                        unit_ns(unit).ok_or_else(|| format!("{} is not a unit of time", shortened(unit)))?;
                    row.time(*time, Printed::new(number, unit)?);
                }
            }
        }
        let rest = rest.trim();
        if head.has("cgroup") {
            row.text("cgroup", rest)?;
        } else {
            let mut last = rest;
            let first = word(&mut last).ok_or("the row is cut off")?;
            let last = last.trim();
            if head.has("address") {
                let (symbol, kind) = last.rsplit_once('(').ok_or("no type of lock at the end of the row")?;
                let kind = kind.strip_suffix(')').ok_or("the row is cut off")?;
                row.text("address", first)?;
                row.text("symbol", symbol.trim())?;
                row.text("type", kind)?;
            } else if head.has("pid") {
                row.text("pid", first)?;
                row.text(if head.has("owner") { "owner" } else { "comm" }, last)?;
            } else if last.is_empty() {
                return Err("no caller at the end of the row".to_owned());
            } else {
                row.text("type", first)?;
                row.text("caller", last)?;
            }
        }
        Ok(row)
    }

    /// Of the separated form, times in ns.
    pub(super) fn read_separated(head: &Head, separator: &str, text: &str) -> Result<Self, String> {
        let mut row = Self::default();
        let mut fields = text.splitn(head.columns.len(), separator).map(str::trim);
        for column in &head.columns {
            let field = fields.next().ok_or("the row has too few fields")?;
            match column {
                Column::Contended => row.count(field)?,
                Column::Key(_) => row.text(column.key(), field)?,
                time => row.time(*time, Printed::new(field, 1)?),
            }
        }
        Ok(row)
    }
}

/// Takes the first word off `rest`.
pub(super) fn word<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let text = rest.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, tail) = text.split_at_checked(end)?;
    *rest = tail;
    (!word.is_empty()).then_some(word)
}
