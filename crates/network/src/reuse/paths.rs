//! Paths of messages, by the packet engine's numbers of channels.

use std::sync::Arc;

use fabric::{ChannelFacts, Plan};
use routing::{Choice, Hop, RouteState};
use topology::{ChannelSource, Endpoint};
use units::{Draw, NodeId, PlaneId, VcClass};

/// Plane of a network with one plane.
const PLANE: PlaneId = PlaneId(0);

/// No path, or no record.
pub(super) const NONE: u32 = u32::MAX;

/// Channel of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Number of the channel's output.
    pub channel: u32,
    /// Candidate number of the path's packets at that output. 0 at a source.
    pub candidate: u16,
    /// Set of equal channels.
    pub set: u8,
    /// Virtual channel on which packets cross the channel.
    pub vc: u8,
    /// Least time from the release of a packet to its request of the channel, in ticks: the delays of the channels and
    /// routers before.
    pub after: u64,
}

/// Path from a node to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// Range of its channels in `Paths::steps`.
    steps: (u32, u32),
    pub to: NodeId,
    /// Routing state in which packets start.
    pub state: RouteState,
    /// Bytes and record of the last message on the path that was alone in its episode.
    pub recent: (u32, u32),
}

/// Draw that notes whether anything is drawn.
struct Noting(bool);

impl Draw for Noting {
    fn bits(&mut self) -> u64 {
        self.0 = true;
        0
    }

    fn below(&mut self, _n: u32) -> u32 {
        self.0 = true;
        0
    }
}

/// Paths that have been found.
#[derive(Debug)]
pub(super) struct Paths {
    plan: Arc<Plan>,
    pub facts: Vec<ChannelFacts>,
    /// Number of the output of each channel.
    pub output_of: Vec<u32>,
    steps: Vec<Step>,
    pub paths: Vec<Path>,
    /// By source node, the destinations of its paths in ascending order, and the paths.
    by_source: Vec<Vec<(u32, u32)>>,
}

impl Paths {
    /// Creates the finder of a network whose channels have the given facts.
    pub fn new(plan: &Arc<Plan>, facts: Vec<ChannelFacts>) -> Self {
        let channels = plan.channels();
        let mut output_of = vec![NONE; channels.count() as usize];
        for (output, own) in (0..).zip(&facts) {
            let channel = match own.source {
                ChannelSource::Router(router, port) => channels.output(router, port),
                ChannelSource::Node(node, plane) => channels.injection_on(node, plane),
            };
            output_of[channel.0 as usize] = output;
        }
        let by_source = vec![Vec::new(); plan.topology().nodes() as usize];
        Self { plan: Arc::clone(plan), facts, output_of, steps: Vec::new(), paths: Vec::new(), by_source }
    }

    /// Returns the memory of the paths, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.steps) + self.paths.len() * (size_of::<Path>() + size_of::<(u32, u32)>())
    }

    /// Returns the channels of a path.
    pub fn steps(&self, path: u32) -> &[Step] {
        let (begin, end) = self.paths[path as usize].steps;
        &self.steps[begin as usize..end as usize]
    }

    /// Returns the number of routers of a path.
    pub fn routers(&self, path: u32) -> u64 {
        self.steps(path).len() as u64 - 1
    }

    /// Drops the paths whose places in `new` are `NONE`, and writes the new number of each other path there.
    pub fn keep(&mut self, new: &mut [u32]) {
        let (old, all) = (std::mem::take(&mut self.steps), std::mem::take(&mut self.paths));
        for own in self.by_source.iter_mut() {
            own.retain_mut(|(_, path)| {
                let number = &mut new[*path as usize];
                if *number == NONE {
                    return false;
                }
                let (begin, end) = all[*path as usize].steps;
                let first = self.steps.len() as u32;
                self.steps.extend_from_slice(&old[begin as usize..end as usize]);
                *number = self.paths.len() as u32;
                self.paths.push(Path { steps: (first, self.steps.len() as u32), ..all[*path as usize] });
                *path = *number;
                true
            });
        }
    }

    /// Returns the path from a node to another. `None`: the routing chooses at random, or among several paths.
    pub fn find(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        match self.by_source[from.0 as usize].binary_search_by_key(&to.0, |own| own.0) {
            Ok(place) => Some(self.by_source[from.0 as usize][place].1),
            Err(place) => {
                let path = self.walk(from, to)?;
                self.by_source[from.0 as usize].insert(place, (to.0, path));
                Some(path)
            }
        }
    }

    /// Follows a packet to its destination.
    fn walk(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        let plan = Arc::clone(&self.plan);
        let (topology, routing, channels) = (plan.topology(), plan.routing(), plan.channels());
        let (mut router, in_port) = topology.attachment_on(from, PLANE)?;
        let mut drawn = Noting(false);
        let state = routing.start(from, to, &mut drawn);
        let begin = self.steps.len() as u32;
        let mut after = self.push(channels.injection_on(from, PLANE).0, (0, 0), 0);
        let mut hop = Hop { dst: to, state, in_port, vc_class: VcClass(0) };
        let mut arrived = false;
        for _ in 0..routing.max_routers() {
            let route = routing.route(router, &mut hop);
            if route.count != 1 || route.choice == Choice::Escape {
                break;
            }
            let port = route.port(0, routing.port_lists());
            let output = channels.output(router, port).0;
            let own = self.facts[self.output_of[output as usize] as usize];
            after = self.push(output, (own.candidate(hop.in_port, hop.vc_class.0), route.vc_class.0), after);
            let Endpoint::Router(next, in_port) = topology.endpoint(router, port) else {
                arrived = true;
                break;
            };
            (router, hop.in_port, hop.vc_class) = (next, in_port, route.vc_class);
        }
        if !arrived || drawn.0 {
            self.steps.truncate(begin as usize);
            return None;
        }
        self.paths.push(Path { steps: (begin, self.steps.len() as u32), to, state, recent: (0, NONE) });
        Some(self.paths.len() as u32 - 1)
    }

    /// Adds a channel to a path. Returns the least time to the next one.
    fn push(&mut self, channel: u32, (candidate, vc): (u16, u8), after: u64) -> u64 {
        let output = self.output_of[channel as usize];
        let own = &self.facts[output as usize];
        self.steps.push(Step { channel: output, candidate, set: own.set, vc, after });
        after + own.delay_with_router
    }
}
