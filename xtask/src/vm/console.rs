//! What a guest says on its two serial lines: the kernel's messages and the tests' output.

/// Lines of `init.sh`.
const BEGINS: &str = "@@ guest begins: ";
const ENDS: &str = "@@ guest ends: ";
/// Lines of tests.
const FIGURE: &str = "FIGURE: ";
const SKIPPED: &str = "SKIPPED:";

/// Lines of the message of a panic that are shown; `assert_eq` has three.
const PANIC_LINES: usize = 4;

/// Parts of messages that a healthy kernel does not print.
const FAULTS: [&str; 20] = [
    "BUG: ",
    "kernel BUG at",
    "Oops: ",
    "WARNING: ",
    "Kernel panic",
    "general protection fault",
    "invalid opcode",
    "double fault",
    "stack segment",
    "unable to handle",
    "scheduling while atomic",
    "sleeping function called",
    "soft lockup",
    "hard LOCKUP",
    "detected stall",
    "self-detected stall",
    "blocked for more than",
    "bad: scheduling",
    "unbalanced",
    "VFS: Unable to mount root",
];

/// Those of them that a CPU gets which stood still because the host's was busy.
const OF_TIME: [&str; 4] = ["soft lockup", "hard LOCKUP", "stall", "blocked for more than"];

/// Parts of messages that are no fault although they look like one, each with its reason.
const ALLOWED: [&str; 0] = [];

/// What is known of a guest so far.
#[derive(Debug, Default)]
pub(crate) struct Console {
    /// What `uname -r` says, once the tests begin.
    pub(crate) release: Option<String>,
    /// The exit code of the test binary.
    pub(crate) exit: Option<i32>,
    /// Tests passed and failed, of libtest's closing line.
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Tests that failed, by name.
    pub(crate) failures: Vec<String>,
    /// What the tests said when they failed: place and message.
    pub(crate) panics: Vec<String>,
    /// The text of `FIGURE:` lines.
    pub(crate) figures: Vec<String>,
    /// The reason of `SKIPPED:` lines.
    pub(crate) skipped: Vec<String>,
    /// Messages of the kernel that are faults.
    pub(crate) faults: Vec<String>,
    in_failures: bool,
    /// Lines of a panic's message that may still come.
    of_panic: usize,
}

impl Console {
    /// Reads a line of the kernel, or of QEMU.
    pub(crate) fn kernel_line(&mut self, line: &str) {
        if FAULTS.iter().any(|part| line.contains(part)) && !ALLOWED.iter().any(|part| line.contains(part)) {
            self.faults.push(line.trim().to_owned());
        }
    }

    /// Whether all faults of the kernel can come from a busy host.
    pub(crate) fn faults_are_of_time(&self) -> bool {
        self.faults.iter().all(|fault| OF_TIME.iter().any(|part| fault.contains(part)))
    }

    /// Reads a line of the tests.
    pub(crate) fn guest_line(&mut self, line: &str) {
        if let Some(release) = line.strip_prefix(BEGINS) {
            self.release = Some(release.trim().to_owned());
        } else if let Some(code) = line.strip_prefix(ENDS) {
            self.exit = code.trim().parse().ok();
        }
        self.read_panic(line);
        // With --nocapture `test NAME ... ` stands before the first line that a test prints.
        let said = if line.starts_with("test ") {
            line.split_once(" ... ").map_or(line, |(_, said)| said)
        } else {
            line
        };
        if let Some(figure) = said.strip_prefix(FIGURE) {
            self.figures.push(figure.trim().to_owned());
        } else if let Some(reason) = said.strip_prefix(SKIPPED) {
            self.skipped.push(reason.trim().to_owned());
        }
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += count(counts, "passed;");
            self.failed += count(counts, "failed;");
        }
        self.read_failures(line);
    }

    /// The place, then the message on lines of its own.
    fn read_panic(&mut self, line: &str) {
        if line.starts_with("thread '") && line.contains(" panicked at ") {
            self.panics.push(line.trim().to_owned());
            self.of_panic = PANIC_LINES;
        } else if line.starts_with("note: ") || line == "FAILED" {
            self.of_panic = 0;
        } else if self.of_panic > 0
            && let Some(panic) = self.panics.last_mut()
        {
            *panic = format!("{panic} {}", line.trim());
            self.of_panic -= 1;
        }
    }

    /// `failures:`, an empty line, then a name a line, up to an empty line.
    fn read_failures(&mut self, line: &str) {
        if line == "failures:" {
            self.in_failures = true;
        } else if line.starts_with("test result: ") {
            self.in_failures = false;
        } else if let Some(name) = line.strip_prefix("    ").filter(|_| self.in_failures)
            && !self.failures.iter().any(|known| known == name)
        {
            self.failures.push(name.to_owned());
        }
    }

    /// Everything that is wrong, a line each. The guest's end (by itself, in time) is judged elsewhere.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut complaints: Vec<String> =
            self.faults.iter().map(|fault| format!("kernel: {fault}")).collect();
        match (&self.release, self.exit) {
            (None, _) => complaints.push("the tests never began".to_owned()),
            (Some(_), None) => complaints.push("the tests did not end".to_owned()),
            (Some(_), Some(0)) if self.passed == 0 => complaints.push("no test was run".to_owned()),
            (Some(_), Some(0)) => {}
            // 101 is a failed test, which has its own line.
            (Some(_), Some(101)) if !self.failures.is_empty() => {}
            (Some(_), Some(code)) => complaints.push(format!("the tests ended with exit code {code}")),
        }
        complaints.extend(self.failures.iter().map(|name| format!("failed: {name}")));
        complaints.extend(self.panics.iter().cloned());
        complaints
    }
}

/// The number before a word of libtest's closing line.
fn count(counts: &str, word: &str) -> u64 {
    let words: Vec<&str> = counts.split_whitespace().collect();
    words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> Console {
        let mut console = Console::default();
        lines.lines().for_each(|line| console.guest_line(line));
        console
    }

    #[test]
    fn a_good_guest() {
        let console = read(
            "@@ guest begins: 6.1.0-57-cloud-amd64\n\nrunning 2 tests\ntest load::counts ... FIGURE: sections 12\n\
             FIGURE: losses none\nok\ntest check::works ... ok\n\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out\n\n@@ guest ends: 0\n",
        );
        assert_eq!(console.release.as_deref(), Some("6.1.0-57-cloud-amd64"));
        assert_eq!((console.passed, console.failed, console.exit), (2, 0, Some(0)));
        assert_eq!(console.figures, ["sections 12", "losses none"]);
        assert!(console.complaints().is_empty(), "{:?}", console.complaints());
    }

    #[test]
    fn failed_tests() {
        let console = read(
            "@@ guest begins: 6.1\ntest load::counts ... \nthread 'load::counts' (77) panicked at tests/a.rs:3:5:\n\
             left is not right\n  left: 1\nnote: run with\nFAILED\n\nfailures:\n\nfailures:\n    load::counts\n\n\
             test result: FAILED. 4 passed; 1 failed; 0 ignored\n\n@@ guest ends: 101\n",
        );
        assert_eq!(console.failures, ["load::counts"]);
        assert_eq!(
            console.complaints(),
            [
                "failed: load::counts",
                "thread 'load::counts' (77) panicked at tests/a.rs:3:5: left is not right left: 1"
            ]
        );
    }

    #[test]
    fn guests_that_end_early() {
        assert_eq!(read("").complaints(), ["the tests never began"]);
        assert_eq!(read("@@ guest begins: 7.0\ntest a ... ").complaints(), ["the tests did not end"]);
        let none = "@@ guest begins: 7.0\ntest result: ok. 0 passed; 0 failed\n@@ guest ends: 0";
        assert_eq!(read(none).complaints(), ["no test was run"]);
        let killed = "@@ guest begins: 7.0\n@@ guest ends: 137";
        assert_eq!(read(killed).complaints(), ["the tests ended with exit code 137"]);
    }

    #[test]
    fn faults_of_the_kernel() {
        let mut console = read("@@ guest begins: 7.0\ntest result: ok. 1 passed; 0 failed\n@@ guest ends: 0");
        console.kernel_line("[    1.0] random: crng init done");
        console.kernel_line("[    2.0] watchdog: BUG: soft lockup - CPU#1 stuck for 22s!");
        assert_eq!(
            console.complaints(),
            ["kernel: [    2.0] watchdog: BUG: soft lockup - CPU#1 stuck for 22s!"]
        );
    }

    #[test]
    fn skipped_tests() {
        assert_eq!(
            read("test a ... SKIPPED: no v1 here\nSKIPPED: x\nnot SKIPPED: y").skipped,
            ["no v1 here", "x"]
        );
    }
}
