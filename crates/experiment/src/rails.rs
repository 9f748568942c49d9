//! `[nic.rails]` and `[nic.connections]`: the planes that messages take, and the cost of connections between ranks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

/// Rails of a node: its channels into the planes of the network. Each rail has a separate interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[nic.rails]\npolicy = \"by-rank\"\nstripe_above = \"64 KiB\""))]
pub struct RailsSpec {
    /// Rule that selects the rail of a control message, and of a message that is not striped.
    pub policy: RailPolicySpec,
    /// Size above which messages are striped: cut into one stripe of whole packets for each rail. Default: 16 KiB with
    /// `policy = "round-robin"`, otherwise no striping.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stripe_above: Option<Bytes>,
}

/// Rule that selects the rail of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RailPolicySpec {
    /// The messages of a node take rails in turn.
    #[default]
    RoundRobin,
    /// Rank i of a node, in ascending order, has rail i modulo the number of rails, as where each GPU has an interface.
    ByRank,
    /// Messages to node d take rail d modulo the number of rails.
    ByDestination,
}

/// Default size above which messages are striped over rails, in bytes.
const STRIPE_ABOVE: u64 = 16 << 10;

impl RailsSpec {
    /// Returns the size above which messages are striped, in bytes; `None` if no message is striped.
    pub(crate) fn striped_above(&self) -> Option<u64> {
        let own = (self.policy == RailPolicySpec::RoundRobin).then_some(STRIPE_ABOVE);
        self.stripe_above.map(|limit| limit.0).or(own)
    }
}

/// Connections between ranks on different nodes. A connection joins two ranks and serves both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[nic.connections]\nmode = \"on-demand\"\nsetup = \"150 us\"\nmemory = \"12 KiB\""))]
pub struct ConnectionsSpec {
    /// Time at which connections are set up.
    pub mode: ConnectionModeSpec,
    /// Memory of a connection at each of its ranks: its state, queues and buffers.
    #[schemars(extend("x-rules" = ["excludes nic.connections.mode = connectionless"]))]
    pub memory: Bytes,
    /// Library time to set up a connection, at the rank that sends first. Default: 0.
    #[schemars(extend("x-rules" = ["requires nic.connections.mode = on-demand"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<Time>,
    /// Number of connections whose state an interface holds. The least recently used state is evicted first. Default:
    /// all connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-rules" = ["excludes nic.connections.mode = connectionless"]))]
    pub cached: Option<u32>,
    /// Time to fetch the state of a connection that the interface does not hold, before a message leaves by it. Fetches
    /// of an interface are sequential. Default: 0.
    #[schemars(extend("x-rules" = ["requires nic.connections.cached: otherwise the interface holds all of them"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miss: Option<Time>,
}

/// Time at which connections are set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionModeSpec {
    /// When the ranks begin: between all ranks on different nodes.
    #[default]
    AtStart,
    /// When a rank first sends to another rank, or first receives a message from it.
    OnDemand,
    /// Never: datagrams.
    Connectionless,
}
