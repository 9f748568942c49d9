//! Table whose entries have been checked against a topology, with a column for each distinct destination.

use topology::{Endpoint, Topology};
use units::{KeyError, NodeId, PortId, RouterId};

use super::draft::{Columns, NONE, TableBuilder, TableError};
use crate::walk::Wiring;

/// Columns that packets need.
pub(super) struct Compiled {
    /// By column, the router at which packets leave the network.
    pub targets: Vec<RouterId>,
    /// By column, its number in the file.
    pub source: Vec<u32>,
    /// Column of each node.
    pub of_node: Vec<u32>,
    /// Whether the nodes of each router share a column.
    pub by_router: bool,
    /// By layer, router and column, an index into the entries of the draft or `NONE`.
    pub index: Vec<u32>,
    /// By source router and column, the layer on which packets start. Empty: not assigned.
    pub lanes: Vec<u8>,
    /// Routers that have nodes.
    pub with_nodes: Vec<RouterId>,
}

impl Compiled {
    /// Checks every entry, and drops the entries of routers without nodes and of nodes equivalent to their neighbours.
    pub fn new(draft: &mut TableBuilder, topology: &dyn Topology, wiring: &Wiring) -> Result<Self, KeyError> {
        let home: Vec<(RouterId, PortId)> =
            (0..topology.nodes()).map(|node| topology.attachment(NodeId(node))).collect();
        check_entries(draft, topology, wiring, &home)?;
        let mut first_node = vec![NONE; draft.routers];
        for (node, (router, _)) in home.iter().enumerate().rev() {
            first_node[router.index()] = node as u32;
        }
        let with_nodes: Vec<RouterId> =
            (0..).map(RouterId).zip(&first_node).filter(|(_, node)| **node != NONE).map(|(router, _)| router).collect();
        let by_router = match draft.columns {
            Columns::Routers => true,
            Columns::Nodes => {
                are_alike(&draft.index, &home, &first_node) && are_alike(&draft.lanes, &home, &first_node)
            }
        };
        let source: Vec<u32> = match (draft.columns, by_router) {
            (Columns::Routers, _) => with_nodes.iter().map(|router| router.0).collect(),
            (Columns::Nodes, true) => with_nodes.iter().map(|router| first_node[router.index()]).collect(),
            (Columns::Nodes, false) => (0..topology.nodes()).collect(),
        };
        let targets: Vec<RouterId> =
            if by_router { with_nodes.clone() } else { home.iter().map(|&(router, _)| router).collect() };
        let place = |router: RouterId| with_nodes.partition_point(|&other| other < router) as u32;
        let of_node = match by_router {
            true => home.iter().map(|&(router, _)| place(router)).collect(),
            false => (0..topology.nodes()).collect(),
        };
        let index = select(std::mem::take(&mut draft.index), draft.width, &source);
        let lanes = select(std::mem::take(&mut draft.lanes), draft.width, &source);
        Ok(Self { targets, source, of_node, by_router, index, lanes, with_nodes })
    }
}

/// Returns rows restricted to the needed columns of a table.
fn select<T: Copy>(rows: Vec<T>, width: usize, columns: &[u32]) -> Vec<T> {
    if columns.iter().copied().eq(0..width as u32) {
        return rows;
    }
    rows.chunks_exact(width).flat_map(|row| columns.iter().map(|&column| row[column as usize])).collect()
}

/// Checks that ports lead to routers, and drops entries for a router's own nodes.
fn check_entries(
    draft: &mut TableBuilder,
    topology: &dyn Topology,
    wiring: &Wiring,
    home: &[(RouterId, PortId)],
) -> Result<(), KeyError> {
    for place in 0..draft.index.len() {
        let index = draft.index[place];
        if index == NONE {
            continue;
        }
        let column = place % draft.width;
        let router = RouterId((place / draft.width % draft.routers) as u32);
        let own = match draft.columns {
            Columns::Routers => (column == router.index()).then_some(None),
            Columns::Nodes => Some(home[column]).filter(|home| home.0 == router).map(|home| Some(home.1)),
        };
        let entry = &draft.entries[index as usize];
        let Some(own) = own else {
            let end = |&port: &PortId| check_port(topology, wiring, router, port);
            entry.ports.iter().try_for_each(end).map_err(|error| draft.error_at(place, &error))?;
            continue;
        };
        // Tables of switches say how their own nodes are reached, too.
        if own.is_none_or(|own| entry.ports.iter().any(|&port| port != own)) {
            let destination = draft.columns.name(column as u32);
            return Err(draft.error_at(place, &TableError::Own { router, destination }));
        }
        draft.index[place] = NONE;
    }
    Ok(())
}

fn check_port(topology: &dyn Topology, wiring: &Wiring, router: RouterId, port: PortId) -> Result<(), TableError> {
    let ports = wiring.ports[router.index()];
    if port.0 >= ports {
        return Err(TableError::Port { router, port, ports });
    }
    match topology.endpoint(router, port) {
        Endpoint::Router(..) => Ok(()),
        Endpoint::Node(node) => Err(TableError::NoRouter { router, port, end: format!("node {node}") }),
        Endpoint::Unconnected => Err(TableError::NoRouter { router, port, end: "nothing".to_owned() }),
    }
}

/// Returns whether the columns of all nodes of each router are equal. `home` and `first_node` give the router of each
/// node, and the first node of each router.
fn are_alike<T: PartialEq>(rows: &[T], home: &[(RouterId, PortId)], first_node: &[u32]) -> bool {
    let alike =
        |row: &[T]| row.iter().zip(home).all(|(entry, (router, _))| *entry == row[first_node[router.index()] as usize]);
    rows.chunks_exact(home.len().max(1)).all(alike)
}
