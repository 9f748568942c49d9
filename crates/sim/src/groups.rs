//! The groups of all jobs of a system, and their trees.

use std::sync::Arc;

use fabric::{CombineSpec, GroupsSpec, LinkParameters};
use routing::Routing;
use routing::trees::{TreeSpec, Trees, TreesSpec};
use topology::{ChannelClass, Topology};
use units::{Bandwidth, Bytes, NodeId, RouterId, Time};

use crate::error::SystemError;
use crate::experiment::{CombineUnitsSpec, ExperimentSpec, InSwitchSpec};

/// Bytes of a word of a combine unit of line rate.
const WORD: u64 = 8;

/// The trees for some groups of nodes, and the combine units if any group combines; none without groups.
///
/// # Errors
/// Trees that cannot be built, at the key that is at fault.
pub(crate) fn build(
    spec: &ExperimentSpec,
    (topology, routing): (&Arc<dyn Topology>, &Arc<dyn Routing>),
    (groups, combines): (&[Vec<NodeId>], bool),
    packet: u32,
) -> Result<Option<GroupsSpec>, SystemError> {
    if groups.is_empty() {
        return Ok(None);
    }
    if topology.planes() > 1 {
        let message = "trees of groups are of one plane; with collective operations in routers and multicasts by trees only 1 is allowed";
        return Err(SystemError::new("topology.planes", message));
    }
    let own = &spec.in_switch;
    let wrong = |error: routing::trees::TreeError| SystemError::new("in_switch.trees", error);
    let trees = trees_spec(own, &**topology).build(topology, &**routing, groups).map_err(wrong)?;
    let links: Vec<LinkParameters> =
        topology.class_names().into_iter().map(|class| spec.link.parameters(class)).collect();
    let injection = links.get(usize::from(ChannelClass::INJECTION.0)).map_or(Bandwidth(0), |link| link.bandwidth);
    let delay = spec.router.common().delay.unwrap_or_else(|| fabric::router_delay(injection));
    let path = Path { links: &links, delay, packet, depth: deepest(&trees) };
    let units = combines.then(|| units(&own.combine, &**topology, &path));
    Ok(Some(GroupsSpec { trees: Arc::new(trees), turn: own.turn.into(), units }))
}

fn trees_spec(spec: &InSwitchSpec, topology: &dyn Topology) -> TreesSpec {
    TreesSpec {
        count: spec.trees_per_group.unwrap_or(1),
        or_fewer: true,
        classes: spec.classes,
        table_entries: spec.table_entries,
        ..TreesSpec::new(spec.trees.unwrap_or_else(|| TreeSpec::default_for(topology)))
    }
}

fn deepest(trees: &Trees) -> u64 {
    (0..trees.len()).map(|tree| u64::from(trees.depth(tree))).max().unwrap_or(0)
}

/// The longest way of a packet up a tree and down again.
struct Path<'a> {
    links: &'a [LinkParameters],
    delay: Time,
    packet: u32,
    depth: u64,
}

impl Path<'_> {
    /// Packets that a member sends at the bandwidth of its link until the result of the first one is back, and one more.
    fn window(&self, combining: u64) -> u32 {
        let slowest = self.links.iter().map(|link| link.bandwidth).min().unwrap_or(Bandwidth(1));
        let fastest = self.links.iter().map(|link| link.bandwidth).max().unwrap_or(Bandwidth(1));
        let time = |bandwidth: Bandwidth| {
            bandwidth.serialization(Bytes(u64::from(self.packet))).map_or(1, |(time, _)| time.0.max(1))
        };
        let link = self.links.iter().map(|link| link.delay.0).max().unwrap_or(0);
        // Through each switch twice on the way up, into its unit and out of it, and once on the way down.
        let switch = 3 * self.delay.0 + time(slowest) + combining;
        let round = (self.depth + 1).saturating_mul(switch + 2 * link) + 2 * link;
        (round / time(fastest) + 2).clamp(1, 1 << 16) as u32
    }
}

fn units(spec: &CombineUnitsSpec, topology: &dyn Topology, path: &Path<'_>) -> CombineSpec {
    let own = match spec {
        CombineUnitsSpec::LineRate(own) => {
            let fastest = path.links.iter().map(|link| link.bandwidth.0).max().unwrap_or(1);
            let ports = (0..topology.routers()).map(|router| topology.ports(RouterId(router))).max().unwrap_or(1);
            let bits = u128::from(fastest) * u128::from(ports) * u128::from(own.cycle.0);
            let words = bits.div_ceil(1_000_000_000_000 * 8 * u128::from(WORD)).clamp(1, 1 << 30);
            CombineSpec { units: 1, cycle: own.cycle, word: Bytes(WORD), words_per_cycle: words as u32, window: 0 }
        }
        CombineUnitsSpec::WordSerial(own) => CombineSpec {
            units: own.units,
            cycle: own.cycle,
            word: own.word,
            words_per_cycle: own.words_per_cycle,
            window: 0,
        },
    };
    let window = match spec {
        CombineUnitsSpec::LineRate(own) => own.window,
        CombineUnitsSpec::WordSerial(own) => own.window,
    };
    let combining = own.cycles(path.packet).saturating_mul(own.cycle.0);
    CombineSpec { window: window.unwrap_or_else(|| path.window(combining)), ..own }
}
