use serde_json::json;

use super::{
    super::{Unit, corpus, import},
    *,
};

fn error(text: &str) -> String {
    import(text, "x").unwrap_err().to_string()
}

#[test]
fn samples_of_the_corpus() {
    for id in ["25", "26", "28", "29"] {
        let ours = corpus::imported(id);
        assert_eq!(ours.warnings, [""; 0], "{id}");
    }
}

#[test]
fn every_type_of_line() {
    let imported = import(
        "{\"type\": \"attached_probes\", \"count\": 1, \"data\": {\"probes\": 3}}\r\n\
         {\"type\": \"time\", \"data\": \"10:00:00\\n\"}\n\
         {\"type\": \"printf\", \"data\": \"time elapsed: 10 sec\\n\"}\n\
         ^C\n\
         {\"type\": \"hist\", \"data\": {\"@hold_ns\": [{\"min\": \"4611686018427387904\",\n\
         > \"max\": 9223372036854775807, \"count\": 18446744073709551615}]}}\n\
         {\"type\": \"hist\", \"data\": {\"@none\": []}} {\"type\": \"map\", \"data\": {\"@m\": -1}}\n\
         {\"type\": \"stats\", \"data\": {\"@s\": {\"a\": {\"count\": 1, \"average\": 2, \"total\": 2}}}}\n\
         {\"type\": \"lost_events\", \"data\": {\"events\": 12}}\n\
         {\"type\": \"syscall\", \"data\": 1}\n\
         {\"type\": \"error\", \"msg\": \"Map full\"}\n",
        "x",
    )
    .unwrap();
    let [hold] = &imported.histograms[..] else { panic!("{imported:?}") };
    assert_eq!((hold.unit, hold.elapsed_s, hold.total()), (Some(Unit::Ns), Some(10.0), Some(u64::MAX)));
    assert_eq!(hold.time.as_deref(), Some("10:00:00"));
    assert_eq!(hold.buckets[0].high, Some(2f64.powi(63)));
    assert_eq!(
        serde_json::to_value(&imported.rows).unwrap(),
        json!([
            {"time": "10:00:00", "map": "@m", "key": null, "value": -1},
            {"time": "10:00:00", "map": "@s", "key": "a", "value": {"count": 1, "average": 2, "total": 2}},
        ])
    );
    assert_eq!(
        imported.warnings,
        [
            "line 7: @none is empty",
            "line 9: bpftrace lost 12 events",
            "line 10: data of type \"syscall\" are left out",
            "line 11: bpftrace says: Map full",
            "1 lines are not JSON and left out, the first is line 4",
        ]
    );
}

#[test]
fn damage_is_told_with_its_line() {
    let hist = |buckets: &str| format!("\n{{\"type\": \"hist\", \"data\": {{\"@x\": {buckets}}}}}\n");
    assert_eq!(
        error(&hist(
            "[{\"min\": 1, \"max\": 1, \"count\": 18446744073709551615}, {\"min\": 2, \"max\": 3, \"count\": 1}]"
        )),
        "x:2: the counts of @x add up to more than 2^64-1"
    );
    for bucket in [
        "{\"min\": 1, \"max\": 1, \"count\": 18446744073709551616}",
        "{\"min\": 1, \"max\": 1, \"count\": -1}",
        "{\"min\": 1.5, \"max\": 1, \"count\": 1}",
        "{\"count\": 1}",
        "7",
    ] {
        let message = "x:2: a bucket of @x is not min, max and a count below 2^64";
        assert_eq!(error(&hist(&format!("[{bucket}]"))), message);
    }
    assert_eq!(
        error(&hist("[{\"min\": 5, \"max\": 1, \"count\": 1}]")),
        "x:2: the row ends before it begins"
    );
    assert_eq!(error(&hist("7")), "x:2: @x has no buckets");
    assert_eq!(error(&hist("{\"a\": 7}")), "x:2: @x[a] has no buckets");
    assert_eq!(error("{\"type\": \"hist\", \"data\": {\n\"@x\": [}\n"), "x:2: not JSON: expected value");
    assert_eq!(
        error("{\"type\": \"hist\", \"data\": {\n\"@x\": [\n"),
        "x:2: not JSON: EOF while parsing a list"
    );
    assert_eq!(error("{\"type\": \"attached_probes\", \"data\": 1}"), "x:1: bpftrace output without maps");
    let good = hist("[{\"min\": 1, \"max\": 1, \"count\": 1}]");
    let cut = import(&format!("{good}{}", &good[..40]), "x").unwrap();
    assert_eq!(cut.warnings, ["line 4: the text ends within an object"]);
    // Deep nesting is refused, not followed.
    assert!(
        error(&format!("{{\"type\": \"hist\", \"data\": {}", "[".repeat(100_000)))
            .starts_with("x:1: not JSON")
    );
}

#[test]
fn other_json_is_not_taken() {
    for text in ["", "{}", "{\"type\": \"load\"}", "{\"a\": [1, 2]}", "[{\"type\": 1}]", "{\"type\"\n\"x\"}"]
    {
        assert!(super::import(&Source::new(text, "x")).is_none(), "{text:?}");
    }
}
