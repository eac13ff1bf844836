//! Writes a load's result to a file.

use std::path::Path;

use anyhow::Context as _;
use rstat_probe_report::load_result::LoadResult;

use crate::whole_file::write_whole;

/// Writes the result as JSON to `path`; readers see the old file or the new one.
pub(crate) fn write_result(result: &LoadResult, path: &Path) -> anyhow::Result<()> {
    let mut json = serde_json::to_vec_pretty(result)?;
    json.push(b'\n');
    write_whole(path, |w| w.write_all(&json))
        .with_context(|| format!("cannot write the load's result to {}", path.display()))
}
