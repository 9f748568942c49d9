//! Build context of a workload, and the placement of its tasks: on all nodes or on some, by a rule, a file or a mapping
//! strategy.

use std::path::Path;
use std::sync::Arc;

use host::NetworkNicSpec;
use mapping::strategies::StrategyName;
use mapping::{HostLimits, HostTable, Machine, MachineSpec, MapSpec, MappingError, Problem, Silent};
use mpi::communicator::Interconnect;
use tasks::TaskGraph;
use topology::{NetworkSpec, Topology};
use traffic::{Placement, PlacementSpec, Shape};
use units::{Bytes, KeyError, KeyResult, NodeId, Time, input};

use crate::build_cache::BuildCache;
use ::experiment::{HostsSpec, JoinedNetworkSpec, LinkSpec, MappedSpec, NicSpec, NodeSpec, Overflow, Place, PlaceSpec};
use ::network::NetworkModel;

/// Context in which a workload is built.
pub(crate) struct BuildContext<'a> {
    pub topology: &'a Arc<dyn Topology>,
    /// Specification of the topology.
    pub network: &'a NetworkSpec,
    pub link: &'a LinkSpec,
    pub model: &'a dyn NetworkModel,
    pub place: &'a PlaceSpec,
    /// Nodes of the job, in order. None if it has all nodes.
    pub nodes: Option<&'a [u32]>,
    pub nic: &'a NicSpec,
    /// Networks of the machine. Empty if it has `[topology]`.
    pub networks: &'a [JoinedNetworkSpec],
    pub node: &'a NodeSpec,
    /// Default size of packets.
    pub packet: Bytes,
    /// Seed of everything that is drawn before the run.
    pub seed: u64,
    /// Folder from which relative paths start.
    pub base: &'a Path,
    /// Parts that points share, and programs that no file can express.
    pub parts: &'a BuildCache,
    /// Interconnect of the nodes.
    pub interconnect: &'a Interconnect,
    /// Treatment of operations that routers have no room for.
    pub overflow: Overflow,
}

/// Tasks that a workload requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredTasks {
    /// Any number, on any nodes.
    Any,
    /// The number of the rule, on each node.
    OnEachNode,
}

fn wrong(key: &str, message: impl ToString) -> KeyError {
    KeyError::new(format!("placement.{key}"), message)
}

impl BuildContext<'_> {
    /// Returns the time in which all interfaces are at rest after a message and a credit.
    pub fn settle(&self) -> Time {
        let of_networks = self.networks.iter().filter_map(|own| own.nic.as_ref()).map(NetworkNicSpec::settle);
        of_networks.fold(self.nic.settle(), Time::max)
    }

    /// Returns the tasks and their placement: the tasks of a graph, or as many as the rule puts on the nodes.
    pub fn place(
        &self,
        graph: Option<&TaskGraph>,
        required: RequiredTasks,
    ) -> Result<(Shape, Arc<Placement>), KeyError> {
        let rule = match self.place.place() {
            Place::Rule(rule) => rule,
            Place::Mapped(strategy, own) => {
                let Some(graph) = graph else {
                    let message = "mapping strategies place the tasks of an application; for this workload there are \
                                   \"contiguous\", \"round-robin\", \"random\", \"random-groups\" and \"file\"";
                    return Err(wrong("strategy", message));
                };
                let placement = self.mapped(graph, strategy, &own)?;
                return Ok((self.shape(placement.len()), Arc::new(placement)));
            }
            Place::Hosts(own) => {
                let placement = self.by_hosts(&own)?;
                if required == RequiredTasks::OnEachNode && u64::from(placement.len()) != self.count() {
                    let (tasks, nodes) = (placement.len(), self.count());
                    let message =
                        format!("there are {tasks} tasks on hosts; this workload has one on each of {nodes} nodes");
                    return Err(wrong("path", message));
                }
                return Ok((self.shape(placement.len()), Arc::new(placement)));
            }
        };
        let per_node = rule.tasks_per_node().unwrap_or(1);
        let tasks = self.count() * u64::from(per_node);
        if tasks > Shape::MOST_TASKS {
            let message = format!("there would be more than {} processes", Shape::MOST_TASKS);
            return Err(wrong("processes_per_node", message));
        }
        let placement = self.by_rule(&rule)?;
        if required == RequiredTasks::OnEachNode && u64::from(placement.len()) != tasks {
            let message = format!(
                "the file places {} tasks; for this workload there is one on each of the {tasks} nodes",
                placement.len(),
            );
            return Err(wrong("path", message));
        }
        Ok((self.shape(placement.len()), Arc::new(placement)))
    }

    /// Returns the number of the job's nodes.
    fn count(&self) -> u64 {
        self.nodes.map_or(u64::from(self.topology.nodes()), |nodes| nodes.len() as u64)
    }

    /// Returns the placement on the hosts of a list.
    fn by_hosts(&self, own: &HostsSpec) -> Result<Placement, KeyError> {
        let (name, nodes) = (own.path.display().to_string(), self.topology.nodes());
        let table = match (&own.switches, &own.machine) {
            (Some(file), _) => HostTable::of_file(&self.base.join(file), &file.display().to_string(), &**self.topology),
            (None, Some(machine)) => HostTable::of_machine(machine),
            (None, None) => {
                let message = "the nodes of hosts are not known: name a [machine] whose hosts are public, or a file of hosts and \
                               their routers with `switches`";
                return Err(wrong("strategy", message));
            }
        };
        let table = table.map_err(|error| wrong(error.key.as_deref().unwrap_or("switches"), &error))?;
        let read = input::PLACEMENT.read_text(&self.base.join(&own.path));
        let text = read.map_err(|error| wrong("path", format!("{name}: it {error}")))?;
        let limits = HostLimits { per_host: own.processes_per_node, nodes, most: Shape::MOST_TASKS };
        let node_of = table.place(&text, &name, &limits).map_err(|error| wrong("path", error))?;
        if let Some(own) = self.nodes {
            let mut is_own = vec![false; nodes as usize];
            own.iter().for_each(|&node| is_own[node as usize] = true);
            if let Some(other) = node_of.iter().find(|&&node| !is_own[node as usize]) {
                return Err(wrong("path", format!("{name}: node {other} is not one of this job's")));
            }
        }
        Ok(Placement::new(node_of, nodes))
    }

    /// Returns the shape of `tasks` tasks. It is the machine's if the job has all of its nodes.
    fn shape(&self, tasks: u32) -> Shape {
        match self.nodes {
            None => Shape { tasks, ..Shape::of(&**self.topology) },
            Some(_) => Shape { tasks, grid: None, groups: None, routers: None, worst: None },
        }
    }

    /// Returns the placement by a rule.
    fn by_rule(&self, rule: &PlacementSpec) -> Result<Placement, KeyError> {
        let placement = match self.nodes {
            None => rule.place(&**self.topology, self.seed, self.base),
            Some(nodes) => rule.place_on(nodes, &**self.topology, self.seed, self.base),
        };
        placement.under("placement")
    }

    /// Returns the placement that a strategy finds.
    fn mapped(&self, graph: &TaskGraph, strategy: StrategyName, own: &MappedSpec) -> Result<Placement, KeyError> {
        let topology = Arc::clone(self.topology);
        let machine = match self.nodes {
            None => Machine::new(topology, MachineSpec::default()),
            Some(nodes) => {
                let nodes = nodes.iter().map(|&node| NodeId(node)).collect();
                Machine::with_allocation(topology, MachineSpec::default(), nodes)
            }
        };
        let machine = machine.map_err(|error| wrong("strategy", error.message))?;
        let spec = MapSpec {
            strategy,
            objective: own.objective,
            imbalance: own.imbalance,
            tasks_per_node: own.tasks_per_node,
            budget: own.budget,
            seed: self.seed,
        };
        let problem = Problem { graph, machine: &machine, spec: &spec, fixed: &[], current: None, watch: &Silent };
        let found = mapping::strategies::map(&problem).map_err(|error| match error {
            MappingError::Unfit { key, message } => wrong(key, message),
            MappingError::Cancelled => wrong("strategy", error),
        })?;
        let node_of = found.place_of.iter().map(|&place| machine.nodes()[place as usize].0).collect();
        Ok(Placement::new(node_of, self.topology.nodes()))
    }
}
