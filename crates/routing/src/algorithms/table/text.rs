//! Tables as text: see `TableSpec` for the grammar.

use topology::{MAX_PORTS, Topology};
use units::{KeyError, NodeId, PortId, shortened};

use super::draft::{Columns, Interner, NONE, Origin, TableBuilder, TableError, class, layer};
use super::limits::{DestinationKind, MAX_ENTRIES, MAX_LAYERS, too_large};

/// Destination in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Destination {
    /// Every destination that no other line names.
    Rest,
    /// Nodes of a router that no line names.
    Router(u32),
    Node(u32),
}

#[derive(Debug)]
struct Line {
    number: u32,
    layer: u16,
    router: u32,
    destination: Destination,
    entry: u32,
}

/// Lines of a table, checked as they are read.
struct Lines<'a> {
    topology: &'a dyn Topology,
    /// Meaning of a number without a word.
    plain: DestinationKind,
    /// Layer of the lines that follow.
    layer: u16,
    /// Largest layer that is named.
    last: u16,
    lines: Vec<Line>,
    entries: Interner,
    /// Ports of the line that is being read.
    ports: Vec<PortId>,
}

/// Reads a table. `name` is the file's name in errors.
pub(super) fn read(
    text: &str,
    name: &str,
    (topology, plain): (&dyn Topology, Option<DestinationKind>),
) -> Result<TableBuilder, KeyError> {
    let plain = plain.unwrap_or(DestinationKind::Routers);
    let mut lines = Lines {
        topology,
        plain,
        layer: 0,
        last: 0,
        lines: Vec::new(),
        entries: Interner::default(),
        ports: Vec::new(),
    };
    for (number, line) in (1..).zip(text.lines()) {
        lines.read(number, line).map_err(|error| KeyError::new("path", format!("{name}:{number}: {error}")))?;
    }
    if lines.lines.is_empty() {
        return Err(KeyError::new("path", format!("{name}: has no entries; a line is `{FORM}`")));
    }
    lines.draft(name)
}

const FORM: &str = "ROUTER DESTINATION PORT... [/CLASS] [>LAYER]";

impl Lines<'_> {
    fn read(&mut self, number: u32, line: &str) -> Result<(), TableError> {
        let content = line.split_once('#').map_or(line, |(content, _)| content);
        let mut words = content.split_ascii_whitespace();
        let Some(first) = words.next() else { return Ok(()) };
        let mut word = || words.next().ok_or_else(|| TableError::Form(format!("a line is `{FORM}` or `layer LAYER`")));
        if first == "layer" {
            self.layer = self.named_layer(word()?)?;
            return words.next().map_or(Ok(()), |word| Err(unexpected(word)));
        }
        let router = self.router(first)?;
        let destination = match word()? {
            "*" => Destination::Rest,
            "node" => Destination::Node(self.node(word()?)?),
            "router" => Destination::Router(self.router(word()?)?),
            text if self.plain == DestinationKind::Nodes => Destination::Node(self.node(text)?),
            text => Destination::Router(self.router(text)?),
        };
        let (mut on, mut next) = (None, None);
        self.ports.clear();
        for word in words {
            if let Some(text) = word.strip_prefix('/') {
                once(word, on.replace(class(whole(text, "a class")? as i64)?))?;
            } else if let Some(text) = word.strip_prefix('>') {
                once(word, next.replace(self.named_layer(text)?))?;
            } else if on.is_some() || next.is_some() {
                return Err(unexpected(word));
            } else {
                let port = whole(word, "a port")?;
                let port = u16::try_from(port).map_err(|_| TableError::Form(format!("`{word}` is not a port")))?;
                self.ports.push(PortId(port));
            }
        }
        if self.ports.is_empty() {
            return Err(TableError::Form(format!("no port is named; a line is `{FORM}`")));
        }
        if self.ports.len() > usize::from(MAX_PORTS) {
            return Err(TableError::Form(format!("an entry has more than {MAX_PORTS} ports")));
        }
        let on = on.map_or_else(|| class(self.layer.into()), Ok)?;
        let entry = self.entries.index(&self.ports, on, next.unwrap_or(self.layer));
        self.lines.push(Line { number, layer: self.layer, router, destination, entry });
        Ok(())
    }

    fn named_layer(&mut self, text: &str) -> Result<u16, TableError> {
        let number = layer(whole(text, "a layer")? as i64, MAX_LAYERS)?;
        self.last = self.last.max(number);
        Ok(number)
    }

    fn router(&self, text: &str) -> Result<u32, TableError> {
        let (router, routers) = (whole(text, "a router")?, self.topology.routers());
        u32::try_from(router).ok().filter(|&router| router < routers).ok_or(TableError::Router { router, routers })
    }

    fn node(&self, text: &str) -> Result<u32, TableError> {
        let (node, nodes) = (whole(text, "a node")?, self.topology.nodes());
        u32::try_from(node).ok().filter(|&node| node < nodes).ok_or(TableError::Node { node, nodes })
    }

    /// Returns the table of the lines. Lines that name a destination take precedence over lines that name a set of it.
    fn draft(mut self, name: &str) -> Result<TableBuilder, KeyError> {
        let by_node = self.lines.iter().any(|line| matches!(line.destination, Destination::Node(_)));
        let (columns, width) = match by_node {
            true => (Columns::Nodes, self.topology.nodes()),
            false => (Columns::Routers, self.topology.routers()),
        };
        let (layers, routers) = (usize::from(self.last) + 1, self.topology.routers() as usize);
        let size = layers as u64 * routers as u64 * u64::from(width);
        if size > MAX_ENTRIES {
            return Err(too_large(name, size));
        }
        let columns_of = columns_of(self.topology, by_node);
        // General lines first. Lines for one place are adjacent.
        self.lines.sort_by_key(|line| (line.destination, line.layer, line.router, line.number));
        let same = |pair: &&[Line]| {
            (pair[0].destination, pair[0].layer, pair[0].router) == (pair[1].destination, pair[1].layer, pair[1].router)
        };
        if let Some(pair) = self.lines.windows(2).filter(same).min_by_key(|pair| pair[1].number) {
            let message = format!("{name}:{}: {}", pair[1].number, TableError::Twice(pair[0].number));
            return Err(KeyError::new("path", message));
        }
        let mut draft = TableBuilder {
            name: name.to_owned(),
            layers,
            routers,
            columns,
            width: width as usize,
            entries: self.entries.entries,
            index: vec![NONE; size as usize],
            origin: Origin::Array(0),
            lanes: Vec::new(),
        };
        let mut numbers = vec![0; size as usize];
        for line in &self.lines {
            let row = draft.place(line.layer.into(), line.router as usize, 0);
            for column in line.columns(&columns_of, by_node) {
                draft.index[row + column] = line.entry;
                numbers[row + column] = line.number;
            }
        }
        draft.origin = Origin::Lines(numbers);
        Ok(draft)
    }
}

impl Line {
    /// Returns the columns that a line fills.
    fn columns<'a>(&self, columns_of: &'a [Vec<usize>], by_node: bool) -> Box<dyn Iterator<Item = usize> + 'a> {
        let own = self.router as usize;
        match self.destination {
            // Packets for the router's own nodes need no entry.
            Destination::Rest => {
                let others = columns_of.iter().enumerate().filter(move |&(router, _)| router != own);
                Box::new(others.flat_map(|(_, columns)| columns.iter().copied()))
            }
            Destination::Router(router) if by_node => Box::new(columns_of[router as usize].iter().copied()),
            Destination::Router(number) | Destination::Node(number) => Box::new(std::iter::once(number as usize)),
        }
    }
}

/// Returns the columns of each router: its nodes, or itself.
fn columns_of(topology: &dyn Topology, by_node: bool) -> Vec<Vec<usize>> {
    let routers = topology.routers() as usize;
    if !by_node {
        return (0..routers).map(|router| vec![router]).collect();
    }
    let mut columns = vec![Vec::new(); routers];
    for node in 0..topology.nodes() {
        columns[topology.attachment(NodeId(node)).0.index()].push(node as usize);
    }
    columns
}

/// Parses a whole number.
fn whole(text: &str, what: &str) -> Result<u64, TableError> {
    text.parse::<u32>().map(u64::from).map_err(|_| {
        let start = shortened(text);
        TableError::Form(format!("`{start}` is not the number of {what}; a line is `{FORM}`"))
    })
}

/// Refuses a word that repeats another.
fn once<T>(word: &str, before: Option<T>) -> Result<(), TableError> {
    before.map_or(Ok(()), |_| Err(unexpected(word)))
}

fn unexpected(word: &str) -> TableError {
    let start = shortened(word);
    TableError::Form(format!("`{start}` is not expected here; a line is `{FORM}`"))
}
