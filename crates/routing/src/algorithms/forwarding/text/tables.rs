//! Reader of forwarding tables: `opensm-lfts.dump`, `opensm.fdbs`, and the output of `dump_fts` or `ibroute`.
//!
//! A file that is cut off is recognized by its form: the tables of all tools but `opensm.fdbs` end with the line
//! `N lids dumped`, and those of `opensm.fdbs` have a line for each LID up to a common one.

use std::collections::BTreeMap;

use units::shortened;

use super::{Fault, Known, NO_ENTRY, Owner, guid, hexadecimal, no_line};

/// Ports by LID, of each switch by GUID.
pub(in super::super) type Tables = BTreeMap<u64, Vec<u8>>;

/// Format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `opensm-lfts.dump`, `dump_fts` and `ibroute`.
    Dump,
    /// `opensm.fdbs`.
    Routes,
}

/// Table that is being read.
struct Open {
    guid: u64,
    form: Form,
    line: u64,
    /// Number of entries.
    entries: u64,
    /// LID of the last entry.
    last: u32,
    is_closed: bool,
}

/// Headings of columns.
const COLUMNS: [&[&str]; 3] =
    [&["Lid", "Out", "Destination"], &["Port", "Info"], &["LID", ":", "Port", ":", "Hops", ":", "Optimal"]];
/// Beginnings of comments, and of messages of tools.
const BESIDE: [&str; 4] = ["#", "***", "ibwarn:", "ibdebug:"];

/// Reads the forwarding tables of switches.
///
/// # Errors
/// At a line that is not understood, at a switch, LID or port that the fabric does not have, at a second table or
/// entry, and at the end of a table that is cut off.
pub(in super::super) fn tables(text: &str, known: &Known) -> Result<Tables, Fault> {
    let mut reader = Reader { known, tables: Tables::new(), open: None, ends: BTreeMap::new() };
    let mut lines = 0;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        reader.line((number, line)).map_err(|problem| (number, problem))?;
        lines = number;
    }
    reader.finish().map_err(|problem| (lines.max(1), problem))?;
    reader.check_ends()?;
    if reader.tables.is_empty() {
        let message = "no forwarding table: expected a line `Unicast lids [...] of switch ... guid 0x...:` or \
                       `dump_ucast_routes: Switch 0x...`";
        return Err((lines.max(1), message.to_owned()));
    }
    Ok(reader.tables)
}

struct Reader<'a> {
    known: &'a Known,
    tables: Tables,
    open: Option<Open>,
    /// Last LID and line number of each table of `opensm.fdbs`.
    ends: BTreeMap<u64, (u32, u64)>,
}

impl Reader<'_> {
    fn line(&mut self, (number, line): (u64, &str)) -> Result<(), String> {
        if let Some((guid, form)) = heading(line) {
            self.finish()?;
            self.known.ports(guid)?;
            if self.tables.insert(guid, Vec::new()).is_some() {
                return Err(format!("switch 0x{guid:016x} has a second table"));
            }
            self.open = Some(Open { guid, form, line: number, entries: 0, last: 0, is_closed: false });
            return Ok(());
        }
        if line.starts_with("0x") {
            return self.entry(line);
        }
        if let Some(count) = line.strip_suffix(" lids dumped") {
            return self.close(count, line);
        }
        let is_beside = || {
            let words: Vec<&str> = line.split_whitespace().collect();
            BESIDE.iter().any(|begin| line.starts_with(begin)) || COLUMNS.contains(&&*words)
        };
        if line.is_empty() || is_beside() { Ok(()) } else { Err(no_line(line, "a forwarding table")) }
    }

    fn entry(&mut self, line: &str) -> Result<(), String> {
        let Some(open) = self.open.as_mut().filter(|open| !open.is_closed) else {
            return Err("an entry outside of the table of a switch".to_owned());
        };
        let (lid, port) = entry(line, open.form)?;
        if open.form == Form::Routes && lid > open.last + 1 {
            return Err(format!("LID 0x{lid:x} follows LID 0x{:x}: entries are missing", open.last));
        }
        let Some(table) = self.tables.get_mut(&open.guid) else { return Ok(()) };
        if table.len() <= lid as usize {
            table.resize(lid as usize + 1, NO_ENTRY);
        }
        let is_second = open.form == Form::Routes && lid <= open.last;
        if std::mem::replace(&mut table[lid as usize], port) != NO_ENTRY || is_second {
            return Err(format!("LID 0x{lid:x} has a second entry in the table of its switch"));
        }
        (open.last, open.entries) = (lid, open.entries + 1);
        if port == NO_ENTRY {
            return Ok(());
        }
        if self.known.owner(lid) == Owner::Nobody {
            return Err(format!("LID 0x{lid:x} belongs to no port in the topology's file"));
        }
        self.known.check_port(open.guid, port)
    }

    /// Ends a table at its line `N lids dumped`. `ibroute` counts the entries; OpenSM states the last LID.
    fn close(&mut self, count: &str, line: &str) -> Result<(), String> {
        let of_entries = count.strip_suffix(" valid");
        let Ok(stated) = of_entries.unwrap_or(count).parse::<u64>() else {
            return Err(no_line(line, "a forwarding table"));
        };
        let Some(open) = self.open.as_mut().filter(|open| open.form == Form::Dump && !open.is_closed) else {
            return Err(format!("`{}` outside of the table of a switch", shortened(line)));
        };
        if of_entries.is_some() && stated != open.entries {
            return Err(format!("`{}`, where the table has {}", shortened(line), open.entries));
        }
        open.is_closed = true;
        Ok(())
    }

    /// Refuses a table that is not complete.
    fn finish(&mut self) -> Result<(), String> {
        let Some(open) = self.open.take() else { return Ok(()) };
        if open.form == Form::Routes {
            self.ends.insert(open.guid, (open.last, open.line));
        } else if !open.is_closed {
            return Err(format!(
                "the table of switch 0x{:016x} (line {}) does not end with `N lids dumped`: is the file cut off?",
                open.guid, open.line
            ));
        }
        Ok(())
    }

    fn check_ends(&self) -> Result<(), Fault> {
        let most = self.ends.values().map(|&(last, _)| last).max().unwrap_or(0);
        let Some((guid, &(last, line))) = self.ends.iter().find(|(_, (last, _))| *last < most) else { return Ok(()) };
        let message = format!(
            "the table of switch 0x{guid:016x} ends at LID 0x{last:x}, another one at LID 0x{most:x}: is the file cut off?"
        );
        Err((line, message))
    }
}

/// Returns the switch and the format of a heading.
fn heading(line: &str) -> Option<(u64, Form)> {
    let (rest, form) = match line.strip_prefix("Unicast lids [") {
        Some(rest) => (rest.strip_suffix(':')?.split_once(" guid ")?.1, Form::Dump),
        None => (line.strip_prefix("dump_ucast_routes: Switch ")?, Form::Routes),
    };
    let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    Some((guid(word)?, form)).filter(|_| form == Form::Dump || rest.is_empty())
}

/// Reads `0x0004 001 # ...`, `0x0004 001 : (...)`, or of `opensm.fdbs` `0x0004 : 001 : 02 : yes`.
fn entry(line: &str, form: Form) -> Result<(u32, u8), String> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let Some(lid) = hexadecimal(word) else {
        return Err(format!("`{}` is no LID from 0x1 to 0xbfff", shortened(word)));
    };
    let parts: Vec<&str> = rest.trim_start_matches([' ', ':']).split(':').map(str::trim).collect();
    let is_count = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty();
    let (word, is_complete) = match form {
        Form::Routes => match parts[..] {
            ["UNREACHABLE"] => return Ok((lid, NO_ENTRY)),
            [word, "HOPS UNKNOWN"] => (word, true),
            [word, hops, best] => {
                (word, is_count(hops) && (best == "yes" || best.starts_with("No ") && best.ends_with('!')))
            }
            [word, ..] => (word, false),
            [] => ("", false),
        },
        Form::Dump => {
            let (word, rest) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
            let about = rest.trim();
            (word, about.is_empty() || about.starts_with('#') || about.starts_with(": (") && about.ends_with(')'))
        }
    };
    let port = word.parse().ok().filter(|_| word.len() == 3 && is_count(word));
    let port = port.ok_or_else(|| format!("`{}` is no port of three digits, from 000 to 255", shortened(word)))?;
    if is_complete { Ok((lid, port)) } else { Err(no_line(line, "a forwarding table")) }
}

/// Returns the line of the entry of a LID in the table of a switch, or of the table's heading if it has none. `None`:
/// the switch has no table.
pub(in super::super) fn line_of(text: &str, (guid, lid): (u64, u32)) -> Option<u64> {
    let (mut is_here, mut found) = (false, None);
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if let Some((other, _)) = heading(line) {
            is_here = other == guid;
            found = if is_here { Some(number) } else { found };
        } else if is_here && line.split_whitespace().next().and_then(hexadecimal) == Some(lid) {
            return Some(number);
        }
    }
    found
}
