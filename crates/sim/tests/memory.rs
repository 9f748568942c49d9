//! The estimate of a run's memory, against what the run allocates.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]
#![allow(unsafe_code, reason = "allocations are counted by an allocator, which is unsafe to write")]

use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use sim::{Experiment, RunOptions, System, check, run};

/// The system's allocator, which counts.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        grow(size);
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.realloc(place, layout, size) }
    }
}

/// Channels that hold less than a packet,
const SHORT: &str = "bandwidth = \"10 Gb/s\", delay = \"20 ns\"";
/// those of today, where cables and the pipelines of routers hold several,
const FAST: &str = "bandwidth = \"400 Gb/s\", delay = \"20 ns\"";
/// and with long cables between groups.
const LONG: &str = "bandwidth = \"400 Gb/s\", delay = \"30 ns\", global.delay = \"500 ns\"";

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `check` says, and the most that a run has allocated at a time, in bytes.
fn estimate_and_peak((topology, link): (&str, &str), router: &str, load: &str) -> (f64, f64) {
    let text = format!(
        r#"
        topology = {topology}
        link = {{ {link} }}
        router = {{ {router} }}
        workload = {{ kind = "traffic", load = {load}, pattern = "uniform" }}
        measure = {{ warm_up = "20 us", max_time = "30 us" }}
        "#
    );
    measured(&system(&text))
}

fn system(text: &str) -> System {
    let experiment =
        Experiment::load(text, "memory.toml", Path::new("."), &[]).unwrap_or_else(|error| panic!("{error}"));
    System::build(&experiment.points()[0].spec, Path::new(".")).unwrap_or_else(|error| panic!("{error}"))
}

/// What `check` says of a system, and the most that a run of it has allocated at a time, in bytes.
fn measured(system: &System) -> (f64, f64) {
    let estimate = check(system).unwrap_or_else(|error| panic!("{error}")).memory_bytes;
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    run(system, &RunOptions { threads: 1, ..RunOptions::default() }).unwrap_or_else(|error| panic!("{error}"));
    (estimate as f64, (PEAK.load(Ordering::Relaxed) - before) as f64)
}

#[test]
fn the_estimate_of_memory_is_that_of_a_run() {
    // Would catch a table that grows with ports times ports, with virtual channels or with partitions and is left out,
    // or packets in cables and pipelines: each within 30 %.
    let wide = "{ kind = \"single-switch\", ports = 4000 }";
    let torus = "{ kind = \"torus\", dims = [16, 16, 8] }";
    let cases = [
        (wide, "kind = \"input-queued\", vcs = 16", "0.5"),
        (wide, "kind = \"input-output-queued\", vcs = 8, arbitration = \"oldest-first\"", "0.5"),
        ("{ kind = \"single-switch\", ports = 700 }", "kind = \"output-queued\"", "0.9"),
        ("{ kind = \"single-switch\", ports = 500 }", "kind = \"virtual-output-queued\", vcs = 4", "0.9"),
        ("{ kind = \"fat-tree\", k = 16, n = 3 }", "kind = \"output-queued\", credits = \"per-crosspoint\"", "0.8"),
        (torus, "kind = \"virtual-output-queued\"", "0.9"),
        (torus, "kind = \"input-crosspoint-queued\"", "0.9"),
        (
            "{ kind = \"single-switch\", ports = 500 }",
            "kind = \"input-crosspoint-queued\", queueing = \"fifo\", vcs = 4",
            "0.9",
        ),
        (torus, "kind = \"input-queued\"", "0.9"),
        (torus, "kind = \"input-output-queued\", vcs = 8", "0.9"),
        ("{ kind = \"dragonfly\", h = 4 }", "kind = \"output-queued\"", "0.8"),
        ("{ kind = \"dragonfly\", h = 4 }", "kind = \"virtual-output-queued\", vcs = 8", "0.8"),
        // Some 60 flows of each of 2048 nodes.
        (torus, "kind = \"output-queued\"", "0.5, pacer = { kind = \"window\", window = \"64 KiB\" }"),
    ];
    let cases = cases.map(|(topology, router, load)| (topology, SHORT, router, load));
    let today = [
        ("{ kind = \"dragonfly\", h = 4 }", LONG, "kind = \"input-output-queued\"", "0.5"),
        ("{ kind = \"dragonfly\", h = 4 }", LONG, "kind = \"output-queued\"", "0.5"),
        ("{ kind = \"fat-tree\", k = 16, n = 3 }", FAST, "kind = \"input-output-queued\"", "0.5"),
    ];
    let mut far = Vec::new();
    for (topology, link, router, load) in cases.into_iter().chain(today) {
        let (estimate, peak) = estimate_and_peak((topology, link), router, load);
        println!("{topology} {link} {router}: {:.2} MB estimated, {:.2} MB allocated", estimate / 1e6, peak / 1e6);
        if (estimate / peak - 1.0).abs() > 0.3 {
            far.push(format!("{topology} {link} {router}: {estimate} for {peak}"));
        }
    }
    assert!(far.is_empty(), "{far:#?}");
    // Would catch memory of the delay model for each channel between routers: 1024 routers with 5 and with 63 ports.
    let [few, many] = ["torus", "hyperx"].map(|kind| {
        let text = format!(
            "topology = {{ kind = \"{kind}\", dims = [32, 32] }}\nlink = {{ {FAST} }}\nsimulation.model = \"delay\"\n\
             workload = {{ kind = \"program\", program = {{ kind = \"collective\", operation = \"barrier\" }} }}"
        );
        measured(&system(&text))
    });
    println!("delay model, 1024 nodes: {few:?} and {many:?} B");
    assert!(many.1 < 1.05 * few.1 && few.0 == many.0, "{few:?}, {many:?}");
}
