//! Hosts of a machine: their names, and the nodes at which their network interfaces are.
//!
//! The hosts of a named machine follow rules of its file. The hosts of other machines come from a file: lines
//! `HOST ROUTER`, with a router for each interface of the host, or any file of a machine that names hosts. The hosts of
//! a router take its nodes in the order of the lines.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use topology::{Endpoint, Topology};
use units::{LocatedError, NodeId, PortId, RouterId, input};

use super::NamedMachine;
use crate::machine::importers::hostlist;
use crate::machine::source::named_nodes;

/// Rule for consecutive hosts. Switches are counted among those with nodes, in the order of the nodes.
///
/// Hosts form groups, and the hosts of a group form blocks. A block of hosts occupies the same places of the next
/// switches as the block before it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostRule {
    /// Names in order, as Slurm writes lists.
    names: String,
    /// Number of nodes of the model on each switch.
    switch_nodes: u32,
    /// Number of switches with nodes before those of the hosts.
    #[serde(default)]
    first_switch: u32,
    /// Number of hosts of a group. The last group also has the hosts that are left.
    group_hosts: u32,
    /// Number of switches of a group.
    group_switches: u32,
    /// Switch of each host of a block, counted from the block's first one.
    block: Vec<u32>,
    /// Number of switches of a block.
    block_switches: u32,
    /// Number of network interfaces of a host, each on the switch after the previous one's.
    #[serde(default = "one")]
    interfaces: u32,
}

fn one() -> u32 {
    1
}

impl HostRule {
    /// Returns the nodes of each host, in the order of the names.
    fn nodes(&self) -> Result<Vec<(String, Vec<NodeId>)>, LocatedError> {
        let names = hostlist::expand(&self.names)?;
        let groups = (names.len() as u32 / self.group_hosts.max(1)).max(1);
        let nodes = |host: u32| {
            let group = (host / self.group_hosts.max(1)).min(groups - 1);
            let within = host - group * self.group_hosts;
            let (block, place) = (within / self.block.len().max(1) as u32, within as usize % self.block.len().max(1));
            let own = self.block.get(place).copied().unwrap_or(0);
            let slot = self.block.iter().take(place).filter(|&&other| other == own).count() as u32;
            let first = self.first_switch + group * self.group_switches + block * self.block_switches + own;
            (first..first + self.interfaces).map(|switch| NodeId(switch * self.switch_nodes + slot)).collect()
        };
        Ok(names.into_iter().zip(0..).map(|(name, host)| (name, nodes(host))).collect())
    }
}

/// Limits of a list of hosts.
#[derive(Clone, Copy, Debug)]
pub struct HostLimits {
    /// Number of tasks for each occurrence of a host.
    pub per_host: u32,
    /// Number of nodes of the network.
    pub nodes: u32,
    /// Largest number of tasks.
    pub most: u64,
}

/// Returns the lines of a list of hosts that have hosts, with their numbers, and without comments.
fn hostlist_lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines().map(|line| line.split('#').next().unwrap_or("").trim())).filter(|(_, line)| !line.is_empty())
}

/// Returns the hosts of a list in lines and commas, in order. `name` is the list's name for errors.
///
/// # Errors
/// If a line is not a list of hosts, or has too many.
pub fn hosts_of_list(text: &str, name: &str) -> Result<Vec<String>, LocatedError> {
    let mut hosts = Vec::new();
    for (number, line) in hostlist_lines(text) {
        let at = |error: LocatedError| LocatedError { line: Some(number), ..error }.in_file(name);
        hosts.extend(hostlist::expand(line).map_err(at)?);
        if hosts.len() > hostlist::MAX_HOSTS {
            return Err(at(LocatedError::new("there are more than 1,048,576 hosts")));
        }
    }
    Ok(hosts)
}

/// Nodes of each host.
#[derive(Clone, Debug)]
pub struct HostTable {
    nodes: BTreeMap<String, Vec<NodeId>>,
    /// Origin of the table, for messages.
    source: String,
}

impl HostTable {
    /// Returns the hosts of a named machine.
    ///
    /// # Errors
    /// If there is no such machine, or if its numbering of hosts is not public.
    pub fn of_machine(name: &str) -> Result<Self, LocatedError> {
        let machine = NamedMachine::find(name).map_err(|error| LocatedError::key("machine", error.to_string()))?;
        let rules = machine.hosts.iter().map(HostRule::nodes).collect::<Result<Vec<_>, _>>()?;
        if rules.is_empty() {
            let message = format!("the host names of `{name}` are not public: name a file with `switches`");
            return Err(LocatedError::key("switches", message));
        }
        Ok(Self { nodes: rules.into_iter().flatten().collect(), source: format!("`{name}`") })
    }

    /// Returns the names of all hosts in alphabetical order, and the nodes of each host.
    pub fn hosts(&self) -> impl Iterator<Item = (&str, &[NodeId])> {
        self.nodes.iter().map(|(name, nodes)| (name.as_str(), nodes.as_slice()))
    }

    /// Reads the hosts of a file. `name` is the file's name for errors.
    ///
    /// # Errors
    /// A line that has no host or no router, a router that does not exist or has too few nodes, and a host that occurs
    /// twice; a file of a machine whose nodes are on other routers than those of the topology, or whose network has been
    /// renumbered as a grid.
    pub fn of_file(path: &Path, name: &str, topology: &dyn Topology) -> Result<Self, LocatedError> {
        let text = input::MACHINE
            .read_text(path)
            .map_err(|error| LocatedError::key("switches", format!("{name}: it {error}")))?;
        let nodes = match named_nodes(&text, (name, path), topology) {
            Some(_) if topology.views().renumbered => {
                let message = format!(
                    "the hosts of `{name}` have the numbers of its nodes, and this network has those of a grid, found by \
                     `recognise` or stated by lines `at`; leave these out, or give `switches` a file with a line for each host \
                     and its routers"
                );
                return Err(LocatedError::key("switches", message));
            }
            Some(found) => found?,
            None => wired(&text, topology).map_err(|error| error.in_file(name))?,
        };
        Ok(Self { nodes, source: name.to_owned() })
    }

    /// Returns the node of each task, for a list of hosts in lines and commas, each with `per_host` tasks. Task t of the T
    /// tasks of a host with n interfaces is at interface `t n / T`, rounded down. `name` is the list's name for errors.
    ///
    /// # Errors
    /// A host that is not known, or whose nodes are not below `nodes`, with its line; and more than `most` tasks.
    pub fn place(&self, text: &str, name: &str, limits: &HostLimits) -> Result<Vec<u32>, LocatedError> {
        let HostLimits { per_host, nodes, most } = *limits;
        let mut hosts = Vec::new();
        for (number, line) in hostlist_lines(text) {
            let at = |error: LocatedError| LocatedError { line: Some(number), ..error }.in_file(name);
            for host in hostlist::expand(line).map_err(at)? {
                hosts.push(self.find(&host, nodes).map_err(at)?);
            }
            // A long list of repeated ranges would take any amount of memory before its end.
            if hosts.len() as u64 * u64::from(per_host) > most {
                return Err(LocatedError::new(format!("there would be more than {most} processes")).in_file(name));
            }
        }
        if hosts.is_empty() {
            return Err(LocatedError::new("there are no hosts in it").in_file(name));
        }
        let mut tasks: BTreeMap<NodeId, (u64, u64)> = BTreeMap::new();
        hosts.iter().for_each(|own| tasks.entry(own[0]).or_default().1 += u64::from(per_host));
        let mut node_of = Vec::with_capacity(hosts.len() * per_host as usize);
        for own in hosts {
            let Some((next, all)) = tasks.get_mut(&own[0]) else { continue };
            for _ in 0..per_host {
                node_of.push(own[(*next * own.len() as u64 / *all) as usize].0);
                *next += 1;
            }
        }
        Ok(node_of)
    }

    /// Returns the nodes of a host. A domain after the host's name is ignored.
    fn find(&self, host: &str, nodes: u32) -> Result<&[NodeId], LocatedError> {
        let short = host.split('.').next().unwrap_or(host);
        let Some(own) = self.nodes.get(host).or_else(|| self.nodes.get(short)).filter(|own| !own.is_empty()) else {
            let far = |known: &&String| (strsim::damerau_levenshtein(short, known), (*known).clone());
            // A long name is no misspelling, and comparing it takes long.
            let nearest = if short.len() <= 64 { self.nodes.keys().min_by_key(far) } else { None };
            let hint = nearest.map_or(String::new(), |near| format!("; the nearest name is `{near}`"));
            let (host, source) = (units::shortened(host), &self.source);
            return Err(LocatedError::new(format!("{source} has no host `{host}`{hint}")));
        };
        match own.iter().find(|node| node.0 >= nodes) {
            Some(_) => Err(LocatedError::new(format!(
                "`{host}` is not in this part of {}, which has {nodes} nodes",
                self.source
            ))),
            None => Ok(own),
        }
    }
}

/// Reads lines `HOST ROUTER...`.
fn wired(text: &str, topology: &dyn Topology) -> Result<BTreeMap<String, Vec<NodeId>>, LocatedError> {
    let mut taken = vec![0; topology.routers() as usize];
    let mut hosts = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split('#').next().unwrap_or("").split_whitespace();
        let Some(host) = words.next() else { continue };
        let own = words.map(|word| next_node(word, topology, &mut taken)).collect::<Result<Vec<_>, _>>();
        let own = own.map_err(|message| LocatedError::at(number, message))?;
        if own.is_empty() {
            return Err(LocatedError::at(number, "expected a host and the number of its router"));
        }
        if hosts.insert(host.to_owned(), own).is_some() {
            return Err(LocatedError::at(number, format!("the host `{}` is there twice", units::shortened(host))));
        }
    }
    Ok(hosts)
}

/// Returns the first node of a router that no host has yet.
fn next_node(word: &str, topology: &dyn Topology, taken: &mut [u32]) -> Result<NodeId, String> {
    let router = word.parse::<u32>().ok().filter(|&router| (router as usize) < taken.len());
    let Some(router) = router else {
        let last = taken.len().saturating_sub(1);
        return Err(format!("`{}` is no number of a router, 0 to {last}", units::shortened(word)));
    };
    let node = |port: u16| match topology.endpoint(RouterId(router), PortId(port)) {
        Endpoint::Node(node) => Some(node),
        _ => None,
    };
    let mut nodes = (0..topology.ports(RouterId(router))).filter_map(node);
    let place = &mut taken[router as usize];
    *place += 1;
    let number = *place;
    nodes.nth(number as usize - 1).ok_or_else(|| format!("router {router} has fewer than {number} nodes"))
}
