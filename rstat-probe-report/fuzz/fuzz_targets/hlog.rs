//! The importer of hlog.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rstat_probe_report_fuzz::one("hlog", data));
