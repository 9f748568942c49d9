//! Dragonflies whose groups differ in their numbers of routers, as those of machines with groups for storage.
//!
//! Numbering: routers are numbered group by group, and node x is attached to port `x mod p` of router `x / p`. A
//! router's ports to nodes are followed by those to the other routers of its group, in ascending order, and by its
//! global ports. Any two groups are joined by K wires. The K (g-1) wires of a group are numbered by the other group, in
//! ascending order, then from 0 to K-1, and spread over its a routers: wire w is at router `w a / (K (g-1))`.
//!
//! Distances are tables, and the closed forms by which dragonflies are routed do not hold. If all groups have equally
//! many routers, the network is a dragonfly of equal groups with these wires.

use std::sync::Arc;

use units::{KeyError, RouterId};

use super::{Arrangement, DragonflySpec, GroupKind};
use crate::network::{Topology, Views};
use crate::views::{GroupTable, Groups};
use crate::wired::{Apart, MAX_WIRED_PORTS, MAX_WIRED_ROUTERS, Shape, WireList};
use crate::wires::MAX_PORTS;

/// Names of a dragonfly with unequal groups.
#[derive(Debug)]
struct UnequalShape {
    /// First router of each group, followed by the number of all.
    first: Vec<u32>,
    group_table: Option<GroupTable>,
}

/// Checked sizes.
struct Sizes {
    /// Routers of each group.
    groups: Vec<u32>,
    /// Nodes on each router.
    p: u32,
    /// Parallel wires between two routers of a group.
    local: u32,
    /// Wires between two groups.
    global: u32,
}

/// Builds the network.
pub(super) fn build(spec: &DragonflySpec, sizes: &[u64]) -> Result<Arc<dyn Topology>, KeyError> {
    let Sizes { groups, p, local, global } = Sizes::new(spec, sizes)?;
    let mut first = vec![0];
    for &size in &groups {
        first.push(first[first.len() - 1] + size);
    }
    let (routers, count) = (first[groups.len()], groups.len() as u32);
    let mut list = WireList::with_nodes(routers, p);
    for (&start, &size) in first.iter().zip(&groups) {
        for (one, other) in (0..size).flat_map(|one| (one + 1..size).map(move |other| (one, other))) {
            list.wire([one, other].map(|number| RouterId(start + number)), Groups::LOCAL, local);
        }
    }
    let wires = u64::from(global) * u64::from(count - 1);
    let end = |group: u32, other: u32, wire: u32| {
        let place = u64::from(other - u32::from(other > group)) * u64::from(global) + u64::from(wire);
        let number = place * u64::from(groups[group as usize]) / wires;
        RouterId(first[group as usize] + number as u32)
    };
    for (one, other) in (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other))) {
        for wire in 0..global {
            list.wire([end(one, other, wire), end(other, one, wire)], Groups::GLOBAL, 1);
        }
    }
    let group_of: Vec<u32> = (0..).zip(&groups).flat_map(|(group, &size)| (0..size).map(move |_| group)).collect();
    let mut made = list.build(UnequalShape { first, group_table: None }, routers).map_err(Apart::error)?;
    made.shape.group_table = GroupTable::new(&group_of, &made);
    // Equal groups have the closed forms of other dragonflies.
    match Groups::of_network(&made, &group_of) {
        Some(dragonfly) => Ok(Arc::new(dragonfly)),
        None => Ok(Arc::new(made)),
    }
}

impl Sizes {
    fn new(spec: &DragonflySpec, sizes: &[u64]) -> Result<Self, KeyError> {
        let excluded = [
            ("a", spec.a.is_some()),
            ("g", spec.g.is_some()),
            ("arrangement", spec.arrangement != Arrangement::default()),
            ("group", spec.group != GroupKind::default()),
            ("group_dims", spec.group_dims.is_some()),
            ("group_wires", spec.group_wires.is_some()),
            ("renumber_groups", spec.renumber_groups.is_some()),
        ];
        if let Some((key, _)) = excluded.into_iter().find(|&(_, is_given)| is_given) {
            return Err(KeyError::new(key, format!("`{key}` is for equal groups; leave it out, or `group_sizes`")));
        }
        let required = |key: &'static str, value: Option<u64>| {
            value.ok_or_else(|| KeyError::new(key, format!("`group_sizes` requires `{key}`, which is missing")))
        };
        let ports = u64::from(MAX_PORTS);
        let within = |key: &'static str, value: u64, most: u64| match value {
            value if (1..=most).contains(&value) => Ok(value as u32),
            _ => Err(KeyError::new(key, format!("`{key}` is {value}; 1 to {most} are allowed"))),
        };
        let p = within("p", required("p", spec.p)?, ports)?;
        let local = within("local_wires", spec.local_wires, ports)?;
        let global = within("global_wires", required("global_wires", spec.global_wires)?, ports)?;
        let most = u64::from(MAX_WIRED_ROUTERS);
        let groups: Vec<u32> = sizes.iter().map(|&size| within("group_sizes", size, most)).collect::<Result<_, _>>()?;
        let routers: u64 = sizes.iter().sum();
        if groups.len() < 2 || routers > most {
            let message = format!(
                "`group_sizes` has {} groups of {routers} routers; at least 2 groups and at most {most} routers are allowed",
                groups.len()
            );
            return Err(KeyError::new("group_sizes", message));
        }
        let wires = u64::from(global) * (groups.len() as u64 - 1);
        // Global ports of a router are at most those of the smallest group's.
        let smallest = groups.iter().copied().min().map_or(1, u64::from);
        let needed = wires.div_ceil(smallest);
        if needed > spec.h {
            let message = format!(
                "`global_wires` is {global}: {wires} wires of a group of {smallest} routers need {needed} global ports, and `h` is {}",
                spec.h
            );
            return Err(KeyError::new("global_wires", message));
        }
        let largest = groups.iter().copied().max().map_or(1, u64::from);
        let each = u64::from(p) + (largest - 1) * u64::from(local) + needed;
        if each > ports || each * routers > u64::from(MAX_WIRED_PORTS) {
            let message = format!(
                "{routers} routers of up to {each} ports are too many; {MAX_WIRED_PORTS} (2^20) ports in all, and {ports} of a router, are allowed"
            );
            return Err(KeyError::new("p", message));
        }
        Ok(Self { groups, p, local, global })
    }
}

impl Shape for UnequalShape {
    fn kind(&self) -> &'static str {
        "dragonfly"
    }

    fn class_names(&self) -> Vec<&str> {
        vec!["injection", "ejection", "local", "global"]
    }

    fn coordinate_names(&self) -> Vec<String> {
        vec!["group".into(), "number".into()]
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        let group = self.first.partition_point(|&first| first <= router.0) - 1;
        vec![group as u32, router.0 - self.first[group]]
    }

    fn views(&self) -> Views<'_> {
        Views { group_table: self.group_table.as_ref(), ..Views::default() }
    }
}
