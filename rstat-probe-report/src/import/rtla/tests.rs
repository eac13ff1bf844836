use super::super::{corpus, import};

const HEAD: &str = "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   1 00:01:00\n";

#[test]
fn the_samples_give_their_right_values() {
    for id in ["76", "78"] {
        assert_eq!(corpus::imported(id).warnings, Vec::<String>::new());
    }
    assert_eq!(corpus::imported("78").histograms[0].elapsed_s, Some(601.0));
}

#[test]
fn wrapped_lines_dashes_wide_buckets_and_overflows_are_read() {
    let text = format!(
        "$ rtla timerlat hist -b 10\r\n{HEAD}Index IRQ-000\r\nThr-000\r\n0 1\r\n-\r\n20 2 3\r\nover: 4 0\r\ncount: 7 3\r\nALL: IRQ Thr\r\n"
    );
    let imported = import(&text, "x").unwrap();
    let first: Vec<_> = imported.histograms[0].buckets.iter().map(|b| (b.low, b.high, b.count)).collect();
    assert_eq!(first, [(Some(0.0), Some(10.0), 1), (Some(20.0), Some(30.0), 2), (Some(30.0), None, 4)]);
    assert_eq!(imported.histograms[1].total(), Some(3));
    assert_eq!(imported.histograms[1].elapsed_s, Some(86460.0));
    assert_eq!(imported.warnings.len(), 1, "{:?}", imported.warnings);
}

#[test]
fn damage_is_an_error_or_a_warning() {
    let error = |rows: &str| import(&format!("{HEAD}Index IRQ-000\n{rows}"), "x").unwrap_err().to_string();
    assert_eq!(error(""), "x:4: a table of rtla without rows");
    assert_eq!(error("0 1 2\n"), "x:5: 2 values for 1 columns");
    assert_eq!(error("0"), "x:5: the row has fewer values than the table has columns");
    assert_eq!(error("1 1\n0 1\n"), "x:6: index 0 does not come after 1 (line 5)");
    assert_eq!(
        error("0 18446744073709551615\n1 1\n"),
        "x:6: the counts of IRQ-000 add up to more than 2^64 - 1"
    );
    assert_eq!(
        error("0 18446744073709551616\n"),
        "x:5: `18446744073709551616` is not a whole number up to 2^64 - 1"
    );
    let imported = import(&format!("{HEAD}Index IRQ-000\n0 1\n1 1\ncount: 3\n"), "x").unwrap();
    assert_eq!(imported.warnings, ["IRQ-000: the rows add up to 2, the table says count: 3"]);
}
