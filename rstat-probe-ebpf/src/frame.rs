//! What every eBPF object has.

#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

// The kernel lets only GPL-compatible programs call bpf_ktime_get_ns's tracing companions
// (bpf_probe_read_kernel among them).
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
