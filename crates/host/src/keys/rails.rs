//! `[nic.rails]` and `[nic.connections]`: the planes that messages take, and the cost of connections between ranks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

use crate::connections::{ConnectionMode, ConnectionParams};
use crate::rails::{RailParams, RailPolicy};

/// Rails of a node: its channels into the planes of the network. Each rail has a separate interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[nic.rails]\npolicy = \"by-rank\"\nstripe_above = \"64 KiB\""))]
pub struct RailsSpec {
    /// Rule that selects the rail of a control message, and of a message that is not striped.
    pub policy: RailPolicy,
    /// Size above which messages are striped: cut into one stripe of whole packets for each rail. Default: 16 KiB with
    /// `policy = "round-robin"`, otherwise no striping.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stripe_above: Option<Bytes>,
    /// Networks over whose rails a message is striped. Each rail has a share in proportion to its bandwidth.
    #[serde(skip_serializing_if = "StripeOver::is_default")]
    #[schemars(extend("x-rules" = ["requires several networks"]))]
    pub stripe_over: StripeOver,
}

/// Networks over whose rails messages are striped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StripeOver {
    /// The network that the message takes.
    #[default]
    OneNetwork,
    /// All networks that join its ends.
    AllNetworks,
}

impl StripeOver {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Default size above which messages are striped over rails, in bytes.
const STRIPE_ABOVE: u64 = 16 << 10;

impl RailsSpec {
    pub(super) fn params(&self, count: u32) -> RailParams {
        let own = (self.policy == RailPolicy::RoundRobin).then_some(STRIPE_ABOVE);
        let stripe_above = self.stripe_above.map(|limit| limit.0).or(own);
        RailParams { count, policy: self.policy, stripe_above }
    }
}

/// Connections between ranks on different nodes. A connection joins two ranks and serves both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[nic.connections]\nmode = \"on-demand\"\nsetup = \"150 us\"\nmemory = \"12 KiB\""))]
pub struct ConnectionsSpec {
    /// Time at which connections are set up.
    pub mode: ConnectionMode,
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

impl ConnectionsSpec {
    pub(super) fn params(&self) -> ConnectionParams {
        ConnectionParams {
            mode: self.mode,
            setup: self.setup.map_or(0, |time| time.0),
            cached: self.cached,
            miss: self.miss.map_or(0, |time| time.0),
        }
    }
}
