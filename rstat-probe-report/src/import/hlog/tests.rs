use std::time::{Duration, UNIX_EPOCH};

use hdrhistogram::serialization::{
    V2DeflateSerializer,
    interval_log::{IntervalLogWriterBuilder, Tag},
};

use super::super::{Unit, corpus, import as import_any};
use super::*;

const LINE: &str = "Tag=hold,1767225600.000,1.000,0.040,\
    HISTFAAAACh42pNpmSzMwMDAyQABTFCaEYj5/wOB/QeIwEF2to2MQvs5mQCupgjp";

fn error(text: &str) -> String {
    import_any(text, "x").unwrap_err().to_string()
}

/// A log of the crate's writer.
fn written(divisor: f64, values: &[(Option<&'static str>, &[u64], u8)]) -> String {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder.with_start_time(UNIX_EPOCH + Duration::from_secs(1_767_225_601)).with_max_value_divisor(divisor);
    let mut writer = builder.begin_log_with(&mut bytes, &mut serializer).unwrap();
    for (tag, values, digits) in values {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, u64::MAX, *digits).unwrap();
        for value in *values {
            histogram.record(*value).unwrap();
        }
        let tag = tag.map(|tag| Tag::new(tag).unwrap());
        writer.write_histogram(&histogram, Duration::from_secs(5), Duration::from_secs(10), tag).unwrap();
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn sample_is_right() {
    let imported = corpus::imported("71");
    assert_eq!(imported.warnings, [] as [&str; 0]);
    assert_eq!(imported.histograms[0].elapsed_s, imported.histograms[1].elapsed_s);
    assert_eq!(imported.histograms[0].elapsed_s, Some(21.008));
}

#[test]
fn one_line_is_enough() {
    let imported = import_any(LINE, "x").unwrap();
    let histogram = &imported.histograms[0];
    assert_eq!(
        (histogram.name.as_str(), histogram.unit, histogram.total()),
        ("hold", Some(Unit::Ns), Some(13))
    );
    assert_eq!((histogram.buckets[0].low, histogram.buckets[0].high), (Some(900.0), Some(904.0)));
    assert_eq!(import_any(&format!("\u{feff}{LINE}\r\n"), "x").unwrap(), imported);
    assert_eq!(import_any(&format!("> {LINE}\n"), "x").unwrap(), imported);
}

#[test]
fn logs_of_the_crate_are_read() {
    let text = written(
        1e6,
        &[(Some("a"), &[5, 5, 7], 2), (None, &[9], 3), (Some("a"), &[7, u64::MAX], 2), (None, &[], 3)],
    );
    let imported = import_any(&text, "x").unwrap();
    let names: Vec<_> =
        imported.histograms.iter().map(|h| (h.name.as_str(), h.total(), h.elapsed_s)).collect();
    assert_eq!(names, [("a", Some(5), Some(20.0)), ("(no tag)", Some(1), Some(20.0))]);
    let buckets = &imported.histograms[0].buckets;
    assert_eq!(buckets[0], ImportedBucket { low: Some(5.0), high: Some(6.0), count: 2 });
    assert_eq!(buckets[1], ImportedBucket { low: Some(7.0), high: Some(8.0), count: 2 });
    assert_eq!((buckets[2].high, buckets[2].count), (Some(2f64.powi(64)), 1));
    assert_eq!(imported.scalars["start_epoch_s"], 1_767_225_601.0);
    assert_eq!(imported.histograms[0].unit, Some(Unit::Ns));

    let plain = import_any(&written(1.0, &[(None, &[5_000_000], 2)]), "x").unwrap();
    assert_eq!((plain.histograms[0].unit, &plain.scalars["max_unit_ratio"]), (None, &json!(1)));
    assert!(plain.rows[0].contains_key("interval_max"));
    let odd = import_any(&written(12_345.0, &[(None, &[5_000_000], 2)]), "x").unwrap();
    assert_eq!((odd.histograms[0].unit, &odd.scalars["max_unit_ratio"]), (None, &json!(12_345)));
}

#[test]
fn damage_is_told() {
    let bad = LINE.replace("HISTFAAAACh4", "HISTFAAAACh5");
    assert!(error(&bad).starts_with("x:1: the histogram does not decompress"), "{}", error(&bad));
    assert!(error(&format!("{LINE}\n{bad}\n{LINE}\n")).starts_with("x:2: "));
    let cut = format!("{LINE}\n{}\n\n", LINE.get(..60).unwrap());
    let imported = import_any(&cut, "x").unwrap();
    assert!(imported.warnings[0].starts_with("line 2, the last, was left out: "), "{:?}", imported.warnings);
    assert_eq!(imported.rows.len(), 1);
    let mixed = written(1.0, &[(None, &[5], 2), (None, &[5], 3), (None, &[5], 3)]);
    assert!(error(&mixed).contains("do not add up"), "{}", error(&mixed));
    let other = import_any(&LINE.replace("0.040", "7.5"), "x").unwrap();
    assert!(other.warnings[0].contains("1 of 1 intervals"), "{:?}", other.warnings);
    assert_eq!((other.histograms[0].unit, &other.scalars["max_unit_ratio"]), (None, &Value::Null));
    for (from, to) in
        [("1.000", "x"), ("1.000", "1e308"), ("1.000", "-1"), ("0.040", "NaN"), ("0.040,", "0.040,5,")]
    {
        assert!(
            error(&format!("{LINE}\n{}\n{LINE}", LINE.replacen(from, to, 1))).starts_with("x:2: "),
            "{to}"
        );
    }
    let empty = import_any("#[Histogram log format version 1.3]\n", "x").unwrap();
    assert!(empty.warnings[0].contains("no intervals") && empty.histograms.is_empty());
    for text in ["", "\n\n", "1,2,3,4\n", "a b c HIST\n"] {
        assert!(import(&Source::new(text, "x")).is_none(), "{text}");
    }
}

#[test]
fn counts_near_the_end() {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new().begin_log_with(&mut bytes, &mut serializer).unwrap();
    let mut histogram = Histogram::<u64>::new_with_bounds(1, 1000, 2).unwrap();
    histogram.record_n(5, (1 << 63) - 1).unwrap();
    for _ in 0..3 {
        writer.write_histogram(&histogram, Duration::ZERO, Duration::from_secs(1), None).unwrap();
    }
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(import_any(&lines[..2].join("\n"), "x").unwrap().histograms[0].total(), Some(u64::MAX - 1));
    assert!(error(&format!("{text}\n{}\n", lines[0])).starts_with("x:3: the counts exceed 2^64"));
}
