//! Whether the kernel lets programs hook functions at all, tried out with the least program there is.
//!
//! Kernels that do not are found out before anything is read or loaded that only function hooks need.

use aya::{
    Btf, Endianness,
    programs::{FEntry, ProgramError},
};

use super::{
    attempt::{NO_TRAMPOLINES, loader_without_btf},
    btf,
    plan::hooks::FLUSH_FUNCTIONS,
    support::Names,
};

/// One program that returns at once.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/trampoline"));
const PROGRAM: &str = "trampoline";

/// Why fentry and fexit cannot be used, if so. Nothing is attached.
pub(crate) fn refusal(names: &Names) -> Option<String> {
    let (hook, id) = FLUSH_FUNCTIONS.iter().find_map(|hook| Some((*hook, names.btf_id(hook)?)))?;
    let btf = Btf::parse(&btf::excerpt(&[(hook, id)]), Endianness::default()).ok()?;
    let mut ebpf = loader_without_btf().load(OBJECT).ok()?;
    let program: &mut FEntry = ebpf.program_mut(PROGRAM)?.try_into().ok()?;
    match program.load(hook, &btf) {
        Err(ProgramError::LoadError { io_error, .. })
            if io_error.raw_os_error().is_some_and(|code| NO_TRAMPOLINES.contains(&code)) =>
        {
            Some(format!("the kernel refuses function hooks: {io_error}"))
        }
        // Whatever else it is will show again, where it is known which program it is about.
        _ => None,
    }
}
