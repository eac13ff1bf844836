use super::super::{corpus, import};

#[test]
fn losses_and_callers_on_several_rows_are_warned_about_and_nothing_else() {
    let warnings = |id| corpus::imported(id).warnings;
    assert_eq!(warnings("31").len(), 3, "{:?}", warnings("31"));
    assert_eq!(warnings("32").len(), 2, "{:?}", warnings("32"));
    assert_eq!(warnings("34"), Vec::<String>::new());
    assert_eq!(warnings("35").len(), 1, "{:?}", warnings("35"));
    assert!(warnings("35")[0].contains("51.66 %"), "{:?}", warnings("35"));
    assert_eq!(warnings("36"), Vec::<String>::new());
}

#[test]
fn the_separated_form_with_its_debug_line_is_read() {
    let text = "# output: contended, total wait, max wait, avg wait, type, caller\n\
                12, 48210, 9120, 4017, spinlock, cgroup_rstat_flush+0x5a\n\
                1, 700, 700, 700, rwsem:R, do_user_addr_fault+0x40\n\
                # debug: total=13, bad=1, bad_task=0, bad_stack=0, bad_time=0, bad_data=1\n";
    for text in [
        text.to_owned(),
        text.replace('\n', "\r\n"),
        text.replace(',', ";"),
        text.replace(',', "\t"),
        text.replace(',', " "),
    ] {
        let imported = import(&text, "x").unwrap();
        assert_eq!(imported.format, "perf-lock-contention-csv");
        assert_eq!(imported.rows.len(), 2, "{text}");
        assert_eq!(imported.rows[0]["contended"], 12);
        assert_eq!(imported.rows[0]["total_wait_ns"], 48210);
        assert_eq!(imported.rows[1]["type"], "rwsem:R");
        assert_eq!(imported.rows[1]["caller"], "do_user_addr_fault+0x40");
        assert_eq!(imported.scalars["bad"], 1);
        assert_eq!(imported.scalars["bad_total"], 13);
        assert_eq!(imported.scalars["fail_data"], 1);
        assert_eq!(imported.warnings.len(), 1, "{:?}", imported.warnings);
    }
}

#[test]
fn the_separated_form_has_other_keys_and_stacks_too() {
    let text = "# output: contended, avg wait, type, caller, stacktrace\n3, 5, mutex, f+0x1, f+0x1:g+0x2:\n4, 5, , , \n";
    let imported = import(text, "x").unwrap();
    assert_eq!(imported.rows[0]["stack"], serde_json::json!(["f+0x1", "g+0x2"]));
    assert_eq!(imported.rows[1]["caller"], "");
    let text = "# output: contended, total wait, pid, comm\n3, 5, -1, a, b\n";
    let imported = import(text, "x").unwrap();
    assert_eq!(
        (imported.rows[0]["pid"].as_i64(), imported.rows[0]["comm"].as_str()),
        (Some(-1), Some("a, b"))
    );
    let text = "# output: contended, total wait, address, symbol, type\n3, 5, ffff1, , mutex\n";
    assert_eq!(import(text, "x").unwrap().rows[0]["type"], "mutex");
}

#[test]
fn chosen_fields_cgroups_owners_and_wrapped_callers_are_read() {
    let text =
        " total wait     max wait         type   caller\n\n    1.00 ms     2.00 us     spinlock\nf+0x1\n";
    let imported = import(text, "x").unwrap();
    assert_eq!(imported.rows[0]["caller"], "f+0x1");
    // A maximum above the total.
    assert_eq!(imported.warnings, Vec::<String>::new());
    let text = " contended   total wait   cgroup\n\n  3   5.00 ms   /system.slice/a b\n";
    assert_eq!(import(text, "x").unwrap().rows[0]["cgroup"], "/system.slice/a b");
    let text = " contended   max wait  pid   owner\n\n  3   5.00 ms   -1   Unknown\n";
    assert_eq!(import(text, "x").unwrap().rows[0]["owner"], "Unknown");
    let text = " contended   max wait  address   symbol\n\n  3   5.00 ms   ffff8   (rwlock)\n";
    assert_eq!(import(text, "x").unwrap().rows[0]["symbol"], "");
}

#[test]
fn contradictions_and_implausible_times_are_warned_about() {
    let head = " contended   total wait     max wait     avg wait         type   caller\n";
    let text = format!(
        "> {head}> 2 1.00 ms 3.00 ms 500.00 us mutex f+0x1\r\n> 2 20.00 h 20.00 h 10.00 h mutex g+0x1\r\n> 9 1.00 ms 1.00 ms 1.00 ms mutex h+0x1\r\n"
    );
    let warnings = import(&text, "x").unwrap().warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].starts_with("line 2:") && warnings[1].contains("72000 s"), "{warnings:?}");
    let text = format!(
        "{head}1 1 ns 1 ns 1 ns mutex f+0x1\nbad: 1, total: 4\nbad rate: 50.00 %\nbad: 5, total: 4\n"
    );
    let imported = import(&text, "x").unwrap();
    assert_eq!(imported.warnings.len(), 3, "{:?}", imported.warnings);
    assert_eq!(imported.scalars["bad_2"], 5);
}

#[test]
fn large_numbers_are_kept_or_left_out_with_a_word() {
    let head = " contended   total wait   type   caller\n";
    let row = |count: &str, total: &str| format!("{count} {total} mutex f+0x1\n");
    let most = u64::MAX.to_string();
    let imported = import(&format!("{head}{}", row(&most, &format!("{most} ns"))), "x").unwrap();
    assert_eq!(imported.rows[0]["contended"], u64::MAX);
    let text = format!("{head}{}{}", row("1", "1 ns"), row("18446744073709551616", "1 ns"));
    let imported = import(&text, "x").unwrap();
    assert_eq!((imported.rows.len(), imported.warnings.len()), (1, 1));
    assert!(imported.warnings[0].starts_with("line 3: 18446744073709551616"));
    let error = import(&format!("{head}{}", row("1", "18446744073709551615 h")), "x").unwrap_err();
    assert_eq!(error.to_string(), "x:2: a time of 18446744073709551615 is out of range");
}

#[test]
fn a_table_without_rows_is_no_error() {
    let imported = import(" contended   total wait   type   caller\n\n", "x").unwrap();
    assert!(imported.rows.is_empty());
}
