//! The eBPF programs of rstat-probe: one file per hook family, bodies once, thin entry points.
//!
//! Rules that every program keeps:
//! - the clock is read last on the way into a section and first on the way out, so that the cost
//!   of the probe stays out of what it measures;
//! - every word in a map has one writer, see `rstat_probe_common::wire`;
//! - what cannot be measured is counted, by cause.
#![no_std]
#![no_main]
#![expect(
    clippy::inline_always,
    reason = "a call costs time inside the section, and only inlined bodies see constants"
)]
#![expect(clippy::needless_pass_by_value, reason = "the program macros hand the context over by value")]

mod cpu_lock;
mod flush;
mod label;
mod lock;
mod lock_function;
mod maps;
mod report;
mod section;
mod spin;
mod timing;
mod walk;

#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

// The kernel lets only GPL-compatible programs call bpf_ktime_get_ns's tracing companions
// (bpf_probe_read_kernel among them).
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
