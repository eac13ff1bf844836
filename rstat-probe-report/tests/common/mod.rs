//! What all tests of the importers share: the samples, and what must hold for each result.

pub(crate) mod invariants;

use std::{fs, path::PathBuf};

/// The public samples, with their file names, in order.
pub(crate) fn samples() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/samples");
    let files = fs::read_dir(folder).expect("the folder of the samples");
    let mut samples: Vec<(String, String)> = files
        .map(|file| {
            let file = file.expect("a sample");
            let text = fs::read_to_string(file.path()).expect("a sample in UTF-8");
            (file.file_name().into_string().expect("a name in UTF-8"), text)
        })
        .collect();
    samples.sort();
    samples
}
