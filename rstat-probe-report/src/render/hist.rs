//! bpftrace's text table of a histogram, so that a table of ours can be laid next to one of the
//! published scripts. The rules are those of `src/output/text.cpp` (lines, bars) and
//! `src/types_format.cpp` (edges) of bpftrace at e1b7c39341f7.

use std::io::{self, Write};

use crate::histogram::Bucket;

/// Width of bpftrace's bars.
pub const BAR_WIDTH: usize = 52;

/// Columns of the range and of the count; longer ones push the rest of the line to the right.
const RANGE_WIDTH: usize = 16;
const COUNT_WIDTH: usize = 8;

/// Suffixes of 1024, 1024^2, ...
const SUFFIXES: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];

/// Writes one line for each bucket, as bpftrace does with a `bar_width` of [`BAR_WIDTH`] for the
/// buckets of `hist()` and `lhist()`. Bars shrink where a line would be longer than `max_line`
/// columns, and vanish where there is no room at all; ranges and counts stay whole.
///
/// # Errors
/// Those of the writer.
pub fn write_hist(
    w: &mut impl Write,
    buckets: &[Bucket],
    bar_width: usize,
    max_line: Option<usize>,
) -> io::Result<()> {
    let edges = Edges::of(buckets);
    let rows: Vec<(String, String)> =
        buckets.iter().map(|bucket| (edges.range(bucket), bucket.count.to_string())).collect();
    let text_width = rows
        .iter()
        .map(|(range, count)| range.len().max(RANGE_WIDTH) + count.len().max(COUNT_WIDTH))
        .max()
        .unwrap_or(0);
    // " |" and "|" surround the bar.
    let room = max_line.map_or(bar_width, |columns| columns.saturating_sub(text_width + 3));
    let width = bar_width.min(room);
    let largest = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    for (bucket, (range, count)) in buckets.iter().zip(rows) {
        write!(w, "{range:<RANGE_WIDTH$}{count:>COUNT_WIDTH$}")?;
        if width > 0 {
            write!(w, " |{:<width$}|", "@".repeat(bar(bucket.count, largest, width)))?;
        }
        writeln!(w)?;
    }
    Ok(())
}

/// Length of a bar: single precision and cut off, because that is what bpftrace does.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in 0..=width; 0/0 gives 0")]
fn bar(count: u64, largest: u64, width: usize) -> usize {
    (count as f32 / largest as f32 * width as f32) as usize
}

/// How the edges of a table are written.
#[derive(Clone, Copy)]
struct Edges {
    /// Index of the largest suffix that may be used.
    largest_suffix: usize,
}

impl Edges {
    /// `hist()` has powers of two and uses all suffixes. `lhist()` has multiples of a step and
    /// uses K and M, and these only if the step is a multiple of 1024.
    fn of(buckets: &[Bucket]) -> Self {
        let mut edges = buckets.iter().flat_map(|bucket| [bucket.low, bucket.high]).flatten();
        if edges.all(|edge| edge == 0 || edge.is_power_of_two()) {
            return Self { largest_suffix: SUFFIXES.len() - 1 };
        }
        let step = |bucket: &Bucket| bucket.high?.checked_sub(bucket.low?);
        let whole = buckets.iter().filter_map(step).all(|step| step % 1024 == 0);
        Self { largest_suffix: if whole { 2 } else { 0 } }
    }

    fn range(self, bucket: &Bucket) -> String {
        match (bucket.low, bucket.high) {
            (None, None) => "(..., ...)".to_owned(),
            (None, Some(high)) => format!("(..., {})", self.label(high)),
            // 2^64 does not fit into the type, and a `hist()` has no open end here.
            (Some(low), None) if low == 1 << 63 => format!("[{}, 16E)", self.label(low)),
            (Some(low), None) => format!("[{}, ...)", self.label(low)),
            (Some(low), Some(high)) if high.checked_sub(low) == Some(1) => format!("[{low}]"),
            (Some(low), Some(high)) => format!("[{}, {})", self.label(low), self.label(high)),
        }
    }

    fn label(self, edge: u64) -> String {
        // Zero has 64 trailing zeros.
        let thousands = if edge == 0 { 0 } else { edge.trailing_zeros() as usize / 10 };
        let suffix = thousands.min(self.largest_suffix);
        format!("{}{}", edge >> (10 * suffix), SUFFIXES[suffix])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;

    fn table(buckets: &[Bucket], max_line: Option<usize>) -> String {
        let mut text = Vec::new();
        write_hist(&mut text, buckets, BAR_WIDTH, max_line).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn bucket(low: u64, high: u64, count: u64) -> Bucket {
        Bucket { low: Some(low), high: Some(high), count }
    }

    /// The log2 buckets of `values`, each so many times.
    fn log2(values: &[(u64, u64)]) -> Vec<Bucket> {
        let mut histogram = Histogram::new();
        for &(value, times) in values {
            (0..times).for_each(|_| histogram.record(value));
        }
        histogram.log2_buckets()
    }

    /// Compares with what bpftrace printed; the first line of a golden file is the command.
    macro_rules! same_as_bpftrace {
        ($($name:ident: $buckets:expr;)*) => {
            $(#[test]
            fn $name() {
                let file = include_str!(concat!("../../tests/golden/", stringify!($name), ".txt"));
                let (command, lines) = file.split_once('\n').unwrap();
                assert!(command.starts_with("# bpftrace -e"));
                assert_eq!(table(&$buckets, None), lines);
            })*
        };
    }

    same_as_bpftrace! {
        zero_only: log2(&[(0, 1)]);
        one_only: log2(&[(1, 1)]);
        zero_and_one: log2(&[(0, 1), (1, 2)]);
        single_bucket: log2(&[(3000, 1), (4000, 1)]);
        gaps: log2(&[(0, 1), (7, 1), (1000, 2), (1 << 20, 1)]);
        negative: [
            Bucket { low: None, high: Some(0), count: 2 },
            bucket(0, 1, 1),
            bucket(1, 2, 0),
            bucket(2, 4, 1),
        ];
        negative_only: [Bucket { low: None, high: Some(0), count: 1 }];
        all_powers: log2(&std::iter::once((0, 1)).chain((0..32).map(|k| (1 << k, 1))).collect::<Vec<_>>());
        edges: log2(&[1, 2, 3, 4, 1023, 1024, 1025, u64::from(u32::MAX)].map(|value| (value, 1)));
        three_of_seven: log2(&[(16, 3), (32, 7)]);
        large_counts: log2(&[(2, 999), (4, 1000), (8, 500), (16, 19), (32, 20)]);
        of_sixty_1_to_30: log2(&(1..=30).map(|n| (1 << n, n)).chain([(1 << 31, 60)]).collect::<Vec<_>>());
        of_sixty_31_to_60: log2(&(31..=60).map(|n| (1 << (n - 30), n)).collect::<Vec<_>>());
        linear: hundred_thousands();
        linear_kilo: half_megas();
    }

    /// `lhist(x, 0, 500000, 100000)`: a step that is no multiple of 1024.
    fn hundred_thousands() -> Vec<Bucket> {
        vec![
            bucket(100_000, 200_000, 2),
            bucket(200_000, 300_000, 0),
            bucket(300_000, 400_000, 1),
            bucket(400_000, 500_000, 0),
            Bucket { low: Some(500_000), high: None, count: 1 },
        ]
    }

    /// `lhist(x, 0, 5 << 20, 512 << 10)`.
    fn half_megas() -> Vec<Bucket> {
        (0..4).map(|n| bucket(n << 19, (n + 1) << 19, 4 - n)).collect()
    }

    // From 2^32 on bpftrace 0.17 fills wrong buckets; these lines are composed from the rules of
    // the source named above.
    #[test]
    fn large_values_by_rule() {
        let top = (32..63).map(|k| bucket(1 << k, 1 << (k + 1), 0));
        let mut buckets: Vec<Bucket> = top.collect();
        buckets.push(Bucket { low: Some(1 << 63), high: None, count: 3 });
        let text = table(&buckets, None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 32);
        assert_eq!(lines[0], format!("[4G, 8G)               0 |{:52}|", ""));
        assert_eq!(lines[7], format!("[512G, 1T)             0 |{:52}|", ""));
        assert_eq!(lines[8], format!("[1T, 2T)               0 |{:52}|", ""));
        assert_eq!(lines[17], format!("[512T, 1P)             0 |{:52}|", ""));
        assert_eq!(lines[27], format!("[512P, 1E)             0 |{:52}|", ""));
        assert_eq!(lines[30], format!("[4E, 8E)               0 |{:52}|", ""));
        assert_eq!(lines[31], format!("[8E, 16E)              3 |{}|", "@".repeat(52)));
    }

    #[test]
    fn overflow_is_an_open_bucket() {
        let text = table(&log2(&[(1 << 37, 1), (1 << 38, 1), (u64::MAX, 1)]), None);
        let expected = [
            format!("[128G, 256G)           1 |{:52}|\n", "@".repeat(26)),
            format!("[256G, ...)            2 |{}|\n", "@".repeat(52)),
        ];
        assert_eq!(text, expected.concat());
    }

    #[test]
    fn large_counts_stay_whole() {
        let text = table(&[bucket(0, 1, u64::MAX), bucket(1, 2, 123_456_789)], None);
        let expected = [
            format!("[0]             18446744073709551615 |{}|\n", "@".repeat(52)),
            format!("[1]             123456789 |{:52}|\n", ""),
        ];
        assert_eq!(text, expected.concat());
    }

    #[test]
    fn nothing_has_no_lines() {
        assert_eq!(table(&[], Some(40)), "");
        assert_eq!(table(&[bucket(0, 1, 0)], None), format!("[0]                    0 |{:52}|\n", ""));
    }

    #[test]
    fn narrow_terminals_shrink_bars_only() {
        let buckets = [bucket(2, 4, 1_000_000_000), bucket(4, 8, 500_000_000)];
        assert_eq!(
            table(&buckets, Some(39)),
            "[2, 4)          1000000000 |@@@@@@@@@@|\n[4, 8)          500000000 |@@@@@     |\n"
        );
        assert_eq!(table(&buckets, Some(20)), "[2, 4)          1000000000\n[4, 8)          500000000\n");
        for columns in 0..100 {
            let text = table(&[bucket(2, 4, 1)], Some(columns));
            assert!(text.lines().all(|line| line.len() <= columns.max(24)), "{columns}");
        }
        assert_eq!(table(&buckets[..1], Some(1000)), table(&buckets[..1], None));
    }
}
