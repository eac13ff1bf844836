//! The kernel's irqsoff tracer beside us, in sentences.

use std::io::{self, Write};

use super::layout::{Page, escaped};
use crate::cross_check::{Bounds, Compared, CrossCheck};
use crate::units;

/// Writes what the tracer said, and a warning where that does not fit.
pub(super) fn write_cross_check(w: &mut impl Write, check: &CrossCheck, page: Page) -> io::Result<()> {
    let of = format!(
        "{} of {} rstat's, of which {} agree and {} cannot tell",
        units::count(check.rstat_windows),
        units::counted(check.windows, "window was", "windows were"),
        units::count(check.agreeing),
        units::count(check.undecided)
    );
    let text = match &check.longest {
        Some(longest) => format!("{} tracer {}; {of}", escaped(&check.tracer), sentence(longest)),
        None => format!("{} tracer: nothing to compare, {of}", escaped(&check.tracer)),
    };
    page.write_fact(w, "cross-check", &text)?;
    if !check.others.is_empty() {
        let others: Vec<String> = check
            .others
            .iter()
            .map(|row| {
                let windows = units::counted(row.windows, "window", "windows");
                let longest = units::count(row.longest_us);
                format!("{} {windows} (up to {longest} us)", escaped(&row.function))
            })
            .collect();
        page.write_fact(w, "longer elsewhere", &others.join(", "))?;
    }
    page.write_fact(
        w,
        "tracer's cost",
        "it lengthens every time with IRQs off: compare these figures with no run without --cross-check",
    )?;
    if let Some(reason) = &check.ended_early {
        page.write_fact(w, "warning", &format!("the cross-check ended early: {}", escaped(reason)))?;
    }
    match &check.furthest {
        Some(furthest) if check.agrees() == Some(false) => {
            page.write_fact(w, "warning", &disagreement(check, furthest))
        }
        _ => Ok(()),
    }
}

/// As `1,234 us (started at a, ended at b), ours 1.23 ms: -0.3 %`.
fn sentence(compared: &Compared) -> String {
    let span = &compared.span;
    let ours = compared.ours.map_or_else(|| "ours none".to_owned(), |ours| format!("ours {}", bounds(ours)));
    let ended = if span.ended_at == span.function() {
        escaped(&span.ended_at)
    } else {
        format!("{} in {}", escaped(&span.ended_at), escaped(span.function()))
    };
    format!(
        "{} us (started at {}, ended at {ended}), {ours}: {}",
        units::count(span.tracer_us),
        escaped(&span.started_at),
        difference(compared)
    )
}

fn bounds(ours: Bounds) -> String {
    if ours.low_ns == ours.high_ns {
        units::duration(ours.high_ns, 4)
    } else {
        format!("{} to {}", units::duration(ours.low_ns, 4), units::duration(ours.high_ns, 4))
    }
}

fn difference(compared: &Compared) -> String {
    let difference = compared.difference_ns;
    let sign = if difference < 0 { "-" } else { "+" };
    let share = difference.unsigned_abs() as f64 / (compared.span.tracer_us.max(1) as f64 * 1000.0);
    match difference {
        0 => "no difference".to_owned(),
        _ => format!("{sign}{}", units::percent(share)),
    }
}

fn disagreement(check: &CrossCheck, furthest: &Compared) -> String {
    let mut parts = Vec::new();
    if check.tracer_longer > 0 {
        let windows = units::counted(check.tracer_longer, "window", "windows");
        parts.push(format!("in {windows} the tracer saw longer than we did"));
    }
    if check.tracer_shorter > 0 {
        let windows = units::counted(check.tracer_shorter, "window", "windows");
        parts.push(format!(
            "in {windows} we saw longer than the tracer, which leaves out spans during which another CPU set a new maximum"
        ));
    }
    format!(
        "the cross-check does not agree within 20 us or 10 %: {}; furthest apart: {}",
        parts.join(", "),
        sentence(furthest)
    )
}
