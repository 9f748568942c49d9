//! `[[network]]`: several networks of one machine, and `[relay]`: the way of messages that none of them carries alone.

use std::collections::BTreeSet;

use fabric::catalogue::RouterSpec;
use host::NetworkNicSpec;
use routing::RoutingSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{NetworkSpec, Order};
use units::{Bytes, Time};

use crate::spec::LinkSpec;

/// An example of two networks, as TOML.
const EXAMPLE: &str = r#"[[network]]
name = "nvlink"
topology = "single-switch:8"
link = { bandwidth = "3600 Gb/s", delay = "100 ns" }

[[network]]
name = "rail"
topology = "leaf-spine:leaves=8,spines=8,nodes_per_leaf=32"
order = "by-rail"
link = { bandwidth = "400 Gb/s", delay = "50 ns" }"#;

/// One of several networks of a machine, whose *endpoints* (GPUs, sockets, hosts) have ports in one or more of them.
/// Networks replace `[topology]`. The path of a key in a sweep or an option is, for example,
/// `network.NAME.link.bandwidth`.
///
/// A network whose topology has fewer nodes than the machine has endpoints consists of *islands*: copies of the
/// topology, each with the next endpoints, as NVLink joins the GPUs of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = EXAMPLE))]
pub struct JoinedNetworkSpec {
    /// Name of the network in results and in paths of keys: letters, digits, `-` and `_`.
    #[schemars(extend("x-example" = "\"rail\""))]
    pub name: String,
    /// Topology of an island. Its `planes` are copies in each of which an endpoint has a port.
    pub topology: NetworkSpec,
    /// Channels of the network. Default: `[link]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkSpec>,
    /// Routers of the network. Their architecture, virtual channels and arbitration are those of all networks. Default:
    /// `[router]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router: Option<RouterSpec>,
    /// Routing algorithm of the network. Default: `[routing]`, else one that suits the topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<RoutingSpec>,
    /// Interface of an endpoint into the network: its parts, which replace those of `[nic]`. Default: the parts of
    /// `[nic]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<NetworkNicSpec>,
    /// Endpoints of each node that have ports in the network, counted from 0 within the node. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-example" = "[0, 2, 4, 6]"))]
    pub endpoints: Option<Vec<u32>>,
    /// Order in which endpoints take the nodes of the topology, island by island.
    #[serde(default)]
    pub order: EndpointOrder,
    /// Number of neighbouring nodes whose endpoints take nodes of the topology by rail, before those of the next nodes,
    /// such as the nodes of a chassis. Requires `order = "by-rail"`. Default: all nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16777216))]
    pub rail_nodes: Option<u32>,
    /// Cost of a hop of this network in mappings, relative to other networks: hop-bytes and the placements of strategies
    /// count it for each hop.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000))]
    pub hop_cost: u32,
    /// Largest message that takes this network, if a later network joins its ends too. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Bytes>,
    /// Size above which messages take this network, if a later network joins their ends too. Default: messages of all
    /// sizes do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Bytes>,
}

fn one() -> u32 {
    1
}

/// Order in which endpoints take the nodes of a topology.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndpointOrder {
    /// Node by node: all endpoints of a node are neighbours.
    #[default]
    ByNode,
    /// First the first endpoint of each node, then the second of each, as on rails: equal endpoints of neighbouring
    /// nodes are neighbours.
    ByRail,
}

impl From<EndpointOrder> for Order {
    fn from(order: EndpointOrder) -> Self {
        match order {
            EndpointOrder::ByNode => Self::ByNode,
            EndpointOrder::ByRail => Self::ByRail,
        }
    }
}

/// Relays: endpoints that pass messages on which no network carries from end to end. The relay is an endpoint in the
/// sender's island of one network, or in the receiver's, that another network joins to the other end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[relay]\nnetwork = \"nvlink\"\nat = \"source\"\nchunk = \"512 KiB\""))]
pub struct RelaySpec {
    /// Network by which a message reaches the relay, or goes on from it.
    #[schemars(extend("x-example" = "\"nvlink\""))]
    pub network: String,
    /// Side of the relay.
    #[serde(default)]
    pub at: RelaySide,
    /// Size of the pieces of a message that a relay passes on when they have arrived whole. Default: the whole message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1))]
    pub chunk: Option<Bytes>,
    /// Bytes of other endpoints that a relay holds at most. A sender waits for room, in the order of requests. At least
    /// a piece. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1, "x-rules" = ["excludes relay.at = destination", "requires relay.chunk", "excludes nic.pio.buffer: a message that waits for room there would keep its room at a relay"]))]
    pub buffer: Option<Bytes>,
}

/// Side of a relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RelaySide {
    /// Near the source: the message first goes to the neighbour whose port is on the destination's rail, as NCCL's PXN
    /// does.
    #[default]
    Source,
    /// Near the destination: the message leaves by the port of its source, and a neighbour of the destination passes it
    /// on.
    Destination,
}

/// Longest time of an interface.
const LONGEST_TIME: Time = Time(1_000_000_000_000);

/// Returns what is wrong with the interface of a network: the path of the key within the network, and the message.
fn wrong_nic(own: &JoinedNetworkSpec, (has_ranks, has_drain): (bool, bool)) -> Option<(String, String)> {
    let nic = own.nic.as_ref()?;
    let wrong = |message: &str| Some(("nic".to_owned(), message.to_owned()));
    if !has_ranks {
        return wrong(
            "it requires ranks that send and receive: workloads of kind \"benchmark\" and \"program\", and \
             message-driven applications, have them",
        );
    }
    if !has_drain {
        return wrong("it requires `node.drain` beside `node.receive_buffer`: the interfaces have no common rate");
    }
    let (key, time) = nic.times().into_iter().find(|(_, time)| *time > LONGEST_TIME)?;
    Some((format!("nic.{key}"), format!("{time} is too long: at most 1 s")))
}

/// Returns the first fault of networks that no rule beside a key states: the path of the key to show, and the message.
/// `of_nodes`: whether any workload has ranks, and whether the rate is known at which nodes take packets.
pub(crate) fn contradiction(
    networks: &[JoinedNetworkSpec],
    relay: Option<&RelaySpec>,
    of_nodes: (bool, bool),
) -> Option<(String, String)> {
    let named = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let mut names = BTreeSet::new();
    for (index, own) in networks.iter().enumerate() {
        let at = |key: &str| format!("network[{index}].{key}");
        if own.name.is_empty() || !own.name.chars().all(named) {
            let message = format!("`{}` is no name of a network: letters, digits, `-` and `_` are allowed", own.name);
            return Some((at("name"), message));
        }
        if !names.insert(&*own.name) {
            return Some((at("name"), format!("there are two networks `{}`: each needs a separate name", own.name)));
        }
        if own.rail_nodes.is_some() && own.order != EndpointOrder::ByRail {
            let message = "it requires `order = \"by-rail\"`: nodes come one by one otherwise";
            return Some((at("rail_nodes"), message.into()));
        }
        if let Some([]) = own.endpoints.as_deref() {
            return Some((at("endpoints"), "no endpoint has a port: leave the network out".into()));
        }
        if own.endpoints.as_ref().is_some_and(|own| !own.windows(2).all(|pair| pair[0] < pair[1])) {
            return Some((at("endpoints"), "endpoints are listed in ascending order, each once".into()));
        }
        if let (Some(above), Some(up_to)) = (own.above, own.up_to)
            && above >= up_to
        {
            return Some((at("above"), format!("no message is above {above} and up to {up_to}")));
        }
        if let Some((key, message)) = wrong_nic(own, of_nodes) {
            return Some((at(&key), message));
        }
    }
    let relay = relay?;
    if let (Some(chunk), Some(buffer)) = (relay.chunk, relay.buffer)
        && chunk > buffer
    {
        let message = format!("a relay holds at least a piece of {chunk} (`relay.chunk`), and its buffer is {buffer}");
        return Some(("relay.buffer".into(), message));
    }
    let known: Vec<&str> = networks.iter().map(|own| &*own.name).collect();
    (!known.contains(&&*relay.network)).then(|| {
        let message = format!("`{}` is none of the networks {}", relay.network, known.join(", "));
        ("relay.network".into(), message)
    })
}
