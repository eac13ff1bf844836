use super::super::{ImportedBucket, ImportedHistogram, corpus, import as import_any};
use super::*;

const OPEN_METRICS: &str = r#"# TYPE hold_seconds histogram
# UNIT hold_seconds seconds
# HELP hold_seconds Time one hold lasted.
hold_seconds_bucket{lock="base",le="5.12e-07"} 3
hold_seconds_bucket{lock="base",le="1.024e-06"} 7
hold_seconds_bucket{lock="base",le="2.048e-06"} 16 # {comm="kubelet"} 1.9e-06 1767225601.5
hold_seconds_bucket{lock="base",le="+Inf"} 16
hold_seconds_sum{lock="base"} 1.8542e-05
hold_seconds_count{lock="base"} 16
# EOF
"#;

fn read(text: &str) -> Imported {
    import_any(text, "x").unwrap()
}

fn error(text: &str) -> String {
    import_any(text, "x").unwrap_err().to_string()
}

fn counts(histogram: &ImportedHistogram) -> Vec<u64> {
    histogram.buckets.iter().map(|bucket| bucket.count).collect()
}

#[test]
fn samples_are_right() {
    for id in ["56", "57", "59"] {
        let imported = corpus::imported(id);
        assert_eq!(imported.warnings, [] as [&str; 0], "{id}");
        for (histogram, right) in
            imported.histograms.iter().zip(corpus::expected(id)["histograms"].as_array().unwrap())
        {
            let ours = serde_json::to_value(histogram).unwrap();
            assert_eq!(ours["labels"], right["labels"]);
            assert_eq!(ours["interval"], right["interval"]);
        }
    }
    assert!(corpus::imported("56").rows.is_empty());
    assert_eq!(
        corpus::imported("56").histograms[1].full_name(),
        "ebpf_exporter_bio_latency_seconds{device=nvme1n1,operation=write}"
    );
}

#[test]
fn open_metrics_with_exemplars() {
    let imported = read(OPEN_METRICS);
    assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    let histogram = &imported.histograms[0];
    assert_eq!(counts(histogram), [3, 4, 9, 0]);
    assert_eq!((histogram.unit, histogram.sum), (Some(Unit::S), Some(1.8542e-05)));
    assert_eq!(imported.rows[0]["exemplar"], json!({"comm": "kubelet"}));
    assert_eq!(imported.rows[0]["value"], json!(1.9e-06));

    let cut = OPEN_METRICS.replace("# EOF\n", "");
    assert!(read(&cut).warnings[0].contains("# EOF"));
    assert!(read(&format!("{OPEN_METRICS}a 1\n")).warnings[0].contains("the first is line 11"));
    assert_eq!(read(&OPEN_METRICS.replace('\n', "\r\n")), imported);
    let quoted = format!("> {}", OPEN_METRICS.replace('\n', "\n> "));
    assert_eq!(read(&quoted), imported);
}

#[test]
fn time_stamps_keep_points_apart() {
    let point = |time: u32, count: u32| {
        format!(
            "a_bucket{{le=\"1\"}} {count} {time}\na_bucket{{le=\"+Inf\"}} {count} {time}\na_count {count} {time}\na_created 5 {time}\n"
        )
    };
    let imported = read(&format!("# TYPE a histogram\n{}{}# EOF\n", point(10, 1), point(20, 3)));
    let names: Vec<String> = imported.histograms.iter().map(ImportedHistogram::full_name).collect();
    assert_eq!(names, ["a{timestamp=10}", "a{timestamp=20}"]);
    assert_eq!(imported.histograms[1].elapsed_s, Some(15.0));
    assert_eq!((imported.histograms[1].total(), imported.histograms[1].unit), (Some(3), None));
    assert!(imported.rows.is_empty() && imported.warnings.is_empty());
}

#[test]
fn contradictions_are_told() {
    let two = "a_us_bucket{le=\"1\"} 2\n";
    assert!(read(two).warnings[0].contains("neither a +Inf bucket nor a count"));
    let made = read(&format!("{two}a_us_count 5\n"));
    assert_eq!(counts(&made.histograms[0]), [2, 3]);
    assert_eq!((made.histograms[0].buckets[1].low, made.histograms[0].unit), (Some(1.0), Some(Unit::Us)));
    assert!(read(&format!("{two}a_us_count 1\n")).warnings[0].contains("less than the buckets' 2"));
    let other = read(&format!("{two}a_us_bucket{{le=\"+Inf\"}} 4\na_us_count 5\na_us_sum NaN\n"));
    assert_eq!(counts(&other.histograms[0]), [2, 2]);
    assert!(other.warnings[0].contains("+Inf bucket has 4, _count 5"));
    assert!(other.warnings[1].contains("sum NaN"));
    let unsorted = read("a_bucket{le=\"+Inf\"} 4\na_bucket{le=\"1\"} 3\n");
    assert_eq!(counts(&unsorted.histograms[0]), [3, 1]);
    assert!(unsorted.warnings[0].contains("ascending"));
    assert!(read(&format!("# UNIT a_us bytes\n{two}# EOF")).warnings[0].contains("bytes is not a time"));
}

#[test]
fn counts_before_buckets_belong_to_them() {
    let imported = read("b 1\na_sum 4\na_count 3\na_bucket{le=\"+Inf\"} 3\n");
    assert_eq!((imported.histograms[0].sum, imported.rows.len()), (Some(4.0), 1));
    let imported = read("# TYPE a summary\na{quantile=\"0.5\"} 1\na_sum 2\na_count NaN\n");
    assert_eq!((imported.histograms.len(), imported.rows.len()), (0, 3));
    assert_eq!(imported.rows[2]["value"], "NaN");
}

#[test]
fn edges_of_range() {
    let only = read("a_bucket{le=\"+Inf\"} 1.8446744073709551615e+19\n");
    assert_eq!(only.histograms[0].buckets, [ImportedBucket { low: None, high: None, count: u64::MAX }]);
    for (text, right) in [
        (
            "a_bucket{le=\"1\"} 5\na_bucket{le=\"2\"} 4\n",
            "x:2: the count of le=\"2\" goes backwards, from 5 to 4",
        ),
        ("a_bucket{le=\"1\"} 5\na_bucket{le=\"1.0\"} 5\n", "x:2: a second bucket"),
        ("a_bucket{le=\"1\"} 18446744073709551616\n", "x:1: the count 18446744073709551616 is not"),
        ("\na_bucket{le=\"1\"} NaN\n", "x:2: the count NaN is not"),
        ("a_bucket{le=\"1\"} -1\n", "x:1: the count -1"),
        ("a_bucket{le=\"NaN\"} 1\n", "x:1: le=\"NaN\" is not the edge"),
        ("a_bucket{le=\"-Inf\"} 1\n", "x:1: le=\"-Inf\" is not the edge"),
        ("a_bucket{le=\"1\"} 1\na_bucket{le=\"2\"\n", "x:2: neither a comma nor a brace"),
    ] {
        assert!(error(text).starts_with(right), "{}", error(text));
    }
}

#[test]
fn other_text_is_not_taken() {
    for text in
        ["", "\r\n", "# TYPE", "# TYPE a b\n", "a 1\n", "see my_bucket{le=\"1\"} 5\n", "@x_bucket: 5\n"]
    {
        assert!(import(&Source::new(text, "x")).is_none(), "{text}");
    }
}
