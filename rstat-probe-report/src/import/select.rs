//! Which histogram of a file is meant: `FILE:NAME`.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use super::{Imported, ImportedHistogram};
use crate::render::text::escaped;

/// So many names are listed, the rest is counted.
const LISTED: usize = 12;

/// Why a name does not pick one histogram.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SelectError {
    file: String,
    /// Empty where none was given.
    name: String,
    /// Names of those that it may mean; of all, where it means none.
    candidates: Vec<String>,
    /// It means several.
    ambiguous: bool,
}

impl SelectError {
    /// With the name of the file, for the message.
    #[must_use]
    pub fn in_file(self, file: &str) -> Self {
        Self { file: escaped(file), ..self }
    }

    /// Names that can be picked.
    #[must_use]
    pub fn candidates(&self) -> &[String] {
        &self.candidates
    }
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, name, candidates, ambiguous } = self;
        let name = escaped(name);
        if candidates.is_empty() {
            return write!(f, "{file} holds no histogram");
        }
        match (ambiguous, name.is_empty()) {
            (true, true) => write!(f, "{file} holds {} histograms: ", candidates.len())?,
            (true, false) => write!(f, "{file} holds {} histograms named \"{name}\": ", candidates.len())?,
            (false, _) => write!(f, "{file} holds no histogram named \"{name}\"; it holds ")?,
        }
        let names: Vec<String> =
            candidates.iter().take(LISTED).map(|name| format!("\"{}\"", escaped(name))).collect();
        f.write_str(&names.join(", "))?;
        if candidates.len() > LISTED {
            write!(f, " and {} more", candidates.len() - LISTED)?;
        }
        if *ambiguous { write!(f, "; pick one as {file}:NAME") } else { Ok(()) }
    }
}

impl Imported {
    /// A name for each histogram that no other has: [`ImportedHistogram::full_name`], with `#1`,
    /// `#2`, ... in the order of the file behind those that are shared or empty.
    #[must_use]
    pub fn unique_names(&self) -> Vec<String> {
        let names: Vec<String> = self.histograms.iter().map(ImportedHistogram::full_name).collect();
        let mut times: HashMap<&str, usize> = HashMap::new();
        for name in &names {
            *times.entry(name).or_default() += 1;
        }
        let mut taken: HashSet<String> = names.iter().cloned().collect();
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        names
            .iter()
            .map(|name| {
                if times.get(name.as_str()) == Some(&1) && !name.is_empty() {
                    return name.clone();
                }
                let number = numbers.entry(name).or_default();
                *number += 1;
                let mut unique = format!("{name}#{number}");
                while !taken.insert(unique.clone()) {
                    unique.push('\'');
                }
                unique
            })
            .collect()
    }

    /// The index of the histogram that `name` means: one of [`Imported::unique_names`], or the
    /// full name, the name, or the name without its `@`, if no other has it. Parts of names do not
    /// count. The only histogram of a file needs no name.
    ///
    /// # Errors
    /// If the name means no histogram, or several.
    pub fn select(&self, name: &str) -> Result<usize, SelectError> {
        let unique = self.unique_names();
        let error = |candidates: Vec<String>, ambiguous| SelectError {
            file: "FILE".to_owned(),
            name: name.to_owned(),
            candidates,
            ambiguous,
        };
        if name.is_empty() {
            return if unique.len() == 1 { Ok(0) } else { Err(error(unique, true)) };
        }
        if let Some(index) = unique.iter().position(|unique| unique == name) {
            return Ok(index);
        }
        let bare = |histogram: &ImportedHistogram| histogram.name.trim_start_matches('@') == name;
        let levels: [&dyn Fn(&ImportedHistogram) -> bool; 4] = [
            &|histogram| histogram.full_name() == name,
            &|histogram| histogram.name == name,
            &bare,
            // As it is listed, for names that cannot be typed.
            &|histogram| escaped(&histogram.full_name()) == name,
        ];
        for matches in levels {
            let found = self.histograms.iter().zip(&unique).enumerate();
            let mut found =
                found.filter(|(_, (histogram, _))| matches(histogram)).map(|(at, (_, name))| (at, name));
            if let Some((index, first)) = found.next() {
                let others: Vec<String> = found.map(|(_, name)| name.clone()).collect();
                if others.is_empty() {
                    return Ok(index);
                }
                return Err(error([vec![first.clone()], others].concat(), true));
            }
        }
        Err(error(unique, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[(&str, Option<&str>)]) -> Imported {
        let histograms = names.iter().map(|(name, heading)| ImportedHistogram {
            name: (*name).to_owned(),
            heading: heading.map(str::to_owned),
            ..ImportedHistogram::default()
        });
        Imported { histograms: histograms.collect(), ..Imported::default() }
    }

    fn error(imported: &Imported, name: &str) -> String {
        imported.select(name).unwrap_err().in_file("a.txt").to_string()
    }

    #[test]
    fn names_are_matched_from_the_whole_to_the_bare() {
        let mut file =
            of(&[("@x", Some("Old")), ("@x", Some("New")), ("@y", None), ("y", None), ("@z", Some("Old"))]);
        file.histograms[4].labels = vec![("cpu".to_owned(), "1".to_owned())];
        for (name, index) in
            [("Old @x", 0), ("New @x", 1), ("@y", 2), ("y", 3), ("z", 4), ("@z", 4), ("Old @z{cpu=1}", 4)]
        {
            assert_eq!(file.select(name), Ok(index), "{name}");
        }
        assert_eq!(
            error(&file, "x"),
            "a.txt holds 2 histograms named \"x\": \"Old @x\", \"New @x\"; pick one as a.txt:NAME"
        );
        for part in ["ol", "New", "Z", "@", "Old @z"] {
            assert!(
                error(&file, part).starts_with(&format!(
                    "a.txt holds no histogram named \"{part}\"; it holds \"Old @x\", "
                ))
            );
        }
    }

    #[test]
    fn shared_and_empty_names_are_numbered() {
        let file = of(&[("a", None), ("", None), ("a", None), ("a#2", None), ("", None), ("b", None)]);
        let names = file.unique_names();
        assert_eq!(names, ["a#1", "#1", "a#2'", "a#2", "#2", "b"]);
        for (index, name) in names.iter().enumerate() {
            assert_eq!(file.select(name), Ok(index), "{name}");
        }
        assert_eq!(
            error(&file, "a"),
            "a.txt holds 2 histograms named \"a\": \"a#1\", \"a#2'\"; pick one as a.txt:NAME"
        );
    }

    #[test]
    fn no_name_is_enough_for_one() {
        assert_eq!(of(&[("@x", None)]).select(""), Ok(0));
        assert_eq!(of(&[("", None)]).select(""), Ok(0));
        assert_eq!(error(&of(&[]), ""), "a.txt holds no histogram");
        assert_eq!(error(&of(&[]), "x"), "a.txt holds no histogram");
        assert_eq!(
            of(&[("a", None), ("b\u{1b}", None)]).select("").unwrap_err().to_string(),
            "FILE holds 2 histograms: \"a\", \"b\\u{1b}\"; pick one as FILE:NAME"
        );
        assert_eq!(of(&[("a", None), ("b\u{1b}", None)]).select("b\\u{1b}"), Ok(1));
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..100).map(|n| format!("n{n}")).collect();
        let names: Vec<(&str, Option<&str>)> = names.iter().map(|name| (name.as_str(), None)).collect();
        let error = error(&of(&names), "");
        assert!(error.ends_with("\"n11\" and 88 more; pick one as a.txt:NAME"), "{error}");
    }
}
