use super::super::{corpus, import};
use super::*;

fn read(text: &str) -> Result<Imported, ImportError> {
    import(text, "x")
}

const HEAD: &str = "     usecs               : count     distribution\n";

#[test]
fn the_samples_give_their_right_values() {
    for id in ["61", "63", "65", "67", "69"] {
        assert_eq!(corpus::imported(id).warnings, Vec::<String>::new(), "{id}");
    }
}

#[test]
fn contradictions_are_named() {
    assert_eq!(
        corpus::imported("68").warnings,
        ["line 3: line 18: the rows add up to 20344, the footer says count: 20383"]
    );
    let warnings = corpus::imported("64").warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("the rows between 65535 and 9007199254740992 are missing"));
    assert!(warnings[1].contains("a clock that went back"));
    let text = format!(
        "{HEAD} 0 -> 1 : 9 |****|\n 2 -> 3 : 1 |****|\n\navg = 7 usecs, total: 70 usecs,\ncount: 10\n"
    );
    let warnings = read(&text).unwrap().warnings;
    assert!(warnings[0].contains("line 3: a bar of 4 does not go with a count of 1"), "{warnings:?}");
    assert!(warnings[1].contains("total: 70 cannot be: the rows allow 2 to 22"), "{warnings:?}");
}

#[test]
fn quotes_patch_prefixes_carriage_returns_and_wrapped_bars_are_read() {
    for (start, end) in [("", "\r\n"), ("> ", "\n"), (">> ", "\r\n"), ("+", "\n")] {
        let text = format!(
            "{start}{}{end}{start} 0 -> 1  : 3 |****|{end}{start} 2 -> 3  : 1{end}{start}|*   |{end}",
            HEAD.trim_end()
        );
        let imported = read(&text).unwrap();
        assert_eq!(imported.histograms[0].total(), Some(4), "{start:?} {end:?}");
        assert_eq!(imported.histograms[0].unit, Some(Unit::Us));
        assert_eq!(imported.warnings, Vec::<String>::new());
    }
}

#[test]
fn the_largest_numbers_neither_wrap_nor_panic() {
    let text = format!("{HEAD} 9223372036854775808 -> 18446744073709551615 : 18446744073709551615 |**|\n");
    let imported = read(&text).unwrap();
    assert_eq!(imported.histograms[0].buckets[0].high, Some(18_446_744_073_709_551_616.0));
    assert_eq!(imported.histograms[0].total(), Some(u64::MAX));
    let text = format!("{HEAD} 0 -> 1 : 18446744073709551615 |**|\n 2 -> 3 : 1 | |\n");
    assert_eq!(
        read(&text).unwrap_err().to_string(),
        "x:3: the counts up to here add up to more than 2^64 - 1"
    );
    let text = format!("{HEAD} 0 -> 1 : 18446744073709551616 |**|\n");
    assert_eq!(read(&text).unwrap_err().to_string(), "x:2: the count 18446744073709551616 is above 2^64 - 1");
    let text = format!("{HEAD} 0 -> 1 : -5 |**|\n");
    assert_eq!(read(&text).unwrap_err().to_string(), "x:2: the count `-5` is not a whole number");
}

#[test]
fn rows_out_of_order_are_refused() {
    let text = format!("{HEAD} 2 -> 3 : 1 |**|\n 0 -> 1 : 1 |**|\n");
    assert!(read(&text).unwrap_err().to_string().starts_with("x:3: the row of 0 does not come after"));
    assert_eq!(read(HEAD).unwrap_err().to_string(), "x:1: a bcc table without rows");
}

#[test]
fn linear_tables_have_one_value_a_row() {
    let text = "     msecs         : count     distribution\n        0          : 5        |**|\n        7          : 2        |  |\n";
    let imported = read(text).unwrap();
    let buckets: Vec<_> = imported.histograms[0].buckets.iter().map(|b| (b.low, b.high, b.count)).collect();
    assert_eq!(buckets, [(Some(0.0), Some(1.0), 5), (Some(7.0), Some(8.0), 2)]);
}

#[test]
fn shared_names_are_told_apart() {
    let table = format!("softirq = timer\n{HEAD} 0 -> 1 : 1 |**|\n\n");
    let imported = read(&format!("Before this patch:\n{table}\nAfter:\n{table}")).unwrap();
    let names: Vec<_> = imported.histograms.iter().map(ImportedHistogram::full_name).collect();
    assert_eq!(names, ["Before softirq = timer", "After softirq = timer"]);
    let imported = read(&format!("00:00:01\n{table}00:00:02\n{table}")).unwrap();
    let times: Vec<_> = imported.histograms.iter().map(|h| h.time.as_deref()).collect();
    assert_eq!(times, [Some("00:00:01"), Some("00:00:02")]);
}

#[test]
fn cut_rows_are_named() {
    let warnings = |rows: &str| read(&format!("{HEAD} 0 -> 1 : 9 |****|\n{rows}")).unwrap().warnings;
    assert_eq!(
        warnings(" 2 -> 3 : 9 |**"),
        ["line 1: line 3: the last row has no whole bar: the file may be cut there"]
    );
    assert_eq!(warnings(" 2 -> 3 "), ["line 3: `2 -> 3` has no count; the row is left out"]);
    assert_eq!(
        warnings(" 2 -> 3 : 9 |*x**|\n 4 -> 7 : 1 |    |"),
        ["line 1: line 3: what follows the count is no bar: the row may be damaged"]
    );
}
