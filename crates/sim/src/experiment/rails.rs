//! `[nic.rails]` and `[nic.connections]`: by which plane messages go, and what connections of ranks take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

/// The rails of a node: its channels into the planes of the network, each with an interface of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[nic.rails]\npolicy = \"by-rank\"\nstripe_above = \"64 KiB\""))]
pub struct RailsSpec {
    /// By which rail a message goes that is not striped, and every control message.
    pub policy: RailPolicySpec,
    /// Larger messages are cut into a stripe of whole packets for each rail. Without it, 16 KiB if messages take rails in turn; else no
    /// message is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stripe_above: Option<Bytes>,
}

/// By which rail a message goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RailPolicySpec {
    /// The messages of a node take rails in turn.
    #[default]
    RoundRobin,
    /// The ranks of a node take rails in turn, in ascending order: rank i of a node has rail i, as where each GPU has an interface.
    ByRank,
    /// Destinations take rails in turn: messages for node d go by rail d.
    ByDestination,
}

/// Above so many bytes messages are striped over rails, unless the experiment says otherwise.
const STRIPE_ABOVE: u64 = 16 << 10;

impl RailsSpec {
    /// Above how many bytes messages are striped; none: no message is.
    pub(super) fn striped_above(&self) -> Option<u64> {
        let own = (self.policy == RailPolicySpec::RoundRobin).then_some(STRIPE_ABOVE);
        self.stripe_above.map(|limit| limit.0).or(own)
    }
}

/// Connections of ranks on different nodes, each of two ranks and for both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[nic.connections]\nmode = \"on-demand\"\nsetup = \"150 us\"\nmemory = \"12 KiB\""))]
pub struct ConnectionsSpec {
    /// When they are there.
    pub mode: ConnectionModeSpec,
    /// Memory of a connection at each of its ranks: of the state, the queues and the buffers that belong to it.
    pub memory: Bytes,
    /// Time that setting a connection up takes the library of the rank that first sends; goes with `mode = "on-demand"`. Without it, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<Time>,
    /// Connections of which an interface holds the state, least recently used first to give way. Without it, of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub cached: Option<u32>,
    /// Time of fetching the state of a connection that the interface does not hold, before a message leaves by it, one after the
    /// other; goes with `cached`. Without it, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miss: Option<Time>,
}

/// When connections are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionModeSpec {
    /// When the ranks begin: from every rank to every rank on another node.
    #[default]
    AtStart,
    /// From when a rank first sends to another, or has had a message from it.
    OnDemand,
    /// Never: datagrams.
    Connectionless,
}

impl ConnectionsSpec {
    /// Whether there are no connections, and keys of some.
    pub(super) fn has_none(&self) -> bool {
        self.mode == ConnectionModeSpec::Connectionless && (self.memory.0 > 0 || self.cached.is_some())
    }
}
