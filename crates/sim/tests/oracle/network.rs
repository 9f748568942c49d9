//! Random networks of any kind.

use std::path::Path;

use topology::{NetworkSpec, RouterClasses};

use crate::draw::Random;
use crate::work::Features;

/// Every architecture.
pub const ROUTERS: [&str; 6] = [
    "output-queued",
    "input-queued",
    "virtual-output-queued",
    "input-output-queued",
    "input-crosspoint-queued",
    "shared-buffer",
];

/// Keys of topologies and routings of which some networks of each have to be compared.
pub const VARIANTS: [&str; 9] = [
    "ties = \"round-robin\"",
    "\"round-robin-up-down\"",
    "\"absolute\"",
    "\"circulant\"",
    "\"flattened-butterfly\"",
    "renumber_groups",
    "order = [",
    "ties = \"split\"",
    "spine = {",
];

/// How times and sizes are drawn.
pub struct Units {
    /// Round numbers, so that much happens at the same instant; otherwise any.
    pub round: bool,
}

impl Units {
    fn bandwidth(&self, random: &mut Random) -> String {
        match self.round {
            true => format!("\"{} Gb/s\"", random.pick(&[8, 10, 16, 20, 40])),
            false => format!("\"{} b/s\"", random.within(1_000_000_000, 40_000_000_000)),
        }
    }

    fn delay(&self, random: &mut Random) -> String {
        match self.round {
            true => format!("\"{} ns\"", random.pick(&[10, 20, 40, 100])),
            false => format!("\"{} ps\"", random.within(5_000, 60_000)),
        }
    }

    /// Time at which a job starts, in picoseconds.
    pub fn start(&self, random: &mut Random) -> u64 {
        match self.round {
            true => 1_000 * random.pick(&[10, 100, 400]),
            false => random.within(1, 900_000),
        }
    }

    fn router_delay(&self, random: &mut Random) -> String {
        match self.round {
            true => format!("\"{} ns\"", random.pick(&[0, 20, 90])),
            false => format!("\"{} ps\"", random.within(0, 100_000)),
        }
    }

    pub fn packet(&self, random: &mut Random) -> u64 {
        match self.round {
            true => random.pick(&[64, 100, 200, 256]),
            false => random.within(1, 400),
        }
    }
}

/// A topology with a routing that draws nothing, its nodes, and its classes of channels.
pub fn topology(random: &mut Random) -> (String, String, u64, &'static [&'static str]) {
    let nodes_per_router = random.pick(&[1, 1, 2, 3]);
    let dims = |random: &mut Random| -> Vec<u64> {
        let mut dims: Vec<u64> = (0..random.within(1, 3)).map(|_| random.within(2, 5)).collect();
        // At most some 30 routers: the oracle is slow.
        while dims.iter().product::<u64>() > 30 {
            dims.pop();
        }
        dims
    };
    let grid = |random: &mut Random, kind: &str| {
        let dims = dims(random);
        let text = format!(
            "topology = {{ kind = \"{kind}\", dims = {dims:?}, nodes_per_router = {nodes_per_router} }}\n\
             routing = {{ kind = \"dimension-order\", {} }}\n",
            dimension_order(random, &dims)
        );
        (text, String::new(), nodes_per_router * dims.iter().product::<u64>(), &["injection", "ejection", "dim0"][..])
    };
    match random.within(0, 6) {
        0 => grid(random, "mesh"),
        1 | 2 => grid(random, "torus"),
        3 => {
            // Now and then more ports than a word of a mask has bits.
            let ports = if random.chance(8) { random.within(65, 75) } else { random.within(2, 12) };
            let text = format!("topology = {{ kind = \"single-switch\", ports = {ports} }}\n");
            (text, String::new(), ports, &["injection", "ejection"])
        }
        4 => {
            // (No other draw, so that a recorded number stands for the network that it stood for.)
            let (full, shaped) = random.pick(&[
                (("kind = \"fat-tree\", k = 2, n = 2", 4), ("kind = \"xgft\", m = [4, 3], w = [1, 2]", 12)),
                (
                    ("kind = \"fat-tree\", k = 2, n = 3", 8),
                    ("kind = \"xgft\", m = [3, 2, 3], w = [1, 2, 1], p = [1, 1, 3]", 18),
                ),
                (
                    ("kind = \"fat-tree\", k = 2, n = 4", 16),
                    ("kind = \"xgft\", m = [2, 3, 2], w = [1, 3, 2], p = [1, 2, 2]", 12),
                ),
                (
                    ("kind = \"fat-tree\", k = 3, n = 2", 9),
                    ("kind = \"xgft\", m = [3, 3], w = [1, 2], p = [1, 2], hosts = 7", 7),
                ),
                (
                    ("kind = \"fat-tree\", k = 3, n = 3", 27),
                    ("kind = \"xgft\", m = [3, 2, 2], w = [1, 2, 2], hosts = 11", 11),
                ),
                (
                    ("kind = \"fat-tree\", k = 4, n = 2", 16),
                    ("kind = \"leaf-spine\", leaves = 4, spines = 3, nodes_per_leaf = 3, wires = 2", 12),
                ),
            ]);
            let (keys, nodes) = if nodes_per_router == 1 { full } else { shaped };
            let routing = if nodes_per_router == 3 { "round-robin-up-down" } else { "d-mod-k" };
            let text = format!("topology = {{ {keys} }}\nrouting = {{ kind = \"{routing}\" }}\n");
            (text, String::new(), nodes, &["injection", "ejection", "up", "down"])
        }
        5 => {
            let (p, a, h) = (random.within(1, 2), random.within(1, 4), random.within(1, 2));
            // At most 21 routers.
            let h = if a == 4 { 1 } else { h };
            let text = format!(
                "topology = {{ kind = \"dragonfly\", p = {p}, a = {a}, h = {h}, {} }}\nrouting = {{ kind = \"minimal\" }}\n",
                wiring(random, a * h)
            );
            (text, String::new(), p * a * (a * h + 1), &["injection", "ejection", "local", "global"])
        }
        _ => from_file(random),
    }
}

/// Keys of dimension-order routing: an order of the dimensions, and how ties are broken. No ring of odd size has any,
/// so that both ways of breaking them leave one path.
fn dimension_order(random: &mut Random, dims: &[u64]) -> String {
    let odd = dims.iter().all(|size| size % 2 == 1);
    let ties = if odd { random.pick(&["split", "positive"]) } else { "positive" };
    let mut left: Vec<usize> = (0..dims.len()).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        order.push(left.remove(random.within(0, left.len() as u64 - 1) as usize));
    }
    let order = if random.chance(50) { format!("order = {order:?}, ") } else { String::new() };
    format!("{order}ties = \"{ties}\"")
}

/// Keys of a dragonfly whose groups have `ports` global ports.
fn wiring(random: &mut Random, ports: u64) -> String {
    // Circulant wires lie in pairs.
    let arrangements: &[&str] =
        if ports.is_multiple_of(2) { &["palmtree", "absolute", "circulant"] } else { &["palmtree", "absolute"] };
    let mut keys = format!("arrangement = \"{}\"", random.pick(arrangements));
    keys += &format!(", group = \"{}\"", random.pick(&["full-mesh", "flattened-butterfly"]));
    if random.chance(30) {
        keys += &format!(", renumber_groups = {}", random.within(0, 1000));
    }
    keys
}

/// A tree with some wires more, two of its classes in two speeds.
fn from_file(random: &mut Random) -> (String, String, u64, &'static [&'static str]) {
    let routers = random.within(2, 9);
    let mut edges = String::from("link 0 1 near\n");
    for router in 2..routers {
        let class = random.pick(&["near", "far", "far x2"]);
        edges += &format!("link {} {router} {class}\n", random.within(0, router - 1));
    }
    for _ in 0..random.within(0, 4) {
        let (one, other) = (random.within(0, routers - 1), random.within(0, routers - 1));
        if one != other {
            edges += &format!("link {one} {other} {}\n", random.pick(&["near", "far"]));
        }
    }
    edges += "link 0 1 far\n";
    let mut nodes = 0;
    for router in 0..routers {
        let here = random.within(0, 3).max(u64::from(router == 0));
        nodes += here;
        edges += &if here > 0 { format!("node {router} x{here}\n") } else { String::new() };
    }
    let routing = random.pick(&["shortest-path", "up-down"]);
    // (No other draw, here too.)
    let ties = if nodes % 2 == 0 { "round-robin" } else { "first" };
    let text = format!(
        "topology = {{ kind = \"file\", path = \"edges\" }}\nrouting = {{ kind = \"{routing}\", ties = \"{ties}\" }}\n"
    );
    (text, edges, nodes, &["injection", "ejection", "near", "far"])
}

/// A depth of one to `most` packets.
fn depth(random: &mut Random, packet: u64, most: u64) -> String {
    match random.chance(60) {
        true => format!("\"{} packets\"", random.within(1, most)),
        false => format!("\"{} B\"", random.within(packet, most * packet)),
    }
}

/// Depths of the buffers that credits stand for: one of all channels, or one of each class, of which some are left out.
fn depths(random: &mut Random, packet: u64, classes: &[&str]) -> String {
    let first = depth(random, packet, 4);
    if random.chance(60) {
        return first;
    }
    let mut table = Vec::new();
    for class in classes.iter().filter(|&&class| class != "ejection") {
        if random.chance(80) {
            table.push(format!("{class} = {}", depth(random, packet, 4)));
        }
    }
    if table.is_empty() { first } else { format!("{{ {} }}", table.join(", ")) }
}

pub fn router(random: &mut Random, units: &Units, (packet, features): (u64, Features), classes: &[&str]) -> String {
    let kind = random.pick(&ROUTERS);
    let buffer = depths(random, packet, classes);
    let mut keys = format!("kind = \"{kind}\", buffer = {buffer}, delay = {}", units.router_delay(random));
    if random.chance(50) {
        keys += &format!(", vcs = {}", random.within(1, 8));
    }
    keys += &format!(", credit_return = \"{}\"", random.pick(&["head", "tail"]));
    if kind == "virtual-output-queued" {
        keys += random.pick(&["", ", iterations = 1", ", iterations = 2", ", iterations = 3"]);
    } else {
        let other = if features.groups { "groups-first" } else { "oldest-first" };
        keys += &format!(", arbitration = \"{}\"", random.pick(&["round-robin", other]));
    }
    if kind == "output-queued" {
        let credits = ["row-minimum", "row-counter", "per-crosspoint"];
        // A packet for several crosspoints has no counter of one.
        keys += &format!(
            ", credits = \"{}\"",
            random.pick(&credits[..if features.multicasts || features.groups { 2 } else { 3 }])
        );
    }
    if kind == "input-output-queued" {
        keys += &format!(", output_buffer = {}, speedup = {}", depth(random, packet, 4), random.within(1, 4));
    }
    if kind == "input-crosspoint-queued" {
        let queueing = random.pick(&["virtual-output", "fifo"]);
        keys += &format!(", crosspoint_buffer = {}, queueing = \"{queueing}\"", depth(random, packet, 3));
    }
    if kind == "shared-buffer" {
        // From a memory that admits nothing to one that admits everything.
        let alpha = random.pick(&["0.1", "0.5", "1", "2.5", "64"]);
        let most = random.pick(&[2, 8, 100]);
        keys += &format!(", memory = {}, alpha = {alpha}", depth(random, packet, most));
    }
    format!("router = {{ {keys} }}\n")
}

/// Exceptions by class of routers, now and then, for routers as `router` writes them. `topology` is the section of the
/// topology. All is drawn from a separate stream, so that a recorded number stands for the network that it stood for.
pub fn with_classes(random: &mut Random, units: &Units, (router, topology): (String, &str), packet: u64) -> String {
    let file: toml::Table = topology.parse().unwrap();
    let spec: Result<NetworkSpec, _> = file["topology"].clone().try_into();
    // Networks from files have no levels.
    let Ok(built) = spec.unwrap().build(Path::new("no files")) else { return router };
    let mut exceptions = String::new();
    for name in RouterClasses::of(&*built).names() {
        let mut keys = Vec::new();
        let mut key = |random: &mut Random, text: String| {
            if random.chance(50) {
                keys.push(text);
            }
        };
        let text = format!("delay = {}", units.router_delay(random));
        key(random, text);
        let text = format!("buffer = {}", depth(random, packet, 4));
        key(random, text);
        for buffer in ["output_buffer", "crosspoint_buffer", "memory"].into_iter().filter(|key| router.contains(*key)) {
            let text = format!("{buffer} = {}", depth(random, packet, 8));
            key(random, text);
        }
        if router.contains("speedup") {
            let text = format!("speedup = {}", random.within(1, 4));
            key(random, text);
        }
        if router.contains("alpha") {
            let text = format!("alpha = {}", random.pick(&["0.1", "0.5", "1", "2.5", "64"]));
            key(random, text);
        }
        if !keys.is_empty() {
            exceptions += &format!(", {name} = {{ {} }}", keys.join(", "));
        }
    }
    match random.chance(70) {
        true => router.replacen(" }\n", &format!("{exceptions} }}\n"), 1),
        false => router,
    }
}

/// Combine units of a network with groups, whose windows hold few packets.
pub fn combine_units(random: &mut Random, units: &Units) -> String {
    let cycle = if units.round { 4_000 } else { random.within(100, 9_000) };
    let (header, word, words) = (random.within(0, 4), random.pick(&[4, 8, 64]), random.within(1, 4));
    let window = random.within(1, 4);
    format!(
        "in_switch.combine = {{ kind = \"word-serial\", cycle = \"{cycle} ps\", header_cycles = {header}, \
         word = \"{word} B\", words_per_cycle = {words}, window = {window} }}\n"
    )
}

/// Nodes with receive buffers, now and then.
pub fn node(random: &mut Random, units: &Units, packet: u64) -> String {
    if !random.chance(35) {
        return String::new();
    }
    let mut keys = format!("receive_buffer = {}", depth(random, packet, 4));
    if random.chance(70) {
        keys += &format!(", drain = {}", units.bandwidth(random));
    }
    format!("node = {{ {keys} }}\n")
}

pub fn link(random: &mut Random, units: &Units, classes: &[&str]) -> String {
    let mut keys = format!("bandwidth = {}, delay = {}", units.bandwidth(random), units.delay(random));
    let mixed = random.chance(50);
    for class in classes {
        if mixed && random.chance(50) {
            let (bandwidth, delay) = (units.bandwidth(random), units.delay(random));
            keys += &format!(", {class} = {{ bandwidth = {bandwidth}, delay = {delay} }}");
        }
    }
    format!("link = {{ {keys} }}\n")
}
