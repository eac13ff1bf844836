//! Everything that happens after the numbers have left the kernel: histograms, snapshots and
//! their differences, saved recordings, and the renderers of all of them.
//!
//! Pure on purpose: no clock, no environment, no terminal, no file paths. Readers, writers and
//! widths are passed in, so that every byte this crate prints is a function of its arguments.
//! Times are integer nanoseconds unless a name or a comment says otherwise.
#![forbid(unsafe_code)]

pub mod compare;
pub mod cross_check;
pub mod document;
pub mod facts;
pub mod fleet;
pub mod histogram;
pub mod import;
pub mod input;
pub mod load_result;
pub mod metric;
pub mod recording;
pub mod render;
pub mod snapshot;
pub mod stats;
pub mod units;
pub mod yields;

pub use document::Document;
pub use fleet::Fleet;
pub use histogram::{Bucket, Histogram};
pub use metric::{Counter, Loss, Metric};
pub use recording::Recording;
pub use snapshot::{Interval, Snapshot};
