use serde_json::{Value, json};

use super::super::{Imported, Unit, corpus, import};

const HISTOGRAMS: &[&str] = &["01", "02", "03", "07", "08", "09", "10", "12", "15", "19", "21", "23"];

#[test]
fn histograms_of_the_corpus() {
    for id in HISTOGRAMS {
        let (ours, right) = (corpus::imported(id), corpus::expected(id));
        // Quotes are no format of their own here.
        assert_eq!(right["format"].as_str().unwrap().trim_end_matches("-quoted"), ours.format, "{id}");
        for (ours, right) in ours.histograms.iter().zip(right["histograms"].as_array().unwrap()) {
            assert_eq!(ours.heading.as_deref(), right.get("heading").and_then(Value::as_str), "{id}");
            if let Some(time) = right.get("time") {
                assert_eq!(ours.time.as_deref(), time.as_str(), "{id}");
            }
        }
    }
}

#[test]
fn published_pair() {
    for (id, total) in [("S1", 1_593_864), ("S2", 3_356_044)] {
        let (ours, right) = (corpus::imported(id), corpus::expected(id));
        let [ours] = &ours.histograms[..] else { panic!("{id}") };
        let right = &right["histograms"][0];
        // The expected files of these two leave the `@` out, those of the same text in 01 do not.
        assert_eq!(ours.name.strip_prefix('@'), right["name"].as_str());
        let value = serde_json::to_value(ours).unwrap();
        corpus::assert_same(&value["buckets"], &right["buckets"], id);
        assert_eq!((ours.unit, ours.elapsed_s, ours.total()), (Some(Unit::Ns), Some(43200.0), Some(total)));
        assert_eq!(corpus::imported(id).warnings, [""; 0]);
    }
}

#[test]
fn quotes_and_wraps_change_nothing() {
    let (one, two, three) = (corpus::imported("01"), corpus::imported("02"), corpus::imported("03"));
    assert_eq!(one, two);
    assert_eq!(one, three);
    assert!(one.histograms.iter().all(|histogram| histogram.elapsed_s == Some(43200.0)));
    assert_eq!(one.histograms[1].full_name(), "And normal 6.6 kernel @lock_time_hist_ns");
    assert_eq!(one.warnings, [""; 0]);
}

#[test]
fn rows_and_scalars_of_the_corpus() {
    for id in ["05", "13", "18"] {
        let ours = corpus::imported(id);
        assert!(ours.histograms.is_empty(), "{id}");
    }
}

#[test]
fn doubts_are_told_where_there_are_some() {
    for id in ["01", "05", "09", "10", "12", "15", "19", "21", "23"] {
        assert_eq!(corpus::imported(id).warnings, [""; 0], "{id}");
    }
    assert_eq!(
        corpus::imported("08").warnings,
        ["@total holds 205 events and the keys of @ret 213: neither is corrected"]
    );
    assert_eq!(
        corpus::imported("07").warnings,
        ["@cnt is printed 3 times: each is kept by itself, none is added to another"]
    );
    assert_eq!(
        corpus::imported("13").warnings,
        ["@ongoing_flusher_cnt[all] reads as a total of the other keys: do not add it to them"]
    );
    assert_eq!(
        corpus::imported("18").warnings,
        ["line 1: stack_wait[695, kswapd0, 1] is taken for @stack_wait[695, kswapd0, 1]"]
    );
}

fn read(text: &str) -> Imported {
    import(text, "x").unwrap_or_else(|error| panic!("{error}"))
}

fn buckets(text: &str) -> Value {
    let imported = read(text);
    assert_eq!(imported.histograms.len(), 1, "{imported:?}");
    serde_json::to_value(&imported.histograms[0]).unwrap()["buckets"].clone()
}

fn error(text: &str) -> String {
    import(text, "x").unwrap_err().to_string()
}

#[test]
fn line_ends_tabs_and_foreign_blanks() {
    let right = json!([[2, 4, 7], [4, 8, 14]]);
    assert_eq!(buckets("@x:\n[2, 4) 7 |@  |\n[4, 8) 14 |@@ |\n"), right);
    assert_eq!(buckets("\u{feff}@x:\r\n[2, 4)\t\t7\t|@\t|\r\n[4, 8)\t14 |@@ |\r\n"), right);
    assert_eq!(buckets(">> @x:\u{a0}\n>> [2,\u{a0}4) 7 |@  |\n>> [4, 8) 14 |@@ |"), right);
}

#[test]
fn wrapped_and_joined_lines() {
    let right = json!([[2, 4, 7], [4, 8, 14], [8, 16, 0]]);
    let joined = "@x: [2, 4)  7 |@ | [4, 8) 14 |@@ | [8, 16) 0 | |";
    assert_eq!(buckets(joined), right);
    assert_eq!(buckets("@x:\n[2,\n4)\n7\n|@ |\n[4, 8)\n14 |@@\n|\n[8, 16) 0 |\n |\n"), right);
    assert_eq!(buckets("@x:\n[2, 4) 7\n|@ | [4, 8) 14\n|@@ | [8, 16) 0 | |"), right);
    assert_eq!(read(joined).warnings, [""; 0]);
}

#[test]
fn all_forms_of_bounds() {
    assert_eq!(
        buckets("@x:\n[0, 1] 3 |@@@|\n[2, 4) 0 | |\n[4, 8) 1 |@|"),
        json!([[0, 2, 3], [2, 4, 0], [4, 8, 1]])
    );
    assert_eq!(buckets("@x:\n[512, 1k) 3 |@@@|\n[1k, 2k) 1 |@|"), json!([[512, 1024, 3], [1024, 2048, 1]]));
    let negative = "@x:\n(..., -10) 1 |@|\n[-10, -5) 1 |@|\n[-5, 0) 1 |@|\n[0, ...) 1 |@|";
    assert_eq!(buckets(negative), json!([[null, -10, 1], [-10, -5, 1], [-5, 0, 1], [0, null, 1]]));
    let large = "@x:\n[512K, 1M) 1 |@|\n[1M, 1G) 1 |@|\n[1G, 1T) 1 |@|\n[1T, 1P) 1 |@|\n[1P, 1E) 1 |@|\n[1E, 4E) 1 |@|\n[4E, 8E) 1 |@|\n[8E, 16E) 1 |@|";
    let histogram = &read(large).histograms[0];
    assert_eq!(histogram.buckets[6].high, Some(2f64.powi(63)));
    assert_eq!(histogram.buckets[7].high, Some(2f64.powi(64)));
}

#[test]
fn counts_at_the_end_of_64_bits() {
    let text = format!("@x:\n[0] {} |@@|\n[1] 0 | |\n", u64::MAX);
    assert_eq!(read(&text).histograms[0].total(), Some(u64::MAX));
    assert_eq!(
        error(&text.replace("[1] 0 | ", "[1] 1 |@@")),
        "x:3: the counts of @x add up to more than 2^64-1"
    );
    assert_eq!(
        error("@x:\n[0] 18446744073709551616 |@@|\n"),
        "x:2: the count 18446744073709551616 does not fit 64 bits"
    );
    assert_eq!(error(&format!("@x:\n[0] {} |@@|\n", "9".repeat(1_000_000))).len(), 79);
}

#[test]
fn units_come_from_names_then_from_prose() {
    use super::name::{unit_of_map, unit_of_prose};
    for (name, unit) in [
        ("@lock_time_hist_ns", Some(Unit::Ns)),
        ("@usecs", Some(Unit::Us)),
        ("@us_by_comm", Some(Unit::Us)),
        ("@ns_hist", Some(Unit::Ns)),
        ("@wait_ms", Some(Unit::Ms)),
        ("@wait_s", Some(Unit::S)),
        ("@s", None),
        ("@", None),
        ("@locks_per_sec", None),
        ("@bytes", None),
        ("@sectors", None),
    ] {
        assert_eq!(unit_of_map(name), unit, "{name}");
    }
    assert_eq!(unit_of_prose("Time below is in nanosec:"), Some(Unit::Ns));
    assert_eq!(unit_of_prose("unit: usecs"), Some(Unit::Us));
    assert_eq!(unit_of_prose("measured in 5 seconds"), None);
    let text = "Time below is in nanosec:\n\n@a:\n[1] 1 |@|\n@b_us:\n[1] 1 |@|\n";
    let units: Vec<_> = read(text).histograms.iter().map(|histogram| histogram.unit).collect();
    assert_eq!(units, [Some(Unit::Ns), Some(Unit::Us)]);
}

#[test]
fn elapsed_time_holds_for_the_first_print_of_a_map() {
    let text = "10:00:00 time elapsed: 10 sec\n@a:\n[1] 1 |@|\n@b:\n[1] 1 |@|\n^C\n@a:\n[1] 2 |@|\n";
    let elapsed: Vec<_> = read(text).histograms.iter().map(|histogram| histogram.elapsed_s).collect();
    assert_eq!(elapsed, [Some(10.0), Some(10.0), None]);
    let text = "before:\ntime elapsed: 1500 ms\n@a:\n[1] 1 |@|\nafter:\n@a:\n[1] 2 |@|\n";
    let read = read(text);
    let elapsed: Vec<_> = read.histograms.iter().map(|histogram| histogram.elapsed_s).collect();
    assert_eq!(elapsed, [Some(1.5), None]);
    assert_eq!(read.histograms[1].full_name(), "after @a");
}

#[test]
fn values_and_stacks() {
    let imported = read(
        "@n: 18446744073709551615\n@m: -3\n@s[a, b]: count 2, average 5, total 10\n@str: some text\n\
         @[\n    f+1\n    g+2\n, kswapd0]: 7\n@d[1]:\n 9\n",
    );
    assert_eq!(
        serde_json::to_value(&imported.rows).unwrap(),
        json!([
            {"map": "@n", "key": null, "value": u64::MAX},
            {"map": "@m", "key": null, "value": -3},
            {"map": "@s", "key": "a, b", "count": 2, "average": 5, "total": 10},
            {"map": "@str", "key": null, "value": "some text"},
            {"map": "@", "key": "kswapd0", "value": 7, "frames": ["f+1", "g+2"]},
            {"map": "@d", "key": "1", "value": 9},
        ])
    );
    let keyed = read("@ns[\n    f+1\n    g+2\n]:\n[1] 1 |@|\n");
    assert_eq!(keyed.histograms[0].name, "@ns[f+1 g+2]");
    assert_eq!(keyed.histograms[0].unit, Some(Unit::Ns));
}

#[test]
fn losses_and_contradictions_are_told() {
    let warnings = read(
        "@x:\n[1] 1 |@|\nLost 17 events\nLost 17 events\nstdin:1:1-2: WARNING: Map full; can't update element\n",
    )
    .warnings;
    assert_eq!(
        warnings,
        [
            "in the text, 2 times: Lost 17 events",
            "in the text: stdin:1:1-2: WARNING: Map full; can't update element"
        ]
    );
    let event = "Long lock-hold time: 14950 usec (15 ms) on CPU:34 comm:kswapd4";
    assert_eq!(read(event).warnings, ["line 1: 14950 us and 15 ms are not the same time"]);
}

#[test]
fn damage_is_told() {
    let warning = |text: &str| read(text).warnings.join("; ");
    assert_eq!(warning("@x:\n[1] 1 |@|\n[4, 8) 1 |@|"), "@x: rows from 2 to 4 are missing before line 3");
    assert_eq!(
        warning("@x:\n[2, 4) 1 |@|\n[1] 1 |@|"),
        "@x: the rows were not in order and have been sorted"
    );
    assert_eq!(
        warning("@x:\n[1] 10 |@@@@@@@@@@|\n[2, 4) 1 |@@@@@    |"),
        "@x: the count 1 of line 3 does not fit its bar of 5 (line 2 has 10 for 10)"
    );
    assert_eq!(warning("@x:\n[1] 10"), "@x: the bar of line 2 is not closed: the count may be cut");
    assert_eq!(warning("[1] 10 |@@|"), "line 1: a row without the name of a map before it");
    assert_eq!(
        warning("@x:\n[1] 1 |@|\nwhat is this, really?\n[2, 4) 1 |@|"),
        "line 3: not understood, between rows of @x"
    );
    assert_eq!(warning("@x:\n[1] 1 |@|\n@y:\n"), "line 3: @y is empty");
    assert_eq!(
        error("@x:\n[1] 1 |@|\n[1] 2 |@@|\n"),
        "x:3: the row of @x overlaps that of line 2: a row is wrong, or the name of another map is missing before it"
    );
    assert_eq!(error("@x:\n[4, 2) 1 |@|\n"), "x:2: the row ends before it begins");
    assert_eq!(error("@x:\n[1] 1 |@|\n[2, 4) 1x5 |@@@|\n"), "x:3: not a row of a histogram");
    assert_eq!(error("Attaching 1 probe...\n"), "x:1: bpftrace output without maps or events");
}

#[test]
fn cuts_and_lost_rows_are_told() {
    for (text, warning) in [
        ("@x:\n[1] 1 |@|\n[2, ", "line 3: begins like a row and is none"),
        ("@x:\n[1] 1 |@|\n[2, 4)", "line 3: begins like a row and is none"),
        ("@x:\n[1] 1 |@|\n[2, 4)\n\nend", "line 3: begins like a row and is none"),
        ("@x:\n[1] 1 |@|\n[2, 4) ! 3 ", "line 3: begins like a row or a map and is none"),
        ("@x:\n[1] 1 |@|\n@y", "line 3: begins like a row or a map and is none"),
        ("@x:\n[1] 1 |@\n|! [2, 4)", "line 3: `! [2, 4)` after a row is not understood"),
    ] {
        assert_eq!(read(text).warnings, [warning], "{text:?}");
        assert_eq!(read(text).histograms[0].total(), Some(1));
    }
}

#[test]
fn other_text_is_not_taken() {
    for text in [
        "",
        "\n\n",
        "@",
        "@@ -1,3 +1,4 @@",
        "[1] https://example.org/",
        "someone@example.org: 3",
        "@media screen { a: b }",
        "     usecs               : count     distribution\n         0 -> 1          : 2        |****|\n",
    ] {
        let source = super::Source::new(text, "x");
        assert!(super::import(&source).is_none(), "{text:?}");
    }
}

#[test]
fn samples_of_other_formats_are_not_taken() {
    let names = "16 31 32 34 35 36 38 39 40 42 43 44 46 47 48 49 52 54 55 56 57 59 61 63 64 65 67 68 69 71 73 75 76 \
                 78 80 81 83 84 86 87 89 91 93 S4 S6 S7";
    for id in names.split_whitespace() {
        let (text, name) = corpus::sample(id);
        let source = super::Source::new(&text, &name);
        assert!(super::import(&source).is_none(), "{id}");
        assert!(super::super::bpftrace_json::import(&source).is_none(), "{id}");
    }
}

#[test]
fn size_does_not_matter_much() {
    let start = std::time::Instant::now();
    let long = "@".repeat(300_000);
    let _ = import(&format!("@x:\n[1] 5 |{long}\n[{long}\n[1, {long}"), "x");
    for line in ["@x[", "@x[\na", "[1", "[1, 2)", "[1]", "|", "a: 1 us", "@x:", "x[1]:", "@ |", "[1] 1 |@| "]
    {
        let _ = import(&format!("@y:\n[1] 1 |@|\n{}", format!("{line}\n").repeat(10_000)), "x");
        let _ = import(&format!("@y:\n[1] 1 |@|\n{}", line.repeat(50_000)), "x");
    }
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
