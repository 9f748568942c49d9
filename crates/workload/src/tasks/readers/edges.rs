//! Lists of edges: lines `from,to,bytes[,messages]`, tasks from 0; a first line of names is skipped, `#` starts a comment.
//! Both directions are two lines. The number of tasks is one more than the largest.

use super::text::{lines, loops, number, tasks, words};
use crate::tasks::{ArcList, GraphError, TaskGraph};

/// Reads a graph.
pub(super) fn parse(bytes: &[u8]) -> Result<TaskGraph, GraphError> {
    let mut edges: Vec<(u32, u32, u64, u32)> = Vec::new();
    let mut largest = 0;
    for (place, line) in lines(bytes) {
        let line = line.split(|&byte| byte == b'#').next().unwrap_or(&[]);
        let all: Vec<&[u8]> = words(line, b", \t;").collect();
        let names = edges.is_empty() && all.iter().all(|word| word.first().is_some_and(u8::is_ascii_alphabetic));
        if all.is_empty() || names {
            continue;
        }
        if all.len() < 3 || all.len() > 4 {
            return Err(GraphError::at(place, "expected `from,to,bytes[,messages]`"));
        }
        let (from, to) = (task(all[0], place)?, task(all[1], place)?);
        if from == to {
            return Err(loops(u64::from(from), place));
        }
        let messages = messages(all.get(3).copied(), place)?;
        edges.push((from, to, number(all[2], place)?, messages));
        largest = largest.max(from).max(to);
    }
    if edges.is_empty() {
        return Err(GraphError::new("the file has no edges; a line is `from,to,bytes[,messages]`"));
    }
    let mut arcs = ArcList::new(largest + 1);
    edges.into_iter().for_each(|(from, to, amount, messages)| arcs.add(from, to, amount, messages));
    Ok(TaskGraph::new("edges", arcs.build()))
}

/// The number of messages, 1 where none is given.
fn messages(word: Option<&[u8]>, place: u64) -> Result<u32, GraphError> {
    let count = word.map_or(Ok(1), |word| number(word, place))?;
    u32::try_from(count)
        .ok()
        .filter(|&count| count > 0)
        .ok_or_else(|| GraphError::at(place, format!("{count} messages; 1 to {} are supported over an arc", u32::MAX)))
}

fn task(word: &[u8], place: u64) -> Result<u32, GraphError> {
    let number = number(word, place)?;
    tasks(number.saturating_add(1), place).map(|count| count - 1)
}
