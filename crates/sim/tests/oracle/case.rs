//! Random experiments: a small network of any kind, and what its tasks send one another.

use std::fmt;
use std::path::PathBuf;

use fabric::Grain;

use crate::draw::Random;

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
pub const VARIANTS: [&str; 6] =
    ["\"absolute\"", "\"circulant\"", "\"flattened-butterfly\"", "renumber_groups", "order = [", "ties = \"split\""];

/// What tasks send in a phase: rows of bytes, or the neighbours of a grid.
#[derive(Clone, Debug)]
pub enum Work {
    /// By phase, by sending task, by receiving task.
    Matrices(Vec<Vec<Vec<u64>>>),
    /// Dimensions of a periodic grid, and bytes to each neighbour.
    Exchange(Vec<u64>, u64),
}

/// An experiment whose result is compared.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where its files are.
    pub folder: PathBuf,
    /// Everything but the workload.
    network: String,
    /// The edge list of a topology from a file.
    edges: String,
    /// Bytes of the largest packet.
    pub packet: u64,
    pub work: Work,
    /// Picoseconds of computation by task.
    pub time_per_load: u64,
    /// Processes of a node, and where they are.
    pub placement: (u64, &'static str),
    two_threads: bool,
}

/// How times and sizes are drawn.
struct Units {
    /// Round numbers, so that much happens at the same instant; otherwise any.
    round: bool,
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

    fn router_delay(&self, random: &mut Random) -> String {
        match self.round {
            true => format!("\"{} ns\"", random.pick(&[0, 20, 90])),
            false => format!("\"{} ps\"", random.within(0, 100_000)),
        }
    }

    fn packet(&self, random: &mut Random) -> u64 {
        match self.round {
            true => random.pick(&[64, 100, 200, 256]),
            false => random.within(1, 400),
        }
    }
}

/// A topology with a routing that draws nothing, its nodes, and its classes of channels.
fn topology(random: &mut Random) -> (String, String, u64, &'static [&'static str]) {
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
            let (k, n) = random.pick(&[(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (4, 2)]);
            let text =
                format!("topology = {{ kind = \"fat-tree\", k = {k}, n = {n} }}\nrouting = {{ kind = \"d-mod-k\" }}\n");
            (text, String::new(), u64::pow(k, n), &["injection", "ejection", "up", "down"])
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

/// Keys of a dragonfly whose groups have so many global ports.
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
    let text = format!("topology = {{ kind = \"file\", path = \"edges\" }}\nrouting = {{ kind = \"{routing}\" }}\n");
    (text, edges, nodes, &["injection", "ejection", "near", "far"])
}

/// A depth of one packet to so many.
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

fn router(random: &mut Random, units: &Units, packet: u64, classes: &[&str]) -> String {
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
        keys += &format!(", arbitration = \"{}\"", random.pick(&["round-robin", "oldest-first"]));
    }
    if kind == "output-queued" {
        keys += &format!(", credits = \"{}\"", random.pick(&["row-minimum", "row-counter", "per-crosspoint"]));
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

/// Nodes with receive buffers, now and then.
fn node(random: &mut Random, units: &Units, packet: u64) -> String {
    if !random.chance(35) {
        return String::new();
    }
    let mut keys = format!("receive_buffer = {}", depth(random, packet, 4));
    if random.chance(70) {
        keys += &format!(", drain = {}", units.bandwidth(random));
    }
    format!("node = {{ {keys} }}\n")
}

fn link(random: &mut Random, units: &Units, classes: &[&str]) -> String {
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

/// Rows of bytes: most pairs have none, and some tasks get much.
fn matrix(random: &mut Random, tasks: u64, packet: u64) -> Vec<Vec<u64>> {
    let most = if tasks > 100 { 2 } else { 100 * 12 / tasks + 3 };
    let share = random.pick(&[10, 30, 100]).min(most);
    let wanted = random.within(0, tasks - 1);
    let longest = random.pick(&[1, 4, 12]);
    let whole = random.chance(40);
    let mut bytes = |from: u64, to: u64| {
        let sends = from != to && (random.chance(share) || (to == wanted && random.chance(50)));
        match (sends, whole) {
            (false, _) => 0,
            (true, true) => packet * random.within(1, longest),
            (true, false) => random.within(1, longest * packet),
        }
    };
    (0..tasks).map(|from| (0..tasks).map(|to| bytes(from, to)).collect()).collect()
}

impl Case {
    /// Case `number` of a seed.
    pub fn draw(seed: u64, number: u64) -> Self {
        let random = &mut Random::new(seed, number);
        let units = Units { round: random.chance(60) };
        let (topology, edges, nodes, classes) = topology(random);
        let packet = units.packet(random);
        let network = topology + &link(random, &units, classes) + &router(random, &units, packet, classes);
        let network = network + &node(random, &units, packet);
        let each = random.pick(&[1, 1, 1, 2, 3]);
        let tasks = each * nodes;
        let work = match random.chance(15) {
            true => Work::Exchange(vec![tasks], random.within(1, 8 * packet)),
            false => Work::Matrices((0..random.pick(&[1, 1, 2])).map(|_| matrix(random, tasks, packet)).collect()),
        };
        let time_per_load = if random.chance(20) { random.pick(&[1, 777, 1_000, 50_000, 400_000]) } else { 0 };
        Self {
            folder: std::env::temp_dir().join(format!("cutthrough-oracle-{}-{seed}-{number}", std::process::id())),
            network,
            edges,
            packet,
            time_per_load: if matches!(work, Work::Exchange(..)) { 0 } else { time_per_load },
            work,
            placement: (each, random.pick(&["contiguous", "contiguous", "round-robin", "random"])),
            two_threads: random.chance(1),
        }
    }

    /// The experiment file.
    pub fn text(&self) -> String {
        let workload = match &self.work {
            Work::Exchange(dims, volume) => format!("kind = \"exchange\", dims = {dims:?}, volume = \"{volume} B\""),
            Work::Matrices(phases) => {
                let others: Vec<String> = (1..phases.len()).map(|phase| format!("\"{phase}.txt\"")).collect();
                format!(
                    "kind = \"application\", graph = \"0.txt\", next_graphs = [{}], time_per_load = \"{} ps\"",
                    others.join(", "),
                    self.time_per_load
                )
            }
        };
        format!(
            "seed = 7\n{}workload = {{ {workload}, packet_size = \"{} B\" }}\n\
             placement = {{ strategy = \"{}\", processes_per_node = {} }}\n",
            self.network, self.packet, self.placement.1, self.placement.0
        )
    }

    /// By phase, what tasks send: from, to and bytes, in the order of the tasks that send.
    pub fn messages(&self) -> Vec<Vec<(u32, u32, u64)>> {
        match &self.work {
            Work::Matrices(phases) => phases.iter().map(|rows| of_matrix(rows)).collect(),
            Work::Exchange(dims, volume) => vec![of_ring(dims[0], *volume)],
        }
    }

    /// Threads and partitions to run it with. Two threads wait for one another every few nanoseconds, so that they are
    /// for some networks only.
    pub fn divisions(&self) -> Vec<(usize, Grain)> {
        match self.two_threads {
            true => vec![(1, Grain::Coarse), (2, Grain::Fine)],
            false => vec![(1, Grain::Coarse), (1, Grain::Exactly(3))],
        }
    }

    /// Writes the files that the experiment names, has something done with them, and removes them.
    pub fn with_files<T>(&self, then: impl FnOnce() -> T) -> T {
        std::fs::create_dir_all(&self.folder).unwrap();
        std::fs::write(self.folder.join("edges"), &self.edges).unwrap();
        if let Work::Matrices(phases) = &self.work {
            for (phase, rows) in phases.iter().enumerate() {
                std::fs::write(self.folder.join(format!("{phase}.txt")), table(rows)).unwrap();
            }
        }
        let found = then();
        // What is left behind in the temporary folder harms nobody.
        let _ = std::fs::remove_dir_all(&self.folder);
        found
    }

    /// A workload as small as a few passes find it that still differs.
    pub fn shrink(mut self, differs: impl Fn(&Self) -> bool) -> Self {
        for divisor in [u64::MAX, 2, 2, 2] {
            let Work::Matrices(phases) = &self.work else { return self };
            let all: Vec<(usize, usize, usize)> = phases
                .iter()
                .enumerate()
                .flat_map(|(phase, rows)| {
                    (0..rows.len()).flat_map(move |from| (0..rows.len()).map(move |to| (phase, from, to)))
                })
                .filter(|&(phase, from, to)| phases[phase][from][to] > 0)
                .collect();
            for (phase, from, to) in all {
                let mut less = self.clone();
                if let Work::Matrices(phases) = &mut less.work {
                    phases[phase][from][to] /= divisor;
                }
                if differs(&less) {
                    self = less;
                }
            }
        }
        self
    }
}

fn of_matrix(rows: &[Vec<u64>]) -> Vec<(u32, u32, u64)> {
    let row = |(from, row): (usize, &Vec<u64>)| -> Vec<(u32, u32, u64)> {
        row.iter().enumerate().map(|(to, &bytes)| (from as u32, to as u32, bytes)).collect()
    };
    rows.iter().enumerate().flat_map(row).filter(|&(_, _, bytes)| bytes > 0).collect()
}

/// Every task of a ring sends to the next and to the one before, once if they are the same.
fn of_ring(tasks: u64, volume: u64) -> Vec<(u32, u32, u64)> {
    let mut messages = Vec::new();
    for task in 0..tasks {
        let (next, before) = ((task + 1) % tasks, (task + tasks - 1) % tasks);
        messages.extend((next != task).then_some((task as u32, next as u32, volume)));
        messages.extend((before != next).then_some((task as u32, before as u32, volume)));
    }
    messages
}

fn table(rows: &[Vec<u64>]) -> String {
    let line = |row: &Vec<u64>| row.iter().map(u64::to_string).collect::<Vec<_>>().join(" ") + "\n";
    rows.iter().map(line).collect()
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.text(), self.edges)?;
        for (phase, messages) in self.messages().iter().enumerate() {
            writeln!(f, "phase {phase} (from, to, bytes): {messages:?}")?;
        }
        Ok(())
    }
}
