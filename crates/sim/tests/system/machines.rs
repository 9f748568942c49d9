//! Parts of designs against published counts of machines.

use sim::{Design, analyze, check};

use crate::common::build;

fn text(topology: &str, ports: u16) -> String {
    format!(
        r#"
        topology = {topology}
        link = {{ bandwidth = "400 Gb/s", delay = "20 ns" }}
        router = {{ kind = "output-queued", ports = {ports} }}
        workload = {{ kind = "traffic", load = 0.5, pattern = "neighbor" }}
        "#
    )
}

fn design(topology: &str, ports: u16) -> Design {
    let text = text(topology, ports);
    let system = build(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    analyze(&system).unwrap_or_else(|error| panic!("{text}\n{error}")).design
}

/// The number of cables of a class.
fn cables(design: &Design, class: &str) -> u64 {
    design.cables_by_class.iter().filter(|own| own.class == class).map(|own| own.cables).sum()
}

#[test]
fn superpods_of_two_levels_have_the_published_switches_and_cables() {
    // NVIDIA DGX SuperPOD reference architectures: H100 (network fabrics, table 4; each system also has 4 node cables for
    // two servers of the fabric manager) and B200 (architecture). Columns: leaf switches, spine switches, wires between
    // two, node cables, cables between switches. Switches have 64 ports. Would catch parallel wires that count once.
    let systems = [
        (8, 4, 8, 252, 256),
        (16, 8, 4, 508, 512),
        (24, 16, 2, 764, 768),
        (32, 16, 2, 1_020, 1_024),
        (16, 8, 4, 512, 512),
        (32, 16, 2, 1_024, 1_024),
        (64, 32, 1, 2_048, 2_048),
    ];
    for (leaves, spines, wires, node_cables, switch_cables) in systems {
        let topology = format!(
            r#"{{ kind = "leaf-spine", leaves = {leaves}, spines = {spines}, wires = {wires}, nodes_per_leaf = 32 }}"#
        );
        let found = design(&topology, 64);
        assert_eq!((found.switches, cables(&found, "up/down")), (leaves + spines, switch_cables), "{topology}");
        // All ports of spines are used, except with 24 leaves, and so are those of leaves that have 32 nodes each.
        let unused = u64::from(spines) * u64::from(64 - leaves * wires);
        assert_eq!(found.free_ports, unused, "{topology}");
        assert!(cables(&found, "injection/ejection") - node_cables <= 4, "{topology}");
    }
}

#[test]
fn superpods_of_three_levels_have_the_published_switches_and_cables() {
    // NVIDIA DGX SuperPOD B200: leaf, spine and core switches, and as many cables between two levels as nodes. Would
    // catch wires of one level that count at another, and levels whose switches are confused.
    for (leaves, spines, cores, each) in
        [(128_u32, 128, 64, 4_096_u64), (256, 256, 128, 8_192), (512, 512, 256, 16_384)]
    {
        let (pods, cores_per_spine) = (leaves / 32, cores / 32);
        let topology = format!(
            r#"{{ kind = "xgft", m = [32, 32, {pods}], w = [1, 32, {cores_per_spine}], p = [1, 1, {}] }}"#,
            32 / cores_per_spine
        );
        let found = design(&topology, 64);
        assert_eq!((found.switches, found.free_ports), (leaves + spines + cores, 0), "{topology}");
        assert_eq!((cables(&found, "injection/ejection"), cables(&found, "up/down")), (each, 2 * each), "{topology}");
    }
}

#[test]
fn planes_of_deepseek_connect_the_published_number_of_gpus() {
    // Insights into DeepSeek-V3 (ISCA 2025): 8 planes, each a tree of two levels of 64-port switches, for up to 16,384
    // GPUs. A host has an interface in each plane. Would catch planes that count once.
    let found = design(r#"{ kind = "leaf-spine", leaves = 64, spines = 32, nodes_per_leaf = 32, planes = 8 }"#, 64);
    assert_eq!((found.interfaces, found.switches, found.free_ports), (16_384, 8 * 96, 0));
}

#[test]
fn direct_networks_have_the_published_switches_and_ports() {
    // Slim Fly of the CSCS (NSDI 2024): 200 servers on 50 switches, of which each has 7 wires to others (q = 5).
    let slim_fly = design(r#"{ kind = "slim-fly", q = 5, nodes_per_router = 4 }"#, 36);
    assert_eq!((slim_fly.nodes, slim_fly.switches, slim_fly.switches_by_ports[0].connected), (200, 50, 11));
    assert_eq!(slim_fly.cables, 200 + 50 * 7 / 2);
    // HyperX of TSUBAME2 (Domke et al., SC 2019): 12 x 8 switches with 7 nodes each; the cut of the shorter dimension
    // has 192 wires, 57 % of the bandwidth of the nodes on a side.
    let text = text(r#"{ kind = "hyperx", dims = [12, 8], nodes_per_router = 7 }"#, 36);
    let hyperx = check(&build(&text).unwrap()).unwrap();
    assert_eq!((hyperx.nodes, hyperx.routers, hyperx.bisection_channels), (672, 96, Some(192)));
    // Leonardo (dragonfly+): cells of 180 nodes on 18 leaves, 18 wires between two cells, spines of 40 ports with 18 down
    // and 22 up. 22 cells with nodes and one for management.
    let leonardo =
        r#"{ kind = "dragonfly-plus", leaves = 18, spines = 18, groups = 23, wires = 18, nodes_per_router = 10 }"#;
    let leonardo = design(leonardo, 40);
    let spines = leonardo.switches_by_ports.iter().find(|own| own.connected == 40).unwrap();
    assert_eq!((leonardo.nodes / 23, spines.switches), (180, 23 * 18));
    assert_eq!(cables(&leonardo, "global"), 18 * 23 * 22 / 2);
}

#[test]
fn groups_of_theta_have_the_published_cables() {
    // Theta (Cray XC40; files of CODES): 9 groups of 6 chassis with 16 routers, 48 wires between two groups. 3,456 global
    // ports, 12,960 ports within chassis, and 12,960 between the chassis of a group, of which three make a wire here. Would
    // catch wires between groups that count at one group only.
    let theta =
        r#"{ kind = "dragonfly", p = 4, a = 96, h = 4, g = 9, group = "flattened-butterfly", group_dims = [16, 6] }"#;
    let found = design(theta, 48);
    assert_eq!((found.switches, found.nodes), (864, 3_456));
    assert_eq!((cables(&found, "global"), cables(&found, "local")), (3_456 / 2, 12_960 / 2 + 12_960 / 2 / 3));
    assert_eq!(cables(&found, "global"), 48 * 9 * 8 / 2);
}

#[test]
fn tori_have_the_published_ports_and_cables() {
    // TPU v4 (ISCA 2023): 4,096 chips in 64 cubes of 4 x 4 x 4; a cube has 144 wires inside and 96 to optical switches,
    // two of which make a wire between cubes.
    let pod = design(r#"{ kind = "torus", dims = [16, 16, 16] }"#, 7);
    assert_eq!((pod.switches, pod.cables - 4_096), (4_096, 64 * 144 + 64 * 96 / 2));
    // Tofu (Fugaku): dimensions X, Y, Z and B are rings, A and C are pairs; the A64FX has 10 ports for them. All nodes are
    // 24 x 23 x 24 x 2 x 3 x 2 = 158,976; here a part.
    let tofu = r#"{ kind = "torus", dims = [3, 4, 3, 2, 3, 2], wrap = [true, true, true, false, true, false] }"#;
    let found = design(tofu, 11);
    assert_eq!((found.nodes, found.free_ports, found.switches_by_ports[0].connected), (432, 0, 11));
}
