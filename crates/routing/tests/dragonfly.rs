//! Dragonflies: the contract, loads against an enumeration of every path, the papers' closed forms.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::{Folded, assert_near, bound, build, check_all, lopsided};
use routing::algorithms::detours::{
    AriesMode, AriesSpec, DetourKind, ParSpec, SlingshotSpec, UgalGSpec, UgalLSpec, ValiantGroupSpec, ValiantNodeSpec,
};
use routing::algorithms::dragonfly::{IntraGroup, MinimalSpec};
use routing::{RoutingSpec, channel_loads, dependency_cycle, follow_packets};
use testkit::routing::{Traffic, paths, permutation, uniform};
use topology::Topology;
use topology::families::dragonfly::{Arrangement, Dragonfly, DragonflySpec, GroupKind};
use units::{NodeId, Time};

const ARRANGEMENTS: [Arrangement; 3] = [Arrangement::Palmtree, Arrangement::Absolute, Arrangement::Circulant];

fn sized(p: u64, a: u64, h: u64, g: u64) -> DragonflySpec {
    DragonflySpec { p: Some(p), a: Some(a), g: Some(g), ..DragonflySpec::balanced(h) }
}

fn network(spec: &DragonflySpec) -> Dragonfly {
    Dragonfly::new(spec).unwrap()
}

/// Returns every routing, with every key that matters.
fn all() -> Vec<RoutingSpec> {
    let mut all = vec![RoutingSpec::Minimal(MinimalSpec {})];
    for (exclude_source_group, exclude_destination_group) in
        [(true, true), (false, true), (true, false), (false, false)]
    {
        for intra_group in [IntraGroup::Minimal, IntraGroup::Valiant] {
            all.push(RoutingSpec::ValiantGroup(ValiantGroupSpec {
                exclude_source_group,
                exclude_destination_group,
                intra_group,
                early_delivery: intra_group == IntraGroup::Valiant,
            }));
            all.push(RoutingSpec::ValiantNode(ValiantNodeSpec {
                exclude_source_group,
                exclude_destination_group,
                intra_group,
                early_delivery: !exclude_source_group,
            }));
        }
    }
    for detour in [DetourKind::Node, DetourKind::Group] {
        for exclude_source_group in [true, false] {
            all.push(RoutingSpec::UgalL(UgalLSpec { detour, exclude_source_group, ..UgalLSpec::default() }));
            all.push(RoutingSpec::UgalG(UgalGSpec { detour, exclude_source_group, ..UgalGSpec::default() }));
            let intra_group = if exclude_source_group { IntraGroup::Minimal } else { IntraGroup::Valiant };
            all.push(RoutingSpec::Par(ParSpec { detour, exclude_source_group, intra_group, ..ParSpec::default() }));
        }
        all.push(RoutingSpec::Slingshot(SlingshotSpec { detour, ..SlingshotSpec::default() }));
        all.push(RoutingSpec::Aries(AriesSpec { detour, mode: AriesMode::Increasing, ..AriesSpec::default() }));
    }
    all
}

/// Returns networks of all kinds, small enough to walk every path.
fn networks() -> Vec<DragonflySpec> {
    let mut networks = Vec::new();
    for arrangement in ARRANGEMENTS {
        for (p, a, h, g) in [(1, 2, 1, 3), (2, 3, 1, 4), (1, 3, 2, 7), (2, 2, 2, 3), (1, 4, 1, 3), (1, 3, 2, 2)] {
            networks.push(DragonflySpec { arrangement, ..sized(p, a, h, g) });
        }
    }
    let group = GroupKind::FlattenedButterfly;
    networks.push(DragonflySpec { group, ..sized(1, 4, 1, 5) });
    networks.push(DragonflySpec { group, renumber_groups: Some(3), ..sized(1, 6, 1, 3) });
    // Parallel local wires, and global wires on some routers only.
    networks.push(DragonflySpec { local_wires: 2, ..sized(1, 2, 1, 3) });
    networks.push(DragonflySpec { group, local_wires: 2, ..sized(1, 4, 1, 3) });
    for group_wires in [[1, 3], [2, 1]] {
        networks.push(DragonflySpec { group, group_wires: Some(group_wires), ..sized(1, 6, 1, 3) });
    }
    networks.push(DragonflySpec { global_wires: Some(2), ..sized(1, 3, 2, 3) });
    networks.push(DragonflySpec { global_wires: Some(1), local_wires: 3, ..sized(1, 3, 1, 3) });
    networks
}

#[test]
fn the_contract_holds_and_the_oracles_agree() {
    // Would catch a class that decreases, a waypoint that is not left, a share that is lost, and an exact method that
    // differs from the enumeration of all paths.
    for spec in networks() {
        let network = network(&spec);
        for routing in all() {
            check_all(&network, &*build(routing, &network));
        }
    }
}

#[test]
fn classes_are_counted_for_each_class_of_channels() {
    // Prisacari et al., section II: minimal needs 2 virtual channels, ValiantRestricted 3, ValiantAny 4. Would catch
    // one class too many, and a class that is declared and not used.
    let network = network(&DragonflySpec::balanced(2));
    let expected = [
        ("{\"kind\": \"minimal\"}", 2, 1),
        ("{\"kind\": \"valiant-restricted\"}", 3, 2),
        ("{\"kind\": \"valiant-any\"}", 4, 2),
        ("{\"kind\": \"ugal-l\", \"detour\": \"group\"}", 3, 2),
        ("{\"kind\": \"ugal-g\"}", 4, 2),
        ("{\"kind\": \"par\", \"detour\": \"group\"}", 4, 2),
        ("{\"kind\": \"par\"}", 5, 2),
    ];
    for (text, local, global) in expected {
        let spec: RoutingSpec = serde_json::from_str(text).unwrap();
        let routing = build(spec, &network);
        assert_eq!(
            (routing.classes_on(Dragonfly::LOCAL), routing.classes_on(Dragonfly::GLOBAL)),
            (local, global),
            "{text}"
        );
        let mut used = [0_u8; 4];
        for dst in [1, 9, 40, 71] {
            for path in paths(&network, &*routing, NodeId(0), NodeId(dst)) {
                for (router, port, vc_class) in path.hops {
                    let class = usize::from(network.class(router, port).0);
                    used[class] = used[class].max(vc_class.0 + 1);
                }
            }
        }
        assert_eq!((used[2], used[3]), (local, global), "{text}");
    }
}

#[test]
fn loads_under_shifts_are_those_of_the_closed_forms() {
    // With a = 2p = 2h: minimal under a shift of groups 1/(2h^2); valiant-group under a shift of 1 group
    // (g-2)/(2(g-1)), under a shift of h groups (g-2)/((g-1)(h+1)). Would catch an excluded group that is drawn.
    for h in [2, 3, 4, 5] {
        let network = network(&DragonflySpec::balanced(h));
        let (nodes, g) = (network.nodes(), f64::from(network.size().g));
        let per_group = nodes / network.size().g;
        let by = |groups: u32| permutation(move |src| (src + groups * per_group) % nodes);
        let minimal = build(RoutingSpec::Minimal(MinimalSpec {}), &network);
        let valiant = build(RoutingSpec::ValiantGroup(ValiantGroupSpec::default()), &network);
        let h = h as u32;
        assert_near(bound(&network, &*minimal, &by(1)), 1.0 / f64::from(2 * h * h));
        assert_near(bound(&network, &*minimal, &by(h + 1)), 1.0 / f64::from(2 * h * h));
        assert_near(bound(&network, &*valiant, &by(1)), (g - 2.0) / (2.0 * (g - 1.0)));
        assert_near(bound(&network, &*valiant, &by(h)), (g - 2.0) / ((g - 1.0) * (f64::from(h) + 1.0)));
    }
}

#[test]
fn the_exact_method_agrees_with_following_every_packet() {
    // On all arrangements, sizes not balanced, all shifts of groups from 1 to g-1, bit complement over all nodes,
    // uniform traffic, every Valiant variant. Would catch a share of a pair of groups that belongs to another pair.
    for arrangement in ARRANGEMENTS {
        for (p, a, h, g) in [(2, 3, 2, 7), (1, 4, 2, 9), (3, 2, 2, 4), (2, 4, 1, 4)] {
            let network = network(&DragonflySpec { arrangement, ..sized(p, a, h, g) });
            let nodes = network.nodes();
            let per_group = nodes / network.size().g;
            for spec in all() {
                let routing = build(spec, &network);
                let traffics: Vec<Box<Traffic<'static>>> = (1..network.size().g)
                    .map(|m| Box::new(permutation(move |src| (src + m * per_group) % nodes)) as Box<Traffic<'static>>)
                    .chain([
                        Box::new(permutation(move |src| nodes - 1 - src)) as Box<Traffic<'static>>,
                        Box::new(uniform(nodes)),
                        Box::new(lopsided(nodes)),
                    ])
                    .collect();
                for traffic in &traffics {
                    let quick = channel_loads(&network, &*routing, traffic).unwrap();
                    let slow = follow_packets(&network, &*routing, traffic).unwrap();
                    for (quick, slow) in quick.load.iter().zip(&slow.load) {
                        assert!((quick - slow).abs() < 1e-9, "{quick} instead of {slow}: {routing:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_full_scale_is_proven_free_of_deadlock_on_every_arrangement() {
    // 1056 nodes: too many paths to walk; only the check by legs can handle them. Would catch a check that takes a
    // product of sources, waypoints and destinations, by never ending.
    for arrangement in ARRANGEMENTS {
        let network = network(&DragonflySpec { arrangement, ..DragonflySpec::balanced(4) });
        for spec in all() {
            let routing = build(spec, &network);
            assert_eq!(dependency_cycle(&network, &*routing).unwrap(), None, "{routing:?}");
        }
    }
}

#[test]
fn one_class_fewer_deadlocks_and_the_check_by_legs_finds_it() {
    // Would catch joints at which the held channels are forgotten: no cycle would ever be found.
    let network = network(&DragonflySpec::balanced(2));
    for spec in all() {
        let routing = build(spec, &network);
        if routing.classes() < 2 {
            continue;
        }
        let most = routing.classes() - 2;
        let cycle = dependency_cycle(&network, &Folded(Arc::clone(&routing), most)).unwrap();
        assert!(cycle.is_some(), "{most} of {routing:?}");
    }
}

#[test]
fn a_snapshot_needs_a_period() {
    // Would catch a run that takes snapshots for ever.
    let network = network(&DragonflySpec::balanced(2));
    let error = RoutingSpec::UgalG(UgalGSpec { refresh: Time(0), ..UgalGSpec::default() }).build(&network).unwrap_err();
    assert_eq!(error.key, "refresh");
}

#[test]
fn channels_to_a_group_are_equally_likely_for_any_wires_toward_them() {
    // Two groups of 2 x 2 routers and three global wires: routers without one choose among the routers that have one.
    // Would catch a choice among wires, which prefers the column of three wires: a load of 1.75.
    let hottest = |group_wires| {
        let spec = DragonflySpec {
            group: GroupKind::FlattenedButterfly,
            group_dims: Some([2, 2]),
            group_wires: Some(group_wires),
            global_wires: Some(3),
            ..sized(1, 4, 1, 2)
        };
        let topology = network(&spec);
        let routing = build(RoutingSpec::Minimal(MinimalSpec {}), &topology);
        let loads = channel_loads(&topology, &*routing, &permutation(|src| (src + 4) % 8)).unwrap();
        loads.class_summary(&topology).into_iter().find(|class| class.name == "global").unwrap().max
    };
    assert_near(hottest([1, 1]), 1.5);
    assert_near(hottest([1, 3]), 1.5);
}
