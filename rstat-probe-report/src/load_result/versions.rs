//! Reading of load results: the version of today, and the one before it, which knew stat readers only.

use serde::Deserialize;

use super::{
    ChargeResult, HogsResult, LatencySummary, LoadResult, SCHEMA, SCHEMA_1, SendfileResult, StatReaderResult,
};
use crate::recording::EndedBy;
use crate::render::text::escaped;

/// The fields of all versions.
#[derive(Debug, Deserialize)]
pub(super) struct AnyVersion {
    schema: String,
    kind: String,
    started: String,
    duration_ns: u64,
    cgroup_version: u8,
    cgroup: String,
    ended_by: EndedBy,
    stat_reader: Option<StatReaderResult>,
    hogs: Option<HogsResult>,
    sendfile: Option<SendfileResult>,
    charge: Option<ChargeResult>,
    // Of version 1.
    threads: Option<u32>,
    file: Option<String>,
    accesses: Option<u64>,
    accesses_per_second: Option<f64>,
    errors: Option<u64>,
    latency: Option<LatencySummary>,
    dirtied: Option<u64>,
}

impl TryFrom<AnyVersion> for LoadResult {
    type Error = String;

    fn try_from(mut any: AnyVersion) -> Result<Self, String> {
        match any.schema.as_str() {
            SCHEMA => {}
            SCHEMA_1 => any.stat_reader = Some(flat(&mut any)?),
            other => return Err(format!("its schema is {}, not {SCHEMA}", escaped(other))),
        }
        let (name, is_there) = match any.kind.as_str() {
            "stat-reader" => ("stat_reader", any.stat_reader.is_some()),
            "hogs" => ("hogs", any.hogs.is_some()),
            "sendfile" => ("sendfile", any.sendfile.is_some()),
            "charge" => ("charge", any.charge.is_some()),
            other => return Err(format!("its kind is {}, which is unknown", escaped(other))),
        };
        if !is_there {
            return Err(missing(name));
        }
        Ok(Self {
            schema: SCHEMA.to_owned(),
            kind: any.kind,
            started: any.started,
            duration_ns: any.duration_ns,
            cgroup_version: any.cgroup_version,
            cgroup: any.cgroup,
            stat_reader: any.stat_reader,
            hogs: any.hogs,
            sendfile: any.sendfile,
            charge: any.charge,
            ended_by: any.ended_by,
        })
    }
}

/// The stat reader of version 1, whose fields were those of the result.
fn flat(any: &mut AnyVersion) -> Result<StatReaderResult, String> {
    Ok(StatReaderResult {
        threads: any.threads.ok_or_else(|| missing("threads"))?,
        file: any.file.take().ok_or_else(|| missing("file"))?,
        accesses: any.accesses.ok_or_else(|| missing("accesses"))?,
        accesses_per_second: any.accesses_per_second.ok_or_else(|| missing("accesses_per_second"))?,
        errors: any.errors.ok_or_else(|| missing("errors"))?,
        latency: any.latency.take().ok_or_else(|| missing("latency"))?,
        dirtied: any.dirtied.ok_or_else(|| missing("dirtied"))?,
    })
}

/// As serde says it.
fn missing(field: &str) -> String {
    format!("missing field `{field}`")
}
