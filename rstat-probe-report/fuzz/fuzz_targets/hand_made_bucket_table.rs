//! The importer of hand-made bucket table.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rstat_probe_report_fuzz::one("hand-made bucket table", data));
