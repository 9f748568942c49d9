//! Paths of a table: whether every packet arrives, and the number of hops.

use topology::{Endpoint, Topology};
use units::{KeyError, PortId, RouterId};

use super::compiled::Compiled;
use super::draft::{NONE, TableBuilder, TableError};
use crate::walk::Wiring;

/// Smallest number of destinations of a thread.
const LEAST: usize = 8;

/// Properties of the paths of all packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    /// Number of channels on the longest path.
    pub longest: u32,
    /// Whether some path is not a shortest one.
    pub detours: bool,
    /// By class of channels, the number of classes of virtual channels used on it.
    pub classes: Vec<u8>,
}

impl Paths {
    fn and(mut self, other: &Self) -> Self {
        self.longest = self.longest.max(other.longest);
        self.detours |= other.detours;
        self.classes.resize(self.classes.len().max(other.classes.len()), 0);
        for (most, &of) in self.classes.iter_mut().zip(&other.classes) {
            *most = (*most).max(of);
        }
        self
    }
}

/// Packet without a path.
enum Lost {
    /// A place that packets from a router need has no entry.
    Missing { from: usize, at: usize },
    /// Places lead to one another in a cycle.
    Loop { from: usize, path: Vec<usize> },
}

/// Follows all packets of a table. The error is that of the first destination that has one.
pub(super) fn follow(
    draft: &TableBuilder,
    compiled: &Compiled,
    (topology, wiring): (&dyn Topology, &Wiring),
    starts: usize,
) -> Result<Paths, KeyError> {
    let start = || Search::new(draft, compiled, topology, wiring);
    let search = |search: &mut Search<'_>, column| search.column(column, starts).map_err(|lost| (column, lost));
    let results = workers::map_with(0..compiled.targets.len(), LEAST, start, search);
    results.into_iter().try_fold(Paths::default(), |all, found| match found {
        Ok(found) => Ok(all.and(&found)),
        Err((column, lost)) => Err(describe(draft, compiled, column, &lost)),
    })
}

fn describe(draft: &TableBuilder, compiled: &Compiled, column: usize, lost: &Lost) -> KeyError {
    let router = |place: usize| RouterId((place % draft.routers) as u32);
    let destination = draft.columns.name(compiled.source[column]);
    let error = match lost {
        Lost::Missing { from, at } => TableError::Missing {
            from: router(*from),
            at: router(*at),
            layer: draft.layer(at / draft.routers),
            destination,
        },
        Lost::Loop { from, path } => {
            let stop = |&place: &usize| format!("{}{}", router(place), draft.layer(place / draft.routers));
            let path: Vec<String> = path.iter().map(stop).collect();
            TableError::Loop { from: router(*from), destination, path: format!("routers {}", path.join(", ")) }
        }
    };
    draft.error(&error)
}

/// Mark of a place that is not visited yet.
const FRESH: u32 = u32::MAX;
/// Mark of a place on the path that is being followed.
const OPEN: u32 = u32::MAX - 1;

/// Place on the path that is being followed.
struct Stop {
    place: usize,
    /// Number of its ports that have been followed.
    followed: usize,
    /// Number of channels on the longest path by these ports.
    longest: u32,
}

/// Depth-first search for the longest path to one destination. A place is a layer and a router.
struct Search<'a> {
    draft: &'a TableBuilder,
    compiled: &'a Compiled,
    topology: &'a dyn Topology,
    wiring: &'a Wiring,
    /// By place, the number of channels on the longest path from there, or `FRESH` or `OPEN`.
    longest: Vec<u32>,
    path: Vec<Stop>,
}

impl<'a> Search<'a> {
    fn new(draft: &'a TableBuilder, compiled: &'a Compiled, topology: &'a dyn Topology, wiring: &'a Wiring) -> Self {
        Self { draft, compiled, topology, wiring, longest: Vec::new(), path: Vec::new() }
    }

    /// Follows the paths to a destination, from every router that has nodes, on each layer on which packets start.
    fn column(&mut self, column: usize, starts: usize) -> Result<Paths, Lost> {
        self.longest.clear();
        self.longest.resize(self.draft.layers * self.draft.routers, FRESH);
        let target = self.compiled.targets[column];
        let mut found = Paths::default();
        for layer in 0..starts {
            for &from in self.compiled.with_nodes.iter().filter(|&&from| from != target) {
                let start = layer * self.draft.routers + from.index();
                self.visit(start, column, &mut found.classes)?;
                found.longest = found.longest.max(self.longest[start]);
                found.detours = found.detours || self.longest[start] > self.topology.distance(from, target);
            }
        }
        Ok(found)
    }

    /// Finds the longest path from a place.
    fn visit(&mut self, start: usize, column: usize, classes: &mut Vec<u8>) -> Result<(), Lost> {
        if self.longest[start] != FRESH {
            return Ok(());
        }
        let target = self.compiled.targets[column];
        self.path.clear();
        self.open(start);
        while let Some(stop) = self.path.last_mut() {
            let index = self.compiled.index[stop.place * self.compiled.targets.len() + column];
            if index == NONE {
                return Err(Lost::Missing { from: start, at: stop.place });
            }
            let entry = &self.draft.entries[index as usize];
            let Some(&port) = entry.ports.get(stop.followed) else {
                self.longest[stop.place] = stop.longest;
                self.path.pop();
                continue;
            };
            let router = RouterId((stop.place % self.draft.routers) as u32);
            let hops = match self.next(router, port) {
                next if next == target => 0,
                next => match usize::from(entry.next) * self.draft.routers + next.index() {
                    place if self.longest[place] == FRESH => {
                        self.open(place);
                        continue;
                    }
                    place if self.longest[place] == OPEN => return Err(self.lost_in_loop(start, place)),
                    place => self.longest[place],
                },
            };
            self.count(classes, router, port, entry.class);
            if let Some(stop) = self.path.last_mut() {
                stop.followed += 1;
                stop.longest = stop.longest.max(hops + 1);
            }
        }
        Ok(())
    }

    fn open(&mut self, place: usize) {
        self.longest[place] = OPEN;
        self.path.push(Stop { place, followed: 0, longest: 0 });
    }

    /// Returns the loop that is closed when the path comes to a place again.
    fn lost_in_loop(&self, from: usize, place: usize) -> Lost {
        let circle = self.path.iter().map(|stop| stop.place).skip_while(|&on_path| on_path != place);
        Lost::Loop { from, path: circle.chain([place]).collect() }
    }

    /// Returns the router that a port leads to. Ports have been checked.
    fn next(&self, router: RouterId, port: PortId) -> RouterId {
        match self.wiring.end(self.wiring.channels.output(router, port)) {
            Endpoint::Router(next, _) => next,
            Endpoint::Node(_) | Endpoint::Unconnected => router,
        }
    }

    fn count(&self, classes: &mut Vec<u8>, router: RouterId, port: PortId, class: u8) {
        let channels = usize::from(self.topology.class(router, port).0);
        if channels >= classes.len() {
            classes.resize(channels + 1, 0);
        }
        classes[channels] = classes[channels].max(class + 1);
    }
}
