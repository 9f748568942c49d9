//! Published counts of switches, cables and nodes of real machines.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use topology::{Endpoint, NetworkSpec, Topology};
use units::{PortId, RouterId};

fn build(text: &str) -> Arc<dyn Topology> {
    text.parse::<NetworkSpec>().unwrap().build(Path::new(".")).unwrap()
}

/// Returns the connected ports of a router of a class.
fn ports(topology: &dyn Topology, router: u32, class: &str) -> u32 {
    let (router, names) = (RouterId(router), topology.class_names());
    let is_of_class = |&port: &PortId| {
        let end = topology.endpoint(router, port);
        end != Endpoint::Unconnected && names[usize::from(topology.class(router, port).0)] == class
    };
    (0..topology.ports(router)).map(PortId).filter(is_of_class).count() as u32
}

/// Returns the number of cables of a class, of which each router is an end of one direction.
fn cables(topology: &dyn Topology, class: &str) -> u32 {
    (0..topology.routers()).map(|router| ports(topology, router, class)).sum::<u32>() / 2
}

#[test]
fn slingshot_machines_have_the_published_switches() {
    // Frontier: 74 compute groups of 32 switches of 64 ports, 512 ends each, four wires to each other group: 292 of a
    // group, 9 or 10 of a switch. With five groups for storage and one for management, 2,464 switches.
    let frontier = build("dragonfly:p=16,a=32,h=10,g=74,global_wires=4");
    assert_eq!((frontier.routers(), frontier.nodes()), (2368, 4 * 9472));
    let of_group: Vec<u32> = (0..32).map(|router| ports(&*frontier, router, "global")).collect();
    let count = |number| of_group.iter().filter(|&&ports| ports == number).count();
    assert_eq!((count(10), count(9), of_group.iter().sum::<u32>()), (4, 28, 292));
    assert_eq!((cables(&*frontier, "local"), cables(&*frontier, "global")), (74 * 32 * 31 / 2, 74 * 73 / 2 * 4));
    assert!(frontier.ports(RouterId(0)) <= 64);
    let sizes = [vec!["32"; 74], vec!["16"; 6]].concat().join("x");
    let whole = build(&format!("dragonfly:p=16,h=20,global_wires=4,group_sizes={sizes}"));
    assert_eq!(whole.routers(), 2464);
    // Aurora: 166 compute groups of 32 switches with 2 wires between groups: 330 of a group, 10 or 11 of a switch, and
    // 10,624 nodes of eight ends.
    let aurora = build("dragonfly:p=16,a=32,h=11,g=166,global_wires=2");
    assert_eq!((aurora.routers(), aurora.nodes()), (166 * 32, 8 * 10_624));
    let of_group: Vec<u32> = (0..32).map(|router| ports(&*aurora, router, "global")).collect();
    let count = |number| of_group.iter().filter(|&&ports| ports == number).count();
    assert_eq!((count(11), count(10)), (10, 22));
    // LUMI-G: 20 groups of 128 nodes of four ends, 32 switches with 16 ends each.
    let lumi = build("dragonfly:p=16,a=32,h=2,g=20,global_wires=2");
    assert_eq!((lumi.routers(), lumi.nodes()), (640, 4 * 20 * 128));
}

#[test]
fn cray_xc_machines_have_the_published_cables_between_groups() {
    // Edison: 15 groups of 6 x 16 routers of four nodes, 24 blue wires between any two. Theta: 9 groups, 48 wires.
    for (groups, wires, h, nodes, blue) in [(15, 24, 4, 5760, 2520), (9, 48, 4, 3456, 1728)] {
        let text = format!("dragonfly:p=4,a=96,h={h},g={groups},global_wires={wires}");
        let machine = build(&format!("{text},group=flattened-butterfly,group_dims=16x6"));
        assert_eq!((machine.routers(), machine.nodes()), (96 * groups, nodes));
        assert_eq!((cables(&*machine, "global"), ports(&*machine, 0, "local")), (blue, 15 + 5));
    }
}

#[test]
fn leonardo_has_spines_of_40_ports() {
    // 23 cells of 18 leaves and 18 spines with 18 wires between any two, one of each spine: 18 ports down, 22 up.
    let leonardo = build("dragonfly-plus:leaves=18,spines=18,groups=23,wires=18,nodes_per_router=10");
    assert_eq!((ports(&*leonardo, 18, "local"), ports(&*leonardo, 18, "global")), (18, 22));
    assert_eq!((leonardo.routers(), cables(&*leonardo, "global")), (23 * 36, 23 * 22 / 2 * 18));
}

#[test]
fn superpods_have_the_published_switches_and_cables() {
    // Pods of eight leaves and eight spines, and cores. Leaves, spines and cores; cables of each level.
    for (nodes, leaves, spines, cores, text) in [
        (4096, 128, 128, 64, "xgft:m=32x8x16,w=1x8x8,p=1x4x4"),
        (8192, 256, 256, 128, "xgft:m=32x8x32,w=1x8x16,p=1x4x2"),
        (16_384, 512, 512, 256, "xgft:m=32x8x64,w=1x8x32,p=1x4x1"),
    ] {
        let pod = build(text);
        let of_level = &|router: u32, level: u32| pod.coordinates(RouterId(router))[0] == level;
        let level = |level: u32| (0..pod.routers()).filter(move |&router| of_level(router, level));
        assert_eq!([0, 1, 2].map(|number| level(number).count()), [leaves, spines, cores]);
        assert_eq!(pod.nodes(), nodes);
        for number in [0, 1] {
            assert_eq!(level(number).map(|router| ports(&*pod, router, "up")).sum::<u32>(), nodes);
        }
    }
    let small = build("leaf-spine:leaves=32,spines=16,nodes_per_leaf=32,wires=2");
    assert_eq!((small.nodes(), small.routers(), cables(&*small, "up") + cables(&*small, "down")), (1024, 48, 1024));
    // Eight planes of 64 leaves and 32 spines: 768 switches.
    assert_eq!(build("leaf-spine:leaves=64,spines=32,nodes_per_leaf=32,planes=8").routers(), 768);
}

#[test]
fn fugaku_has_ten_ports_a_node() {
    // Tofu-D: 24 x 23 x 24 units of 2 x 3 x 2 nodes, of which the second axis is a ring.
    let fugaku = build("torus:24x23x24x2x3x2,wrap=1x1x1x0x1x0");
    assert_eq!((fugaku.routers(), fugaku.nodes()), (158_976, 158_976));
    let connected = |router| (0..6).map(|dim| ports(&*fugaku, router, &format!("dim{dim}"))).sum::<u32>();
    assert!((0..158_976).step_by(4999).all(|router| connected(router) == 10));
    assert_eq!(fugaku.diameter(), 12 + 11 + 12 + 1 + 1 + 1);
}
