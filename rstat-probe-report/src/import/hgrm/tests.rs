use super::super::{corpus, import as import_any};
use super::*;

const HEAD: &str = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";

fn read(text: &str) -> Imported {
    import_any(text, "x").unwrap()
}

fn buckets(imported: &Imported) -> Vec<(Option<f64>, Option<f64>, u64)> {
    imported.histograms[0].buckets.iter().map(|b| (b.low, b.high, b.count)).collect()
}

#[test]
fn samples_are_right() {
    assert_eq!(
        corpus::imported("75").warnings,
        ["the unit is not in the file; \"ns\" was taken from the file's name"]
    );
    // The name of 73 is that of its file in the other project: all else is compared.
    let (ours, right) = (corpus::imported("73"), corpus::expected("73"));
    let ours_json = serde_json::to_value(&ours.histograms).unwrap();
    for field in ["unit", "total", "buckets"] {
        corpus::assert_same(&ours_json[0][field], &right["histograms"][0][field], field);
    }
    assert_eq!(ours.histograms.len(), 1);
    assert_eq!(ours.warnings.len(), 1);
    assert!(ours.warnings[0].contains("maximum 64.736 of the footer lies below the last value 64.767"));
}

#[test]
fn java_csv_and_carriage_returns() {
    let rows =
        "0.903 0.0 3 1.00\n1.503 0.5 12 2.00\n1.503 0.875 12 8.00\n40.191 0.9375 13 16.00\n40.191 1.0 13\n";
    let right = [(None, Some(0.903), 3), (Some(0.903), Some(1.503), 9), (Some(1.503), Some(40.191), 1)];
    let java = read(&format!("{HEAD}{rows}#[Max     =       40.191, Total count    =           13]\n"));
    assert_eq!(buckets(&java), right);
    assert!(java.warnings.is_empty(), "{:?}", java.warnings);
    assert_eq!(java.histograms[0].unit, None);
    let csv =
        format!("\"Value\",\"Percentile\",\"TotalCount\",\"1/(1-Percentile)\"\n{}", rows.replace(' ', ","))
            .replace("1.0,13\n", "1.0,13,Infinity\n");
    assert_eq!(buckets(&read(&csv)), right);
    assert_eq!(buckets(&read(&csv.replace('\n', "\r\n"))), right);
}

#[test]
fn wrk2_has_two_in_milliseconds() {
    let table =
        format!("{HEAD}1.5 0.0 1 1.00\n2.5 1.0 2 inf\n#[Mean = 2.000, StdDeviation = 0.5]\n----------\n");
    let text = format!(
        "  Latency Distribution\n  Detailed Percentile spectrum:\n{table}  2 requests in 10.00s, 1.05GB read\n{table}"
    );
    let imported = read(&text);
    let names: Vec<_> = imported.histograms.iter().map(|h| (h.name.as_str(), h.unit)).collect();
    assert_eq!(names, [("latency", Some(Unit::Ms)), ("latency 2", Some(Unit::Ms))]);
    assert_eq!(imported.scalars["latency 2"]["footer"]["Mean"], 2.0);
}

#[test]
fn units_are_hinted() {
    assert_eq!(
        read(&format!("## Queue latency (ns)\n{HEAD}1 1.0 1 inf\n")).histograms[0].unit,
        Some(Unit::Ns)
    );
    for (name, unit) in [
        ("/a_us/b-ns.hgrm", Some(Unit::Ns)),
        ("x_usecs.txt", Some(Unit::Us)),
        ("ns", None),
        ("a-s", None),
        ("", None),
    ] {
        assert_eq!(unit_of_file(name), unit, "{name}");
    }
}

#[test]
fn damage_is_told() {
    for (rows, right) in [
        ("x", "x:3: \"x\" is no Value"),
        ("1 2 3", "x:3: value 1 at percentile 2"),
        ("NaN 0 3", "x:3: value NaN at percentile 0"),
        ("inf 0 3", "x:3: value inf at percentile 0"),
        ("1 0", "x:3: no TotalCount"),
        ("1 0 18446744073709551616", "x:3: \"18446744073709551616\" is no TotalCount"),
        ("1 0 5\n2 0.5 4", "x:4: the count goes backwards, from 5 to 4"),
        ("2 0 5\n1 0.5 6", "x:4: the value goes backwards to 1"),
        ("1 0 5 1 1", "x:3: more than the four columns"),
    ] {
        let error = import_any(&format!("{HEAD}{rows}\n"), "x").unwrap_err().to_string();
        assert!(error.starts_with(right), "{error}");
    }
    let large = read(&format!("{HEAD}1 0 18446744073709551614\n2 1.0 18446744073709551615\n"));
    assert_eq!(large.histograms[0].total(), Some(u64::MAX));
    assert!(read(&format!("{HEAD}1 0 5\n")).warnings[0].contains("cut off"));
    assert!(read(HEAD).warnings[0].contains("no rows"));
    let footer = read(&format!("{HEAD}1 1.0 5\n#[Max = 2, Total count = 6]"));
    assert!(footer.warnings[0].contains("the rows count 5, the footer says 6"), "{:?}", footer.warnings);
    assert!(footer.warnings[1].contains("above the last value 1"), "{:?}", footer.warnings);
    assert!(import(&Source::new("", "x")).is_none());
}
