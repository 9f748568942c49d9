//! The executor alone on a flat network: programs of many ranks, their end times and messages a second.
//!
//!     cargo run --release -p cutthrough-host --example ranks -- pairwise 256
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    missing_docs,
    reason = "a tool for developers"
)]

use std::sync::Arc;

use host::{
    ConnectionParams, Envelope, Executor, GapParams, HostContext, MatchingParams, NicParams, PartParams, PerByte,
    ProcessorParams, ProgressMode, ProtocolParams, RailParams, RankPlacement, RegistrationParams, WireParams,
};
use units::Bandwidth;
use workload::program::{Action, Burst, Programs, Script, Scripts, Seen, Step};

/// One executor is all there is.
struct Nothing;

impl HostContext for Nothing {
    fn wake(&mut self, _: u32) {}
    fn alarm(&mut self, _: u64) {}
    fn announce(&mut self, _: u32, _: Envelope) {}
}

const NS: u64 = 1000;

/// LogGOPSim's example: L 2500 ns, o 1500, g 1000, G 6 ns a byte, o on the processor.
fn interface(eager: Option<u64>) -> NicParams {
    let gap = GapParams { per_message: 1000 * NS, per_byte: PerByte::of(6 * NS), spares_first: true };
    NicParams {
        send_overhead: 1500 * NS,
        receive_overhead: 1500 * NS,
        eager_limit: eager,
        control: 32,
        packet: 1 << 30,
        pace: 1,
        tick: 1,
        protocol: ProtocolParams::PLAIN,
        rails: RailParams::ONE,
        connections: ConnectionParams::NONE,
        overhead_per_byte: PerByte::FREE,
        copy: [PerByte::FREE; 2],
        spares_first: true,
        processor: ProcessorParams { occupied: true, progress: ProgressMode::Calls, noise: None },
        matching: MatchingParams { per_entry: 0, on_nic: false },
        registration: RegistrationParams::NONE,
        parts: PartParams {
            send_gap: gap,
            receive_gap: GapParams { per_byte: PerByte::FREE, ..gap },
            ..PartParams::NONE
        },
    }
}

/// What a rank does in turn: the partners that it sends to and receives from, round by round.
#[derive(Debug)]
struct Rounds {
    rank: u32,
    ranks: u32,
    kind: Kind,
    bytes: u64,
    round: u32,
    step: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Pairwise,
    Linear,
    Doubling,
}

impl Script for Rounds {
    fn next(&mut self, _: &Seen) -> Step {
        let (ranks, rank) = (self.ranks, self.rank);
        let rounds = match self.kind {
            Kind::Pairwise => ranks - 1,
            Kind::Doubling => ranks.ilog2(),
            Kind::Linear => 1,
        };
        if self.round == rounds {
            return Step::End;
        }
        let (to, from) = match self.kind {
            Kind::Pairwise => ((rank + self.round + 1) % ranks, (rank + ranks - self.round - 1) % ranks),
            Kind::Linear => ((rank + 1) % ranks, (rank + 1) % ranks),
            Kind::Doubling => (rank ^ 1 << self.round, rank ^ 1 << self.round),
        };
        let (recv, send) = (
            Action::Recv { from: Some(from), bytes: self.bytes, tag: Some(0), context: Default::default() },
            Action::Send { to, bytes: self.bytes, tag: 0, context: Default::default() },
        );
        self.step += 1;
        let count = ranks - 1;
        match (self.step, self.kind) {
            (1, Kind::Linear) => Step::Burst(Burst { first: recv, count, stride: 1 }),
            (2, Kind::Linear) => Step::Burst(Burst { first: send, count, stride: 1 }),
            (1, _) => Step::Do(recv),
            (2, _) => Step::Do(send),
            _ => {
                (self.step, self.round) = (0, self.round + 1);
                Step::WaitAll
            }
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let ranks: u32 = args[2].parse().unwrap();
    let (kind, bytes) = match args[1].as_str() {
        "pairwise" => (Kind::Pairwise, 1024),
        "linear" => (Kind::Linear, 1024),
        _ => (Kind::Doubling, 8),
    };
    let programs: Arc<dyn Programs> = Arc::new(
        Scripts::new(ranks, move |rank| Rounds { rank, ranks, kind, bytes, round: 0, step: 0 }).without_probes(),
    );
    let placed = RankPlacement::whole((0..ranks).collect(), ranks);
    let mut executor = Executor::new(&programs, interface(None), placed);
    executor.use_wire(WireParams { delay: 2500 * NS, bandwidth: Bandwidth(1 << 50) });
    let start = std::time::Instant::now();
    executor.begin(0, &mut Nothing);
    executor.run_until(u64::MAX, &mut Nothing);
    let seconds = start.elapsed().as_secs_f64();
    let messages = executor.carried().unwrap().messages;
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
