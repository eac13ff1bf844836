//! Foreign files: what bpftrace, bcc, perf, the kernel's tracers and others print, read into one
//! shape. The format is told from the content; each has a file of its own.

mod model;
mod source;
#[cfg(test)]
mod corpus;

pub use model::{ImportError, Imported, ImportedBucket, ImportedHistogram, Unit};
pub(crate) use source::{Line, Source};

/// Reads one format: `None` when the text is not of that format, else what it says.
type Importer = fn(&Source<'_>) -> Option<Result<Imported, ImportError>>;

/// All formats, the ones that are told for sure first.
const IMPORTERS: &[(&str, Importer)] = &[];

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
