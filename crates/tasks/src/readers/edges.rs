//! Edge lists: lines `from,to,bytes[,messages]`, or in the order of a heading, with tasks numbered from 0, in the
//! dialect of `formats::rows`. Traffic in both directions takes two lines. Lines `task,number[,load]` set the load of a
//! task (default: 1), and name tasks without edges. Lines `multicast,root,bytes,member,...` and
//! `reduction,root,bytes,member,...` are groups. The number of tasks is one more than the largest task number in the
//! file.

use std::collections::BTreeMap;

use units::{LocatedError, Notes};

use super::text::{amount, loops, number, tasks};
use crate::{ArcList, Group, GroupKind, TaskGraph};
use formats::rows::{Columns, MULTICAST, REDUCTION, TASK, rows, words};

/// Syntax of a line, for error messages.
const EXPECTED: &str =
    "expected `from,to,bytes[,messages]`, `task,number[,load]`, or `multicast` or `reduction`,root,bytes,member,...";

/// Content read so far.
#[derive(Default)]
struct Lists {
    edges: Vec<(u32, u32, u64, u32)>,
    /// Load of each task, and the line that sets it.
    loads: BTreeMap<u32, (f64, u64)>,
    groups: Vec<Group>,
    /// One more than the largest task number.
    tasks: u32,
}

/// Reads a graph.
pub(super) fn parse(bytes: &[u8]) -> Result<TaskGraph, LocatedError> {
    let mut lists = Lists::default();
    let columns = Columns::of(bytes, "bytes").map_err(|(line, message)| LocatedError::at(line, message))?;
    for (place, row) in rows(bytes) {
        let all: Vec<&[u8]> = words(row).collect();
        match all[0] {
            TASK => lists.task(&all[1..], place)?,
            MULTICAST => lists.group(GroupKind::Multicast, &all[1..], place)?,
            REDUCTION => lists.group(GroupKind::Reduction, &all[1..], place)?,
            _ => lists.edge(&columns, &all, place)?,
        }
    }
    if lists.tasks == 0 {
        return Err(LocatedError::new("the file has no edges; a line is `from,to,bytes[,messages]`"));
    }
    let mut arcs = ArcList::new(lists.tasks);
    lists.edges.into_iter().for_each(|(from, to, amount, messages)| arcs.add(from, to, amount, messages));
    let mut notes = Notes::default();
    columns.note(&mut notes);
    let mut graph = TaskGraph::new("edges", arcs.build_noting(&mut notes));
    let repeated = (1..lists.groups.len()).filter(|&at| lists.groups[..at].contains(&lists.groups[at])).count() as u64;
    notes.count(repeated, ["group", "groups"], ["is", "are"], "listed before: each sends its bytes again");
    graph.phases[0].groups = lists.groups;
    lists.loads.into_iter().for_each(|(task, (load, _))| graph.loads[task as usize] = load);
    graph.notes = notes.sentences().to_vec();
    Ok(graph)
}

impl Lists {
    /// Parses the words of `from,to,bytes[,messages]`.
    fn edge(&mut self, columns: &Columns, all: &[&[u8]], place: u64) -> Result<(), LocatedError> {
        let row = columns.pick(all).map_err(|why| LocatedError::at(place, format!("{why}; {EXPECTED}")))?;
        let (from, to) = (task(row.from, place)?, task(row.to, place)?);
        if from == to {
            return Err(loops(u64::from(from), place));
        }
        let messages = messages(row.messages, place)?;
        self.edges.push((from, to, amount(row.amount, place)?, messages));
        self.tasks = self.tasks.max(from + 1).max(to + 1);
        Ok(())
    }

    /// Parses the words of `root,bytes,member,...`.
    fn group(&mut self, kind: GroupKind, all: &[&[u8]], place: u64) -> Result<(), LocatedError> {
        let [root, bytes, members @ ..] = all else { return Err(LocatedError::at(place, EXPECTED)) };
        let (root, bytes) = (task(root, place)?, amount(bytes, place)?);
        let members = members.iter().map(|word| task(word, place)).collect::<Result<Vec<u32>, _>>()?;
        if members.is_empty() {
            return Err(LocatedError::at(place, "a group has at least one member beside its root"));
        }
        let mut sorted = members.clone();
        sorted.push(root);
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let message =
                format!("task {} is in the group twice; its root and its members are each named once", pair[0]);
            return Err(LocatedError::at(place, message));
        }
        self.tasks = self.tasks.max(sorted.last().map_or(0, |&last| last + 1));
        self.groups.push(Group { kind, root, members, bytes });
        Ok(())
    }

    /// Parses the words of `number[,load]`.
    fn task(&mut self, all: &[&[u8]], place: u64) -> Result<(), LocatedError> {
        let (number, load) = match *all {
            [number] => (number, None),
            [number, load] => (number, Some(load)),
            _ => return Err(LocatedError::at(place, EXPECTED)),
        };
        let number = task(number, place)?;
        if let Some(word) = load {
            let load = load_of(word, place)?;
            if let Some((_, before)) = self.loads.insert(number, (load, place)) {
                let message = format!("the load of task {number} is given already, in line {before}");
                return Err(LocatedError::at(place, message));
            }
        }
        self.tasks = self.tasks.max(number + 1);
        Ok(())
    }
}

/// Parses a load: a non-negative number.
fn load_of(word: &[u8], place: u64) -> Result<f64, LocatedError> {
    let text = String::from_utf8_lossy(&word[..word.len().min(40)]);
    let load = text.parse::<f64>().ok().filter(|load| (0.0..=f64::MAX).contains(load));
    load.ok_or_else(|| {
        LocatedError::at(place, format!("`{}` is no load; a load is a number from 0", text.escape_debug()))
    })
}

/// Parses a number of messages. Default: 1.
fn messages(word: Option<&[u8]>, place: u64) -> Result<u32, LocatedError> {
    let count = word.map_or(Ok(1), |word| number(word, place))?;
    u32::try_from(count).ok().filter(|&count| count > 0).ok_or_else(|| {
        LocatedError::at(place, format!("{count} messages; 1 to {} are supported over an arc", u32::MAX))
    })
}

fn task(word: &[u8], place: u64) -> Result<u32, LocatedError> {
    let number = number(word, place)?;
    tasks(number.saturating_add(1), place).map(|count| count - 1)
}
