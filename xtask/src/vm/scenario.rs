//! What is booted with which kernel. A new way to boot is one more entry of `SCENARIOS`.

use std::time::Duration;

use anyhow::{Result, bail};

use super::kernels::{KERNELS, Kernel};

/// A way to boot, and the tests that belong to it.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// Names of kernels; empty means all.
    kernels: &'static [&'static str],
    /// QEMU's `-smp`.
    pub(crate) cpus: &'static str,
    /// Words for the kernel's command line. A `NAME=VALUE` that the kernel does not know becomes an environment
    /// variable of the tests; see `init.sh` for those it reads itself.
    parameters: &'static [&'static str],
    tests: Tests,
    /// Part of a message of the kernel that must come: the kernel is to fall over.
    expects_fault: Option<&'static str>,
    /// What takes longer hangs.
    pub(crate) limit: Duration,
}

/// Which tests run.
#[derive(Debug)]
enum Tests {
    /// All but those of a module `only_...`.
    Common,
    /// Those whose path contains one of these.
    Only(&'static [&'static str]),
}

/// What a test module of special scenarios is called.
const SPECIAL: &str = "::only_";
const LIMIT: Duration = Duration::from_mins(5);

/// All scenarios.
///
/// `maxcpus=3` leaves the fourth CPU possible but offline.
static SCENARIOS: [Scenario; 8] = [
    Scenario {
        name: "default",
        kernels: &[],
        cpus: "4",
        parameters: &["maxcpus=3"],
        tests: Tests::Common,
        expects_fault: None,
        limit: LIMIT,
    },
    // cgroup v1 with the memory controller, beside v2. Later kernels of Debian do not have it.
    Scenario {
        name: "hybrid",
        kernels: &["5.10", "6.1"],
        cpus: "4",
        parameters: &["maxcpus=3", "GUEST_CGROUPS=hybrid"],
        tests: Tests::Only(&["::only_hybrid", "::check::", "::load::", "::loads::"]),
        expects_fault: None,
        limit: LIMIT,
    },
    // Far more possible CPUs than online ones: long walks.
    Scenario {
        name: "wide",
        kernels: &["5.10", "6.1"],
        cpus: "4,maxcpus=64",
        parameters: &[],
        tests: Tests::Only(&["::agreement::", "::truth::counts_equal"]),
        expects_fault: None,
        limit: LIMIT,
    },
    // Hundreds of processes and threads on one emulated CPU.
    Scenario {
        name: "crowd",
        kernels: &["6.12", "7.3"],
        cpus: "2",
        parameters: &[],
        tests: Tests::Only(&["::only_crowd"]),
        expects_fault: None,
        limit: LIMIT,
    },
    // A kernel whose trace events can be made to crash it.
    Scenario {
        name: "trap",
        kernels: &["6.12"],
        cpus: "2",
        parameters: &["psi=1"],
        tests: Tests::Only(&["::only_trap::survives"]),
        expects_fault: None,
        limit: LIMIT,
    },
    // The same with such an event on: shows that the scenario before can fail.
    Scenario {
        name: "trap-event",
        kernels: &["6.12"],
        cpus: "2",
        parameters: &["psi=1", "oops=panic"],
        tests: Tests::Only(&["::only_trap::crashes"]),
        expects_fault: Some("BUG: kernel NULL pointer dereference"),
        limit: LIMIT,
    },
    Scenario {
        name: "integrity",
        kernels: &["6.1", "7.3"],
        cpus: "2",
        parameters: &["lockdown=integrity", "EXPECT_LOCKDOWN=integrity"],
        tests: Tests::Only(&["::only_lockdown"]),
        expects_fault: None,
        limit: LIMIT,
    },
    Scenario {
        name: "confidentiality",
        kernels: &["6.1", "7.3"],
        cpus: "2",
        parameters: &["lockdown=confidentiality", "EXPECT_LOCKDOWN=confidentiality"],
        tests: Tests::Only(&["::only_lockdown"]),
        expects_fault: None,
        limit: LIMIT,
    },
];

impl Scenario {
    /// The whole command line of a kernel.
    pub(crate) fn command_line(&self, kernel: &Kernel) -> String {
        // Warnings of the kernel must be seen (loglevel), and a panic must end the VM at once.
        let mut words = vec!["console=ttyS0".to_owned(), "loglevel=5".to_owned(), "panic=-1".to_owned()];
        words.push(format!("EXPECT_YIELDS={}", kernel.yields));
        words.push(format!("GUEST_ARGUMENTS={}", self.test_arguments()));
        words.extend(self.parameters.iter().map(|&word| word.to_owned()));
        words.join(" ")
    }

    /// What is wrong with a boot that has these complaints.
    pub(crate) fn judge(&self, complaints: Vec<String>) -> Vec<String> {
        let Some(expected) = self.expects_fault else { return complaints };
        let came = |complaint: &String| complaint.starts_with("kernel: ") && complaint.contains(expected);
        if complaints.iter().any(came) {
            return Vec::new();
        }
        let missing = format!("the kernel was to say '{expected}'");
        std::iter::once(missing).chain(complaints).collect()
    }

    fn test_arguments(&self) -> String {
        match self.tests {
            Tests::Common => format!("--skip={SPECIAL}"),
            Tests::Only(filters) => filters.join(","),
        }
    }

    fn is_for(&self, kernel: &Kernel) -> bool {
        self.kernels.is_empty() || self.kernels.contains(&kernel.name)
    }
}

/// What is to be booted: kernel by kernel, the scenarios whose names contain `filter`.
pub(crate) fn select(
    kernels: &[String],
    filter: Option<&str>,
) -> Result<Vec<(&'static Kernel, &'static Scenario)>> {
    let known: Vec<&str> = KERNELS.iter().map(|kernel| kernel.name).collect();
    if let Some(unknown) = kernels.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no kernel '{unknown}' in the matrix; it has {}", known.join(", "));
    }
    let is_wanted = |kernel: &&Kernel| kernels.is_empty() || kernels.iter().any(|name| name == kernel.name);
    let selected: Vec<_> = KERNELS
        .iter()
        .filter(is_wanted)
        .flat_map(|kernel| SCENARIOS.iter().map(move |scenario| (kernel, scenario)))
        .filter(|(kernel, scenario)| scenario.is_for(kernel))
        .filter(|(_, scenario)| filter.is_none_or(|filter| scenario.name.contains(filter)))
        .collect();
    if selected.is_empty() {
        let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        bail!("no scenario of these kernels is called so; there are {}", names.join(", "));
    }
    Ok(selected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_matrix() {
        let all = select(&[], None).unwrap();
        let default = all.iter().filter(|(_, scenario)| scenario.name == "default");
        assert_eq!(default.count(), KERNELS.len());
    }

    #[test]
    fn some_kernels() {
        let named = select(&["7.3-rt".to_owned(), "6.1".to_owned()], Some("default")).unwrap();
        assert_eq!(named.iter().map(|(kernel, _)| kernel.name).collect::<Vec<_>>(), ["6.1", "7.3-rt"]);
        let error = select(&["6.6".to_owned()], None).unwrap_err().to_string();
        assert!(error.contains("'6.6'") && error.contains("6.12"), "{error}");
        assert!(select(&[], Some("nonsense")).is_err());
    }

    #[test]
    fn scenarios_name_kernels_that_exist() {
        for name in SCENARIOS.iter().flat_map(|scenario| scenario.kernels) {
            assert!(KERNELS.iter().any(|kernel| kernel.name == *name), "{name}");
        }
    }

    #[test]
    fn command_line() {
        let (kernel, scenario) = select(&["6.1".to_owned()], Some("default")).unwrap()[0];
        let line = scenario.command_line(kernel);
        assert!(line.starts_with("console=ttyS0 "), "{line}");
        for word in ["maxcpus=3", "EXPECT_YIELDS=under_contention", "GUEST_ARGUMENTS=--skip=::only_"] {
            assert!(line.split(' ').any(|part| part == word), "{line}");
        }
        // The kernel hands at most 32 variables to init.
        assert!(line.split(' ').count() < 24);
    }
}
