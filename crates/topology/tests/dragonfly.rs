//! Dragonflies: the contract on every arrangement and size, closed forms, known figures.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use proptest::prelude::*;
use testkit::topology::{check_topology, links};
use topology::families::dragonfly::{Arrangement, Dragonfly, DragonflySpec, GroupKind};
use topology::{Endpoint, Topology, TopologySpec};
use units::{NodeId, PortId, RouterId};

const ARRANGEMENTS: [Arrangement; 3] = [Arrangement::Palmtree, Arrangement::Absolute, Arrangement::Circulant];

fn sized(p: u64, a: u64, h: u64) -> DragonflySpec {
    DragonflySpec { p: Some(p), a: Some(a), ..DragonflySpec::balanced(h) }
}

fn build(spec: &DragonflySpec) -> Dragonfly {
    Dragonfly::new(spec).unwrap()
}

/// Returns the number of wires between each two groups.
fn wires(dragonfly: &Dragonfly) -> Vec<Vec<u32>> {
    let groups = dragonfly.size().g as usize;
    let mut wires = vec![vec![0; groups]; groups];
    for router in (0..dragonfly.routers()).map(RouterId) {
        for port in 0..dragonfly.size().h {
            if let Some((far, _)) = dragonfly.across(router, port) {
                wires[dragonfly.place(router).0 as usize][dragonfly.place(far).0 as usize] += 1;
            }
        }
    }
    wires
}

#[test]
fn the_papers_machines_have_their_sizes() {
    // Prisacari et al., section IV: from 42 nodes of (2, 3, 2) to 16,512 of (8, 16, 8). Would catch a group too few.
    let least = build(&sized(2, 3, 2));
    assert_eq!((least.nodes(), least.routers(), least.size().g), (42, 21, 7));
    let most = build(&DragonflySpec::balanced(8));
    assert_eq!((most.nodes(), most.routers(), most.size().g), (16_512, 2064, 129));
    assert_eq!((most.ports(RouterId(0)), most.diameter()), (8 + 15 + 8, 3));
    // 64 groups against 65, a wire between any two.
    assert_eq!(most.bisection_channels(), Some(64 * 65));
    assert_eq!(build(&sized(4, 8, 4)).nodes(), 1056);
}

#[test]
fn the_contract_holds_at_full_scale_and_below() {
    // Would catch a wire that does not lead back, a distance that forgets paths through a third group.
    for arrangement in ARRANGEMENTS {
        for (p, a, h, g) in [
            (1, 1, 1, 2),
            (2, 3, 2, 7),
            (1, 2, 1, 3),
            (2, 4, 2, 9),
            (1, 4, 2, 5),
            (3, 4, 2, 4),
            (1, 5, 3, 6),
            (1, 6, 1, 2),
            (2, 3, 3, 3),
        ] {
            check_topology(&build(&DragonflySpec { g: Some(g), arrangement, ..sized(p, a, h) }));
        }
    }
    for (a, dims) in [(6, None), (4, Some([2, 2])), (8, Some([8, 1])), (12, Some([3, 4]))] {
        let group = GroupKind::FlattenedButterfly;
        let spec = DragonflySpec { group, group_dims: dims, g: Some(5), ..sized(1, a, 1) };
        check_topology(&build(&spec));
    }
}

#[test]
fn any_two_groups_have_as_many_wires_as_any_others_give_or_take_one() {
    // Would catch a round that joins some groups twice and others never.
    for arrangement in ARRANGEMENTS {
        for (a, h) in [(3, 2), (4, 2), (5, 1), (6, 3)] {
            for g in 2..=a * h + 1 {
                let dragonfly = build(&DragonflySpec { g: Some(g), arrangement, ..sized(1, a, h) });
                let least = (a * h / (g - 1)) as u32;
                for (group, row) in wires(&dragonfly).iter().enumerate() {
                    assert_eq!(row[group], 0, "{arrangement:?} {a} {h} {g}: a wire from a group to itself");
                    let others = row.iter().enumerate().filter(|&(other, _)| other != group);
                    assert!(others.clone().all(|(_, &count)| count == least || count == least + 1), "{row:?}");
                    let unused = (a * h) as u32 - row.iter().sum::<u32>();
                    // A port is left over only where parity allows no other wiring.
                    let odd = g % 2 == 1 && a * h % (g - 1) % 2 == 1;
                    assert_eq!(unused, u32::from(odd), "{arrangement:?} {a} {h} {g}");
                }
            }
        }
    }
}

#[test]
fn arrangements_are_those_of_their_definitions() {
    // Would catch two arrangements that are equal, and the paper's formula taken literally: port 0 of router 0 would
    // lead back to its own group.
    let far = |arrangement, group: u32, port: u32| {
        let dragonfly = build(&DragonflySpec { arrangement, ..DragonflySpec::balanced(2) });
        let (far, _) = dragonfly.across(dragonfly.router(group, port / 2), port % 2).unwrap();
        dragonfly.place(far).0
    };
    let of = |arrangement, group| (0..8).map(|port| far(arrangement, group, port)).collect::<Vec<u32>>();
    assert_eq!(of(Arrangement::Palmtree, 7), [8, 0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(of(Arrangement::Absolute, 3), [0, 1, 2, 4, 5, 6, 7, 8]);
    assert_eq!(of(Arrangement::Circulant, 1), [2, 0, 3, 8, 4, 7, 5, 6]);
}

#[test]
fn renumbering_moves_groups_and_keeps_the_rest() {
    // Would catch a seed that is ignored, and a renumbering that breaks the wiring.
    let spec = DragonflySpec { renumber_groups: Some(1), ..DragonflySpec::balanced(2) };
    let (one, plain) = (build(&spec), build(&DragonflySpec::balanced(2)));
    check_topology(&one);
    let far = |dragonfly: &Dragonfly| {
        (0..dragonfly.routers()).map(|router| dragonfly.across(RouterId(router), 0)).collect::<Vec<_>>()
    };
    assert_ne!(far(&one), far(&plain));
    assert_eq!(far(&one), far(&build(&spec)));
    assert_ne!(far(&one), far(&build(&DragonflySpec { renumber_groups: Some(2), ..spec })));
    // The wires between places are equal: the multiset of offsets per port is that of the palmtree up to names only.
    assert_eq!(wires(&one), wires(&plain));
}

#[test]
fn bad_sizes_are_refused_with_what_is_allowed() {
    // Would catch an overflow, a group that cannot be reached, a shape that does not fit.
    let refused = |spec: &DragonflySpec| {
        let error = Dragonfly::new(spec).unwrap_err();
        (error.key, error.message)
    };
    let plain = DragonflySpec::balanced(2);
    assert_eq!(refused(&DragonflySpec { g: Some(10), ..plain.clone() }).0, "g");
    assert!(refused(&DragonflySpec { g: Some(1), ..plain.clone() }).1.contains("2 to 9"));
    assert_eq!(refused(&DragonflySpec::balanced(0)).0, "h");
    assert_eq!(refused(&DragonflySpec { a: Some(0), ..plain.clone() }).0, "a");
    assert_eq!(refused(&DragonflySpec { p: Some(0), ..plain.clone() }).0, "p");
    assert_eq!(refused(&DragonflySpec::balanced(u64::MAX)).0, "h");
    assert_eq!(refused(&DragonflySpec::balanced(1000)).0, "h");
    // 65,536 local ports wrap to 0 in 16 bits, and 2^34 ports of all routers are too many for channels of 32 bits.
    let wide = refused(&DragonflySpec { g: Some(2), ..sized(1, 65_537, 1) });
    assert_eq!((&wide.0[..], wide.1.contains("65538 ports")), ("a", true), "{}", wide.1);
    let many = refused(&sized(1, 2, 60_000));
    assert_eq!((&many.0[..], many.1.contains("2^30")), ("h", true), "{}", many.1);
    assert_eq!(refused(&DragonflySpec { global_wires: Some(0), ..plain.clone() }).0, "global_wires");
    assert_eq!(refused(&DragonflySpec { global_wires: Some(9), ..plain.clone() }).0, "global_wires");
    let twice = refused(&DragonflySpec { global_wires: Some(2), g: Some(6), ..plain.clone() });
    assert!(twice.0 == "g" && twice.1.contains("2 to 5") && twice.1.contains("2 wires"), "{}", twice.1);
    assert_eq!(refused(&DragonflySpec { local_wires: 0, ..plain.clone() }).0, "local_wires");
    assert_eq!(refused(&DragonflySpec { local_wires: 65_535, ..plain.clone() }).0, "a");
    assert_eq!(refused(&DragonflySpec { group_dims: Some([2, 2]), ..plain.clone() }).0, "group_dims");
    let butterfly = DragonflySpec { group: GroupKind::FlattenedButterfly, ..plain };
    assert_eq!(refused(&DragonflySpec { group_dims: Some([3, 2]), ..butterfly.clone() }).0, "group_dims");
    assert_eq!(refused(&DragonflySpec { group_dims: Some([u64::MAX, 2]), ..butterfly.clone() }).0, "group_dims");
    let wires =
        |group_wires, spec: &DragonflySpec| refused(&DragonflySpec { group_wires: Some(group_wires), ..spec.clone() });
    assert_eq!(wires([1, 0], &butterfly).0, "group_wires");
    assert_eq!(wires([65_535, 1], &butterfly).0, "a");
    let message = wires([1, 3], &DragonflySpec { local_wires: 2, ..butterfly.clone() }).1;
    assert_eq!(message, "`group_wires` and `local_wires` exclude each other");
    assert!(
        wires([1, 3], &DragonflySpec { group: GroupKind::FullMesh, ..butterfly }).1.contains("flattened-butterfly")
    );
}

#[test]
fn rows_and_columns_of_a_group_may_have_different_numbers_of_wires() {
    // Would catch numbers of the other dimension, parallel wires whose ports do not follow one another, and a port that
    // leads to another port than its own. Counted by walking all ports of all routers.
    for (group_wires, [x, y]) in [([1, 3], [4, 3]), ([2, 1], [2, 4]), ([3, 2], [1, 3]), ([2, 5], [3, 1])] {
        let made = build(&DragonflySpec {
            group: GroupKind::FlattenedButterfly,
            group_dims: Some([x, y]),
            group_wires: Some(group_wires),
            ..sized(2, x * y, 1)
        });
        check_topology(&made);
        let to = |from: u32, to: u32| {
            let ports = (0..made.ports(RouterId(from))).map(PortId);
            ports
                .filter(|&port| matches!(made.endpoint(RouterId(from), port), Endpoint::Router(far, _) if far.0 == to))
                .count()
        };
        let size = (x * y) as u32;
        for (one, other) in (0..size).flat_map(|one| (0..size).map(move |other| (one, other))) {
            let expected = match (one / x as u32 == other / x as u32, one % x as u32 == other % x as u32) {
                (true, true) | (false, false) => 0,
                (true, false) => group_wires[0],
                (false, true) => group_wires[1],
            };
            assert_eq!(to(one, other) as u64, expected, "{group_wires:?} {one} {other}");
        }
    }
}

#[test]
fn any_number_of_wires_joins_two_groups_evenly() {
    // Would catch a pair of groups with another number of wires, routers with all global wires of a group, and parallel
    // local wires of which some are lost.
    for arrangement in ARRANGEMENTS {
        for (a, h, g, global_wires) in [(4, 3, 5, 2), (4, 3, 5, 3), (5, 2, 4, 1), (6, 4, 3, 11), (3, 4, 2, 5)] {
            for group in [GroupKind::FullMesh, GroupKind::FlattenedButterfly] {
                let spec = DragonflySpec { g: Some(g), arrangement, group, local_wires: 3, ..sized(2, a, h) };
                let made = build(&DragonflySpec { global_wires: Some(global_wires), ..spec });
                check_topology(&made);
                for (one, row) in wires(&made).iter().enumerate() {
                    let expected = |other| if other == one { 0 } else { global_wires as u32 };
                    assert!(row.iter().enumerate().all(|(other, &count)| count == expected(other)), "{row:?}");
                }
                let of_router =
                    |router| (0..h as u32).filter(|&port| made.across(RouterId(router), port).is_some()).count();
                let counts: Vec<usize> = (0..a as u32).map(of_router).collect();
                let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
                assert!(most - least <= 1, "{counts:?}");
                let [x, y] = made.group().dims().map(u64::from);
                let local = g * a * (x - 1 + y - 1) * 3;
                assert_eq!(links(&made), local + g * (g - 1) * global_wires);
            }
        }
    }
    // As many wires as ports: the bytes of a dragonfly without the key.
    let plain = DragonflySpec { g: Some(5), ..sized(1, 4, 2) };
    let same = build(&DragonflySpec { global_wires: Some(2), ..plain.clone() });
    let plain = build(&plain);
    for router in (0..plain.routers()).map(RouterId) {
        assert!((0..2).all(|port| plain.across(router, port) == same.across(router, port)));
    }
}

#[test]
fn groups_may_differ_in_size() {
    // Would catch a wire to a router beyond a small group, and routers of a small group with more wires than the ports.
    let spec = |sizes: &[u64], global, h| DragonflySpec {
        p: Some(2),
        global_wires: Some(global),
        local_wires: 2,
        group_sizes: Some(sizes.to_vec()),
        ..DragonflySpec::balanced(h)
    };
    let build = |spec: &DragonflySpec| TopologySpec::Dragonfly(spec.clone()).build(Path::new("."));
    for (sizes, global) in [(&[4, 4, 2][..], 2), (&[3, 1, 5, 2], 1), (&[1, 2], 3), (&[3, 3, 3], 4), (&[1, 1], 2)] {
        let made = build(&spec(sizes, global, 10)).unwrap();
        check_topology(&*made);
        let groups = sizes.len() as u64;
        let local: u64 = sizes.iter().map(|size| 2 * size * (size - 1)).sum();
        assert_eq!(links(&*made), local + groups * (groups - 1) * global);
        let routers: u64 = sizes.iter().sum();
        assert_eq!((u64::from(made.routers()), u64::from(made.nodes())), (routers, 2 * routers));
        let is_equal = sizes.iter().all(|size| *size == sizes[0]);
        assert_eq!(made.views().node_groups, is_equal.then_some(groups as u32), "{sizes:?}");
        // Routings by groups fit equal groups, whose wires are those of the tables.
        assert_eq!(made.views().groups.is_some(), is_equal, "{sizes:?}");
        for router in 0..made.routers() {
            let size = sizes[made.coordinates(RouterId(router))[0] as usize];
            let of_router = u64::from(made.ports(RouterId(router))) - 2 - 2 * (size - 1);
            let of_group = (groups - 1) * global;
            assert!((of_group / size..=of_group.div_ceil(size)).contains(&of_router), "router {router} of {sizes:?}");
        }
    }
    for (spec, key) in [
        (spec(&[4, 4, 2], 2, 1), "global_wires"),
        (spec(&[4], 1, 4), "group_sizes"),
        (spec(&[4, 0], 1, 4), "group_sizes"),
        (spec(&[4000, 4000], 1, 4), "group_sizes"),
        (spec(&[4095, 1], 1, 4), "p"),
        (DragonflySpec { p: None, ..spec(&[4, 2], 1, 4) }, "p"),
        (DragonflySpec { global_wires: None, ..spec(&[4, 2], 1, 4) }, "global_wires"),
        (DragonflySpec { a: Some(4), ..spec(&[4, 2], 1, 4) }, "a"),
        (DragonflySpec { group: GroupKind::FlattenedButterfly, ..spec(&[4, 2], 1, 4) }, "group"),
    ] {
        assert_eq!(build(&spec).unwrap_err().key, key);
    }
}

#[test]
fn the_shorthand_has_every_key() {
    // Would catch a key that the shorthand ignores, and a name that it takes for another.
    let text = "dragonfly:p=3,a=4,h=2,g=5,global_wires=2,local_wires=3,arrangement=circulant,group=flattened-butterfly,group_dims=2x2,renumber_groups=7";
    let expected = DragonflySpec {
        g: Some(5),
        global_wires: Some(2),
        local_wires: 3,
        arrangement: Arrangement::Circulant,
        group: GroupKind::FlattenedButterfly,
        group_dims: Some([2, 2]),
        renumber_groups: Some(7),
        ..sized(3, 4, 2)
    };
    assert_eq!(text.parse::<TopologySpec>().unwrap(), TopologySpec::Dragonfly(expected));
    let unequal: TopologySpec = "dragonfly:h=4,p=2,global_wires=1,group_sizes=4x4x2".parse().unwrap();
    let TopologySpec::Dragonfly(unequal) = unequal else { panic!("{unequal:?}") };
    assert_eq!(unequal.group_sizes, Some(vec![4, 4, 2]));
    let lines: TopologySpec = "dragonfly:h=1,group=flattened-butterfly,group_wires=1x3".parse().unwrap();
    let TopologySpec::Dragonfly(lines) = lines else { panic!("{lines:?}") };
    assert_eq!(lines.group_wires, Some([1, 3]));
    let balanced: TopologySpec = "dragonfly:8".parse().unwrap();
    assert_eq!(balanced, TopologySpec::Dragonfly(DragonflySpec::balanced(8)));
    for (text, key) in [
        ("dragonfly:", "h"),
        ("dragonfly:h=2,arrangement=palm", "arrangement"),
        ("dragonfly:h=2,group_dims=2", "group_dims"),
    ] {
        assert_eq!(text.parse::<TopologySpec>().unwrap_err().key, key, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_contract_holds_for_any_size(
        p in 1_u64..4, a in 1_u64..7, h in 1_u64..4, part in 0.0_f64..1.0, which in 0_usize..3, seed in any::<u64>(), butterfly: bool,
    ) {
        let g = 2 + ((a * h - 1) as f64 * part) as u64;
        let group = if butterfly { GroupKind::FlattenedButterfly } else { GroupKind::FullMesh };
        let dragonfly = build(&DragonflySpec {
            g: Some(g), arrangement: ARRANGEMENTS[which], renumber_groups: Some(seed), group, ..sized(p, a, h)
        });
        check_topology(&dragonfly);
        let node = NodeId(dragonfly.nodes() - 1);
        let (router, port) = dragonfly.attachment(node);
        prop_assert_eq!(dragonfly.endpoint(router, port), Endpoint::Node(node));
        prop_assert!(links(&dragonfly) > 0);
    }
}
