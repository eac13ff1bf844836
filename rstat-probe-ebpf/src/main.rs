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
mod frame;
mod label;
mod lock;
mod lock_function;
mod maps;
mod report;
mod section;
mod spin;
mod timing;
mod walk;
