//! Files that an experiment file includes. Their entries come first, in the order of the files. Then `exclude` removes
//! keys, and the entries of the including file override the rest.

use std::path::{Path, PathBuf};

use toml::de::DeTable;
use units::input::{self, InputError};

use super::error::ConfigError;
use super::locate::Source;
use super::place::Place;
use super::tree::{Entry, Node, Table, Value, path_of};
use super::validate;

/// The key that names included files.
pub(crate) const KEY: &str = "include";

/// The key that names keys of included files to remove.
const EXCLUDE: &str = "exclude";

/// The keys that this module reads.
pub(crate) const KEYS: [&str; 2] = [KEY, EXCLUDE];

/// Maximum size of a file, in bytes.
pub const MAX_FILE: usize = input::EXPERIMENT.most_bytes as usize;

/// Maximum number of files of an experiment.
const MAX_FILES: usize = 64;

/// Prefix that marks the name of a file: of a graph, or of a topology.
const FILE_PREFIX: &str = "file:";

/// Reads a file's text and the files that it includes, relative to `folder`, as one table. The texts of the included
/// files are added to `files`, so that errors can show their lines.
///
/// # Errors
/// The first text that is not TOML, and a file that cannot be included.
pub(crate) fn read(
    files: &mut Vec<Source>,
    folder: &Path,
    file_keys: &'static [&'static str],
) -> Result<Table, ConfigError> {
    let main = files.first().map(|file| Path::new(&file.name));
    // `None` if the text does not come from a file.
    let open = main.and_then(Path::file_name).and_then(|name| folder.join(name).canonicalize().ok());
    Reader { files, open: open.into_iter().collect(), file_keys }.table(0, folder)
}

struct Reader<'a> {
    files: &'a mut Vec<Source>,
    /// The files that are being read. Each is included by the previous one.
    open: Vec<PathBuf>,
    /// Keys whose values may name files.
    file_keys: &'static [&'static str],
}

impl Reader<'_> {
    /// Returns the table of a text and of the files that it includes.
    fn table(&mut self, source: usize, folder: &Path) -> Result<Table, ConfigError> {
        let mut table = parse(&self.files[source].text, source)?;
        let (include, excluded) = (table.remove(KEY), table.remove(EXCLUDE));
        let Some(include) = include else {
            let alone =
                |entry: Entry| ConfigError::new(entry.key_place, EXCLUDE, format!("`{EXCLUDE}` goes with `{KEY}`"));
            return excluded.map_or(Ok(table), |entry| Err(alone(entry)));
        };
        let mut whole = Table::default();
        for (name, place) in names(&include)? {
            overlay_file(&mut whole, self.file(name, place, folder)?);
        }
        if let Some(entry) = &excluded {
            exclude_keys(&mut whole, entry)?;
        }
        overlay_file(&mut whole, table);
        Ok(whole)
    }

    /// Returns the table of an included file, with paths relative to the including file's folder.
    fn file(&mut self, name: &str, place: Place, folder: &Path) -> Result<Table, ConfigError> {
        let fault = |message: String| ConfigError::new(place, KEY, message);
        let path = folder.join(name);
        let cannot = |error: InputError| fault(format!("the included file `{name}` {error}"));
        let canonical = path.canonicalize().map_err(|error| cannot(error.into()))?;
        if self.open.contains(&canonical) {
            return Err(fault(format!("`{name}` includes itself, directly or by way of other files")));
        }
        if self.files.len() >= MAX_FILES {
            return Err(fault(format!("more than {MAX_FILES} files are included")));
        }
        let text = input::EXPERIMENT.read_text(&path).map_err(cannot)?;
        self.files.push(Source { name: path.display().to_string(), text });
        self.open.push(canonical);
        let inner = path.parent().unwrap_or(Path::new(""));
        let table = self.table(self.files.len() - 1, inner);
        self.open.pop();
        let mut table = table?;
        let prefix = Path::new(name).parent().filter(|prefix| *prefix != Path::new(""));
        if let Some(prefix) = prefix {
            rebase(&mut table, &Rebase { prefix, folder, file_keys: self.file_keys });
        }
        Ok(table)
    }
}

fn parse(text: &str, source: usize) -> Result<Table, ConfigError> {
    if text.len() > MAX_FILE {
        return Err(too_large(text.len()));
    }
    let parsed = DeTable::parse(text).map_err(|error| {
        let place = error.span().map(|span| Place::new(source, span));
        ConfigError::new(place, "", format!("not valid TOML: {}", error.message().replace('\n', "; ")))
    })?;
    Table::from_toml(parsed.get_ref(), source)
}

/// Returns the error for a file of `size` bytes, which is too large.
pub(crate) fn too_large(size: usize) -> ConfigError {
    let (size, limit) = (validate::size(size), validate::size(MAX_FILE));
    ConfigError::new(None, "", format!("the file has {size}; an experiment has at most {limit}"))
}

/// Removes keys and sections of included files.
fn exclude_keys(whole: &mut Table, excluded: &Entry) -> Result<(), ConfigError> {
    let Value::List(items) = &excluded.node.value else {
        let message = format!("`{EXCLUDE}` must be a list of keys' paths, not {}", excluded.node.what());
        return Err(ConfigError::new(excluded.node.place, EXCLUDE, message));
    };
    for item in items {
        let fault = |message: String| ConfigError::new(item.place, EXCLUDE, message);
        let Some(text) = item.as_text() else {
            return Err(fault(format!("`{EXCLUDE}` must be a list of keys' paths, not of {}", item.written())));
        };
        let Some(path) = path_of(text) else {
            return Err(fault(format!("`{text}` is not the path of a key, such as measure.max_time")));
        };
        if whole.take(&path).is_none() {
            return Err(fault(format!("no included file has `{text}`")));
        }
    }
    Ok(())
}

/// Returns the names of included files, with their places.
fn names(include: &Entry) -> Result<Vec<(&str, Place)>, ConfigError> {
    let name = |node: &Node| {
        let message = || format!("`{KEY}` must be the path of a file, or a list of paths, not {}", node.what());
        match node.as_text() {
            Some("") => Err(ConfigError::new(node.place, KEY, format!("`{KEY}` names no file"))),
            Some(_) => Ok(node.place),
            None => Err(ConfigError::new(node.place, KEY, message())),
        }
    };
    let nodes = match &include.node.value {
        Value::List(items) => items.iter().collect(),
        _ => vec![&include.node],
    };
    nodes.into_iter().map(|node| Ok((node.as_text().unwrap_or_default(), name(node)?))).collect()
}

/// Overrides the entries of earlier files with those of a later file. A sweep is replaced as a whole, because its keys
/// are paths.
fn overlay_file(below: &mut Table, over: Table) {
    if over.get("sweep").is_some() {
        below.remove("sweep");
    }
    below.overlay(over);
}

/// Rule that makes paths of an included file relative to the including file.
struct Rebase<'a> {
    /// Folder of the included file, as the including file names it.
    prefix: &'a Path,
    /// Folder of the including file.
    folder: &'a Path,
    /// Keys whose values may name files.
    file_keys: &'static [&'static str],
}

fn rebase(table: &mut Table, by: &Rebase<'_>) {
    table.entries.iter_mut().for_each(|Entry { key, node, .. }| rebase_node(key, node, by));
}

fn rebase_node(key: &str, node: &mut Node, by: &Rebase<'_>) {
    // A sweep names keys by their paths.
    let last = key.rsplit('.').next().unwrap_or(key);
    match &mut node.value {
        Value::Table(table) => rebase(table, by),
        Value::List(items) => items.iter_mut().for_each(|item| rebase_node(key, item, by)),
        Value::Text(text) if by.file_keys.contains(&last) => *text = by.path(last, text),
        // An option or a file on the way has made the short name of a file the kind of a table.
        Value::Text(text) if last == "kind" && text.starts_with(FILE_PREFIX) => *text = by.path(last, text),
        _ => {}
    }
}

impl Rebase<'_> {
    /// Returns the rebased path of a value that names a file. The value of a key other than `path`, without the prefix
    /// `file:`, is a file's name only if the file exists.
    fn path(&self, key: &str, text: &str) -> String {
        let (mark, name) = text.strip_prefix(FILE_PREFIX).map_or(("", text), |name| (FILE_PREFIX, name));
        let path = self.prefix.join(name);
        let is_file = key == "path" || !mark.is_empty() || self.folder.join(&path).is_file();
        if is_file { format!("{mark}{}", path.display()) } else { text.to_owned() }
    }
}
