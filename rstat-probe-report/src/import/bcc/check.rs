//! Contradictions within a bcc table, and rows that are not what they look like.

use super::{Table, Unit, shortened};

/// Rows at which libbpf-tools end: their last one also holds everything above it.
const LAST_SLOTS: [usize; 4] = [20, 26, 27, 36];

/// Adds what is doubtful about `table`, in a text with `footers` below its tables or without.
pub(super) fn table(table: &Table<'_>, footers: bool, warnings: &mut Vec<String>) {
    let number = table.line.number;
    let name = table.name();
    let who = if name.is_empty() {
        format!("line {number}")
    } else {
        format!("{} (line {number})", shortened(name))
    };
    let mut warn = |text: String| warnings.push(format!("{who}: {text}"));
    match table.word {
        Some(word) if Unit::from_word(word).is_none() => warn(format!("`{word}` is not a unit of time")),
        _ => {}
    }
    for row in table.rows.iter().filter(|row| row.count > 0) {
        let nanoseconds = table.unit().unwrap_or(Unit::Ns).nanoseconds();
        if u128::from(row.low) * u128::from(nanoseconds) >= 1 << 62 {
            warn(format!(
                "line {}: {} in [{}, {}] come from a clock that went back (below 0 without a sign); \
                 they spoil mean and maximum",
                row.line.number, row.count, row.low, row.high
            ));
        }
    }
    if let Some(last) = table.rows.last() {
        let log2 = last.high > last.low && (u128::from(last.high) + 1).is_power_of_two();
        let slot = (u128::from(last.high) + 1).trailing_zeros() as usize;
        if log2 && last.count > 0 && LAST_SLOTS.contains(&slot) {
            warn(format!(
                "line {}: in libbpf-tools a row that starts at {} may also hold all larger values",
                last.line.number, last.low
            ));
        }
    }
    if let Some(last) = table.rows.last().filter(|row| row.count == 0 && !row.linear) {
        warn(format!(
            "line {}: no tool prints empty rows at the end of a table: it may be cut off here",
            last.line.number
        ));
    }
    if footers && table.footer.is_none() {
        warn("it has no footer and others have: it may be cut off".to_owned());
    }
    bars(table, &mut warn);
    footer(table, &mut warn);
}

/// Bars are drawn from the counts: other lengths mean damage.
fn bars(table: &Table<'_>, warn: &mut impl FnMut(String)) {
    let Some(most) = table.rows.iter().map(|row| row.count).max().filter(|most| *most > 0) else { return };
    let Some((_, width)) = table.rows.iter().find_map(|row| row.bar) else { return };
    if table.rows.iter().any(|row| row.bar.is_some_and(|(_, other)| other != width)) {
        return;
    }
    for row in &table.rows {
        let Some((stars, _)) = row.bar else { continue };
        let right = u128::from(row.count) * u128::from(width) / u128::from(most);
        if right.abs_diff(u128::from(stars)) > 1 {
            warn(format!(
                "line {}: a bar of {stars} does not go with a count of {} (most is {most})",
                row.line.number, row.count
            ));
        }
    }
    if let Some(row) = table.rows.last().filter(|row| row.bar.is_none()) {
        warn(format!("line {}: the last row has no whole bar: the file may be cut there", row.line.number));
    }
    for row in table.rows.iter().filter(|row| row.strange) {
        warn(format!("line {}: what follows the count is no bar: the row may be damaged", row.line.number));
    }
}

/// The footer against the rows.
fn footer(table: &Table<'_>, warn: &mut impl FnMut(String)) {
    let Some(footer) = &table.footer else { return };
    let line = footer.line.number;
    let total = table.total;
    let (Some(sum), Some(count)) = (footer.sum, footer.count) else {
        return warn(format!("line {line}: the footer is cut or damaged"));
    };
    if footer.unit != table.unit() {
        return warn(format!(
            "line {line}: the footer is in another unit than the rows; its sum is left out"
        ));
    }
    if let (Some(average), Some(right)) = (footer.average, sum.checked_div(count))
        && average.abs_diff(right) > 1
    {
        warn(format!("line {line}: avg = {average} is not total / count ({right})"));
    }
    if count != total {
        return warn(format!("line {line}: the rows add up to {total}, the footer says count: {count}"));
    }
    let edge = |pick: fn(&super::Row<'_>) -> u128| {
        table.rows.iter().fold(0u128, |sum, row| sum.saturating_add(pick(row)))
    };
    let least = edge(|row| u128::from(row.low).saturating_mul(row.count.into()));
    let most = edge(|row| (u128::from(row.high) + 1).saturating_mul(row.count.into()));
    if !(least..=most).contains(&u128::from(sum)) {
        warn(format!("line {line}: total: {sum} cannot be: the rows allow {least} to {most}"));
    }
}
