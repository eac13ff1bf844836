//! The least program on a function: whether the kernel lets one be hooked.
#![no_std]
#![no_main]

mod frame;

use aya_ebpf::{macros::fentry, programs::FEntryContext};

#[fentry]
fn trampoline(_ctx: FEntryContext) -> i32 {
    0
}
