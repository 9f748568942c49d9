//! Files of the ranks of a trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use units::input::{Input, InputError};

use super::error::ChakraError;
use mpi::program::calls::MOST_RANKS;

/// Extensions of traces.
const ENDINGS: [&str; 2] = ["et", "json"];

/// File name of a trace, split into prefix, rank and extension.
struct Name {
    prefix: PathBuf,
    rank: Option<u32>,
    ending: &'static str,
}

impl Name {
    /// Splits a path. Returns `None` if its extension is not that of a trace.
    fn of(path: &Path) -> Option<Self> {
        let found = path.extension().and_then(|found| found.to_str())?;
        let ending = ENDINGS.into_iter().find(|&ending| ending == found)?;
        let prefix = path.with_extension("");
        let rank = prefix.extension().and_then(|rank| rank.to_str()).and_then(number);
        let prefix = if rank.is_some() { prefix.with_extension("") } else { prefix };
        Some(Self { prefix, rank, ending })
    }
}

/// Parses a rank, which consists of digits only.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&rank| digits && rank < MOST_RANKS)
}

/// Returns the prefix and the files of all ranks. `path` is the prefix or the file of any rank. A JSON file is the
/// trace of rank 0 if its name has no rank, or if it has a rank other than 0 and is the only file.
///
/// # Errors
/// No file, a rank without a file, or a rank with two files.
pub fn files(path: &Path) -> Result<(PathBuf, Vec<PathBuf>), ChakraError> {
    let shown = || path.display().to_string();
    if let Some(name) = Name::of(path).filter(|_| path.is_file()) {
        let is_json = name.ending == "json";
        let Some(rank) = name.rank else {
            return if is_json { Ok((name.prefix, vec![path.to_owned()])) } else { Err(ChakraError::NoRank(shown())) };
        };
        let found = beside(&name.prefix, name.ending)?;
        if is_json && rank > 0 && found.len() == 1 {
            return Ok((name.prefix, vec![path.to_owned()]));
        }
        return complete(&name.prefix, name.ending, found).map(|files| (name.prefix, files));
    }
    if Name::of(path).is_some_and(|name| name.rank.is_none() && name.ending == "et") {
        return Err(ChakraError::NoRank(shown()));
    }
    let prefix = Name::of(path).filter(|name| name.rank.is_some()).map_or_else(|| path.to_owned(), |name| name.prefix);
    let [binary, text] = ENDINGS.map(|ending| beside(&prefix, ending));
    let (binary, text) = (binary?, text?);
    let (ending, found) = match (binary.first_key_value(), text.first_key_value()) {
        (Some((_, one)), Some((_, other))) => {
            return Err(ChakraError::Twice(one.display().to_string(), other.display().to_string()));
        }
        (None, None) => return Err(ChakraError::NoFiles(prefix.display().to_string())),
        (Some(_), None) => ("et", binary),
        (None, Some(_)) => ("json", text),
    };
    complete(&prefix, ending, found).map(|files| (prefix, files))
}

/// Returns the file name of a rank.
pub fn file_of(prefix: &Path, rank: u32, ending: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(format!(".{rank}.{ending}"));
    PathBuf::from(name)
}

/// Returns the files that are read together with `path`: those of all ranks and of process groups. A file without a
/// rank is read alone.
pub fn read_together(path: &Path) -> Vec<PathBuf> {
    let Some(Name { prefix, rank: Some(_), ending }) = Name::of(path) else { return vec![path.to_owned()] };
    let groups = groups_of(&prefix);
    let ranks = beside(&prefix, ending).unwrap_or_default();
    let mut found: Vec<PathBuf> = ranks.into_values().chain(groups.is_file().then_some(groups)).collect();
    if found.is_empty() {
        found.push(path.to_owned());
    }
    found
}

/// Returns the file of the process groups of traces with a prefix.
pub(super) fn groups_of(prefix: &Path) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(".groups.json");
    PathBuf::from(name)
}

/// Returns the files with a prefix and an extension, by rank.
fn beside(prefix: &Path, ending: &str) -> Result<BTreeMap<u32, PathBuf>, ChakraError> {
    let folder = prefix.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (Some(stem), Ok(entries)) = (prefix.file_name(), std::fs::read_dir(folder)) else { return Ok(BTreeMap::new()) };
    let mut found: BTreeMap<u32, PathBuf> = BTreeMap::new();
    for entry in entries.flatten() {
        let path = prefix.with_file_name(entry.file_name());
        let Some(Name { prefix: own, rank: Some(rank), ending: its }) = Name::of(&path) else { continue };
        if own.file_name() != Some(stem) || its != ending || !path.is_file() {
            continue;
        }
        if let Some(other) = found.insert(rank, path.clone()) {
            let mut names = [other, path].map(|path| path.display().to_string());
            names.sort();
            let [one, other] = names;
            return Err(ChakraError::Twice(one, other));
        }
    }
    Ok(found)
}

/// Returns the files in order of ranks. None may be missing.
fn complete(prefix: &Path, ending: &str, found: BTreeMap<u32, PathBuf>) -> Result<Vec<PathBuf>, ChakraError> {
    let gap = (0..).zip(found.keys()).find(|&(rank, &own)| rank != own);
    if let Some((rank, _)) = gap {
        let last = found.last_key_value().map_or(0, |(&last, _)| last);
        let why = format!("there are files of {} of the ranks 0 to {last}, and each rank has one", found.len());
        return Err(ChakraError::Missing { file: file_of(prefix, rank, ending).display().to_string(), why });
    }
    Ok(found.into_values().collect())
}

/// Returns the text of a file.
pub(super) fn text_of(path: &Path, kind: Input) -> Result<String, ChakraError> {
    let cannot =
        |error: InputError| ChakraError::Json { file: path.display().to_string(), reason: format!("it {error}") };
    kind.read_text(path).map_err(cannot)
}
