//! Values of keys by strata: small and large ones of each type, and what only some values of a type can be.

use toml::Value;

use crate::generate::Random;
use crate::shape::{COUNTS, Shape};

/// How sections and values are drawn.
#[derive(Clone, Debug)]
pub struct Strata {
    /// Percent of optional sections that are there.
    pub sections: usize,
    /// Percent of optional keys that are there.
    pub keys: usize,
    /// Whether runs have to be short: every network is small, and time is limited.
    pub short: bool,
    /// Percent of values of which the extremes of the type are drawn.
    pub extreme: usize,
}

impl Strata {
    /// Keys that every experiment has.
    pub fn has_always(&self, path: &str) -> bool {
        self.short && ["measure", "measure.max_time", "placement.budget"].contains(&path)
    }
}

/// Keys that take only some values of their type, by path: as TOML.
const VALUES: &[(&str, &[&str])] = &[
    ("topology.ports", &["3", "8", "16"]),
    ("topology.k", &["2", "4"]),
    ("topology.n", &["2"]),
    // Of dragonflies a number, of trees a list.
    ("topology.p", &["1", "2", "[1, 2]", "[1, 1]"]),
    ("topology.m", &["[4, 2]", "[2, 4]"]),
    ("topology.w", &["[1, 2]", "[1, 1]"]),
    ("topology.a", &["2", "4"]),
    ("topology.h", &["1", "2"]),
    ("topology.g", &["3", "4"]),
    ("topology.nodes", &["2", "5", "16"]),
    ("topology.dims", &["[4, 4]", "[3, 3]", "[4, 2]", "[2, 2, 2]", "[5]"]),
    ("topology.group_dims", &["[2, 2]"]),
    ("topology.renumber_groups", &["1", "7"]),
    ("topology.path", &["'system/data/cluster.edges'", "'system/data/line.edges'"]),
    ("routing.path", &["'system/data/cluster.routes'"]),
    ("routing.order", &["[0, 1]", "[1, 0]", "[0]"]),
    ("routing.root", &["0", "1"]),
    ("workload.pattern.path", &["'system/data/matrix.csv'"]),
    ("workload.pattern.nodes", &["[1]", "[0, 2]"]),
    ("workload.pattern.dims", &["[4, 4]", "[3, 3]", "[2, 4]"]),
    ("workload.pattern.offset", &["1", "3", "-1"]),
    ("workload.pattern.groups", &["1", "2"]),
    ("workload.dims", &["[4, 4]", "[2, 4]", "[4]"]),
    ("workload.phases", &["[0]", "[0, 1]", "[1]"]),
    ("workload.load", &["0.05", "0.3", "0.9", "1.0"]),
    (
        "workload.graph",
        &["'random:4,bytes=600'", "'stencil:2x2,bytes=3000'", "'stencil:4x4,bytes=600'", "'random:16,bytes=100'"],
    ),
    ("workload.next_graphs", &["['random:4,bytes=70']"]),
    ("workload.volume", &["'600 B'", "'2 KiB'"]),
    ("workload.packet_size", &["'256 B'", "'64 B'", "'1 KiB'"]),
    ("workload.message_size", &["'256 B'", "'600 B'", "'1 B'", "'2 KiB'"]),
    ("workload.program.dims", &["[2, 2]", "[2, 2, 2]", "[4, 4]", "[4, 2]", "[3, 3]"]),
    ("workload.program.iterations", &["1", "2"]),
    ("workload.benchmark.sizes", &["['3 B']", "['600 B', '4 KiB']", "['1 B', '256 B', '20 KiB']"]),
    ("workload.benchmark.repetitions", &["1", "2"]),
    ("workload.benchmark.warm_up", &["1"]),
    ("workload.benchmark.pair", &["[0, 1]", "[1, 3]"]),
    ("workload.benchmark.intervals", &["['100 ns']", "['1 us', '3 us']"]),
    ("workload.fanout.mean", &["1.0", "2.0", "3.5"]),
    ("placement.path", &["'schema/data/four.placement'"]),
    ("placement.budget", &["0.01"]),
    ("placement.tasks_per_node", &["1", "2"]),
    ("job.nodes", &["'0-3'", "'0,2'", "'1'", "'4-7'"]),
    ("job.node_count", &["2", "3", "4"]),
    ("job.start", &["'0 ns'", "'500 ns'", "'1 us'"]),
    ("job.end", &["'3 us'", "'20 us'"]),
    ("node.speeds", &["[1.0, 0.5]", "[2.0]"]),
    ("node.noise.period", &["'1 us'", "'3 us'"]),
    ("node.noise.duration", &["'10 ns'", "'300 ns'"]),
    ("node.noise.nodes", &["'0-1'", "'1'"]),
    ("nic.eager_limit", &["'512 B'", "'2 KiB'", "'16 KiB'"]),
    ("nic.control_size", &["'16 B'", "'64 B'"]),
    ("router.ports", &["64", "200"]),
    ("router.vcs", &["4", "8", "12"]),
    ("router.delay", &["'1 ns'", "'50 ns'", "'90 ns'"]),
    ("router.buffer", &["'2 packets'", "'4 packets'", "'8 KiB'"]),
    // The window of lookahead: threads meet once a window, which many short ones make slow.
    ("link.delay", &["'70 ns'", "'300 ns'"]),
    ("link.injection.delay", &["'100 ns'"]),
    ("link.ejection.delay", &["'60 ns'"]),
    ("measure.max_time", &["'2 us'", "'4 us'", "'6 us'"]),
    ("measure.min_time", &["'1 us'"]),
    ("measure.warm_up", &["'auto'", "'1 us'", "'300 ns'"]),
    ("measure.series", &["'500 ns'", "'1 us'"]),
    ("measure.confidence", &["0.9", "0.95"]),
    ("measure.resolution", &["0.1", "0.2"]),
    ("measure.precision", &["0.1", "0.5"]),
    ("measure.unproven", &["false"]),
    ("seed", &["1", "77"]),
];

/// Files of programs by the key that names them.
const PROGRAMS: &[(&str, &str)] = &[
    ("goal", "../../../examples/pipeline.goal"),
    ("calls", "schema/data/two.calls"),
    ("trace", "../../../examples/lj.trace"),
    ("chakra", "schema/data/two.0.json"),
];

/// The file of a kind of program.
pub fn program_file(kind: &str) -> Option<&'static str> {
    PROGRAMS.iter().find(|own| own.0 == kind).map(|own| own.1)
}

/// A value for a key that is no table; none for tables, and for text that nobody knows.
pub fn value_of(path: &str, shape: &Shape, strata: &Strata, random: &mut Random) -> Option<Value> {
    if matches!(shape, Shape::Table(_) | Shape::Choice(..)) {
        return None;
    }
    // Machines of millions of nodes take the tests' builds longer than the watch waits, and so do searches of a day.
    let is_slow = path.starts_with("topology.") || path == "placement.budget";
    let is_extreme = random.chance(strata.extreme) && !is_slow;
    if let Some((_, counts)) = COUNTS.iter().find(|own| own.0 == path).filter(|_| !is_extreme) {
        return Some((*random.one(counts)).into());
    }
    // Text has no extremes: only what is known can be written.
    let known = VALUES.iter().find(|own| own.0 == path);
    if let Some((_, values)) = known.filter(|_| !is_extreme || matches!(shape, Shape::Text | Shape::List(..))) {
        let is_list = |value: &&&str| value.starts_with('[') == matches!(shape, Shape::List(..));
        let fitting: Vec<&&str> = values.iter().filter(is_list).collect();
        let table: toml::Table = format!("value = {}", random.one(&fitting)).parse().unwrap();
        return Some(table["value"].clone());
    }
    match shape {
        Shape::Words(words) => Some(random.one(words).clone().into()),
        Shape::Boolean => Some(random.chance(60).into()),
        &Shape::Integer(min, max) => {
            let all = if is_extreme {
                vec![min, max, 0, 1, min.saturating_add(1), max - 1, 1000, 65_536, 1 << 24]
            } else {
                vec![min, min + 1, min + 2, 1, 2, 3, 4]
            };
            let all: Vec<i64> = all.into_iter().filter(|value| (min..=max).contains(value)).collect();
            Some((*random.one(&all)).into())
        }
        &Shape::Number(min, max) => {
            let all = if is_extreme {
                vec![min, max, 0.0, 1e-12, 1e-300, 1e9, 1e300, 0.999_999]
            } else {
                vec![0.1, 0.25, 0.5, 0.9, 1.0, 2.0, min, max.min(4.0)]
            };
            let all: Vec<f64> = all.into_iter().filter(|value| (min..=max).contains(value)).collect();
            (!all.is_empty()).then(|| (*random.one(&all)).into())
        }
        Shape::Quantity(what) => Some((*random.one(quantities(what, is_extreme))).into()),
        Shape::List(items, least, _) if !matches!(**items, Shape::Table(_) | Shape::Choice(..)) => {
            let count = (*least).max(1) + random.below(2);
            (0..count).map(|_| value_of(path, items, strata, random)).collect::<Option<Vec<_>>>().map(Value::from)
        }
        _ => None,
    }
}

fn quantities(what: &str, is_extreme: bool) -> &'static [&'static str] {
    match (what, is_extreme) {
        ("a time", false) => &["1 ns", "20 ns", "70 ns", "300 ns", "1 us"],
        ("a time", true) => &["0 ns", "1 ps", "1 s", "92 days", "3 s", "0.001 ns", "1000 s"],
        ("a duration", false) => &["10 min", "2 h"],
        ("a duration", true) => &["0 s", "1 ms", "1000 h"],
        ("a size", false) => &["1 B", "64 B", "256 B", "600 B", "1 KiB", "4 KiB"],
        ("a size", true) => &["0 B", "1 B", "1 GiB", "1 TiB", "16 MiB", "65537 B"],
        ("a bandwidth", false) => &["10 Gb/s", "100 Gb/s", "7 Gb/s", "25 GB/s"],
        ("a bandwidth", true) => &["1 b/s", "1 kb/s", "800 Tb/s", "1 Pb/s"],
        ("a length", false) => &["60 cm", "1 m", "2.4 m", "30 m"],
        ("a length", true) => &["0 m", "1 mm", "1 km", "1000 km"],
        ("a power", false) => &["500 mW", "12 W", "1.5 kW"],
        ("a power", true) => &["0 W", "1 mW", "1 MW", "1000 MW"],
        ("a depth", false) => &["2 packets", "4 packets", "3000 B", "16 KiB"],
        (_, _) => &["1 packets", "1 B", "100000 packets", "4 GiB", "0 packets"],
    }
}
