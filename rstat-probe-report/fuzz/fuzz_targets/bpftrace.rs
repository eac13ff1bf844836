//! The importer of bpftrace.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rstat_probe_report_fuzz::one("bpftrace", data));
