//! The importer of perf trace -s.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rstat_probe_report_fuzz::one("perf trace -s", data));
