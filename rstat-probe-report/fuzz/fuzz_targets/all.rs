//! Detection and whichever importer it leads to.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rstat_probe_report_fuzz::any(data));
