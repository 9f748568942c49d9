//! The seam of network models: a model that only this file knows runs exchanges on an ordinary topology.

use std::path::Path;
use std::sync::Arc;

use engine::statistics::Histogram;
use fabric::{Actions, ArrivedMessage, Batch, ChannelUse, MessageKey, Plan};
use network::traffic::{Division, JobTraffic, NodeTraffic};
use network::{Feature, Machine, MachineRun, NetworkModel, Part};
use sim::{Experiment, RunOptions, System, run};
use system::BuildCache;
use topology::ChannelSource;
use units::KeyError;

/// Time from the beginning of a phase to the arrival of each of its messages, in ticks of a picosecond.
const LATENCY: u64 = 5_000_000;

/// Network in which each message of a phase arrives a fixed time after the beginning of the phase.
#[derive(Debug)]
struct PostalModel;

impl NetworkModel for PostalModel {
    fn name(&self) -> &'static str {
        "postal"
    }

    fn features(&self) -> &'static [Feature] {
        &[]
    }

    fn build(&self, plan: &Arc<Plan>, run: &MachineRun<'_>) -> Box<dyn Machine> {
        let nodes: Vec<u32> = (0..plan.topology().nodes()).collect();
        let division = Division::new(nodes.len() as u32, std::iter::once(&nodes[..]), LATENCY);
        let traffic = (run.traffic)(Part { number: 0, nodes: &nodes, division: &division });
        let arrivals = vec![0; nodes.len()];
        Box::new(PostalMachine { traffic, arrivals, latency: Histogram::new(), now: 0 })
    }
}

struct PostalMachine {
    traffic: NodeTraffic,
    arrivals: Vec<u64>,
    latency: Histogram,
    now: u64,
}

impl PostalMachine {
    /// Delivers all messages that are handed over.
    fn deliver(&mut self) -> Batch {
        let mut all = Batch::default();
        let Some(JobTraffic::Volume(traffic)) = self.traffic.of_job_mut(0) else { return all };
        let Some(at) = traffic.starts_at() else { return all };
        for flow in (0..self.arrivals.len()).flat_map(|node| traffic.take_flows(node)) {
            self.arrivals[flow.dst.index()] = at + LATENCY;
            self.latency.record(LATENCY);
            all.add(&Batch { entered: 1, packets: 1, bytes: flow.left, ..Batch::default() });
        }
        all
    }
}

impl Machine for PostalMachine {
    fn advance(&mut self, until: u64, batch: u64, counts: &mut [Vec<Batch>]) {
        counts[0] = vec![Batch::default(); (until - self.now).div_ceil(batch) as usize];
        self.now = until;
        if let Some(last) = counts[0].last_mut() {
            *last = self.deliver();
        }
    }

    fn pass(&mut self, _settled: u64, until: u64) {
        self.now = until;
    }

    fn measured(&mut self, _job: usize) -> (Histogram, u64) {
        (self.latency.clone(), 0)
    }

    fn note_arrivals(&mut self, _job: usize) {}

    fn arrivals(&mut self, _job: usize) -> Vec<u64> {
        self.arrivals.clone()
    }

    fn measure_messages(&mut self, _job: usize, _key: MessageKey) {}

    fn take_messages(&mut self, _job: usize) -> Vec<ArrivedMessage> {
        Vec::new()
    }

    fn channel_use(&self, _job: usize, _until: u64) -> Vec<(ChannelSource, ChannelUse)> {
        Vec::new()
    }

    fn visit_traffic(&self, visit: &mut dyn FnMut(&NodeTraffic)) {
        visit(&self.traffic);
    }

    fn change_traffic(&mut self, change: &mut dyn FnMut(&mut NodeTraffic, &mut Actions)) {
        change(&mut self.traffic, &mut Actions::default());
    }
}

fn build(rest: &str) -> Result<System, KeyError> {
    let text = format!(
        "topology = {{ kind = \"torus\", dims = [4, 4] }}\nlink = {{ bandwidth = \"8 Gb/s\", delay = \"700 ns\" }}\n{rest}"
    );
    let experiment = Experiment::load(&text, "test.toml", Path::new("."), &[]).unwrap();
    let model: Arc<dyn NetworkModel> = Arc::new(PostalModel);
    System::build_with(&model, &experiment.points()[0].spec, Path::new("."), &BuildCache::default())
}

#[test]
fn a_model_of_its_own_carries_phases() {
    // Would catch a question that presumes packets, routes or the delay model.
    let system = build("workload = { kind = \"exchange\", dims = [4, 4], volume = \"1000 B\" }").unwrap();
    let point = run(&system, &RunOptions::default()).unwrap();
    let closed = point.closed().unwrap();
    let times: Vec<f64> = closed.phases.iter().map(|phase| phase.time_ns.unwrap()).collect();
    assert_eq!((times, closed.time_ns), (vec![5000.0; 2], Some(10_000.0)));
    assert_eq!((point.packet_hops, point.latency_max_ns), (0, Some(5000.0)));
}

#[test]
fn features_refuse_keys_by_name() {
    // Would catch a key that is ignored since the model has no use for it.
    let exchange = "workload = { kind = \"exchange\", dims = [4, 4], volume = \"1000 B\" }";
    let key = |rest: &str| build(rest).unwrap_err().key;
    assert_eq!(key("workload = { kind = \"traffic\", load = 0.1 }"), "workload.kind");
    assert_eq!(key(&format!("routing = {{ kind = \"dimension-order\" }}\n{exchange}")), "routing");
    assert_eq!(key(&format!("measure = {{ series = \"1 us\" }}\n{exchange}")), "measure.series");
}
