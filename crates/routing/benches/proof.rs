//! What the proof of freedom from deadlock costs: seconds, processor time of all threads, and the peak of memory so
//! far, for each network and routing.
//!
//!     cargo bench -p cutthrough-routing --bench proof            # networks of up to 4096 nodes
//!     cargo bench -p cutthrough-routing --bench proof -- 65536   # of up to so many nodes
//!     cargo bench -p cutthrough-routing --bench proof -- 65536 torus
#![allow(clippy::unwrap_used, reason = "all that is built here can be built")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::path::Path;
use std::time::Instant;

use routing::{RoutingSpec, dependency_cycle};
use topology::TopologySpec;

/// Machines by their shorthand, from 4096 to 65,536 nodes.
const MACHINES: [&str; 18] = [
    "fat-tree:k=16,n=3",
    "fat-tree:k=2,n=12",
    "fat-tree:k=25,n=3",
    "fat-tree:k=32,n=3",
    "fat-tree:k=16,n=4",
    "fat-tree:k=2,n=16",
    "torus:16x16x16",
    "torus:32x32x16",
    "torus:32x32x32",
    "torus:64x32x32",
    "mesh:16x16x16",
    "mesh:32x32x16",
    "mesh:64x32x32",
    "dragonfly:p=8,a=16,h=8,g=32",
    "dragonfly:h=8",
    "dragonfly:p=16,a=32,h=16,g=64",
    "dragonfly:p=16,a=32,h=16,g=128",
    "hyperx:16x16x16,nodes_per_router=8",
];

/// The most memory that this process has had, in MB, where the system reports it.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1000
}

/// Processor time of all threads in seconds, where the system reports it: what a loaded machine does not change.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = |field: usize| after_name.split_whitespace().nth(field).and_then(|word| word.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let most = words.iter().find_map(|word| word.parse().ok()).unwrap_or(4096);
    let wanted =
        |text: &str| words.iter().filter(|word| word.parse::<u32>().is_err()).all(|word| text.contains(word.as_str()));
    println!(
        "{:<30} {:<17} {:>6} {:>8} {:>11} {:>8}",
        "machine", "routing", "nodes", "seconds", "processor s", "peak MB"
    );
    for machine in MACHINES {
        let topology = machine.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap();
        if topology.nodes() > most {
            continue;
        }
        for spec in RoutingSpec::all().iter().filter(|spec| spec.fits(&*topology)) {
            if !wanted(&format!("{machine} {}", spec.kind())) {
                continue;
            }
            let Ok(routing) = spec.build(&*topology) else { continue };
            let (start, before) = (Instant::now(), processor());
            let cycle = dependency_cycle(&*topology, &*routing).unwrap();
            let (seconds, busy) = (start.elapsed().as_secs_f64(), processor() - before);
            assert!(cycle.is_none() || spec.kind() == "shortest-path", "{machine} {}", spec.kind());
            let (kind, nodes) = (spec.kind(), topology.nodes());
            println!("{machine:<30} {kind:<17} {nodes:>6} {seconds:>8.3} {busy:>11.2} {:>8}", peak());
        }
    }
}
