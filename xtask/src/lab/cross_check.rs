//! The tool beside the kernel's own irqsoff tracer, once on each kernel: a boot of its own, because the tracer lengthens
//! what both measure.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// The load: see there.
pub(crate) const LOAD: &str = include_str!("wide.sh");
/// Few CPUs: on an emulated machine each that is busy makes the others stand still.
pub(crate) const CPUS: u32 = 4;
/// Cgroups below the one that is read, and how often.
const CGROUPS: u32 = 3000;
const ROUNDS: u32 = 5;
/// Of a job's files.
pub(crate) const NAME: &str = "cross-check";

/// The script of the boot; the load is beside it in the shared folder.
pub(crate) fn script() -> String {
    format!(
        "wide=/sys/fs/cgroup/wide\n\
         mkdir $wide && echo '+memory +cpu' >$wide/cgroup.subtree_control || exit 1\n\
         child=0; while [ $child -lt {CGROUPS} ]; do mkdir $wide/$child || exit 1; child=$((child+1)); done\n\
         rstat-probe run --cross-check -d 10m -i 5s -o /lab/{NAME}.json -- sh /lab/wide.sh {CGROUPS} {ROUNDS} \
         >/lab/{NAME}.txt 2>/lab/{NAME}.messages\n\
         code=$?\n[ $code -eq 0 ] || cat /lab/{NAME}.messages\nexit $code\n"
    )
}

/// How the tracer and the tool fit on one kernel.
#[derive(Debug, PartialEq)]
pub(crate) struct Fit {
    /// In four of five windows that tell, at least, both are within 10 % or 20 us of each other. Not in all of them,
    /// because an emulated CPU can stand still in the few instructions that only one of them times.
    pub(crate) holds: bool,
    /// In a sentence.
    pub(crate) text: String,
}

impl Fit {
    /// Reads a recording made with `--cross-check`.
    pub(crate) fn of(recording: &Value) -> Result<Self> {
        let check = recording.get("cross_check").context("a recording without a cross-check")?;
        let count = |name: &str| check[name].as_u64().unwrap_or(0);
        let [agreeing, undecided] = ["agreeing", "undecided"].map(count);
        let apart = count("tracer_longer") + count("tracer_shorter");
        let mut text = format!(
            "in {} of {} windows the longest span of the irqsoff tracer was rstat's: {agreeing} agree within 10 % or \
             20 us, {apart} do not, {undecided} cannot tell",
            count("rstat_windows"),
            count("windows"),
        );
        let longest = &check["longest"];
        let ours = ["low_ns", "high_ns"].map(|bound| longest["ours"][bound].as_u64());
        if let (Some(tracer), [Some(low), Some(high)]) = (longest["tracer_us"].as_u64(), ours) {
            let between = if low == high { us(high) } else { format!("{} to {}", us(low), us(high)) };
            let _ = write!(text, "; the longest is {tracer} us, ours {between}");
        }
        Ok(Self { holds: agreeing > 0 && agreeing >= 4 * apart, text })
    }
}

fn us(ns: u64) -> String {
    format!("{:.1} us", ns as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fit(agreeing: u64, undecided: u64, longer: u64, shorter: u64) -> Fit {
        let longest = json!({"tracer_us": 8_846, "ours": {"low_ns": 8_388_608, "high_ns": 8_912_895}});
        let counts = json!({"windows": 31, "rstat_windows": agreeing + undecided + longer + shorter,
            "agreeing": agreeing, "undecided": undecided, "tracer_longer": longer, "tracer_shorter": shorter,
            "longest": longest});
        Fit::of(&json!({"cross_check": counts})).unwrap()
    }

    #[test]
    fn most_windows_that_tell_must_agree() {
        let good = fit(8, 1, 1, 1);
        assert!(good.holds);
        assert_eq!(
            good.text,
            "in 11 of 31 windows the longest span of the irqsoff tracer was rstat's: 8 agree within 10 % or 20 us, \
             2 do not, 1 cannot tell; the longest is 8846 us, ours 8388.6 us to 8912.9 us"
        );
        assert!(!fit(7, 9, 1, 1).holds && !fit(0, 9, 0, 0).holds && fit(1, 9, 0, 0).holds);
    }

    #[test]
    fn nothing_to_compare_is_no_fit() {
        let none = json!({"cross_check": {"windows": 3, "rstat_windows": 0, "longest": null}});
        let none = Fit::of(&none).unwrap();
        assert!(!none.holds && none.text.ends_with("0 cannot tell"), "{}", none.text);
        assert!(Fit::of(&json!({})).is_err());
    }

    #[test]
    fn the_script_ends_with_the_runs_exit_code() {
        assert!(script().contains("sh /lab/wide.sh 3000 5 >/lab/cross-check.txt"));
        assert!(script().ends_with("exit $code\n"));
        assert!(LOAD.contains("read -r _ <$wide/cpu.stat"));
    }
}
