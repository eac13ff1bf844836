//! Spans read from real traces, windows, and what contradicts itself.

use super::*;
use crate::histogram::Histogram;

/// A trace as Linux 6.12 prints it with function tracing off.
const TRACE: &str = include_str!("trace.txt");

fn span(tracer_us: u64, function: &str) -> Span {
    Span {
        tracer_us,
        started_at: "_raw_spin_lock_irq".to_owned(),
        ended_at: "_raw_spin_unlock_irq".to_owned(),
        stack: ["_raw_spin_unlock_irq", function, "seq_read_iter"].map(str::to_owned).to_vec(),
    }
}

fn histogram(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for value in values {
        histogram.record(*value);
    }
    histogram
}

fn tally(windows: &[(Option<Span>, &[u64])]) -> CrossCheck {
    let mut tally = Tally::default();
    for (at_ns, (span, values)) in (1..).zip(windows) {
        tally.add(at_ns, span.clone(), &histogram(values), &histogram(values), u64::MAX);
    }
    let sums = tally.finish();
    assert_eq!(sums.check(), Ok(()));
    sums
}

/// Something in every field.
pub(crate) fn sample() -> CrossCheck {
    let mut sums = tally(&[
        (Some(span(1_234, "cgroup_rstat_flush_locked")), &[700, 1_230_000]),
        (Some(span(1_000, "cgroup_rstat_flush_locked")), &[700_000]),
        (Some(span(80, "finish_task_switch.isra.0")), &[]),
        (None, &[]),
    ]);
    sums.ended_early = Some("it was switched off".to_owned());
    sums
}

#[test]
fn agreement_is_20_us_or_a_tenth() {
    let outcome = |tracer_us, ours| {
        let sums = tally(&[(Some(span(tracer_us, "css_rstat_flush")), &[ours])]);
        [sums.agreeing, sums.tracer_longer, sums.tracer_shorter]
    };
    // Half a us on each side is the tracer's rounding.
    for (tracer_us, ours, expected) in [
        (50, 29_500, [1, 0, 0]),
        (50, 29_499, [0, 1, 0]),
        (50, 70_499, [1, 0, 0]),
        (50, 70_500, [0, 0, 1]),
        (1_000, 899_500, [1, 0, 0]),
        (1_000, 899_499, [0, 1, 0]),
        (1_000, 1_100_499, [1, 0, 0]),
        (1_000, 1_100_500, [0, 0, 1]),
    ] {
        assert_eq!(outcome(tracer_us, ours), expected, "{tracer_us} us, {ours} ns");
    }
}

#[test]
fn an_inexact_maximum_is_a_range() {
    // The cumulative maximum did not move, so only the slot of 990 us is known.
    let before = histogram(&[2_000_000]);
    let mut after = before.clone();
    after.record(990_000);
    let window = after.since(&before).unwrap();
    assert!(!window.max_exact());
    let mut tally = Tally::default();
    tally.add(1, Some(span(990, "cgroup_rstat_flush")), &window, &window, u64::MAX);
    let compared = tally.finish().longest.unwrap();
    let ours = compared.ours.unwrap();
    assert!(ours.low_ns < 990_000 && 990_000 < ours.high_ns, "{ours:?}");
    assert!((ours.high_ns - ours.low_ns) * 16 <= ours.low_ns, "{ours:?}");
    assert_eq!((compared.difference_ns, compared.outcome()), (0, Outcome::Agrees));
}

#[test]
fn what_may_be_beyond_the_edge_widens_the_range() {
    let mut tally = Tally::default();
    tally.add(
        1,
        Some(span(500, "cgroup_rstat_flush")),
        &histogram(&[100_000]),
        &histogram(&[900_000]),
        u64::MAX,
    );
    tally.add(2, Some(span(500, "cgroup_rstat_flush")), &histogram(&[]), &histogram(&[400_000]), u64::MAX);
    tally.add(3, Some(span(500, "cgroup_rstat_flush")), &histogram(&[]), &histogram(&[]), u64::MAX);
    let sums = tally.finish();
    // The first can be anything between.
    assert_eq!((sums.agreeing, sums.undecided, sums.tracer_longer, sums.tracer_shorter), (0, 1, 2, 0));
    assert_eq!(sums.longest.unwrap().ours, Some(Bounds { low_ns: 100_000, high_ns: 900_000 }));
    let furthest = sums.furthest.unwrap();
    assert_eq!((furthest.at_ns, furthest.ours, furthest.difference_ns), (3, None, -499_500));
}

#[test]
fn what_may_have_begun_before_the_window_is_no_lower_bound() {
    let values = histogram(&[400_000, 30_000_000]);
    let low = |settled_ns| {
        let mut tally = Tally::default();
        tally.add(1, Some(span(500, "cgroup_rstat_flush")), &values, &values, settled_ns);
        let ours = tally.finish().longest.unwrap().ours.unwrap();
        assert_eq!(ours.high_ns, 30_000_000);
        ours.low_ns
    };
    assert_eq!(low(30_000_000), 30_000_000);
    assert!((375_000..=400_000).contains(&low(29_999_999)), "{}", low(29_999_999));
    assert_eq!(low(100_000), 0);
}

#[test]
fn nothing_to_compare_is_no_agreement() {
    let sums = tally(&[(Some(span(80, "__schedule")), &[5]), (None, &[])]);
    assert_eq!((sums.windows, sums.rstat_windows, sums.agrees()), (2, 0, None));
    assert_eq!(tally(&[(Some(span(1, "css_rstat_flush")), &[5])]).agrees(), Some(true));
    assert_eq!(sample().agrees(), Some(false));
    let mut tally = Tally::default();
    tally.add(1, Some(span(500, "css_rstat_flush")), &histogram(&[]), &histogram(&[900_000]), u64::MAX);
    assert_eq!(tally.finish().agrees(), None, "one that does not tell");
}

#[test]
fn spans_belong_to_the_function_that_wanted_irqs_on() {
    for (function, name, ours) in [
        ("cgroup_rstat_flush_locked", "cgroup_rstat_flush_locked", true),
        ("__cgroup_rstat_unlock.isra.0", "__cgroup_rstat_unlock", true),
        ("css_rstat_flush+0x1f/0x90", "css_rstat_flush", true),
        ("cgroup_rstat_updated", "cgroup_rstat_updated", false),
        ("finish_task_switch.isra.0", "finish_task_switch", false),
    ] {
        let span = span(9, function);
        assert_eq!((span.function(), span.is_rstat()), (name, ours));
    }
    // A function with a hook that ends by a jump to the unlock: the trampoline stands in its place.
    let mut hooked = span(9, "bpf_trampoline_6442465781");
    hooked.stack.insert(2, "cgroup_rstat_flush".to_owned());
    assert!(hooked.is_rstat() && hooked.function() == "cgroup_rstat_flush");
    // An interrupt while a flush has IRQs on has rstat deeper in its stack.
    let mut interrupt = span(9, "irqentry_exit");
    interrupt.stack.push("cgroup_rstat_flush_locked".to_owned());
    assert!(!interrupt.is_rstat());
    interrupt.stack = Vec::new();
    assert_eq!(interrupt.function(), "_raw_spin_unlock_irq");
}

#[test]
fn others_are_listed_by_frequency() {
    let windows: Vec<_> = (0..MOST_OTHERS + 3)
        .flat_map(|n| vec![(Some(span(100 - n as u64, &format!("f{n}"))), &[][..]); n + 1])
        .collect();
    let others = tally(&windows).others;
    assert_eq!(others.len(), MOST_OTHERS);
    assert_eq!(others[0], OtherSpans { function: "f7".to_owned(), windows: 8, longest_us: 93 });
}

#[test]
fn the_trace_of_a_real_kernel_is_read() {
    let span = Span::from_trace(TRACE).unwrap();
    assert!(span.is_rstat(), "{span:?}");
    assert!(span.tracer_us > 0 && !span.started_at.is_empty() && !span.stack.is_empty(), "{span:?}");
}

#[test]
fn other_texts_are_refused() {
    let error = |text: &str| Span::from_trace(text).unwrap_err();
    assert!(error("").starts_with("trace:"), "{}", error(""));
    assert_eq!(error(&format!("{TRACE}\n{TRACE}")), "2 traces where there should be one");
    let cut: String = TRACE
        .lines()
        .filter(|line| !line.contains("ended at"))
        .fold(String::new(), |all, line| all + line + "\n");
    assert_eq!(error(&cut), "a trace without latency, start or end");
}

#[test]
fn contradictions_are_found() {
    for (damage, expected) in [
        ((|sums| sums.agreeing += 1) as fn(&mut CrossCheck), "the outcomes do not add up"),
        (|sums| sums.tracer_longer = u64::MAX, "the outcomes do not add up"),
        (|sums| sums.windows = 2, "more spans than windows"),
        (|sums| sums.others[0].windows = u64::MAX, "more spans than windows"),
        (|sums| sums.longest = None, "longest and furthest"),
        (|sums| sums.furthest.as_mut().unwrap().difference_ns += 1, "difference_ns is not"),
        (|sums| sums.longest.as_mut().unwrap().ours.as_mut().unwrap().low_ns = u64::MAX, "low_ns is above"),
    ] {
        let mut sums = sample();
        damage(&mut sums);
        let error = sums.check().unwrap_err();
        assert!(error.starts_with("cross_check: ") && error.contains(expected), "{error}");
    }
}
