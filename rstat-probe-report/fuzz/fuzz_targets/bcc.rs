//! The importer of bcc.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rstat_probe_report_fuzz::one("bcc", data));
