//! The nodes of a file.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use prost::Message;

use super::error::ChakraError;
use super::options::Options;
use super::schema::{GlobalMetadata, Node, NodeType};
use crate::collectives::Operation;

/// The largest message of a file in bytes: names and attributes of a node.
const LARGEST: u64 = 1 << 24;

/// The most nodes of a file.
const MOST_NODES: usize = 1 << 25;

/// Picoseconds of a microsecond, and of a second.
const MICROSECOND: f64 = 1e6;
const SECOND: f64 = 1e12;

/// What a rank's file says.
#[derive(Debug)]
pub(super) struct File {
    pub name: String,
    pub nodes: Vec<Step>,
}

/// A node.
#[derive(Debug)]
pub(super) struct Step {
    pub id: u64,
    pub kind: Kind,
    /// By their places in the file: what it needs, and what it comes after.
    pub data: Vec<u32>,
    pub ctrl: Vec<u32>,
}

/// What a node does.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Nothing: it stands for what it depends on.
    Joins,
    /// It takes a time in picoseconds.
    Calculates(u64),
    Sends(Work),
    Receives(Work),
    Operates(Operation, Work),
}

/// A message or an operation.
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// The other rank, or the root.
    pub peer: u32,
    pub tag: u32,
    pub bytes: u64,
    pub group: Option<String>,
}

impl File {
    /// The nodes of a file; the memory that it takes is that of what is kept of them, and of one message.
    pub fn read(path: &Path, options: &Options) -> Result<Self, ChakraError> {
        let name = path.display().to_string();
        let cannot =
            |error: std::io::Error| ChakraError::Unreadable { file: name.clone(), reason: units::reason(&error) };
        let mut messages =
            Messages { reader: BufReader::new(fs::File::open(path).map_err(cannot)?), at: 0, name: &name };
        let head: Option<GlobalMetadata> = messages.next()?;
        if head.is_none() {
            return Err(messages.garbled(0, "it is empty: a trace begins with its metadata"));
        }
        let (mut nodes, mut drafts) = (Vec::new(), Vec::new());
        let mut places = BTreeMap::new();
        while let Some(node) = messages.next::<Node>()? {
            let wrong = |reason: String| ChakraError::Node { file: name.clone(), node: node.id, reason };
            if nodes.len() == MOST_NODES {
                return Err(wrong(format!("there are more than {MOST_NODES} nodes")));
            }
            if places.insert(node.id, nodes.len() as u32).is_some() {
                return Err(wrong("another node has the same number".to_owned()));
            }
            let kind = kind_of(&node, options).map_err(wrong)?;
            nodes.push(Step { id: node.id, kind, data: Vec::new(), ctrl: Vec::new() });
            drafts.push((node.data_deps, node.ctrl_deps));
        }
        for (node, (data, ctrl)) in nodes.iter_mut().zip(drafts) {
            let id = node.id;
            let place_of = |of: u64| {
                let missing = || ChakraError::Node {
                    file: name.clone(),
                    node: id,
                    reason: format!("it depends on node {of}, which is not there"),
                };
                places.get(&of).copied().ok_or_else(missing)
            };
            node.data = data.into_iter().map(place_of).collect::<Result<_, _>>()?;
            node.ctrl = ctrl.into_iter().map(place_of).collect::<Result<_, _>>()?;
        }
        Ok(Self { name, nodes })
    }
}

/// Messages behind their lengths.
struct Messages<'a, R> {
    reader: R,
    at: u64,
    name: &'a str,
}

impl<R: BufRead> Messages<'_, R> {
    fn garbled(&self, byte: u64, reason: &str) -> ChakraError {
        ChakraError::Garbled { file: self.name.to_owned(), byte, reason: reason.to_owned() }
    }

    fn unreadable(&self, error: &std::io::Error) -> ChakraError {
        ChakraError::Unreadable { file: self.name.to_owned(), reason: units::reason(error) }
    }

    /// The next message; none at the end of the file.
    fn next<M: Message + Default>(&mut self) -> Result<Option<M>, ChakraError> {
        let begin = self.at;
        match self.reader.fill_buf().map(<[u8]>::is_empty) {
            Ok(true) => return Ok(None),
            Ok(false) => {}
            Err(error) => return Err(self.unreadable(&error)),
        }
        let length = self.length(begin)?;
        if length > LARGEST {
            return Err(self.garbled(begin, "a message of more than 16 MiB: this is no trace of Chakra"));
        }
        let mut bytes = Vec::new();
        let read = (&mut self.reader).take(length).read_to_end(&mut bytes);
        let read = read.map_err(|error| self.unreadable(&error))?;
        self.at += read as u64;
        if (read as u64) < length {
            return Err(self.garbled(begin, "the file ends within a message"));
        }
        M::decode(&bytes[..]).map(Some).map_err(|error| self.garbled(begin, &error.to_string()))
    }

    /// The length that stands before a message.
    fn length(&mut self, begin: u64) -> Result<u64, ChakraError> {
        let mut length = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            match self.reader.read_exact(&mut byte) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Err(self.garbled(begin, "the file ends within the length of a message"));
                }
                read => read.map_err(|error| self.unreadable(&error))?,
            }
            self.at += 1;
            length |= u64::from(byte[0] & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte[0] < 0x80 {
                return Ok(length);
            }
        }
        Err(self.garbled(begin, "the length of a message has more than ten bytes"))
    }
}

/// What a node does.
fn kind_of(node: &Node, options: &Options) -> Result<Kind, String> {
    let whole = |name: &str| match node.attribute(name) {
        None => Ok(None),
        Some(own) => own.whole().map(Some).ok_or_else(|| format!("`{name}` is no whole number from 0 on")),
    };
    let required = |name: &str| whole(name)?.ok_or_else(|| format!("`{name}` is missing"));
    let rank = |value: u64| u32::try_from(value).map_err(|_| format!("there is no rank {value}"));
    let kind = NodeType::try_from(node.r#type).map_err(|_| format!("type {} is unknown", node.r#type))?;
    let tag = |value: Option<u64>| {
        let value = value.unwrap_or(0);
        u32::try_from(value).map_err(|_| format!("`comm_tag` is {value}; up to {} are allowed", u32::MAX))
    };
    Ok(match kind {
        NodeType::Invalid => return Err("it has no type".to_owned()),
        NodeType::Metadata | NodeType::Batch | NodeType::Checkpoint => Kind::Joins,
        NodeType::MemLoad | NodeType::MemStore | NodeType::Storage | NodeType::Comp => {
            Kind::Calculates(time_of(node, whole("num_ops")?, options)?)
        }
        NodeType::CommSend | NodeType::CommRecv => {
            let is_send = kind == NodeType::CommSend;
            let peer = rank(required(if is_send { "comm_dst" } else { "comm_src" })?)?;
            let work = Work { peer, tag: tag(whole("comm_tag")?)?, bytes: required("comm_size")?, group: None };
            if is_send { Kind::Sends(work) } else { Kind::Receives(work) }
        }
        NodeType::CommColl => {
            let operation = operation_of(required("comm_type")?)?;
            let bytes = if operation == Operation::Barrier { 0 } else { required("comm_size")? };
            let root = whole("root_rank")?.or(whole("root")?).unwrap_or(0);
            let group = node.attribute("pg_name").and_then(|own| own.written()).map(str::to_owned);
            Kind::Operates(operation, Work { peer: rank(root)?, tag: 0, bytes, group })
        }
    })
}

/// The time of a calculation in picoseconds.
fn time_of(node: &Node, operations: Option<u64>, options: &Options) -> Result<u64, String> {
    let time = match (node.duration_micros, operations.filter(|&count| count > 0), options.ops_per_second) {
        (0, Some(count), Some(rate)) => count as f64 / rate * SECOND,
        (0, Some(_), None) => {
            return Err("it has `num_ops` and no duration; `ops_per_second` says how long these take".to_owned());
        }
        (duration, ..) => duration as f64 * MICROSECOND,
    };
    Ok((time * options.compute_scale).round() as u64)
}

/// The operation by its number in the schema.
fn operation_of(number: u64) -> Result<Operation, String> {
    Ok(match number {
        0 => Operation::Allreduce,
        1 => Operation::Reduce,
        2 => Operation::Allgather,
        3 => Operation::Gather,
        4 => Operation::Scatter,
        5 => Operation::Broadcast,
        6 => Operation::Alltoall,
        7 | 8 => Operation::ReduceScatter,
        9 => Operation::Barrier,
        _ => return Err(format!("`comm_type` is {number}, which is unknown: 0 to 9 are allowed")),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::*;

    /// A disk of which nothing more can be read.
    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("a bad sector"))
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_the_end_of_the_file() {
        // Would catch a disk that fails within a length, and is taken for a file that has been cut.
        let reader = BufReader::new((&[0x80_u8][..]).chain(Broken));
        let error = Messages { reader, at: 0, name: "step.0.et" }.next::<Node>().expect_err("a bad sector");
        assert_eq!(error.to_string(), "step.0.et: it cannot be read: a bad sector");
        let error =
            Messages { reader: &[0x80_u8][..], at: 0, name: "step.0.et" }.next::<Node>().expect_err("a cut file");
        assert_eq!(error.to_string(), "step.0.et: byte 0: the file ends within the length of a message");
    }
}
