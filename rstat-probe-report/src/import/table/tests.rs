use super::super::{Imported, ImportedHistogram, Unit, corpus, import};

fn counts(imported: &Imported, index: usize) -> Vec<u64> {
    imported.histograms[index].buckets.iter().map(|bucket| bucket.count).collect()
}

fn edges(imported: &Imported) -> Vec<(Option<f64>, Option<f64>)> {
    imported.histograms[0].buckets.iter().map(|bucket| (bucket.low, bucket.high)).collect()
}

#[test]
fn the_published_tables_give_their_histograms() {
    for id in ["52", "54", "55"] {
        let imported = corpus::imported(id);
        assert_eq!(imported.format, "hand-bucket-table");
        assert_eq!(imported.warnings, Vec::<String>::new(), "{id}");
    }
}

#[test]
fn blank_cells_are_zero_in_any_column() {
    let text = "Time       Old      New\r\n0-1 us     1,000    2\r\n1-2 us              3\r\n2-3 us     4\r\n3-4 us     5\r\n";
    let imported = import(text, "x").unwrap();
    assert_eq!(counts(&imported, 0), [1000, 0, 4, 5]);
    assert_eq!(counts(&imported, 1), [2, 3]);
    assert_eq!(imported.warnings, Vec::<String>::new());
    let tabs = "Time\tOld\tNew\n0-1 us\t1,000\t2\n1-2 us\t\t3\n2-3 us\t4\n";
    assert_eq!(counts(&import(tabs, "x").unwrap(), 1), [2, 3]);
    let markdown =
        "| Time | Old | New |\n|---|---:|---:|\n| 0-1 us | 1,000 | 2 |\n| 1-2 us | | 3 |\n| 2-3 us | 4 | |\n";
    let imported = import(markdown, "x").unwrap();
    assert_eq!((counts(&imported, 0), counts(&imported, 1)), (vec![1000, 0, 4], vec![2, 3]));
    assert_eq!(imported.histograms[1].name, "New");
}

#[test]
fn bounds_are_brought_to_one_unit_and_in_order() {
    let text = "Time  Count\n  >1 s  1\n1-1000 ms  2\n500-1000 us  3\n";
    let imported = import(text, "x").unwrap();
    assert_eq!(imported.histograms[0].unit, Some(Unit::Us));
    let right = [(Some(500.0), Some(1e3)), (Some(1e3), Some(1e6)), (Some(1e6), None)];
    assert_eq!(edges(&imported), right);
    assert_eq!(counts(&imported, 0), [3, 2, 1]);
}

#[test]
fn included_ends_and_units_of_the_head_are_understood() {
    let text = "Wait (us)  Count\n0-9  1\n10-19  2\n>19  3\n";
    let imported = import(text, "x").unwrap();
    assert_eq!(imported.histograms[0].unit, Some(Unit::Us));
    assert_eq!(edges(&imported), [(Some(0.0), Some(10.0)), (Some(10.0), Some(20.0)), (Some(20.0), None)]);
    let bare = import("Size  Count\n0-10  1\n10-20  2\n20-30  2\n", "x").unwrap();
    assert_eq!(bare.histograms[0].unit, None);
}

#[test]
fn gaps_wrong_totals_and_missing_heads_are_warned_about() {
    let imported = import("T  A  B\n0-1 us  1  2\n5-6 us  3  4\nTotal  4  7\n", "x").unwrap();
    assert_eq!(imported.warnings.len(), 2, "{:?}", imported.warnings);
    assert!(imported.warnings[1].contains("[4, 7]") && imported.warnings[1].contains("[4, 6]"));
    let imported = import("0-1 us  1  2\n1-6 us  3  4\n", "x").unwrap();
    assert_eq!(imported.histograms[1].name, "column 2");
    assert_eq!(imported.warnings.len(), 1);
}

#[test]
fn several_tables_of_one_file_have_names_apart() {
    let table = "T  A  B\n0-1 us  1  2\n1-2 us  3  4\n\n";
    let imported = import(&table.repeat(2), "x").unwrap();
    let names: Vec<_> = imported.histograms.iter().map(|histogram| histogram.name.as_str()).collect();
    assert_eq!(names, ["A", "B", "A (2)", "B (2)"]);
    let imported = import(&format!("one:\n{table}two:\n{table}"), "x").unwrap();
    let names: Vec<_> = imported.histograms.iter().map(ImportedHistogram::full_name).collect();
    assert_eq!(names, ["one A", "one B", "two A", "two B"]);
}

#[test]
fn what_cannot_be_right_is_an_error_with_its_line() {
    let error = |rows: &str| import(&format!("T  A\n{rows}"), "x").unwrap_err().to_string();
    assert!(error("0-2 us  1\n1-3 us  2\n").starts_with("x:3: "));
    assert!(error("0-2 us  1\n2-2 us  2\n").starts_with("x:3: "));
    assert!(error("0-2 us  1\n2-3 us  2.5\n4-5 us  1\n").starts_with("x:3: "));
    assert!(error("0-2 us  18446744073709551615\n2-3 us  1\n").contains("add up to more"));
    assert!(error("0-2 us  1\n2-3 us  18446744073709551616\n3-4 us  1\n").starts_with("x:3: "));
}
