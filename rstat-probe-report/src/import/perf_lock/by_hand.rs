//! Hand-made tables of lock times before and after a change: a name, two times, a percentage.

use serde_json::{Map, Value};

use super::super::{ImportError, Imported, Line, Source, shortened};
use super::duration::{Printed, unit_ns};

/// Heads of two columns that are compared.
const PAIRS: &[(&str, &str)] = &[
    ("before", "after"),
    ("base", "patched"),
    ("baseline", "patched"),
    ("vanilla", "patched"),
    ("unpatched", "patched"),
    ("old", "new"),
    ("without", "with"),
];

/// One row.
struct Row<'a> {
    name: &'a str,
    sides: [Printed; 2],
    change: Option<f64>,
    approximate: bool,
}

/// Reads the table.
pub(in crate::import) fn by_hand(source: &Source<'_>) -> Option<Result<Imported, ImportError>> {
    let (head, pair) = source
        .lines
        .iter()
        .enumerate()
        .find_map(|(index, line)| header(line.text).map(|pair| (index, pair)))?;
    let (before, after) = source.lines.split_at_checked(head)?;
    let mut imported = Imported { format: "hand-before-after".to_owned(), ..Imported::default() };
    if let Some(window) = before.iter().find_map(|line| window_s(line.text)) {
        imported.scalars.insert("window_s".to_owned(), Value::from(window));
    }
    let mut sums = [0u128; 2];
    let mut steps = [0u128; 2];
    for line in after.iter().skip(1) {
        if header(line.text).is_some() {
            imported.warnings.push(format!("line {}: a second table, which is left out", line.number));
            break;
        }
        let row = match row(line.text) {
            None => continue,
            Some(Ok(row)) => row,
            Some(Err(message)) => {
                imported.warnings.push(format!("line {}: {message}; the row is left out", line.number));
                continue;
            }
        };
        check_change(&row, *line, &mut imported);
        if row.name.to_ascii_lowercase().starts_with("total") {
            check_total(&row, [pair.0, pair.1], sums, steps, *line, &mut imported);
        } else {
            for (side, printed) in row.sides.iter().enumerate() {
                sums[side] += u128::from(printed.ns);
                steps[side] += u128::from(printed.step_ns);
            }
        }
        let mut fields = Map::new();
        fields.insert("name".to_owned(), Value::from(row.name));
        fields.insert(format!("{}_ns", pair.0), Value::from(row.sides[0].ns));
        fields.insert(format!("{}_ns", pair.1), Value::from(row.sides[1].ns));
        if let Some(change) = row.change {
            fields.insert("change_pct".to_owned(), Value::from(change));
        }
        fields.insert("approx".to_owned(), Value::from(row.approximate));
        imported.rows.push(fields);
    }
    (!imported.rows.is_empty()).then_some(Ok(imported))
}

/// The pair of columns, if this is a head: `Lock Name  Before  After  % change`.
fn header(text: &str) -> Option<(&'static str, &'static str)> {
    let words: Vec<String> = text.split_whitespace().take(13).map(str::to_ascii_lowercase).collect();
    let rest = |from: usize| {
        words.iter().skip(from).all(|word| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            matches!(word, "" | "change" | "delta" | "diff" | "difference")
        })
    };
    let at = words.windows(2).position(|two| {
        PAIRS.iter().any(|(before, after)| {
            two.first().is_some_and(|w| w == before) && two.get(1).is_some_and(|w| w == after)
        })
    })?;
    if at == 0 || words.len() > 12 || !rest(at + 2) {
        return None;
    }
    PAIRS.iter().copied().find(|(before, after)| {
        words.get(at).is_some_and(|w| w == before) && words.get(at + 1).is_some_and(|w| w == after)
    })
}

/// Seconds of `per 30 s window`.
fn window_s(text: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(3).find_map(|three| {
        let [number, unit, window] = three else { return None };
        if !window.starts_with("window") {
            return None;
        }
        let printed = Printed::new(number.trim_start_matches('('), unit_ns(unit)?).ok()?;
        Some(printed.ns as f64 / 1e9)
    })
}

/// The last word of `text` and what is before it.
fn split_last(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end();
    let at =
        text.char_indices().rev().find(|(_, c)| c.is_whitespace()).map_or(0, |(at, c)| at + c.len_utf8());
    let (rest, word) = text.split_at_checked(at)?;
    (!word.is_empty()).then_some((rest, word))
}

/// Reads a row from its end: `None` if it is none.
fn row(text: &str) -> Option<Result<Row<'_>, String>> {
    let mut rest = text.trim();
    if rest.ends_with(')')
        && let Some(at) = rest.rfind('(')
    {
        rest = rest.get(..at)?.trim_end();
    }
    let mut change = None;
    if let Some(without) = rest.strip_suffix('%') {
        let (before, number) = split_last(without)?;
        change =
            Some(number.trim_start_matches('~').parse::<f64>().ok().filter(|change| change.is_finite())?);
        rest = before;
    }
    let (before, second) = side(rest)?;
    let (name, first) = side(before)?;
    let name = name.trim();
    if name.is_empty() {
        return None;
    }
    let approximate = first.1 || second.1;
    Some(match (first.0, second.0) {
        (Ok(first), Ok(second)) => Ok(Row { name, sides: [first, second], change, approximate }),
        (Err(message), _) | (_, Err(message)) => Err(message),
    })
}

/// A time and whether it is approximate.
type Side = (Result<Printed, String>, bool);

/// The last time in `text`, with what is before it. A bare 0 needs no unit.
fn side(text: &str) -> Option<(&str, Side)> {
    let (before, word) = split_last(text)?;
    if let Some(unit) = unit_ns(word) {
        let (before, number) = split_last(before)?;
        let exact = number.trim_start_matches('~');
        exact.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
        return Some((before, (Printed::new(exact, unit), exact.len() < number.len())));
    }
    let exact = word.trim_start_matches('~');
    let digits = exact.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(exact.len());
    let (number, unit) = exact.split_at_checked(digits)?;
    let value = if let Some(unit) = unit_ns(unit) {
        number.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
        Printed::new(number, unit)
    } else if unit.is_empty() && number.parse::<f64>().ok()? == 0.0 {
        Ok(Printed { ns: 0, step_ns: 0 })
    } else if unit.is_empty() {
        Err(format!("{} has no unit", shortened(number)))
    } else {
        return None;
    };
    Some((before, (value, exact.len() < word.len())))
}

/// Warns if the printed change is not the one between the sides.
fn check_change(row: &Row<'_>, line: Line<'_>, into: &mut Imported) {
    let [before, after] = row.sides.map(|side| side.ns as f64);
    let Some(change) = row.change else { return };
    if before == 0.0 {
        return;
    }
    let computed = 100.0 * (after - before) / before;
    if (computed - change).abs() > 1.0 + 0.01 * computed.abs() {
        into.warnings.push(format!(
            "line {}: the change of {} is given as {change} %, its times say {computed:.1} %",
            line.number,
            shortened(row.name)
        ));
    }
}

/// Warns if a total is not the sum of the rows above.
fn check_total(
    row: &Row<'_>,
    names: [&str; 2],
    sums: [u128; 2],
    steps: [u128; 2],
    line: Line<'_>,
    into: &mut Imported,
) {
    for side in 0..2 {
        let total = row.sides[side];
        if u128::from(total.ns).abs_diff(sums[side]) > steps[side] + u128::from(total.step_ns) {
            into.warnings.push(format!(
                "line {}: {} {} is {} ns, the rows above add up to {} ns; it is kept as printed",
                line.number,
                shortened(row.name),
                names[side],
                total.ns,
                sums[side]
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{corpus, import};

    #[test]
    fn the_published_table_gives_its_rows_and_warns_about_its_total() {
        let imported = corpus::imported("38");
        assert_eq!(imported.format, "hand-before-after");
        assert_eq!(imported.scalars["window_s"], 30.0);
        assert_eq!(imported.warnings.len(), 2, "{:?}", imported.warnings);
        assert!(imported.warnings[0].contains("3965870000"), "{:?}", imported.warnings);
    }

    #[test]
    fn other_heads_glued_units_and_quotes_are_read_and_odd_rows_warned_about() {
        let text = "> Site Base Patched\r\n> a+0x1 1.5ms 500us\r\n> b 1 h 30 m -20%\r\n> c 5 6\r\nd 99999999999999999999 s 0\r\n";
        let imported = import(text, "x").unwrap();
        assert_eq!(imported.rows.len(), 2);
        assert_eq!(imported.rows[0]["base_ns"], 1_500_000);
        assert_eq!(imported.rows[1]["patched_ns"], 1_800_000_000_000u64);
        assert_eq!(imported.warnings.len(), 3, "{:?}", imported.warnings);
    }
}
