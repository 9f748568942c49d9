//! Loads of a group's operations on the channels of its trees.

use topology::{Channels, Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

use super::tables::{Exit, Trees};

/// Volumes that the members of a group send by a tree, in any unit. Lists by member are in the order of
/// `Trees::members`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeVolumes {
    /// Volume that the switches combine of all members for all members. Each member sends this volume.
    pub for_all: f64,
    /// By member, the volume that the switches combine of all others for that member.
    pub for_one: Vec<f64>,
    /// By member, the volume that the member multicasts to all others.
    pub copied: Vec<f64>,
    /// By member, the volume combined for that member to which it contributes too.
    pub own_combined: Vec<f64>,
    /// By member, the part of its multicasts of which it gets a copy too.
    pub own_copied: Vec<f64>,
}

impl TreeVolumes {
    /// Creates zero volumes of `members` members.
    pub fn none(members: usize) -> Self {
        let none = vec![0.0; members];
        Self { for_all: 0.0, for_one: none.clone(), copied: none.clone(), own_combined: none.clone(), own_copied: none }
    }

    /// Multiplies all volumes.
    pub fn scale(&mut self, factor: f64) {
        self.for_all *= factor;
        let Self { for_one, copied, own_combined, own_copied, .. } = self;
        for own in [for_one, copied, own_combined, own_copied] {
            own.iter_mut().for_each(|own| *own *= factor);
        }
    }

    /// Returns the volume that arrives at all members together.
    pub fn delivered(&self) -> f64 {
        let (members, copied) = (self.copied.len() as f64, self.copied.iter().sum::<f64>());
        let returned: f64 = self.own_copied.iter().sum();
        members * self.for_all + self.for_one.iter().sum::<f64>() + (members - 1.0) * copied + returned
    }

    /// Returns the volume that a member sends.
    pub fn sent(&self, member: usize) -> f64 {
        let others = self.for_one.iter().sum::<f64>() - self.for_one[member];
        self.for_all + others + self.own_combined[member] + self.copied[member]
    }
}

/// Output of a router.
type Output = (RouterId, PortId);

/// Branch of a tree: an entry and everything below it.
struct Branch {
    entry: u32,
    /// Branch above, the output of its router to this one, and the output of this one to it.
    above: Option<(usize, Output, Output)>,
    /// Volume combined for members in the branch.
    for_one: f64,
    /// Volume that members in the branch multicast.
    copied: f64,
}

impl Trees {
    /// Adds the volumes of a tree, multiplied by a factor, to the loads of channels (`Channels`). `turns_at_top`:
    /// multicasts go up to the top switch before they go down. Channels to and from combine units are not counted.
    ///
    /// Switches combine where branches meet. Contributions of all members for all go toward the top switch, from which
    /// the result goes down everywhere. Contributions for one member go toward that member, so that each wire of the
    /// tree carries them once, one way or the other. A directed tree carries only the multicasts of its sender. The
    /// cost is proportional to the number of the tree's exits.
    pub fn add_volumes(
        &self,
        (topology, channels): (&dyn Topology, &Channels),
        (tree, turns_at_top): (u32, bool),
        (volumes, factor): (&TreeVolumes, f64),
        load: &mut [f64],
    ) {
        let mut add = |(router, port), volume: f64| load[channels.output(router, port).index()] += factor * volume;
        let members = self.members(tree);
        if let Some(sender) = self.sender(tree) {
            // Every packet of the sender leaves by every exit once.
            let volume = members.binary_search(&sender).map_or(0.0, |member| volumes.copied[member]);
            self.each_exit_from(topology, (tree, sender), &mut |output| add(output, volume));
            load[channels.injection_on(sender, self.plane(tree)).index()] += factor * volume;
            return;
        }
        let all_for_one: f64 = volumes.for_one.iter().sum();
        let all_copied: f64 = volumes.copied.iter().sum();
        let (mut branches, ends) = self.branches(topology, tree);
        for &(branch, node, output) in &ends {
            let Ok(member) = members.binary_search(&node) else { continue };
            let (for_one, copied) = (volumes.for_one[member], volumes.copied[member]);
            branches[branch].for_one += for_one;
            branches[branch].copied += copied;
            add(output, volumes.for_all + for_one + all_copied - copied + volumes.own_copied[member]);
        }
        for at in (1..branches.len()).rev() {
            let Branch { above, for_one, copied, .. } = branches[at];
            let Some((branch, down, up)) = above else { continue };
            branches[branch].for_one += for_one;
            branches[branch].copied += copied;
            add(up, volumes.for_all + all_for_one - for_one + copied);
            add(down, volumes.for_all + for_one + all_copied - if turns_at_top { 0.0 } else { copied });
        }
        let plane = self.plane(tree);
        for (member, &node) in members.iter().enumerate() {
            load[channels.injection_on(node, plane).index()] += factor * volumes.sent(member);
        }
    }

    /// Visits every output of a directed tree, from its sender's router on.
    fn each_exit_from(&self, topology: &dyn Topology, (tree, sender): (u32, NodeId), visit: &mut dyn FnMut(Output)) {
        let (router, _) = self.attachment(topology, tree, sender);
        let mut left: Vec<u32> = self.entry_at(router, tree).into_iter().collect();
        while let Some(entry) = left.pop() {
            let router = self.entry(entry).router;
            for exit in self.exits(entry) {
                visit((router, exit.port));
                left.extend(Some(exit.next).filter(|&next| next != Exit::NODE));
            }
        }
    }

    /// Returns the branches of an undirected tree from the top switch on, each after the one above it, and the members
    /// with their branch and output.
    fn branches(&self, topology: &dyn Topology, tree: u32) -> (Vec<Branch>, Vec<(usize, NodeId, Output)>) {
        let mut branches = vec![Branch { entry: self.root(tree), above: None, for_one: 0.0, copied: 0.0 }];
        let (mut ends, mut at) = (Vec::new(), 0);
        while at < branches.len() {
            let entry = branches[at].entry;
            let router = self.entry(entry).router;
            let up = self.up(entry).map(|exit| exit.port);
            for exit in self.exits(entry).iter().filter(|exit| Some(exit.port) != up) {
                let down = (router, exit.port);
                match topology.endpoint(router, exit.port) {
                    Endpoint::Node(node) => ends.push((at, node, down)),
                    Endpoint::Router(far, port) if exit.next != Exit::NODE => {
                        let above = Some((at, down, (far, port)));
                        branches.push(Branch { entry: exit.next, above, for_one: 0.0, copied: 0.0 });
                    }
                    Endpoint::Router(..) | Endpoint::Unconnected => {}
                }
            }
            at += 1;
        }
        (branches, ends)
    }
}
