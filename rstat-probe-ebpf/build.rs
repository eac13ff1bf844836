//! Rebuilds the eBPF programs when bpf-linker changes: Cargo cannot express a dependency on a
//! program found through PATH.

fn main() {
    // A missing linker is reported by the link step itself, with the name of the tool.
    if let Ok(path) = which::which("bpf-linker") {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}
