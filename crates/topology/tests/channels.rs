//! The numbering of channels, on topologies whose routers differ in their number of ports.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use testkit::topology::check_topology;
use topology::families::file::FileTopology;
use topology::families::single_switch::{SingleSwitch, SingleSwitchSpec};
use topology::{ChannelSource, Channels, Topology};
use units::{ChannelId, NodeId, PlaneId, PortId, RouterId};

#[test]
fn channels_are_numbered_without_gaps_by_router_and_port_then_by_node() {
    // Would catch a first port that is off by one, and a source that is looked up in the wrong router.
    let star = FileTopology::from_text("link 0 1\nlink 0 2\nlink 0 3 x2\nnode 3 x3\nnode 1", "star").unwrap();
    let channels = Channels::new(&star);
    let mut next = 0;
    for router in (0..star.routers()).map(RouterId) {
        for port in (0..star.ports(router)).map(PortId) {
            assert_eq!(channels.output(router, port), ChannelId(next));
            assert_eq!(channels.source(ChannelId(next)), ChannelSource::Router(router, port));
            next += 1;
        }
    }
    assert_eq!(channels.ports(), next);
    for node in (0..star.nodes()).map(NodeId) {
        assert_eq!(channels.injection(node), ChannelId(next));
        assert_eq!(channels.source(ChannelId(next)), ChannelSource::Node(node, PlaneId(0)));
        next += 1;
    }
    assert_eq!(channels.count(), next);
}

#[test]
fn single_switches_of_all_sizes_keep_the_contract() {
    for ports in [1, 2, 3, 8, 17, 4096] {
        let switch = SingleSwitch::new(&SingleSwitchSpec { ports }).unwrap();
        check_topology(&switch);
        assert_eq!(u64::from(switch.nodes()), ports);
        assert_eq!(switch.bisection_channels(), Some(ports / 2));
        assert_eq!((&switch as &dyn Topology).routers_between(NodeId(0), NodeId(switch.nodes() - 1)), 1);
    }
    for ports in [0, 4097, 65_536 + 8, u64::MAX] {
        assert_eq!(SingleSwitch::new(&SingleSwitchSpec { ports }).unwrap_err().key, "ports");
    }
}
