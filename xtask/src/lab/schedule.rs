//! Which kernel boots when: in turns, so that whatever changes on the host meanwhile meets all of them, and every other
//! round backwards, so that none is always first, or always beside the same one.

use super::variant::Variant;

/// Boots that belong together: one side of a comparison.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Series {
    /// Of its folder and in reports.
    pub(crate) name: &'static str,
    pub(crate) variant: Variant,
    /// The baseline once more: compared with the first series it must be no different.
    pub(crate) is_control: bool,
}

/// In the order of their turns.
pub(crate) static SERIES: [Series; 3] = [
    Series { name: "under-contention", variant: Variant::UnderContention, is_control: false },
    Series { name: "every-cpu", variant: Variant::EveryCpu, is_control: false },
    Series { name: "under-contention-again", variant: Variant::UnderContention, is_control: true },
];

/// One boot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) series: &'static Series,
    /// From 1.
    pub(crate) round: u32,
}

impl Turn {
    /// `1-every-cpu`.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.round, self.series.name)
    }
}

/// A B B A ..., with the control A B C C B A ....
pub(crate) fn turns(series: &[&'static Series], rounds: u32) -> Vec<Turn> {
    let of_round = |round| {
        let turns = series.iter().map(move |series| Turn { series, round });
        if round % 2 == 1 { turns.collect::<Vec<_>>() } else { turns.rev().collect() }
    };
    (1..=rounds).flat_map(of_round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_take_turns() {
        let names =
            |series: &[&'static Series]| -> Vec<String> { turns(series, 2).iter().map(Turn::name).collect() };
        assert_eq!(
            names(&[&SERIES[0], &SERIES[1]]),
            ["1-under-contention", "1-every-cpu", "2-every-cpu", "2-under-contention"]
        );
        let all: Vec<&Series> = SERIES.iter().collect();
        assert_eq!(names(&all)[2], "1-under-contention-again");
        assert_eq!(names(&all).len(), 6);
    }

    #[test]
    fn the_control_is_the_baseline_again() {
        let [baseline, candidate, control] = &SERIES;
        assert!(control.is_control && !baseline.is_control && !candidate.is_control);
        assert_eq!(control.variant, baseline.variant);
        assert_ne!(candidate.variant, baseline.variant);
    }
}
