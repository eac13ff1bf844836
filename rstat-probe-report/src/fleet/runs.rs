//! When recordings were made: their order, and whether some of one host overlap.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::FleetRun;

impl FleetRun {
    /// Start in ns since 1970. `None` when `started` is no time, of which nothing else is said
    /// either.
    fn begin(&self) -> Option<i128> {
        OffsetDateTime::parse(&self.started, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp_nanos)
    }

    /// What `runs` are ordered by. Not by the text: `05Z` is before `05.5Z` only as a time.
    pub(crate) fn order(&self) -> (bool, i128, Self) {
        let begin = self.begin();
        (begin.is_none(), begin.unwrap_or(0), self.clone())
    }
}

/// What to say when some of `runs` of one `host`, in order, overlap in time.
pub(super) fn overlap_warning(host: &str, runs: &[FleetRun]) -> Option<String> {
    let mut overlapping = 0;
    let mut example = None;
    // The one that ended last so far, and whether it is counted as overlapping.
    let mut latest: Option<(i128, &FleetRun, bool)> = None;
    for run in runs {
        let Some(begin) = run.begin() else { continue };
        let end = begin + i128::from(run.duration_ns);
        let overlaps = latest.is_some_and(|(latest_end, ..)| begin < latest_end);
        if let Some((_, other, counted)) = &mut latest
            && overlaps
        {
            overlapping += if *counted { 1 } else { 2 };
            *counted = true;
            example.get_or_insert_with(|| (other.started.clone(), run.started.clone()));
        }
        if latest.is_none_or(|(latest_end, ..)| end > latest_end) {
            latest = Some((end, run, overlaps));
        }
    }
    let (first, second) = example?;
    Some(format!(
        "{host}: {overlapping} of its {} recordings overlap in time, the first of them those started {first} \
         and {second}: they counted the same events twice, or two hosts have this name",
        runs.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(times: &[(&str, u64)]) -> Vec<FleetRun> {
        let run = |&(second, seconds): &(&str, u64)| FleetRun {
            started: format!("2026-01-02T03:04:{second}"),
            duration_ns: seconds * 1_000_000_000,
        };
        let mut runs: Vec<FleetRun> = times.iter().map(run).collect();
        runs.sort_by_cached_key(FleetRun::order);
        runs
    }

    #[test]
    fn order_is_that_of_time() {
        let runs = runs(&[("05.5Z", 1), ("soon", 1), ("05Z", 1), ("05.25Z", 2), ("05.25Z", 1)]);
        let order: Vec<(&str, u64)> =
            runs.iter().map(|run| (&run.started[17..], run.duration_ns / 1_000_000_000)).collect();
        assert_eq!(order, [("05Z", 1), ("05.25Z", 1), ("05.25Z", 2), ("05.5Z", 1), ("soon", 1)]);
    }

    #[test]
    fn one_after_the_other_is_fine() {
        assert_eq!(overlap_warning("a", &runs(&[])), None);
        assert_eq!(overlap_warning("a", &runs(&[("05Z", 5)])), None);
        assert_eq!(overlap_warning("a", &runs(&[("05Z", 5), ("10Z", 5), ("15.0Z", 9), ("soon", 99)])), None);
    }

    #[test]
    fn overlaps_are_counted_and_the_first_is_named() {
        let text = overlap_warning("a", &runs(&[("05Z", 5), ("09.999999999Z", 1), ("30Z", 1)])).unwrap();
        assert_eq!(
            text,
            "a: 2 of its 3 recordings overlap in time, the first of them those started \
             2026-01-02T03:04:05Z and 2026-01-02T03:04:09.999999999Z: they counted the same events twice, or \
             two hosts have this name"
        );
        // One long run over two others, and one that only touches it.
        let text = overlap_warning("a", &runs(&[("05Z", 20), ("10Z", 1), ("20Z", 1), ("25Z", 1)])).unwrap();
        assert!(text.starts_with("a: 3 of its 4 "), "{text}");
        // A chain.
        let text = overlap_warning("a", &runs(&[("05Z", 6), ("10Z", 6), ("15Z", 6)])).unwrap();
        assert!(text.starts_with("a: 3 of its 3 "), "{text}");
    }
}
