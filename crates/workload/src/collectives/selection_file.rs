//! Rules that choose algorithms, read from a table.

use std::fs;
use std::path::Path;

use super::selection::{Rule, Selection};
use super::table::{Algorithm, Operation, algorithms, is_segmented};
use crate::rows::{rows, words};

/// Larger files are refused before they are read.
const LARGEST_FILE: u64 = 1 << 20;

impl Selection {
    /// The rules of a file, a table `operation, min_ranks, min_bytes, algorithm`, which may have a column `segment`.
    ///
    /// # Errors
    /// What is wrong with the file, with the line.
    pub fn read(path: &Path) -> Result<Self, String> {
        read(path).map(Self::of)
    }
}

/// Reads a file; errors begin with its name and the line.
fn read(path: &Path) -> Result<Vec<Rule>, String> {
    let name = path.display();
    let cannot = |error: std::io::Error| format!("{name}: it cannot be read: {}", units::reason(&error));
    let about = fs::metadata(path).map_err(cannot)?;
    if !about.is_file() || about.len() > LARGEST_FILE {
        return Err(format!("{name}: it is no file of at most 1 MiB"));
    }
    let bytes = fs::read(path).map_err(cannot)?;
    let of_row = |(line, row)| rule(row).map_err(|why| format!("{name}:{line}: {why}"));
    let rules = rows(&bytes).map(of_row).collect::<Result<Vec<Rule>, String>>()?;
    if rules.is_empty() {
        return Err(format!("{name}: it has no rules; write rows `operation,min_ranks,min_bytes,algorithm`"));
    }
    Ok(rules)
}

/// A row.
fn rule(row: &[u8]) -> Result<Rule, String> {
    let words: Vec<String> = words(row).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let ([operation, ranks, bytes, algorithm], segment) = (match &words[..] {
        [rule @ .., segment] if words.len() == 5 => (rule, segment.as_str()),
        rule => (rule, "0"),
    }) else {
        let columns = "operation, min_ranks, min_bytes, algorithm and, if there are any, segment";
        return Err(format!("it has {} columns; there are {columns}", words.len()));
    };
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

/// A size as a number of bytes, or with its unit.
fn size(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| text.parse::<units::Bytes>().ok().map(|size| size.0))
}

/// What a name stands for.
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
