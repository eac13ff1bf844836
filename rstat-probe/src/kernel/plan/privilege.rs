//! What the kernel wants of the process.

use crate::kernel::support::{Capability, KernelSupport};

/// What the process lacks to load and attach the programs: one line, or none.
///
/// Rules: `bpf_prog_load` in kernel/bpf/syscall.c; CAP_SYS_ADMIN stands in for both.
pub(crate) fn missing_privilege(support: &KernelSupport) -> Option<String> {
    // Without tracepoints the locks are told by their addresses, which CAP_SYSLOG shows.
    let old = support.names.as_ref().is_some_and(|names| !names.tracepoint("cgroup_rstat_locked"));
    let how = if old {
        "run it with sudo, or give the file these and CAP_SYSLOG (setcap cap_bpf,cap_perfmon,cap_syslog+ep)"
    } else {
        "run it with sudo, or give the file both (setcap cap_bpf,cap_perfmon+ep)"
    };
    if !support.initial_user_namespace {
        return Some(
            "needs CAP_BPF and CAP_PERFMON in the initial user namespace, and this process is in another one (a rootless container?); run it on the host"
                .to_owned(),
        );
    }
    if support.has(Capability::SysAdmin) {
        return None;
    }
    let missing: Vec<&str> = [(Capability::Bpf, "CAP_BPF"), (Capability::Perfmon, "CAP_PERFMON")]
        .into_iter()
        .filter(|(capability, _)| !support.has(*capability))
        .map(|(_, name)| name)
        .collect();
    (!missing.is_empty()).then(|| format!("needs {}, which this process lacks; {how}", missing.join(" and ")))
}
