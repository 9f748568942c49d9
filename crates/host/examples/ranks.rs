//! The executor alone on a flat network: programs of many ranks, their end times and messages a second.
//!
//!     cargo run --release -p cutthrough-host --example ranks -- pairwise 256 4
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    missing_docs,
    reason = "a tool for developers"
)]

use std::path::Path;
use std::sync::Arc;

use apps::motifs::{CollectiveSpec, ProgramSpec};
use host::{
    ConnectionParams, Envelope, Executor, GapParams, HostContext, LocalRanks, MatchingParams, MessageInTransit,
    NicParams, PartParams, Passage, PerByte, ProcessorParams, ProgressMode, ProtocolParams, RailParams,
    RegistrationParams,
};
use mpi::collectives::{Algorithm, Operation};
use mpi::program::Programs;
use units::Bytes;

/// Network of links without limits. One executor is all there is.
struct Links {
    messages: u64,
}

impl HostContext for Links {
    fn wake(&mut self, _: u32) {}
    fn alarm(&mut self, _: u64) {}
    fn announce(&mut self, _: u32, _: Envelope) {}
    fn transmit(&mut self, _: (usize, u32), _: u64, at: Passage) -> Passage {
        Passage { head: at.head + 2500 * NS, tail: at.tail + 2500 * NS }
    }
    fn carry(&mut self, _: u32, _: MessageInTransit) {}
    fn count_arrival(&mut self, _: u64, _: u64) {
        self.messages += 1;
    }
}

const NS: u64 = 1000;

/// LogGOPSim's example: L 2500 ns, o 1500, g 1000, G 6 ns a byte, o on the processor.
fn interface(eager: Option<u64>) -> NicParams {
    let gap = GapParams { per_message: 1000 * NS, per_byte: PerByte::of(6 * NS), first_byte_free: true };
    NicParams {
        send_overhead: 1500 * NS,
        receive_overhead: 1500 * NS,
        poll_overhead: 0,
        eager_limit: eager,
        control: 32,
        packet: 1 << 30,
        whole: false,
        ends: false,
        pace: 1,
        tick: 1,
        protocol: ProtocolParams::PLAIN,
        rails: RailParams::ONE,
        connections: ConnectionParams::NONE,
        overhead_per_byte: PerByte::FREE,
        copy: [PerByte::FREE; 2],
        first_byte_free: true,
        processor: ProcessorParams { host_driven: true, progress: ProgressMode::Calls, ..ProcessorParams::LATENCY },
        matching: MatchingParams { per_entry: 0, on_nic: false },
        registration: RegistrationParams::NONE,
        parts: PartParams {
            send_gap: gap,
            receive_gap: GapParams { per_byte: PerByte::FREE, ..gap },
            ..PartParams::NONE
        },
    }
}

/// The program: pairwise and linear exchange of 1 KiB, or an allreduce of 8 B by recursive doubling.
fn program(name: &str, ranks: u32, iterations: u32) -> Arc<dyn Programs> {
    let (operation, algorithm, bytes) = match name {
        "pairwise" => (Operation::Alltoall, Algorithm::Pairwise, 1024),
        "linear" => (Operation::Alltoall, Algorithm::Linear, 1024),
        _ => (Operation::Allreduce, Algorithm::RecursiveDoubling, 8),
    };
    let spec = CollectiveSpec { operation, algorithm, size: Bytes(bytes), iterations, ..CollectiveSpec::default() };
    ProgramSpec::Collective(spec).build(ranks, Path::new(".")).unwrap()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let ranks: u32 = args[2].parse().unwrap();
    let iterations = args.get(3).map_or(1, |count| count.parse().unwrap());
    let programs = program(&args[1], ranks, iterations);
    let placed = LocalRanks::whole((0..ranks).collect(), ranks);
    let mut executor = Executor::new(&programs, interface(None), placed);
    executor.carry_whole();
    let mut links = Links { messages: 0 };
    let start = std::time::Instant::now();
    executor.begin(0, &mut links);
    executor.run_until(u64::MAX, &mut links);
    let seconds = start.elapsed().as_secs_f64();
    let messages = links.messages;
    let end = executor.ends().filter_map(|(_, end)| end).max().unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("").trim();
    println!(
        "{} {ranks}: end {} ns, {messages} messages, {:.2} M/s, {peak}, outstanding {}",
        args[1],
        end as f64 / 1e3,
        messages as f64 / seconds / 1e6,
        executor.places()
    );
}
