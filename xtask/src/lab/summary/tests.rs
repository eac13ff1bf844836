use serde_json::json;

use super::*;
use crate::lab::load;

/// A comparison as `rstat-probe compare --format json` writes it, with a mean of irqs_off and its interval.
fn comparison(yields: [&str; 2], cpus: [f64; 2], interval: [f64; 2], outcome: &str) -> Value {
    let side = |index: usize| json!({"yields": [yields[index]], "cpus_per_section": cpus[index]});
    let measure = |name: &str, from: f64, to: f64| {
        let exact = |value: f64| json!({"low": value, "high": value});
        let change = to / from - 1.0;
        let change =
            json!({"low": change, "high": change, "interval": {"low": interval[0], "high": interval[1]}});
        let figure = |name: &str| json!({"figure": name, "baseline": exact(from), "candidate": exact(to), "change": change.clone()});
        json!({"name": name, "level": "run", "verdict": {"outcome": outcome}, "figures": [figure("mean"), figure("max")]})
    };
    json!({
        "baseline": side(0),
        "candidate": side(1),
        "measures": [
            measure("irqs_off", 4_000_000.0, 1_000_000.0),
            measure("flush", 4_000_000.0, 5_000_000.0),
            measure("load.latency", 4_000_000.0, 5_000_000.0),
            measure("load.accesses_per_second", 1000.0, 1250.0),
        ],
        "verdict": {"outcome": outcome},
    })
}

fn patch(interval: [f64; 2]) -> Figures {
    Figures::of(&comparison(["under contention", "every CPU"], [30.0, 0.97], interval, "better")).unwrap()
}

fn control(outcome: &str) -> Figures {
    let yields = ["under contention"; 2];
    Figures::of(&comparison(yields, [30.0, 29.5], [-0.1, 0.1], outcome)).unwrap()
}

fn of_load(load: &str, pair: Figures, control: Option<Figures>) -> Table {
    let mut table = Table::default();
    table.add(load::select(&[load.to_owned()]).unwrap()[0], pair, control);
    table
}

fn table(pair: Figures, control: Option<Figures>) -> Table {
    of_load("cpu-stat", pair, control)
}

#[test]
fn a_lab_that_shows_what_it_must() {
    let table = table(patch([-0.8, -0.7]), Some(control("no_difference")));
    assert!(table.is_as_expected(), "{:?}", table.checks());
    let page = table.page("12 boots", "6.12.118-1");
    for line in [
        "| cpu-stat | 30.0 -> 1.0 | 4.000 ms -> 1.000 ms, -75.0 % [-80.0, -70.0] | 4.000 ms -> 1.000 ms | \
         4.000 ms -> 5.000 ms, +25.0 % [-80.0, -70.0] |",
        "| cpu-stat | 1000 -> 1250 (accesses_per_second) | +25.0 % [-80.0, -70.0] | better |",
        "- ok: cpu-stat: yields under contention against every CPU",
        "- ok: cpu-stat: mean of irqs_off -75.0 % [-80.0, -70.0]",
        "- ok: cpu-stat: the baseline against itself, irqs_off: no difference",
        "- cpu-stat: two readers a CPU of cpu.stat, which flushes at every read ([comparison](cpu-stat/compare.md), [the baseline against itself](cpu-stat/control.md))",
    ] {
        assert!(page.lines().any(|other| other == line), "{line}\n\n{page}");
    }
    assert!(!page.contains("NOT AS"), "{page}");
}

#[test]
fn what_is_not_as_expected_is_said() {
    let wrong = |table: Table| -> Vec<String> {
        assert!(!table.is_as_expected());
        table.checks().into_iter().filter(|check| !check.holds).map(|check| check.text).collect()
    };
    assert_eq!(wrong(table(patch([-0.8, 0.1]), None)), ["cpu-stat: mean of irqs_off -75.0 % [-80.0, +10.0]"]);
    let same = Figures::of(&comparison(["every CPU"; 2], [1.0; 2], [-0.8, -0.7], "better")).unwrap();
    assert_eq!(
        wrong(table(same, None)),
        ["cpu-stat: yields every CPU against every CPU", "cpu-stat: CPUs per section 1.0 against 1.0"]
    );
    assert_eq!(wrong(table(patch([-0.8, -0.7]), Some(control("worse")))).len(), 4);
    assert!(table(patch([-0.8, -0.7]), None).page("", "").lines().all(|line| !line.contains("control.md")));
}

#[test]
fn a_false_alarm_is_one_among_all_comparisons() {
    let with_p = |p: f64| {
        let mut comparison = comparison(["under contention"; 2], [30.0, 29.5], [-0.1, 0.1], "no_difference");
        for measure in comparison["measures"].as_array_mut().unwrap() {
            measure["tests"] = json!([{"adjusted_p": 0.9}, {"adjusted_p": 0.7}]);
        }
        comparison["measures"][3]["verdict"]["outcome"] = json!("worse");
        comparison["measures"][3]["tests"] = json!([{"adjusted_p": 0.9}, {"adjusted_p": p}]);
        table(patch([-0.8, -0.7]), Some(Figures::of(&comparison).unwrap()))
    };
    // Four comparisons: 1.25 % each.
    let chance = with_p(0.02);
    assert!(chance.is_as_expected());
    let line =
        "load.accesses_per_second: worse (p = 0.0200 in one of 4 comparisons, which is chance among so many)";
    assert!(chance.page("", "").contains(line));
    let real = with_p(0.01);
    assert!(!real.is_as_expected());
    assert!(
        real.page("", "").contains("load.accesses_per_second: worse (p = 0.0100 in one of 4 comparisons)")
    );
}

#[test]
fn one_boot_a_side_is_no_control() {
    let mut json = comparison(["under contention"; 2], [30.0; 2], [-0.1, 0.1], "better");
    for measure in json["measures"].as_array_mut().unwrap() {
        measure["level"] = "interval".into();
    }
    assert!(table(patch([-0.8, -0.7]), Some(Figures::of(&json).unwrap())).is_as_expected());
}

#[test]
fn the_irqsoff_tracer_has_a_say() {
    let mut table = table(patch([-0.8, -0.7]), None);
    table.add_fit(Variant::EveryCpu, Fit { holds: true, text: "3 of 3".to_owned() });
    assert!(table.is_as_expected());
    table.add_fit(Variant::UnderContention, Fit { holds: false, text: "0 of 3".to_owned() });
    assert!(!table.is_as_expected());
    let page = table.page("", "");
    assert!(page.contains("- ok: cross-check, every-cpu: 3 of 3\n"), "{page}");
    assert!(page.contains("- NOT AS EXPECTED: cross-check, under-contention: 0 of 3\n"), "{page}");
}

#[test]
fn a_load_that_hardly_flushes_proves_nothing_about_the_patch() {
    let mut json = comparison(["unknown"; 2], [3.0, 3.0], [-0.1, 0.1], "no_difference");
    json["measures"][3]["name"] = "load.megabits_per_second".into();
    let table = of_load("sendfile", Figures::of(&json).unwrap(), None);
    assert!(table.checks().is_empty());
    assert!(table.page("", "").contains("(megabits_per_second)"));
}
