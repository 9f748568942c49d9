//! What it costs to ask a routing for the next hop, once a packet-hop.
//!
//!     cargo bench -p cutthrough-routing
#![allow(clippy::unwrap_used, reason = "all that is built here can be built")]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, Throughput};
use routing::algorithms::dimension_order::DimensionOrderSpec;
use routing::{Hop, Routing, RoutingSpec};
use topology::families::fat_tree::FatTreeSpec;
use topology::families::torus::GridSpec;
use topology::{Topology, TopologySpec};
use units::{Draw, NodeId, RouterId, VcClass};

/// Questions in one measurement: (router, packet), the same for each run.
const QUESTIONS: usize = 4096;

/// Xorshift, for destinations; the engine's streams are not this crate's to know.
struct Bits(u64);

impl Draw for Bits {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Packets just injected, of random pairs of nodes, each at its source's router.
fn questions(topology: &dyn Topology, routing: &dyn Routing) -> Vec<(RouterId, Hop)> {
    let mut draw = Bits(42);
    let nodes = topology.nodes();
    let question = |_| {
        let (src, dst) = (NodeId(draw.below(nodes)), NodeId(draw.below(nodes)));
        let (at, in_port) = topology.attachment(src);
        let state = routing.start(src, dst, &mut draw);
        (at, Hop { dst, state, in_port, vc_class: VcClass(0) })
    };
    (0..QUESTIONS).map(question).collect()
}

/// The networks of `benches/` and their routings.
fn cases() -> Vec<(&'static str, TopologySpec, RoutingSpec)> {
    let tree = |k, n| TopologySpec::FatTree(FatTreeSpec { k, n });
    let grid = |side, dims: usize| GridSpec::new(&vec![side; dims], 1);
    let up_down = RoutingSpec::AdaptiveUpDown(Default::default());
    let in_order = RoutingSpec::DimensionOrder(DimensionOrderSpec::default());
    vec![
        ("adaptive up/down, 4-ary 4-tree", tree(4, 4), up_down.clone()),
        ("adaptive up/down, 16-ary 3-tree", tree(16, 3), up_down),
        ("dimension order, 8x8 mesh", TopologySpec::Mesh(grid(8, 2)), in_order.clone()),
        ("dimension order, 64x64 torus", TopologySpec::Torus(grid(64, 2)), in_order),
        ("shortest path, 16x16 torus", TopologySpec::Torus(grid(16, 2)), RoutingSpec::ShortestPath(Default::default())),
    ]
}

/// One question of each routing.
fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("route");
    group.throughput(Throughput::Elements(QUESTIONS as u64));
    for (name, topology, routing) in cases() {
        let topology = topology.build(Path::new(".")).unwrap();
        let routing: Arc<dyn Routing> = routing.build(&*topology).unwrap();
        let questions = questions(&*topology, &*routing);
        group.bench_function(name, |b| {
            b.iter(|| {
                for (at, hop) in &questions {
                    black_box(routing.route(*at, &mut hop.clone()));
                }
            });
        });
    }
    group.finish();
    criterion.final_summary();
}
