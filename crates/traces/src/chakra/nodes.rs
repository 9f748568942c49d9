//! Nodes of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use prost::Message;

use super::error::ChakraError;
use super::groups::{self, Described};
use super::notes::Tally;
use super::operations::{operation_named, operation_of};
use super::options::Options;
use super::schema::{GlobalMetadata, Node, NodeType};
use super::values::Visit;
use super::{components, json, pytorch};
use mpi::collectives::Operation;
use units::shortened;

/// Largest message of a file in bytes, which holds the names and attributes of a node.
const LARGEST: u64 = 1 << 24;

/// Attributes of other tools that name a process group. A trace that has one of them, and no `pg_name`, would be run
/// among all ranks.
const GROUPS: [&str; 5] = ["comm_group", "process_group", "group_name", "pg_id", "pg"];

/// The most nodes of a file.
const MOST_NODES: usize = 1 << 25;

/// Picoseconds per microsecond, and per second.
const MICROSECOND: f64 = 1e6;
const SECOND: f64 = 1e12;

/// Content of a rank's file.
#[derive(Debug)]
pub(super) struct File {
    pub name: String,
    /// Nodes, in ascending order of their numbers.
    pub nodes: Vec<Step>,
    /// Process groups described in the file.
    pub groups: BTreeMap<String, Described>,
    /// Number of ranks stated in the file.
    pub ranks: Option<u64>,
    /// Statistics of the content, and counts of deviations from it.
    pub tally: Tally,
}

/// Node.
#[derive(Debug)]
pub(super) struct Step {
    pub id: u64,
    pub kind: Kind,
    /// Indices of the nodes that it depends on, in ascending order.
    pub after: Vec<u32>,
}

/// Unit that carries out a calculation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    /// Processor of the rank.
    Processor,
    /// Stream of the rank's accelerator. `None` if the node does not state it.
    Stream(Option<u64>),
    /// Communication of which only the duration is known.
    Replay,
}

/// Action of a node.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// None: the node only joins its dependencies.
    Joins,
    /// Calculation with a duration in picoseconds, on a unit.
    Calculates(u64, Unit),
    Sends(Work),
    Receives(Work),
    Operates(Operation, Work),
}

/// Message or collective operation.
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// Peer rank, or root.
    pub peer: u32,
    pub tag: u32,
    pub bytes: u64,
    pub group: Option<String>,
}

/// Node as read, with the numbers of its dependencies.
struct NodeBuilder {
    id: u64,
    kind: Kind,
    data: Vec<u64>,
    ctrl: Vec<u64>,
}

impl File {
    /// Reads the nodes of a file. Memory is needed for the nodes that are kept and for a single message.
    pub fn read(path: &Path, options: &Options) -> Result<Self, ChakraError> {
        let name = path.display().to_string();
        let mut file = Self { name, nodes: Vec::new(), groups: BTreeMap::new(), ranks: None, tally: Tally::default() };
        let mut drafts = Vec::new();
        let mut visit = |node: Node, micros: f64| {
            let wrong = |reason: String| ChakraError::Node { file: file.name.clone(), node: node.id, reason };
            if drafts.len() == MOST_NODES {
                return Err(wrong(format!("there are more than {MOST_NODES} nodes")));
            }
            if groups::describes(&node.name)
                && let Some(inputs) = &node.inputs
            {
                groups::read(&inputs.values, &mut file.groups).map_err(wrong)?;
            }
            once(&node).map_err(wrong)?;
            file.tally.leave_out(&node);
            let kind = Reading { node: &node, micros, options, tally: &mut file.tally }.kind().map_err(wrong)?;
            drafts.push(NodeBuilder { id: node.id, kind, data: node.data_deps, ctrl: node.ctrl_deps });
            Ok(())
        };
        if path.extension().is_some_and(|ending| ending == "json") {
            let head = json::read(path, &mut visit)?;
            file.ranks = head.ranks;
            file.tally.keys = head.left_out;
            file.finish(drafts, head.of_host)?;
        } else {
            protobuf(path, &mut visit)?;
            file.finish(drafts, false)?;
        }
        Ok(file)
    }

    /// Stores the nodes in ascending order of their numbers. Operations of a host trace run in sequence.
    fn finish(&mut self, mut drafts: Vec<NodeBuilder>, of_host: bool) -> Result<(), ChakraError> {
        drafts.sort_by_key(|draft| draft.id);
        let wrong = |node: u64, reason: String| ChakraError::Node { file: self.name.clone(), node, reason };
        if let Some(pair) = drafts.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(wrong(pair[0].id, "another node has the same number".to_owned()));
        }
        let ids: Vec<u64> = drafts.iter().map(|draft| draft.id).collect();
        let contents = &mut self.tally.contents;
        contents.nodes = drafts.len() as u64;
        let mut operation = None;
        let mut control = Vec::with_capacity(drafts.len());
        for (place, draft) in (0..).zip(drafts) {
            contents.data_dependencies += draft.data.len() as u64;
            contents.control_dependencies += draft.ctrl.len() as u64;
            let mut after = Vec::with_capacity(draft.data.len() + draft.ctrl.len());
            for of in draft.data {
                let found = ids.binary_search(&of);
                let missing = |_| wrong(draft.id, format!("it depends on node {of}, which is not there"));
                after.push(found.map_err(missing)? as u32);
            }
            let ctrl: Vec<u32> =
                draft.ctrl.iter().filter_map(|of| ids.binary_search(of).ok()).map(|of| of as u32).collect();
            self.tally.absent += (draft.ctrl.len() - ctrl.len()) as u64;
            control.push(ctrl);
            if of_host && matches!(draft.kind, Kind::Operates(..)) {
                after.extend(operation.replace(place));
            }
            self.nodes.push(Step { id: draft.id, kind: draft.kind, after });
        }
        self.add_control(control);
        self.tally.host = if of_host { ids.len() as u64 } else { 0 };
        Ok(())
    }

    /// Adds control dependencies to the data dependencies. In PyTorch's traces they express the nesting of calls, where
    /// an operation of the processor comes after the kernel that it starts. Control dependencies within a cycle are
    /// omitted.
    fn add_control(&mut self, control: Vec<Vec<u32>>) {
        let with = |(node, control): (&Step, &Vec<u32>)| node.after.iter().chain(control).copied().collect();
        let all: Vec<Vec<u32>> = self.nodes.iter().zip(&control).map(with).collect();
        let component = components::of(&all);
        for (place, (node, control)) in self.nodes.iter_mut().zip(control).enumerate() {
            let of = control.len();
            let others = control.into_iter().filter(|&other| component[other as usize] != component[place]);
            let before = node.after.len();
            node.after.extend(others);
            self.tally.circular += (before + of - node.after.len()) as u64;
            node.after.sort_unstable();
            node.after.dedup();
        }
    }
}

/// Refuses a node that has an attribute twice.
fn once(node: &Node) -> Result<(), String> {
    let mut names = BTreeSet::new();
    match node.attr.iter().find(|own| !names.insert(own.name.as_str())) {
        Some(twice) => Err(format!("the attribute `{}` is there twice", shortened(&twice.name))),
        None => Ok(()),
    }
}

/// Visits the nodes of a protobuf file.
fn protobuf(path: &Path, visit: &mut Visit<'_>) -> Result<(), ChakraError> {
    let name = path.display().to_string();
    let cannot = |error: std::io::Error| ChakraError::Unreadable { file: name.clone(), reason: units::reason(&error) };
    let mut messages =
        Messages { reader: BufReader::new(units::input::open(path).map_err(cannot)?), at: 0, name: &name };
    let head: Option<GlobalMetadata> = messages.next()?;
    if head.is_none() {
        return Err(messages.garbled(0, "it is empty: a trace begins with its metadata"));
    }
    while let Some(node) = messages.next::<Node>()? {
        let micros = node.duration_micros as f64;
        visit(node, micros)?;
    }
    Ok(())
}

/// Reader of length-prefixed messages.
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

    /// Returns the next message. `None` at the end of the file.
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

    /// Reads the length before a message.
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

/// Node that is being interpreted.
struct Reading<'a> {
    node: &'a Node,
    /// Duration in microseconds.
    micros: f64,
    options: &'a Options,
    tally: &'a mut Tally,
}

impl Reading<'_> {
    fn whole(&self, name: &str) -> Result<Option<u64>, String> {
        match self.node.attribute(name) {
            None => Ok(None),
            Some(own) => own.whole().map(Some).ok_or_else(|| format!("`{name}` is no whole number from 0 on")),
        }
    }

    fn required(&self, name: &str) -> Result<u64, String> {
        self.whole(name)?.ok_or_else(|| format!("`{name}` is missing"))
    }

    /// Returns the action of the node.
    fn kind(&mut self) -> Result<Kind, String> {
        let node = self.node;
        let kind = NodeType::try_from(node.r#type).map_err(|_| format!("type {} is unknown", node.r#type))?;
        match kind {
            NodeType::Invalid => Err("it has no type".to_owned()),
            NodeType::Metadata | NodeType::Batch | NodeType::Checkpoint => {
                if let Some(name) = node.attribute(pytorch::OTHER).and_then(|own| own.written()) {
                    *self.tally.others.entry(name.to_owned()).or_default() += 1;
                }
                Ok(Kind::Joins)
            }
            NodeType::MemLoad | NodeType::MemStore | NodeType::Storage | NodeType::Comp => {
                let unit = self.unit()?;
                Ok(Kind::Calculates(self.time(self.whole("num_ops")?)?, unit))
            }
            NodeType::CommSend | NodeType::CommRecv | NodeType::CommColl => self.communication(kind),
        }
    }

    /// Returns the action of a communication node. In PyTorch's traces, processor nodes without a size only call what a
    /// kernel carries out.
    fn communication(&mut self, kind: NodeType) -> Result<Kind, String> {
        let size = self.whole("comm_size")?;
        if self.on_processor() == Some(true) {
            if size.is_none() && self.node.attribute("comm_type").is_none() {
                self.tally.calls += 1;
                return Ok(Kind::Calculates(self.time(None)?, Unit::Processor));
            }
            self.tally.flagged += 1;
        }
        if kind == NodeType::CommColl {
            return self.collective(size);
        }
        let is_send = kind == NodeType::CommSend;
        let peer = self.required(if is_send { "comm_dst" } else { "comm_src" })?;
        let peer = u32::try_from(peer).map_err(|_| format!("there is no rank {peer}"))?;
        let tag = self.whole("comm_tag")?.unwrap_or(0);
        let tag = u32::try_from(tag).map_err(|_| format!("`comm_tag` is {tag}; up to {} are allowed", u32::MAX))?;
        let work = Work { peer, tag, bytes: self.required("comm_size")?, group: None };
        self.tally.contents.messages += 1;
        self.tally.contents.message_bytes = self.tally.contents.message_bytes.saturating_add(work.bytes);
        Ok(if is_send { Kind::Sends(work) } else { Kind::Receives(work) })
    }

    fn collective(&mut self, size: Option<u64>) -> Result<Kind, String> {
        let operation = match self.node.attribute("comm_type") {
            Some(own) => match own.written().and_then(operation_named) {
                Some(operation) => operation,
                None => operation_of(self.required("comm_type")?)?,
            },
            None => {
                self.tally.named += 1;
                operation_named(&self.node.name).ok_or("`comm_type` is missing")?
            }
        };
        if self.node.attribute("involved_dim").is_some_and(|dims| dims.all().contains(&false)) {
            return Err(
                "`involved_dim` leaves dimensions out, which are ASTRA-sim's: `pg_name` and process groups say \
                        among which ranks the operation is"
                    .to_owned(),
            );
        }
        self.tally.contents.collectives += 1;
        let bytes = match size {
            _ if operation == Operation::Barrier => 0,
            Some(bytes) => bytes,
            None if self.micros > 0.0 => {
                self.tally.unsized_ += 1;
                return Ok(Kind::Calculates(self.time(None)?, Unit::Replay));
            }
            None => return Err("`comm_size` is missing".to_owned()),
        };
        self.tally.contents.collective_bytes = self.tally.contents.collective_bytes.saturating_add(bytes);
        let root = self.whole("root_rank")?.or(self.whole("root")?).unwrap_or(0);
        let peer = u32::try_from(root).map_err(|_| format!("there is no rank {root}"))?;
        let group = match self.node.attribute("pg_name") {
            None if let Some(other) = GROUPS.into_iter().find(|&name| self.node.attribute(name).is_some()) => {
                return Err(format!("`{other}` is no attribute that names a process group: `pg_name` is"));
            }
            None => None,
            Some(own) => Some(own.label().ok_or("`pg_name` is neither text nor a whole number")?),
        };
        Ok(Kind::Operates(operation, Work { peer, tag: 0, bytes, group }))
    }

    /// Whether the node states that the processor carries it out.
    fn on_processor(&self) -> Option<bool> {
        self.node.attribute("is_cpu_op").and_then(|own| own.is_set())
    }

    /// Returns the unit of a calculation: the stream of an accelerator node, or its `tid` in older traces.
    fn unit(&self) -> Result<Unit, String> {
        if self.on_processor() != Some(false) {
            let stream = self.whole("stream")?.filter(|_| self.on_processor().is_none());
            return Ok(stream.map_or(Unit::Processor, |stream| Unit::Stream(Some(stream))));
        }
        Ok(Unit::Stream(self.whole("stream")?.or(self.whole("tid")?)))
    }

    /// Returns the duration of a calculation in picoseconds.
    fn time(&self, operations: Option<u64>) -> Result<u64, String> {
        let operations = operations.filter(|&count| count > 0 && self.micros == 0.0);
        let time = match (operations, self.options.ops_per_second) {
            (Some(count), Some(rate)) => count as f64 / rate * SECOND,
            (Some(_), None) => {
                return Err("it has `num_ops` and no duration; `ops_per_second` says how long these take".to_owned());
            }
            (None, _) => self.micros * MICROSECOND,
        };
        Ok((time * self.options.compute_scale).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::*;

    /// Disk that fails at the next read.
    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("a bad sector"))
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_the_end_of_the_file() {
        // Would catch a disk that fails within a length and is taken for a file that has been cut off.
        let reader = BufReader::new((&[0x80_u8][..]).chain(Broken));
        let error = Messages { reader, at: 0, name: "step.0.et" }.next::<Node>().expect_err("a bad sector");
        assert_eq!(error.to_string(), "step.0.et: it cannot be read: a bad sector");
        let error =
            Messages { reader: &[0x80_u8][..], at: 0, name: "step.0.et" }.next::<Node>().expect_err("a cut file");
        assert_eq!(error.to_string(), "step.0.et: byte 0: the file ends within the length of a message");
    }
}
