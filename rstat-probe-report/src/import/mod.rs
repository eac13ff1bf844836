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
mod prometheus;
mod rtla;
mod samples;
mod source;
mod table;

pub use model::{ImportError, Imported, ImportedBucket, ImportedHistogram, Unit};
pub(crate) use source::{Line, Source};

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
    ("other files of ftrace", irqsoff::refuse),
    ("perf lock contention", perf_lock::import),
    ("klockstat", klockstat::import),
    ("perf lock before and after", perf_lock::by_hand),
    ("hand-made bucket table", table::import),
    // Any line of numbers is a sample, so this stays the last.
    ("plain samples", samples::import),
];

/// Reads `text`, which came from `what` (usually a file name, for errors).
///
/// # Errors
/// If the format is not recognised, or recognised and damaged beyond use.
pub fn import(text: &str, what: &str) -> Result<Imported, ImportError> {
    let source = Source::new(text, what);
    for (_, importer) in IMPORTERS {
        if let Some(result) = importer(&source) {
            return result;
        }
    }
    let known: Vec<&str> = IMPORTERS.iter().map(|(name, _)| *name).collect();
    Err(source.unrecognised(&known))
}
