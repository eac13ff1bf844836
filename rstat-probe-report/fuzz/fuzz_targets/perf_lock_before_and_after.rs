//! The importer of perf lock before and after.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rstat_probe_report_fuzz::one("perf lock before and after", data));
