//! The table, the ratios, and what they should be.

use std::fmt::Write as _;

use crate::measure::{Measured, Results, Round, middle};

const HEAD: [&str; 9] = [
    "",
    "ns a section",
    "net",
    "net, of the floor",
    "reads a second",
    "kept",
    "section longer by",
    "attached after",
    "peak memory",
];

/// What is made of the results.
pub(crate) struct Table<'a> {
    results: &'a Results,
}

impl<'a> Table<'a> {
    pub(crate) fn new(results: &'a Results) -> Self {
        Self { results }
    }

    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        let rows = self.rows();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        let mut text = String::new();
        for row in &rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        let _ = writeln!(text);
        for target in self.targets() {
            let _ = writeln!(text, "{target}");
        }
        text
    }

    /// For a page.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        for (index, row) in self.rows().iter().enumerate() {
            text += &line(row);
            if index == 0 {
                text += &line(
                    &HEAD
                        .iter()
                        .enumerate()
                        .map(|(c, _)| if c == 0 { "---" } else { "---:" }.to_owned())
                        .collect::<Vec<_>>(),
                );
            }
        }
        text.push('\n');
        for target in self.targets() {
            let _ = writeln!(text, "- {target}");
        }
        text.push('\n');
        for subject in &self.results.subjects {
            let size = subject
                .size
                .map_or_else(String::new, |size| format!(", {:.1} MiB", size as f64 / 1_048_576.0));
            let _ = writeln!(text, "- {}: {}{size}", subject.name, subject.note);
        }
        text.push('\n');
        let facts = self.results.machine.iter().map(|(what, value)| format!("{what} {value}"));
        let rounds = self.results.subjects.first().map_or(0, |subject| subject.rounds.len());
        let _ = writeln!(
            text,
            "Medians of {rounds} rounds of {} ms each. {}.",
            self.results.length_ms,
            facts.collect::<Vec<_>>().join(", ")
        );
        text
    }

    fn subject(&self, name: &str) -> Option<&Measured> {
        self.results.subjects.iter().find(|subject| subject.name == name)
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let number = |figure: Option<f64>, unit: &str, digits: usize| {
            figure.map_or_else(String::new, |figure| format!("{figure:.digits$}{unit}"))
        };
        let mut rows = vec![HEAD.map(ToOwned::to_owned).to_vec()];
        for subject in &self.results.subjects {
            rows.push(vec![
                subject.name.to_owned(),
                number(subject.median(|round| round.ns_per_section), "", 0),
                number(self.net(subject.name, "", |net, _| net), "", 0),
                number(self.net(subject.name, "floor", |net, floor| net / floor), "", 2),
                number(subject.median(|round| Some(round.reads_per_second / 1e3)), " k", 0),
                number(self.kept(subject.name), " %", 1),
                number(self.longer(subject.name), " ns", 0),
                number(subject.median(|round| round.start_ms), " ms", 0),
                number(subject.median(|round| Some(round.peak_kib? as f64 / 1024.0)), " MiB", 1),
            ]);
        }
        rows
    }

    /// A figure made of two subjects in each round, as its median.
    fn paired(&self, one: &str, other: &str, figure: impl Fn(&Round, &Round) -> Option<f64>) -> Option<f64> {
        let (one, other) = (self.subject(one)?, self.subject(other)?);
        let figures: Option<Vec<f64>> =
            one.rounds.iter().zip(&other.rounds).map(|(one, other)| figure(one, other)).collect();
        middle(figures?)
    }

    /// What is made of the run times of two subjects, net of the empty programs.
    fn net(&self, one: &str, other: &str, figure: impl Fn(f64, f64) -> f64) -> Option<f64> {
        let empty = &self.subject("empty")?.rounds;
        let net = |name: &str| -> Option<Vec<f64>> {
            let rounds = self.subject(name)?.rounds.iter().zip(empty);
            rounds.map(|(round, empty)| Some(round.ns_per_section? - empty.ns_per_section?)).collect()
        };
        let ones = net(one)?;
        let others = if other.is_empty() { vec![1.0; ones.len()] } else { net(other)? };
        middle(ones.into_iter().zip(others).map(|(one, other)| figure(one, other)).collect())
    }

    /// Percent of the reads that are left beside it.
    fn kept(&self, name: &str) -> Option<f64> {
        self.paired(name, "nothing", |it, nothing| {
            Some(it.reads_per_second / nothing.reads_per_second * 100.0)
        })
    }

    /// What it makes a section longer by, ns.
    fn longer(&self, name: &str) -> Option<f64> {
        self.paired(name, "nothing", |it, nothing| Some(it.section_ns? - nothing.section_ns?))
    }

    /// The ratios that the tool is made for.
    fn targets(&self) -> Vec<String> {
        let (tool, bpftrace) = ("rstat-probe", "bpftrace");
        let cheaper = [bpftrace, "bpftrace raw"]
            .into_iter()
            .filter_map(|name| self.net(name, "", |net, _| net).map(|net| (name, net)));
        let cheaper =
            cheaper.min_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(bpftrace, |(name, _)| name);
        let paired = |figure: &dyn Fn(&Round, &Round) -> Option<f64>| self.paired(tool, bpftrace, figure);
        let lines = [
            (
                format!("net time a section, of {cheaper}'s"),
                self.net(tool, cheaper, |one, other| one / other),
                0.5,
                true,
            ),
            (
                "net time a section, of the floor's".to_owned(),
                self.net(tool, "floor", |one, other| one / other),
                1.3,
                true,
            ),
            (
                "reads kept, of those under bpftrace's tracepoint form".to_owned(),
                paired(&|one, other| Some(one.reads_per_second / other.reads_per_second)),
                1.4,
                false,
            ),
            (
                "start to attached, of bpftrace's".to_owned(),
                paired(&|one, other| Some(one.start_ms? / other.start_ms?)),
                0.5,
                true,
            ),
            (
                "peak memory, of bpftrace's".to_owned(),
                paired(&|one, other| Some(one.peak_kib? as f64 / other.peak_kib? as f64)),
                0.2,
                true,
            ),
        ];
        let said = |(what, ratio, target, at_most): (String, Option<f64>, f64, bool)| {
            let limit = if at_most { "at most" } else { "at least" };
            match ratio {
                Some(ratio) => {
                    let met = if at_most { ratio <= target } else { ratio >= target };
                    format!("{what}: {ratio:.2} ({limit} {target}): {}", if met { "met" } else { "MISSED" })
                }
                None => format!("{what}: not measured here"),
            }
        };
        lines.map(said).to_vec()
    }
}
