//! Both histograms side by side, bars on one scale: of the shares, because the counts of two runs
//! of different length say little beside each other.

use super::WIDTH;
use super::cells::bucket;
use crate::compare::{Measure, PairBucket, Quantity, words};
use crate::units;

/// Longest bar.
const LONGEST_BAR: usize = 8;
/// Columns of a label and of a count, unless one needs more.
const LABEL: usize = 13;
const COUNT: usize = 11;
/// Of one side, besides the count and the bar: two blanks, the share, the bar's begin.
const AROUND: usize = 9;

/// Lines of at most [`WIDTH`] columns, the head first: bars shrink where labels and counts need the
/// room. None where a picture would show nothing.
pub(super) fn lines(measure: &Measure) -> Vec<String> {
    let rows = &measure.buckets;
    let single = measure.events.iter().all(|events| *events <= 1);
    if rows.len() <= 1 || single {
        return Vec::new();
    }
    let sums = [rows.iter().map(|row| row.baseline).sum::<u64>(), rows.iter().map(|row| row.candidate).sum()];
    let share = |count: u64, side: usize| count as f64 / sums[side].max(1) as f64;
    let most = rows.iter().map(|row| share(row.baseline, 0).max(share(row.candidate, 1))).fold(0.0, f64::max);
    let counts = rows.iter().flat_map(|row| [row.baseline, row.candidate]);
    let count_width = counts.map(|count| units::count(count).len()).max().unwrap_or(0).max(COUNT);
    let label_width = rows.iter().map(|row| label(measure, row).len()).max().unwrap_or(0).max(LABEL);
    let room = WIDTH.saturating_sub(label_width + 1 + 2 * (count_width + AROUND)) / 2;
    let width = room.min(LONGEST_BAR);
    let side = |count: u64, side: usize| {
        let share = share(count, side);
        // Of a bar that is no longer than its box the fraction is all that is lost.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to the width")]
        let bar = "@".repeat(if most > 0.0 { (share / most * width as f64) as usize } else { 0 });
        format!("{:>count_width$} {:>6} |{bar:<width$}", units::count(count), percent(share, count))
    };
    let unit = if measure.quantity == Quantity::Time { " ns" } else { "" };
    let head = format!("[low, high){unit}");
    let second = width + 1 + AROUND + count_width;
    let mut lines = vec![format!("{head:<label_width$}{:>count_width$}{:>second$}", "baseline", "candidate")];
    for row in rows {
        let (left, right) = (side(row.baseline, 0), side(row.candidate, 1));
        let line = format!("{:<label_width$}{left} {right}", label(measure, row));
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// Four characters and the sign; what is there is never 0.
fn percent(share: f64, count: u64) -> String {
    match share * 100.0 {
        _ if count == 0 => String::new(),
        percent if percent < 0.01 => "<0.01%".to_owned(),
        percent if percent < 10.0 => format!("{percent:.2}%"),
        percent => format!("{percent:.1}%"),
    }
}

fn label(measure: &Measure, row: &PairBucket) -> String {
    if measure.quantity == Quantity::Time {
        return bucket(row.low, row.high);
    }
    format!("[{}, {})", words::plain(row.low), words::plain(row.high))
}
