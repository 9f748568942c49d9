//! METIS format: `n m [fmt [ncon]]`, then one line per vertex with its neighbours, numbered from 1. If fmt ends in 1, a
//! weight follows each neighbour. If its second digit is 1, the vertex weights precede the neighbours; if its first
//! digit is 1, the vertex size does. `%` begins a comment. Edges are undirected: weight w is w bytes in each direction.
//! The first weight of a vertex is its load.

use std::fmt::Write as _;

use units::{LocatedError, Notes};

use super::text::{loops, number, tasks, words};
use crate::{ArcList, TaskGraph};
use formats::rows::lines;

/// Largest number of weights of a vertex, which METIS calls constraints.
const MOST_WEIGHTS: u64 = 64;

/// Content of the first line.
struct Header {
    vertices: u32,
    edges: u64,
    edge_weights: bool,
    vertex_weights: usize,
    sizes: bool,
}

/// Reads a graph.
pub(super) fn parse(bytes: &[u8]) -> Result<TaskGraph, LocatedError> {
    // Blank lines count: a vertex without neighbours has one.
    let mut rows = lines(bytes).filter(|(_, line)| line.first() != Some(&b'%'));
    let Some((place, first)) = rows.find(|(_, line)| words(line, b" \t").next().is_some()) else {
        return Err(LocatedError::new("the file is empty; the first line is `vertices edges [format]`"));
    };
    let header = header(first, place)?;
    let mut arcs = ArcList::new(header.vertices);
    let mut loads = Vec::with_capacity(header.vertices.min(1 << 20) as usize);
    let mut seen = 0_u64;
    let mut last = place;
    for vertex in 0..header.vertices {
        let Some((place, line)) = rows.next() else {
            let message = format!("the file ends after {vertex} of {} vertices", header.vertices);
            return Err(LocatedError::at(last, message));
        };
        last = place;
        loads.push(row(&header, (vertex, place, line), &mut arcs)?);
        seen = arcs.len() as u64;
    }
    if let Some((place, _)) = rows.find(|(_, line)| words(line, b" \t").next().is_some()) {
        return Err(LocatedError::at(place, format!("there are more lines than the {} vertices", header.vertices)));
    }
    if seen != 2 * header.edges {
        let message =
            format!("the first line says {} edges; the file has {seen} ends of edges, not twice as many", header.edges);
        return Err(LocatedError::at(place, message));
    }
    let mut notes = Notes::default();
    let (further, sizes) = (header.vertex_weights.saturating_sub(1) as u64, u64::from(header.sizes));
    notes.count(sizes, ["size of each vertex", ""], ["is", ""], "left out");
    let rest = "left out: the first is its load";
    notes.count(further, ["further weight of each vertex", "further weights of each vertex"], ["is", "are"], rest);
    let arcs = arcs.build_noting(&mut notes);
    if let Some((from, to)) = arcs.asymmetric() {
        let message = format!(
            "the edge from vertex {} to {} is not listed with the same weight from both ends",
            from + 1,
            to + 1
        );
        return Err(LocatedError { line: line_of(bytes, from), ..LocatedError::new(message) });
    }
    let mut graph = TaskGraph { notes: notes.sentences().to_vec(), ..TaskGraph::new("metis", arcs) };
    if header.vertex_weights > 0 {
        graph.loads = loads;
    }
    Ok(graph)
}

/// Returns the line of a vertex, numbered from 0. Searched only for error messages.
fn line_of(bytes: &[u8], vertex: u32) -> Option<u64> {
    let mut rows = lines(bytes).filter(|(_, line)| line.first() != Some(&b'%'));
    rows.find(|(_, line)| words(line, b" \t").next().is_some())?;
    rows.nth(vertex as usize).map(|(place, _)| place)
}

fn header(line: &[u8], place: u64) -> Result<Header, LocatedError> {
    let all: Vec<&[u8]> = words(line, b" \t").collect();
    if all.len() < 2 || all.len() > 4 {
        return Err(LocatedError::at(place, "the first line is `vertices edges [format [weights a vertex]]`"));
    }
    let format = all.get(2).map_or(Ok(0), |word| number(word, place))?;
    if !matches!(format, 0 | 1 | 10 | 11 | 100 | 101 | 110 | 111) {
        let message =
            format!("the format is {format}; it has a 1 or a 0 for each of sizes, vertex weights, edge weights");
        return Err(LocatedError::at(place, message));
    }
    let weights = all.get(3).map_or(Ok(1), |word| number(word, place))?;
    if weights == 0 || weights > MOST_WEIGHTS {
        return Err(LocatedError::at(place, format!("{weights} weights a vertex; 1 to {MOST_WEIGHTS} are supported")));
    }
    Ok(Header {
        vertices: tasks(number(all[0], place)?, place)?,
        edges: number(all[1], place)?,
        edge_weights: format % 10 == 1,
        vertex_weights: if format / 10 % 10 == 1 { weights as usize } else { 0 },
        sizes: format / 100 == 1,
    })
}

/// Reads the line of a vertex. Returns its load.
fn row(header: &Header, (vertex, place, line): (u32, u64, &[u8]), arcs: &mut ArcList) -> Result<f64, LocatedError> {
    let mut rest = words(line, b" \t");
    if header.sizes {
        let Some(word) = rest.next() else { return Err(LocatedError::at(place, "the vertex has no size")) };
        number(word, place)?;
    }
    let mut load = 1.0;
    for weight in 0..header.vertex_weights {
        let Some(word) = rest.next() else { return Err(LocatedError::at(place, "the vertex has no weight")) };
        let value = number(word, place)?;
        if weight == 0 {
            load = value as f64;
        }
    }
    while let Some(word) = rest.next() {
        let to = number(word, place)?;
        if to == 0 || to > u64::from(header.vertices) {
            let message = format!("the neighbour {to} is no vertex; they are 1 to {}", header.vertices);
            return Err(LocatedError::at(place, message));
        }
        if to == u64::from(vertex) + 1 {
            return Err(loops(to, place));
        }
        let weight = if header.edge_weights {
            let Some(word) = rest.next() else {
                return Err(LocatedError::at(place, format!("the edge to {to} has no weight")));
            };
            number(word, place)?
        } else {
            1
        };
        if weight == 0 {
            return Err(LocatedError::at(place, format!("the edge to {to} has weight 0; leave it out")));
        }
        arcs.add(vertex, to as u32 - 1, weight, 1);
    }
    Ok(load)
}

/// Returns the graph in this format, with edge weights, and with loads as vertex weights if they are not all 1. Phases
/// are summed. The two directions of an edge are averaged and rounded up. Loads are rounded.
pub fn write_metis(graph: &TaskGraph) -> String {
    let tasks = graph.tasks();
    let mut arcs = ArcList::new(tasks);
    for phase in &graph.phases {
        phase.arcs.iter().for_each(|(from, to, bytes, messages)| arcs.add_both(from, to, bytes, messages));
        for group in &phase.groups {
            group.members.iter().for_each(|&member| arcs.add_both(group.root, member, group.bytes, 1));
        }
    }
    let arcs = arcs.build();
    let loaded = graph.loads.iter().any(|&load| load != 1.0);
    let mut text = format!("{tasks} {} {}\n", arcs.len() / 2, if loaded { "011" } else { "001" });
    for task in 0..tasks {
        let mut separator = "";
        if loaded {
            // Writing to a string does not fail.
            let _ = write!(text, "{}", graph.loads[task as usize].round());
            separator = " ";
        }
        for (to, bytes, _) in arcs.of(task) {
            let _ = write!(text, "{separator}{} {}", to + 1, bytes.div_ceil(2));
            separator = " ";
        }
        text.push('\n');
    }
    text
}
