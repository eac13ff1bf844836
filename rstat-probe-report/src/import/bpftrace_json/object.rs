//! One object of bpftrace's output.

use serde_json::{Map, Value};

use super::{
    super::{
        ImportError, ImportedBucket, Line,
        bpftrace::{
            draft::{Draft, DraftRow},
            events::parse_elapsed,
            name::unit_of_map,
        },
    },
    Reader,
    json::Json,
};

/// Characters of the name of a map, without its keys: all of these have it. bpftrace's own
/// limit is lower.
const LONGEST_NAME: usize = 256;

impl<'a> Reader<'_, 'a> {
    /// One line of bpftrace's.
    pub(super) fn object(&mut self, line: Line<'a>, value: Json) -> Result<(), ImportError> {
        let Json::Object(fields) = value else {
            return Ok(());
        };
        let mut kind = None;
        let mut data = None;
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("type", Json::Text(text)) => kind = Some(text),
                ("data", value) => data = Some(value),
                ("msg", Json::Text(text)) => {
                    self.imported.warnings.push(format!(
                        "line {}: bpftrace says: {}",
                        line.number,
                        text.trim()
                    ));
                }
                _ => {}
            }
        }
        let (Some(kind), Some(data)) = (kind, data) else {
            return Ok(());
        };
        match (kind.as_str(), data) {
            ("hist" | "map" | "stats" | "tseries", Json::Object(maps))
                if maps.iter().any(|(map, _)| map.len() > LONGEST_NAME) =>
            {
                Err(self.source.damaged(line, format!("a map has a name of more than {LONGEST_NAME} bytes")))
            }
            ("hist", Json::Object(maps)) => self.histograms(line, maps),
            ("hist", _) => Err(self.source.damaged(line, "the data of a histogram are no map")),
            ("map" | "stats" | "tseries", Json::Object(maps)) => {
                self.maps(maps);
                Ok(())
            }
            ("lost_events", data) => {
                let count = data.get("events").and_then(Json::integer);
                let count = count.map_or_else(|| "some".to_owned(), |count| count.to_string());
                self.imported.warnings.push(format!("line {}: bpftrace lost {count} events", line.number));
                Ok(())
            }
            ("time", Json::Text(text)) => {
                // Each map below gets it, so it must not be long.
                self.time = Some(text.trim().chars().take(LONGEST_NAME).collect());
                Ok(())
            }
            ("printf", Json::Text(text)) => {
                if let Some((elapsed, _)) = parse_elapsed(&text) {
                    self.elapsed_s = Some(elapsed);
                } else {
                    self.row([("printf", text.trim_end().into())]);
                }
                Ok(())
            }
            ("value", data) => {
                self.row([("value", data.into_value())]);
                Ok(())
            }
            ("attached_probes", _) => Ok(()),
            (kind, _) => {
                let warning = format!("line {}: data of type {kind:?} are left out", line.number);
                self.imported.warnings.push(warning);
                Ok(())
            }
        }
    }

    fn row<const N: usize>(&mut self, fields: [(&str, Value); N]) {
        let mut row: Map<String, Value> = Map::new();
        if let Some(time) = &self.time {
            row.insert("time".to_owned(), time.as_str().into());
        }
        row.extend(fields.into_iter().map(|(key, value)| (key.to_owned(), value)));
        self.imported.rows.push(row);
    }

    /// Values of maps that are no histograms.
    fn maps(&mut self, maps: Vec<(String, Json)>) {
        for (map, value) in maps {
            match value {
                Json::Object(keys) => {
                    for (key, value) in keys {
                        let fields = [
                            ("map", map.as_str().into()),
                            ("key", key.into()),
                            ("value", value.into_value()),
                        ];
                        self.row(fields);
                    }
                }
                value => {
                    self.row([("map", map.into()), ("key", Value::Null), ("value", value.into_value())]);
                }
            }
        }
    }

    fn histograms(&mut self, line: Line<'a>, maps: Vec<(String, Json)>) -> Result<(), ImportError> {
        for (map, value) in maps {
            match value {
                Json::Array(buckets) => self.histogram(line, &map, map.clone(), &buckets)?,
                Json::Object(keys) => {
                    for (key, value) in keys {
                        let Json::Array(buckets) = value else {
                            return Err(self.source.damaged(line, format!("{map}[{key}] has no buckets")));
                        };
                        self.histogram(line, &map, format!("{map}[{key}]"), &buckets)?;
                    }
                }
                _ => return Err(self.source.damaged(line, format!("{map} has no buckets"))),
            }
        }
        Ok(())
    }

    fn histogram(
        &mut self,
        line: Line<'a>,
        map: &str,
        name: String,
        buckets: &[Json],
    ) -> Result<(), ImportError> {
        if buckets.is_empty() {
            self.imported.warnings.push(format!("line {}: {name} is empty", line.number));
            return Ok(());
        }
        let mut rows = Vec::with_capacity(buckets.len());
        for bucket in buckets {
            let Some(bucket) = parse_bucket(bucket) else {
                let message = format!("a bucket of {name} is not min, max and a count below 2^64");
                return Err(self.source.damaged(line, message));
            };
            rows.push(DraftRow { line, bucket, bar: None });
        }
        let draft = Draft {
            unit: unit_of_map(map),
            name,
            time: self.time.clone(),
            elapsed_s: self.elapsed_s,
            rows,
            ..Draft::default()
        };
        let histogram = draft.finish(self.source, &mut self.imported.warnings)?;
        self.imported.histograms.push(histogram);
        Ok(())
    }
}

/// `{"min": 2, "max": 3, "count": 1}`, closed at both ends; one of them may be missing.
fn parse_bucket(bucket: &Json) -> Option<ImportedBucket> {
    let edge = |key, more: i128| match bucket.get(key) {
        None => Some(None),
        Some(value) => Some(Some(value.integer()?.checked_add(more)? as f64)),
    };
    let (low, high) = (edge("min", 0)?, edge("max", 1)?);
    let count = bucket.get("count")?.integer()?.try_into().ok()?;
    (low.is_some() || high.is_some()).then_some(ImportedBucket { low, high, count })
}
