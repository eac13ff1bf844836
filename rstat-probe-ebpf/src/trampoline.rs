//! The least program on a function: whether the kernel lets one be hooked.
#![no_std]
#![no_main]

use aya_ebpf::{macros::fentry, programs::FEntryContext};

#[fentry]
fn trampoline(_ctx: FEntryContext) -> i32 {
    0
}

#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
