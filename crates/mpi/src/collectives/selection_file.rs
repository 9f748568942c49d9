//! Reader of files of rules that choose algorithms.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use super::selection::{Rule, Selection};
use super::table::{Algorithm, Operation, algorithms, is_segmented};
use formats::rows::{columns_of, heading, rows, words};

/// Names of the selection tables of MPI libraries, and their rules as text.
const TABLES: [(&str, &str); 2] =
    [("mpich-4", ""), ("open-mpi-4.1", include_str!("selection_tables/open-mpi-4.1.csv"))];

/// Returns the names of the selection tables of MPI libraries.
pub fn selection_names() -> impl Iterator<Item = &'static str> {
    TABLES.into_iter().map(|(name, _)| name)
}

impl Selection {
    /// Returns the table of an MPI library, or reads the rules of a file relative to `base`. A file with the name of a
    /// table takes precedence.
    ///
    /// # Errors
    /// A message about the file, as [`Selection::read`], that names the tables if there is no such file.
    pub fn given(base: &Path, name: &Path) -> Result<Self, String> {
        let file = base.join(name);
        let table = TABLES.into_iter().find(|&(own, _)| name.as_os_str() == own).filter(|_| !file.is_file());
        match table {
            Some((_, "")) => Ok(Self::built_in()),
            Some((name, rules)) => rules_of(rules.as_bytes(), &name).map(|rules| Self::of(rules).with_fallbacks()),
            None => Self::read(&file).map_err(|error| {
                let names: Vec<_> = selection_names().map(|name| format!("`{name}`")).collect();
                if file.exists() { error } else { format!("{error}; tables of libraries are {}", names.join(", ")) }
            }),
        }
    }

    /// Reads the rules of a file: a table `operation, min_ranks, min_bytes, algorithm`, with an optional column
    /// `segment`.
    ///
    /// # Errors
    /// A message that begins with the name of the file and, unless the fault is of the file as a whole, the line.
    pub fn read(path: &Path) -> Result<Self, String> {
        read(path).map(Self::of)
    }
}

/// Reads a file. Errors begin with the name of the file and, where it is known, the line.
fn read(path: &Path) -> Result<Vec<Rule>, String> {
    let name = path.display();
    let bytes = units::input::SELECTION.read(path).map_err(|error| format!("{name}: it {error}"))?;
    rules_of(&bytes, &name)
}

/// Returns the rules of a text, in the order in which they apply. `name` is its name for errors.
fn rules_of(bytes: &[u8], name: &dyn Display) -> Result<Vec<Rule>, String> {
    let columns = Columns::of(bytes).map_err(|(line, why)| format!("{name}:{line}: {why}"))?;
    let mut known: BTreeMap<(&str, u32, u64), u64> = BTreeMap::new();
    let mut rules = Vec::new();
    for (line, row) in rows(bytes) {
        let rule = rule(row, &columns).map_err(|why| format!("{name}:{line}: {why}"))?;
        if let Some(before) = known.insert((rule.operation.name(), rule.min_ranks, rule.min_bytes), line) {
            return Err(format!("{name}:{line}: a rule with the same limits is in line {before}"));
        }
        rules.push(rule);
    }
    // The rule with the highest minimums comes last, whatever the order of the lines.
    rules.sort_by_key(|rule| (rule.min_ranks, rule.min_bytes));
    if rules.is_empty() {
        return Err(format!("{name}: it has no rules; write rows `operation,min_ranks,min_bytes,algorithm`"));
    }
    Ok(rules)
}

/// Positions of the columns. `NAMES` lists them; the last may be absent.
struct Columns {
    at: [Option<usize>; 5],
    /// Number of columns. `None` for a table without a heading.
    width: Option<usize>,
}

/// Names of the columns, in their order in a table without a heading.
const NAMES: [&str; 5] = ["operation", "min_ranks", "min_bytes", "algorithm", "segment"];

impl Columns {
    fn of(bytes: &[u8]) -> Result<Self, (u64, String)> {
        let heading = heading(bytes).filter(|(_, names)| !names[0].is_empty() && !is_rule(names));
        let Some((line, names)) = heading else { return Ok(Self { at: [0, 1, 2, 3, 4].map(Some), width: None }) };
        if let Some(other) = names.iter().find(|name| !NAMES.contains(&name.as_str())) {
            let message = format!("`{}` is no column; there are {}", other.escape_debug(), NAMES.join(", "));
            return Err((line, message));
        }
        let at = NAMES.map(|name| names.iter().position(|own| own == name));
        let absent = NAMES.iter().zip(&at).find(|(name, at)| at.is_none() && **name != "segment");
        if let Some((name, _)) = absent {
            return Err((line, format!("no column of the heading is `{name}`")));
        }
        match (1..names.len()).find(|&place| names[..place].contains(&names[place])) {
            Some(twice) => Err((line, format!("the column `{}` is there twice", names[twice]))),
            None => Ok(Self { at, width: Some(names.len()) }),
        }
    }
}

/// Returns whether a line without numbers is an incomplete rule, not a heading.
fn is_rule(names: &[String]) -> bool {
    Operation::ALL.into_iter().any(|operation| operation.name() == names[0])
}

/// Reads one row.
fn rule(row: &[u8], columns: &Columns) -> Result<Rule, String> {
    let words: Vec<String> = words(row).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    // The segment, as the last column, may be left out of a row.
    let least = |width: usize| if columns.at[4] == Some(width - 1) { width - 1 } else { width };
    let fits = columns.width.map_or(4..=5, |width| least(width)..=width).contains(&words.len());
    if !fits {
        let there = "operation, min_ranks, min_bytes, algorithm and, if there are any, segment";
        return Err(format!("it has {}; there are {there}", columns_of(words.len())));
    }
    let [operation, ranks, bytes, algorithm, segment] =
        columns.at.map(|at| at.and_then(|at| words.get(at)).map_or("0", String::as_str));
    let operation = named(operation, Operation::ALL.into_iter().map(|one| (one.name(), one)), "operation")?;
    let serving = algorithms(operation).filter(|&one| one != Algorithm::Auto).map(|one| (one.name(), one));
    let algorithm = named(algorithm, serving, &format!("algorithm of `{}`", operation.name()))?;
    let min_ranks = ranks.parse().map_err(|_| format!("`{ranks}` is no number of ranks"))?;
    let min_bytes = size(bytes).ok_or_else(|| format!("`{bytes}` is no size: bytes, or for example `4 KiB`"))?;
    let segment = size(segment).ok_or_else(|| format!("`{segment}` is no size: bytes, or for example `4 KiB`"))?;
    if segment > 0 && !is_segmented(operation, algorithm) {
        return Err(format!("`{}` of `{}` has no segments", algorithm.name(), operation.name()));
    }
    Ok(Rule { operation, min_ranks, min_bytes, algorithm, segment })
}

/// Reads a size in bytes, with or without a unit.
fn size(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| text.parse::<units::Bytes>().ok().map(|size| size.0))
}

/// Returns the item whose name is `text`. An error suggests the most similar name.
fn named<T: Copy>(text: &str, all: impl Iterator<Item = (&'static str, T)>, what: &str) -> Result<T, String> {
    let all: Vec<_> = all.collect();
    if let Some((_, one)) = all.iter().find(|(name, _)| *name == text) {
        return Ok(*one);
    }
    let near = all.iter().max_by(|one, other| {
        let likeness = |name: &str| strsim::jaro_winkler(name, text);
        likeness(one.0).total_cmp(&likeness(other.0))
    });
    let near = near.map(|(name, _)| format!("; did you mean `{name}`?")).unwrap_or_default();
    let names: Vec<_> = all.iter().map(|(name, _)| format!("`{name}`")).collect();
    Err(format!("`{text}` is no {what}: {} are allowed{near}", names.join(", ")))
}
