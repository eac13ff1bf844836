//! What the fuzz targets have in common: the bytes become text as `show` makes them, and what
//! comes out must hold together. A panic is a finding.

#[path = "../../tests/common/invariants.rs"]
mod invariants;

use rstat_probe_report::import::{import, import_as};

/// The name that the texts are read by.
const WHAT: &str = "fuzz";

/// The importer of `format` alone.
pub fn one(format: &str, data: &[u8]) {
    if let Some(result) = import_as(format, &String::from_utf8_lossy(data), WHAT) {
        invariants::check(&result, WHAT);
    }
}

/// All importers, as a user has them.
pub fn any(data: &[u8]) {
    invariants::check(&import(&String::from_utf8_lossy(data), WHAT), WHAT);
}
