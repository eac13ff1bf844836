//! Foreign files: what bpftrace, bcc, perf, the kernel's tracers and others print, read into one
//! shape. The format is told from the content; each has a file of its own.

mod bcc;
mod bpftrace;
mod bpftrace_json;
#[cfg(test)]
mod corpus;
mod dmesg;
mod hgrm;
mod hist_trigger;
mod hlog;
mod irqsoff;
mod klockstat;
mod model;
mod perf_lock;
mod perf_sched;
mod perf_trace;
mod prometheus;
mod refuse;
mod rtla;
mod samples;
mod select;
mod source;
mod table;
mod unit;

pub use model::{ImportError, Imported, ImportedBucket, ImportedHistogram};
pub(crate) use refuse::binary as refuse_binary;
pub use select::SelectError;
pub(crate) use source::{Line, Source, shortened};
pub use unit::Unit;

/// Reads one format: `None` when the text is not of that format, else what it says.
type Importer = fn(&Source<'_>) -> Option<Result<Imported, ImportError>>;

/// All formats, the ones that are told for sure first.
const IMPORTERS: &[(&str, Importer)] = &[
    ("hlog", hlog::import),
    ("hgrm", hgrm::import),
    ("prometheus", prometheus::import),
    ("bpftrace -f json", bpftrace_json::import),
    ("bpftrace", bpftrace::import),
    ("irqsoff", irqsoff::import),
    ("hist-trigger", hist_trigger::import),
    ("bcc", bcc::import),
    ("rtla", rtla::import),
    ("dmesg", dmesg::import),
    ("perf lock contention", perf_lock::import),
    ("klockstat", klockstat::import),
    ("perf trace -s", perf_trace::import),
    ("perf sched latency", perf_sched::import),
    ("perf lock before and after", perf_lock::by_hand),
    ("hand-made bucket table", table::import),
    // Any line of numbers is a sample, so this stays the last.
    ("plain samples", samples::import),
];

/// Reads `text`, which came from `what` (usually a file name, for errors). What is not UTF-8 may
/// come as [`String::from_utf8_lossy`] has it, binary files too: they are refused by their name.
///
/// # Errors
/// If the format is not recognised, or recognised and damaged beyond use or not one to read.
pub fn import(text: &str, what: &str) -> Result<Imported, ImportError> {
    if let Some(error) = refuse::binary(text, what) {
        return Err(error);
    }
    let text = source::plain_blanks(text);
    let source = Source::new(&text, what);
    if let Some(error) = source.too_long() {
        return Err(error);
    }
    if let Some(result) = IMPORTERS.iter().find_map(|(_, importer)| importer(&source)) {
        return result.map(with_short_warnings);
    }
    let known: Vec<&str> = formats().collect();
    Err(refuse::other(&source).unwrap_or_else(|| source.unrecognised(&known)))
}

/// The formats that are read, in the order in which they are tried.
pub fn formats() -> impl Iterator<Item = &'static str> {
    IMPORTERS.iter().map(|(name, _)| *name)
}

/// Reads `text` as `format`, one of [`formats`], without asking the others: so that tests reach
/// each importer. `None` if it is not of that format.
#[doc(hidden)]
#[must_use]
pub fn import_as(format: &str, text: &str, what: &str) -> Option<Result<Imported, ImportError>> {
    let (_, importer) = IMPORTERS.iter().find(|(name, _)| *name == format)?;
    let text = source::plain_blanks(text);
    importer(&Source::new(&text, what)).map(|result| result.map(with_short_warnings))
}

/// Warnings may quote the text.
fn with_short_warnings(mut imported: Imported) -> Imported {
    for warning in &mut imported.warnings {
        if warning.len() > source::LONGEST_MESSAGE {
            *warning = source::clipped(warning, source::LONGEST_MESSAGE);
        }
    }
    imported
}
