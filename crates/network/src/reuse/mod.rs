//! Packet model with reuse: packets are simulated once, and where the same happens again its outcome is replayed.
//!
//! Nodes hand messages over whole. Messages that use a channel at the same time form an *episode* ([`episodes`]). An
//! episode is simulated by the packet engine on an otherwise idle network ([`bench`]), and its record is kept under a
//! key that holds everything that the outcome depends on ([`records`]). An episode with a known key is replayed. In the
//! simulation of long messages, periods of a steady state are skipped.
//! Results are the bytes of the packet model.

mod bench;
mod effort;
mod episodes;
mod keeping;
mod lookup;
mod machine;
mod naming;
mod paths;
mod records;
mod run;

use std::cell::Cell;
use std::sync::Arc;

use fabric::{Plan, Traffic};
use host::PacketParts;

use crate::feature::Feature;
use crate::handover::whole_traffic;
use crate::machine::Machine;
use crate::model::{MachineRun, NetworkModel};
use crate::traffic::NodeTraffic;
pub use bench::StateRules;
use effort::{Effort, LEAST_TRIAL};
use episodes::Episodes;
pub use keeping::ReuseRecords;
use machine::ReuseMachine;
pub use naming::KeyField;
use run::ReuseRun;

/// Networks of routers that carry packets, with replayed episodes. Requires one job of ranks or volumes, a
/// deterministic routing, and routers whose only state while they are idle is what [`fabric::routers::Sharing`] names.
#[derive(Clone, Copy, Debug)]
pub struct ReuseModel {
    /// Field that keys of episodes leave out, so that results are wrong: for tests that keys need it.
    pub left_out: Option<KeyField>,
    /// Largest memory of paths and records, in bytes.
    pub most_bytes: usize,
    /// Effort that a run may waste before it gives up, in packet-hops, however small the run is.
    pub least_trial: u64,
    /// Packet-hops after which the simulation of several messages is paused. `None`: as the size of the network demands.
    pub stretch: Option<u64>,
    /// Rules for the states of simulations that are kept.
    pub states: StateRules,
}

impl Default for ReuseModel {
    fn default() -> Self {
        Self {
            left_out: None,
            most_bytes: 1 << 30,
            least_trial: LEAST_TRIAL,
            stretch: None,
            states: StateRules::default(),
        }
    }
}

/// Counts of reuse in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReuseCounts {
    /// Messages that have arrived.
    pub messages: u64,
    /// Messages of them whose arrivals were replayed.
    pub replayed: u64,
    /// Episodes.
    pub episodes: u64,
    /// Records: different episodes that were simulated.
    pub records: u64,
    /// Times that a message joined an episode under way.
    pub joins: u64,
    /// Times that episodes under way were merged.
    pub merges: u64,
    /// Records whose simulation continued from a saved state.
    pub continued: u64,
    /// Times that the simulation of an episode was paused.
    pub paused: u64,
    /// Episodes of several messages that began with a round-robin pointer that an earlier episode had moved.
    pub moved_pointers: u64,
    /// Packet-hops of all messages.
    pub packet_hops: u64,
    /// Packet-hops simulated.
    pub simulated_hops: u64,
    /// Packet-hops of periods that were skipped.
    pub skipped_hops: u64,
}

impl ReuseCounts {
    /// Adds the counts of another machine of the run.
    pub fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.replayed += other.replayed;
        self.episodes += other.episodes;
        self.records += other.records;
        self.joins += other.joins;
        self.merges += other.merges;
        self.continued += other.continued;
        self.paused += other.paused;
        self.moved_pointers += other.moved_pointers;
        self.packet_hops += other.packet_hops;
        self.simulated_hops += other.simulated_hops;
        self.skipped_hops += other.skipped_hops;
    }
}

/// Returns the send queues and the interfaces of all nodes, by which packets of episodes pass.
fn packet_parts(plan: &Plan, traffic: &NodeTraffic) -> PacketParts {
    if let Some(ranks) = traffic.scheduled(0) {
        return ranks.executor().packet_parts();
    }
    let topology = plan.topology();
    let pace = |plane| plan.serialization(topology.injection_class(plane), plan.packet());
    let paces: Vec<u64> = topology.all_planes().map(pace).collect();
    let sources = topology.nodes() as usize * paces.len();
    PacketParts::without_parts(plan.packet(), paces, sources)
}

impl NetworkModel for ReuseModel {
    fn name(&self) -> &'static str {
        "packet"
    }

    fn features(&self) -> &'static [Feature] {
        &[Feature::Packets, Feature::Messages, Feature::Routers, Feature::Routes, Feature::ReceiverLinks]
    }

    fn build(&self, plan: &Arc<Plan>, run: &MachineRun<'_>) -> Box<dyn Machine> {
        let traffic = whole_traffic(plan, run);
        let parts = packet_parts(plan, &traffic);
        let effort = Effort::new(run.jobs.iter().map(|job| job.packets).sum(), self.least_trial);
        let wants_arrivals = traffic.wants_events();
        let mut episodes = Episodes::new(plan, (run.router, parts), (wants_arrivals, self), effort);
        run.records.iter().for_each(|kept| episodes.records.add_kept(kept));
        let run = ReuseRun::new(plan, traffic, episodes);
        Box::new(ReuseMachine { run, counted_until: Cell::new(u64::MAX) })
    }
}
