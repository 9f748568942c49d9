//! Default delay and buffers of routers, derived from the links.
//!
//! A buffer that does not cover the credit round trip of a channel limits the channel to less than its bandwidth,
//! whatever the traffic (Dally and Towles, section 13.3). So the default depths follow from the links, the packet and
//! the delay.

use topology::{ChannelClass, Topology};
use units::{Bandwidth, Bytes, Capacity, RouterId, Time};

use crate::catalogue::RouterSpec;
use crate::depths::Sizes;
use crate::link::LinkParameters;

/// Smallest bandwidth of injection channels for which links are taken for present-day ones.
const FAST: Bandwidth = Bandwidth(100_000_000_000);

/// Packets that each port adds to a shared memory, besides a credit round trip.
const SHARED_A_PORT: u64 = 16;

/// Minimum of the default of a shared memory, in packets.
const LEAST_SHARED: u64 = 1024;

/// Maximum of the default of a buffer or a memory, in bytes: half of the largest allowed buffer.
const LARGEST: u64 = 1 << 30;

/// Returns the default packet size: 4 KiB from 100 Gb/s on, the largest payload of InfiniBand; below, 256 B.
///
/// At 10 Gb/s 256 B take 205 ns and at 800 Gb/s 4 KiB take 41 ns, so that the time of a packet stays of the order of
/// the delays.
pub fn packet_size(injection: Bandwidth) -> Bytes {
    Bytes(if injection.0 >= FAST.0 { 4096 } else { 256 })
}

/// Returns the default delay of a router: 200 ns from 100 Gb/s on, between the 130 ns of InfiniBand switches and the
/// 350 ns of Slingshot's (De Sensi et al., SC 2020, section II); below, 90 ns.
pub fn router_delay(injection: Bandwidth) -> Time {
    Time(if injection.0 >= FAST.0 { 200_000 } else { 90_000 })
}

/// Returns the largest number of ports of a router of a topology.
pub(crate) fn max_ports(topology: &dyn Topology) -> u16 {
    (0..topology.routers()).map(|router| topology.ports(RouterId(router))).max().unwrap_or(0)
}

/// Parameters of a network on which the defaults of a router depend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NetworkParameters<'a> {
    /// Names of the classes of channels.
    pub names: &'a [&'a str],
    /// Links, by class of channels.
    pub links: &'a [LinkParameters],
    /// Size of the largest packet.
    pub packet: Bytes,
    /// Largest number of ports of a router.
    pub max_ports: u16,
}

impl RouterSpec {
    /// Fills in the delay and the depths that are left out, for a network with a topology and links by class. `packet`
    /// is the size of the largest packet. Returns the keys. A class of routers keeps the depths that follow from its
    /// own delay.
    pub fn complete(&mut self, links: &[LinkParameters], packet: Bytes, topology: &dyn Topology) -> Vec<String> {
        let names = topology.class_names();
        let network = NetworkParameters { names: &names, links, packet, max_ports: max_ports(topology) };
        let complete = |keys: &mut Self| keys.write_sizes(&keys.sizes(&network), &names);
        let classes: Vec<(String, Self)> =
            self.common().classes.keys().map(|class| (class.clone(), self.of_class(class))).collect();
        let mut written = complete(self);
        for (class, mut own) in classes {
            let keys = complete(&mut own);
            let (mut inherited, memory) = (self.of_class(&class), own.inner_buffer().and_then(|(_, depth)| depth));
            let Some(given) = self.size_keys().classes.get_mut(&class) else { continue };
            let (has_other_memory, buffer) = (own.inner_buffer() != inherited.inner_buffer(), own.size_keys().buffer);
            let has_other_buffer = *buffer != *inherited.size_keys().buffer;
            if has_other_buffer {
                given.buffer = buffer.take();
            }
            if has_other_memory {
                given.memory = memory;
            }
            let is_new =
                |key: &String| if key == "memory" { has_other_memory } else { has_other_buffer && key != "delay" };
            written.extend(keys.into_iter().filter(is_new).map(|key| format!("{class}.{key}")));
        }
        written
    }

    /// Returns the delay and the depths for a network.
    pub(crate) fn sizes(&self, network: &NetworkParameters<'_>) -> Sizes {
        let keys = self.common();
        let injection = network.links.get(usize::from(ChannelClass::INJECTION.0)).map_or(FAST, |link| link.bandwidth);
        let delay = keys.delay.unwrap_or_else(|| router_delay(injection));
        let covering = network.round_trip_packets(delay);
        let longest = covering.iter().copied().max().unwrap_or(1);
        let shared = u64::from(network.max_ports).saturating_mul(SHARED_A_PORT.saturating_add(longest));
        let inner = self.inner_buffer().map(|(key, depth)| {
            let default = || network.packets(shared.max(LEAST_SHARED));
            (key, depth.unwrap_or_else(default))
        });
        let buffer = |(name, covering): (&&str, u64)| {
            let given = keys.buffer.and_then(|depths| depths.of_class(name));
            given.unwrap_or_else(|| network.packets(covering.max(u64::from(self.least_packets()))))
        };
        let buffers = network.names.iter().zip(covering).map(buffer).collect();
        Sizes { delay, buffers, inner }
    }
}

impl NetworkParameters<'_> {
    /// Returns, by class of channels, the packets that keep a channel busy during a credit round trip: over the
    /// channel, through the router, until the tail has left by the slowest channel, and back; plus one, because packets
    /// may come at any time.
    fn round_trip_packets(&self, router_delay: Time) -> Vec<u64> {
        let time = |link: &LinkParameters| link.bandwidth.serialization(self.packet).map_or(0, |(time, _)| time.0);
        let slowest = self.links.iter().map(time).max().unwrap_or(0);
        let of = |(name, link): (&&str, &LinkParameters)| {
            // Nodes take packets without credit.
            if ChannelClass::is_ejection_name(name) {
                return 0;
            }
            let round_trip = link.delay.0.saturating_mul(2).saturating_add(router_delay.0).saturating_add(slowest);
            round_trip.div_ceil(time(link).max(1)).saturating_add(1)
        };
        self.names.iter().zip(self.links).map(of).collect()
    }

    /// Returns a capacity of `count` packets, limited by the largest default.
    fn packets(&self, count: u64) -> Capacity {
        let most = (LARGEST / self.packet.0.max(1)).max(1);
        Capacity::Packets(u32::try_from(count.min(most)).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::depths::Depths;

    const GIGABIT: u64 = 1_000_000_000;

    fn link(gigabits: u64, delay_ns: u64) -> LinkParameters {
        LinkParameters { bandwidth: Bandwidth(gigabits * GIGABIT), delay: Time(delay_ns * 1000) }
    }

    fn sizes(router: &RouterSpec, links: &[LinkParameters], max_ports: u16) -> Sizes {
        let packet = packet_size(links[0].bandwidth);
        let names = &["injection", "ejection", "local", "global"][..links.len()];
        router.sizes(&NetworkParameters { names, links, packet, max_ports })
    }

    fn packets(count: u32) -> Capacity {
        Capacity::Packets(count)
    }

    /// Returns the depths of all classes but ejection.
    fn with_credits(found: &Sizes) -> Vec<Capacity> {
        let depths = found.buffers.iter().enumerate();
        depths.filter(|&(class, _)| class != 1).map(|(_, &depth)| depth).collect()
    }

    #[test]
    fn depths_are_the_round_trip_of_each_class() {
        // By hand: 800 Gb/s, 100 m at 5 ns/m, 4 KiB of 40.96 ns: (2 * 500 + 200 + 40.96) / 40.96 = 30.3, so 31 + 1;
        // with 5 ns (10 + 200 + 40.96) / 40.96 = 6.1, so 7 + 1. Would catch one depth for all classes, and a class with
        // another's.
        let links = [link(800, 5), link(800, 5), link(800, 500), link(100, 5)];
        let found = sizes(&RouterSpec::default(), &links[..3], 64);
        assert_eq!((found.delay, with_credits(&found)), (Time(200_000), vec![packets(8), packets(32)]));
        assert_eq!(found.inner, Some(("memory", packets(64 * (16 + 32)))));
        // The slow class holds a tail for 327.68 ns: (1200 + 327.68) / 40.96 = 37.3, (210 + 327.68) / 40.96 = 13.1 and
        // (210 + 327.68) / 327.68 = 1.6, below the least.
        let found = sizes(&RouterSpec::default(), &links, 64);
        assert_eq!(with_credits(&found), [packets(15), packets(39), packets(4)]);
        assert_eq!(found.inner, Some(("memory", packets(64 * (16 + 39)))));
        // Ejection needs no credit, however long it is.
        let found = sizes(&RouterSpec::default(), &[link(800, 5), link(800, 9000)], 64);
        assert_eq!(found.inner, Some(("memory", packets(64 * (16 + 8)))));
    }

    #[test]
    fn a_table_gives_the_depths_of_its_classes_and_no_others() {
        // Would catch a table that is applied to all classes, or that hides the default of the classes that it leaves
        // out.
        let links = [link(800, 5), link(800, 5), link(800, 500), link(800, 500)];
        let router: RouterSpec =
            toml::from_str("kind = \"shared-buffer\"\nbuffer = { local = \"3 packets\" }").unwrap();
        assert_eq!(with_credits(&sizes(&router, &links, 64)), [packets(8), packets(3), packets(32)]);
    }

    #[test]
    fn what_is_left_out_is_written_as_one_depth_where_that_is_enough() {
        // Would catch a resolved file that gives all classes one depth, or changes a depth that was given.
        let names = ["injection", "ejection", "local", "global"];
        let written = |buffer: &str, links: &[LinkParameters]| {
            let mut router: RouterSpec = toml::from_str(&format!("kind = \"input-queued\"\n{buffer}")).unwrap();
            let keys = router.write_sizes(&sizes(&router, links, 64), &names);
            (router.common().buffer.cloned().unwrap(), keys.join(" "))
        };
        let (alike, mixed) = ([link(800, 5); 4], [link(800, 5), link(800, 5), link(800, 5), link(800, 500)]);
        let table = |local, global| {
            let depths = [("injection", 16), ("local", local), ("global", global)];
            Depths::ByClass(depths.map(|(name, depth)| (name.to_owned(), packets(depth))).into())
        };
        assert_eq!(written("", &alike), (Depths::Uniform(packets(16)), "delay buffer".to_owned()));
        assert_eq!(written("", &mixed), (table(16, 32), "delay buffer".to_owned()));
        let found = written("delay = \"200 ns\"\nbuffer = { local = \"3 packets\" }", &mixed);
        assert_eq!(found, (table(3, 32), "buffer.global buffer.injection".to_owned()));
        let found = written("buffer = \"5 packets\"", &mixed);
        assert_eq!(found, (Depths::Uniform(packets(5)), "delay".to_owned()));
    }

    #[test]
    fn slow_links_keep_small_buffers() {
        // By hand: 10 Gb/s, 20 ns, 256 B of 204.8 ns: (40 + 90 + 204.8) / 204.8 = 1.6, below the minimum. Would catch a
        // default that does not depend on the generation of the links.
        let links = [link(10, 20), link(10, 20)];
        let found = sizes(&RouterSpec::default(), &links, 8);
        assert_eq!((found.delay, with_credits(&found)), (Time(90_000), vec![packets(4)]));
        assert_eq!(found.inner, Some(("memory", packets(1024))));
        let found = sizes(&RouterSpec::InputQueued(Default::default()), &links, 8);
        assert_eq!(with_credits(&found), [packets(16)]);
    }

    #[test]
    fn a_depth_stays_within_what_a_counter_holds() {
        // A second of delay at 800 Gb/s is 200 GB. Would catch a default that the plan then refuses.
        let found = sizes(&RouterSpec::default(), &[link(800, 1_000_000_000), link(800, 5)], u16::MAX);
        assert_eq!(found.buffers[0].in_bytes(Bytes(4096)), Some(1 << 30));
        assert_eq!(found.inner.and_then(|(_, depth)| depth.in_bytes(Bytes(4096))), Some(1 << 30));
    }
}
