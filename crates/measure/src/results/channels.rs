//! Utilization of channels: of each, or summarized by class.

use fabric::ChannelUse;
use schemars::JsonSchema;
use serde::Serialize;
use topology::{ChannelClass, ChannelSource};
use units::ChannelId;

use network::{Feature, Network};

use super::quantiles::Quantiles;

/// Utilization of the channels of a class, as a share of their bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClassUtilization {
    /// Name of the class.
    pub class: String,
    /// Number of channels of the class.
    pub channels: u32,
    /// Mean utilization of the channels, from 0 to 1.
    pub mean: f64,
    /// Utilization of the busiest channel, from 0 to 1.
    pub max: f64,
    /// Distribution of the utilization over channels. Omitted if results have the utilization of each channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantiles: Option<Quantiles>,
}

/// Utilization of a channel, as a share of its bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChannelUtilization {
    /// Number of the channel in the table of channels.
    pub id: u32,
    /// Source and destination of the channel.
    pub channel: String,
    /// Class of the channel.
    pub class: String,
    /// Share of time in which the channel sends, from 0 to 1.
    pub utilization: f64,
}

/// Number of channels in the list of the busiest.
pub(super) const HOTTEST: usize = 10;

/// Number of channels in the list of the busiest, if results do not have the utilization of each channel.
pub(super) const HOTTEST_OF_SUMMARY: usize = 100;

/// Returns the first channel that has a share. Without routes only channels of nodes have one: those of routers carry
/// nothing, and may be many more.
fn first(network: &Network) -> u32 {
    if network.has(Feature::Routes) { 0 } else { network.plan.channels().ports() }
}

/// Returns, by channel, the share of a window of `span` ticks in which the channel sends. `used` is the use of channels
/// within the window. Without routes the first share is that of node 0.
pub fn utilization(network: &Network, used: &[(ChannelSource, ChannelUse)], span: f64) -> Vec<f64> {
    let packet = network.packet;
    let numbering = network.plan.channels();
    let first = first(network);
    let mut shares = vec![0.0; (numbering.count() - first) as usize];
    for &(source, used) in used {
        let Some(class) = network.topology.class_of(source) else { continue };
        let channel = match source {
            ChannelSource::Router(router, port) => numbering.output(router, port),
            ChannelSource::Node(node, plane) => numbering.injection_on(node, plane),
        };
        let of_bytes = used.bytes as f64 / f64::from(packet) * network.plan.serialization(class, packet) as f64;
        let place = channel.0.checked_sub(first).and_then(|place| shares.get_mut(place as usize));
        place.into_iter().for_each(|share| *share += used.time(of_bytes) / span);
    }
    // Packet times are rounded up to a picosecond. A job may also send after the end of its window, which is its last
    // operation.
    shares.iter_mut().for_each(|share| *share = share.min(1.0));
    shares
}

/// Returns each connected channel with its class and its utilization, in the order of channels.
fn connected<'a>(network: &'a Network, shares: &'a [f64]) -> impl Iterator<Item = (ChannelId, ChannelClass, f64)> + 'a {
    let numbering = network.plan.channels();
    // Nothing is serialized at links into nodes that do not limit receivers.
    let exists = |&class: &ChannelClass| !network.topology.is_ejection(class) || network.has(Feature::ReceiverLinks);
    let class = move |id| network.topology.class_of(numbering.source(id)).filter(exists);
    let channel = move |(id, &share): (ChannelId, &f64)| Some((id, class(id)?, share));
    (first(network)..).map(ChannelId).zip(shares).filter_map(channel)
}

/// Returns the utilization of the channels of each class.
pub(super) fn by_class(network: &Network, shares: &[f64]) -> Vec<ClassUtilization> {
    let names = network.topology.class_names();
    let mut classes: Vec<ClassUtilization> = names
        .into_iter()
        .map(|name| ClassUtilization { class: name.into(), channels: 0, mean: 0.0, max: 0.0, quantiles: None })
        .collect();
    for (_, class, share) in connected(network, shares) {
        let class = &mut classes[usize::from(class.0)];
        class.channels += 1;
        class.mean += share;
        class.max = class.max.max(share);
    }
    classes.retain(|class| class.channels > 0);
    for class in &mut classes {
        class.mean /= f64::from(class.channels);
    }
    classes
}

/// Adds the distribution of the utilization of its channels to each class.
pub(super) fn add_quantiles(classes: &mut [ClassUtilization], network: &Network, shares: &[f64]) {
    let names = network.topology.class_names();
    let mut by_class: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    connected(network, shares).for_each(|(_, class, share)| by_class[usize::from(class.0)].push(share));
    for (name, mut shares) in names.into_iter().zip(by_class) {
        let named = classes.iter_mut().filter(|class| class.class == *name);
        named.for_each(|class| class.quantiles = Quantiles::of(&mut shares));
    }
}

/// Returns the channels with the highest utilization, in descending order.
pub(super) fn hottest(network: &Network, shares: &[f64], count: usize) -> Vec<ChannelUtilization> {
    let order = |a: &(ChannelId, ChannelClass, f64), b: &(ChannelId, ChannelClass, f64)| {
        b.2.total_cmp(&a.2).then(a.0.cmp(&b.0))
    };
    let mut channels = Vec::with_capacity(2 * count);
    for channel in connected(network, shares) {
        channels.push(channel);
        if channels.len() == 2 * count {
            channels.select_nth_unstable_by(count, order);
            channels.truncate(count);
        }
    }
    channels.sort_by(order);
    channels.truncate(count);
    let names = network.topology.class_names();
    let describe = |(id, class, share): (ChannelId, ChannelClass, f64)| ChannelUtilization {
        id: id.0,
        channel: routing::channel_name(&*network.topology, network.plan.channels(), id),
        class: names[usize::from(class.0)].into(),
        utilization: share,
    };
    channels.into_iter().map(describe).collect()
}
