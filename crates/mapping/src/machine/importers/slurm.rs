//! Slurm's `topology.conf`: a tree of switches, or blocks of nodes.
//!
//! ```text
//! SwitchName=root Switches=leaf[0-1]
//! SwitchName=leaf0 Nodes="node[00-15]"
//! Include rack1.conf
//! ```
//!
//! Lines are read as Slurm reads them: blanks around `=`, values in quotes, `#` for comments, a backslash at the end of
//! a continued line. The file only states which switch is below which: one uplink each is assumed, which suffices for
//! distances by level. Several roots are joined by a switch above them. A block becomes a switch. Switches and nodes
//! are numbered in the order of their names.

use std::collections::BTreeMap;

use units::{LocatedError, shortened};

use super::Wiring;
use super::hostlist::{MAX_HOSTS, expand, hosts};
use super::wiring::natural;

/// Maximum number of files of one description, included files counted.
const MAX_FILES: usize = 64;
/// Keys of a line.
const KEYS: &str = "SwitchName, Switches, Nodes, LinkSpeed, BlockName and BlockSizes";

/// Switch as the file describes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Switch {
    pub(crate) file: Option<String>,
    pub(crate) line: u64,
    pub(crate) name: String,
    pub(crate) switches: Vec<String>,
    pub(crate) nodes: Vec<String>,
}

impl Switch {
    fn wrong(&self, message: String) -> LocatedError {
        let line = Some(self.line).filter(|&line| line > 0);
        LocatedError { file: self.file.clone(), line, ..LocatedError::new(message) }
    }
}

/// Function that returns the text of an included file by its name.
pub(crate) type Include<'a> = &'a dyn Fn(&str) -> Result<String, LocatedError>;

/// Returns whether a text seems to be of this format.
pub(crate) fn recognize(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| {
        let end = line.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(line.len());
        let (key, rest) = line.split_at(end);
        match key.to_ascii_lowercase().as_str() {
            "switchname" | "blockname" | "blocksizes" | "include" => true,
            "nodes" | "switches" | "linkspeed" => rest.trim_start().starts_with('='),
            _ => false,
        }
    })
}

/// Reads the file and its included files.
///
/// # Errors
/// At the line of an unknown key, of a switch or node that is named twice or below itself, or of a child without a
/// line.
pub(crate) fn read(text: &str, include: Include<'_>) -> Result<Wiring, LocatedError> {
    let mut reader = Reader { include, files: 1, switches: Vec::new(), names: 0, speeds: 0, sizes: 0 };
    reader.file(text, None)?;
    let mut wiring = tree(reader.switches)?;
    let (is, rest) = (["is", "are"], "left out: Slurm states no unit");
    wiring.notes.count(reader.speeds, ["LinkSpeed", "LinkSpeeds"], is, rest);
    wiring.notes.count(reader.sizes, ["BlockSizes", "BlockSizes"], is, "left out");
    Ok(wiring)
}

struct Reader<'a> {
    include: Include<'a>,
    files: usize,
    switches: Vec<Switch>,
    /// Number of names in the lists of all lines.
    names: usize,
    speeds: u64,
    sizes: u64,
}

impl Reader<'_> {
    fn file(&mut self, text: &str, name: Option<&str>) -> Result<(), LocatedError> {
        for (number, line) in logical_lines(text) {
            let in_file = |error: LocatedError| match name {
                Some(name) if error.file.is_none() => error.in_file(name),
                _ => error,
            };
            self.line(number, &line, name).map_err(in_file)?;
        }
        Ok(())
    }

    fn line(&mut self, number: u64, line: &str, name: Option<&str>) -> Result<(), LocatedError> {
        let wrong = |message: String| LocatedError::at(number, message);
        let line = line.trim();
        if line.is_empty() {
            return Ok(());
        }
        if let Some(path) = included(line) {
            self.files += 1;
            if self.files > MAX_FILES {
                return Err(wrong(format!("more than {MAX_FILES} files are included; does one include itself?")));
            }
            let text = (self.include)(path)
                .map_err(|error| wrong(format!("the included file `{}`: {}", path.escape_debug(), error.message)))?;
            return self.file(&text, Some(path));
        }
        let mut switch = Switch { file: name.map(str::to_owned), line: number, ..Switch::default() };
        let (mut seen, mut sizes_only) = (Vec::new(), true);
        for (key, value) in pairs(line).map_err(wrong)? {
            let key = key.to_ascii_lowercase();
            if seen.contains(&key) {
                return Err(wrong(format!("`{key}` stands twice in the line")));
            }
            let here = |error: LocatedError| LocatedError::at(number, error.message);
            match key.as_str() {
                "switchname" | "blockname" => value.trim().clone_into(&mut switch.name),
                "switches" => switch.switches = expand(&value).map_err(here)?,
                "nodes" => switch.nodes = hosts(&value).map_err(here)?,
                "linkspeed" => self.speeds += 1,
                "blocksizes" => self.sizes += 1,
                _ => return Err(wrong(format!("`{}` is not a key; allowed are {KEYS}", key.escape_debug()))),
            }
            sizes_only &= key == "blocksizes";
            seen.push(key);
        }
        if sizes_only {
            return Ok(());
        }
        if switch.name.is_empty() {
            return Err(wrong("the line has no SwitchName or BlockName".to_owned()));
        }
        self.names += switch.nodes.len() + switch.switches.len();
        if self.names > MAX_HOSTS {
            return Err(wrong(format!("the file names more than {MAX_HOSTS} switches and nodes")));
        }
        self.switches.push(switch);
        Ok(())
    }
}

/// Returns the file that a line includes.
fn included(line: &str) -> Option<&str> {
    let (word, path) = line.split_once(char::is_whitespace)?;
    let path = path.trim();
    (word.eq_ignore_ascii_case("include") && !path.starts_with('=')).then(|| path.trim_matches('"'))
}

/// Returns the keys of a line with their values: `key = value` or `key="value"`.
fn pairs(line: &str) -> Result<Vec<(&str, String)>, String> {
    let (mut found, mut rest) = (Vec::new(), line.trim_start());
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let (key, behind) = rest.split_at(end);
        let Some(behind) = behind.trim_start().strip_prefix('=').map(str::trim_start).filter(|_| !key.is_empty())
        else {
            let word = if key.is_empty() { rest } else { key };
            let word = shortened(word);
            return Err(format!("`{word}` is not of the form key=value"));
        };
        let (value, behind) = match behind.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or_else(|| format!("the quote behind `{key}=` is not closed"))?,
            None => behind.split_at(behind.find(char::is_whitespace).unwrap_or(behind.len())),
        };
        found.push((key, value.to_owned()));
        rest = behind.trim_start();
    }
    Ok(found)
}

/// Returns the file's lines without comments. A line that ends in a backslash is joined with the next.
fn logical_lines(text: &str) -> Vec<(u64, String)> {
    let mut lines: Vec<(u64, String)> = Vec::new();
    let mut open = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("");
        let (part, goes_on) = line.trim_end().strip_suffix('\\').map_or((line, false), |part| (part, true));
        match lines.last_mut().filter(|_| open) {
            Some((_, whole)) => whole.push_str(part),
            None => lines.push((number, part.to_owned())),
        }
        open = goes_on;
    }
    lines
}

/// Converts a forest of switches to a wiring.
///
/// # Errors
/// If [`read`] would fail for these switches.
pub(crate) fn tree(mut switches: Vec<Switch>) -> Result<Wiring, LocatedError> {
    switches.sort_by_cached_key(|switch| natural(&switch.name));
    let mut wiring = Wiring::default();
    for switch in &switches {
        if wiring.known(&switch.name).is_some() {
            return Err(switch.wrong(format!("the switch {} is there twice", switch.name)));
        }
        if switch.name.contains(char::is_whitespace) {
            return Err(switch.wrong(format!("the name of a switch has no blanks: `{}`", shortened(&switch.name))));
        }
        if switch.switches.is_empty() && switch.nodes.is_empty() {
            return Err(switch.wrong(format!("the switch {} has neither switches nor nodes", switch.name)));
        }
        wiring.router(&switch.name);
    }
    let mut above: BTreeMap<u32, u32> = BTreeMap::new();
    let mut homes: BTreeMap<&str, &str> = BTreeMap::new();
    for switch in &switches {
        let number = wiring.router(&switch.name);
        for child in &switch.switches {
            let Some(below) = wiring.known(child) else {
                let message = format!("the switch {child} below {} has no line of its own", switch.name);
                return Err(switch.wrong(message));
            };
            if above.insert(below, number).is_some() {
                return Err(switch.wrong(format!("the switch {child} is below two others")));
            }
            wiring.wires.push((number, below, "link".to_owned()));
        }
        for node in &switch.nodes {
            if let Some(before) = homes.insert(node, &switch.name) {
                let message = format!("the node {node} is on {before} and on {}", switch.name);
                return Err(switch.wrong(message));
            }
            wiring.host(number, node.clone());
        }
    }
    check_acyclic(&switches, &wiring, &above)?;
    wiring.nodes.sort_by_cached_key(|node| natural(&node.name));
    join(&mut wiring, &above);
    Ok(wiring)
}

/// Refuses switches that are below themselves.
fn check_acyclic(switches: &[Switch], wiring: &Wiring, above: &BTreeMap<u32, u32>) -> Result<(), LocatedError> {
    // Number of the walk that reached a switch first. A walk that reaches one of its switches again is a cycle.
    let mut walked: BTreeMap<u32, usize> = BTreeMap::new();
    for (walk, switch) in switches.iter().enumerate() {
        let mut at = wiring.known(&switch.name);
        while let Some(router) = at {
            match walked.insert(router, walk) {
                Some(before) if before == walk => {
                    return Err(switch.wrong(format!("the switch {} is below itself", switch.name)));
                }
                Some(_) => break,
                None => at = above.get(&router).copied(),
            }
        }
    }
    Ok(())
}

/// Joins several roots by a switch above them.
fn join(wiring: &mut Wiring, above: &BTreeMap<u32, u32>) {
    let roots: Vec<u32> = (0..wiring.routers.len() as u32).filter(|router| !above.contains_key(router)).collect();
    if roots.len() > 1 {
        let top = wiring.router("(above all roots)");
        wiring.wires.extend(roots.iter().map(|&root| (top, root, "link".to_owned())));
        wiring.notes.add(format!("{} roots are joined by a switch above them", roots.len()));
    }
    wiring.notes.add("one uplink from each switch is assumed");
}
