//! Fleets as text and CSV: the report that `show` prints, and the few lines that `merge` prints when
//! it wrote a file.

mod csv;
mod difference;
#[cfg(test)]
mod tests;
mod units;

use std::io::{self, Write};

pub use csv::write_csv;

use super::text::layout::{Page, escaped};
use super::text::{TextOptions, facts, summary, write_tables};
use crate::facts::Fact;
use crate::fleet::{Fleet, UnitKind};
use crate::units as figures;

/// Writes the whole report: the sum as of one recording, then the hosts, the one that differs, and
/// everything that limits the figures. At most 100 columns wide but for words that are longer and
/// tables: figures and names are not cut.
///
/// # Errors
/// Those of the writer.
pub fn write_text(w: &mut impl Write, fleet: &Fleet, options: &TextOptions) -> io::Result<()> {
    let page = Page::new(options.width);
    if options.heading {
        write_heading(w, fleet, page)?;
        writeln!(w)?;
    }
    write_tables(w, &fleet.totals, options, page)?;
    summary::write_summary(w, &fleet.totals, fleet.duration_ns, page)?;
    page.write_fact(w, "fleet", "rates and time shares are by the host-time: those of an average host")?;
    writeln!(w)?;
    units::write_units(w, fleet, page)?;
    writeln!(w)?;
    units::write_spread(w, fleet, page)?;
    writeln!(w)?;
    facts::write_counters(w, &fleet.totals, fleet.duration_ns, page)?;
    facts::write_losses(w, &fleet.losses, page)?;
    facts::write_overflows(w, &fleet.totals, page)?;
    page.write_fact(w, "edges", &facts::edges(&fleet.open))?;
    difference::write_differences(w, fleet, page)?;
    write_warnings(w, fleet, page)
}

/// Writes what was merged, what was lost, and the unit that differs.
///
/// # Errors
/// Those of the writer.
pub fn write_short(w: &mut impl Write, fleet: &Fleet, options: &TextOptions) -> io::Result<()> {
    let page = Page::new(options.width);
    page.write_fact(w, "merged", &extent(fleet))?;
    let lost: Vec<String> = fleet
        .losses
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(loss, &count)| format!("{loss} {}", figures::count(count)))
        .collect();
    if lost.is_empty() {
        page.write_fact(w, "losses", if fleet.losses.is_empty() { "none known" } else { "none" })?;
    } else {
        page.write_fact(w, "lost", &lost.join(", "))?;
    }
    writeln!(w)?;
    units::write_spread(w, fleet, page)
}

fn write_heading(w: &mut impl Write, fleet: &Fleet, page: Page) -> io::Result<()> {
    page.write_fact(w, "tool", &escaped(&format!("{} {}", fleet.tool.name, fleet.tool.version)))?;
    page.write_fact(w, "fleet", &extent(fleet))?;
    if fleet.unit == UnitKind::Run
        && let Some(unit) = fleet.units.first()
    {
        page.write_fact(w, "host", &escaped(&unit.host))?;
    }
    let runs = || fleet.units.iter().flat_map(|unit| &unit.runs);
    if let (Some(first), Some(last)) =
        (runs().min_by_key(|run| run.order()), runs().max_by_key(|run| run.order()))
    {
        let text = format!("from {} to {}", escaped(&first.started), escaped(&last.started));
        page.write_fact(w, "started", &text)?;
    }
    // What they do not have in common comes later, with the number of units.
    for fact in [Fact::Kernel, Fact::PossibleCpus, Fact::Yield] {
        if let [value] = fleet.facts.values(fact)[..] {
            page.write_fact(w, fact.title(), &escaped(value))?;
        }
    }
    Ok(())
}

/// How much went in.
fn extent(fleet: &Fleet) -> String {
    format!(
        "{} of {}, {} of host-time",
        figures::counted(fleet.recordings, "recording", "recordings"),
        figures::counted(fleet.hosts() as u64, "host", "hosts"),
        figures::duration(fleet.duration_ns, 4)
    )
}

fn write_warnings(w: &mut impl Write, fleet: &Fleet, page: Page) -> io::Result<()> {
    fleet.warnings.iter().try_for_each(|warning| page.write_fact(w, "warning", &escaped(warning)))
}
