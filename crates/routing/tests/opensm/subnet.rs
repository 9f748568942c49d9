//! OpenSM on a topology, simulated by ibsim: forwarding tables and log of a run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use routing::algorithms::table::DestinationKind;
use routing::{Routing, RoutingTable};
use topology::{Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

/// Output of each router for each node: by router, then node. `None`: the router of the node itself, or no entry.
pub type Outputs = Vec<Vec<Option<u16>>>;

/// Returns the outputs of a routing that packets use. An engine's outputs do not depend on lanes.
pub fn outputs(topology: &dyn Topology, routing: &dyn Routing) -> Outputs {
    let table = RoutingTable::of(topology, routing).unwrap();
    let (routers, nodes) = (topology.routers() as usize, topology.nodes());
    let mut outputs = vec![vec![None; nodes as usize]; routers];
    for (row, ports) in table.ports.chunks_exact(table.columns).enumerate() {
        for node in 0..nodes {
            let column = match table.destinations {
                DestinationKind::Routers => topology.attachment(NodeId(node)).0.0,
                DestinationKind::Nodes => node,
            };
            let output = &mut outputs[row % routers][node as usize];
            let port = u16::try_from(ports[column as usize]).ok();
            assert!(output.is_none() || port.is_none() || *output == port, "the output depends on the lane");
            *output = output.or(port);
        }
    }
    outputs
}

/// Returns the number of pairs of nodes whose packets take each output, by router and port.
///
/// # Panics
/// If a packet does not arrive within as many steps as there are routers.
pub fn loads(topology: &dyn Topology, outputs: &Outputs) -> BTreeMap<(u32, u16), u32> {
    let mut loads = BTreeMap::new();
    for (src, dst) in pairs(topology) {
        for hop in path(topology, outputs, src, dst) {
            *loads.entry(hop).or_insert(0) += 1;
        }
    }
    loads
}

/// Returns all pairs of nodes of different routers.
pub fn pairs(topology: &dyn Topology) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
    let nodes = || (0..topology.nodes()).map(NodeId);
    let apart = |&(src, dst): &(NodeId, NodeId)| topology.attachment(src).0 != topology.attachment(dst).0;
    nodes().flat_map(move |src| nodes().map(move |dst| (src, dst))).filter(apart)
}

/// Returns the outputs on the way of a packet, each as router and port.
pub fn path(topology: &dyn Topology, outputs: &Outputs, src: NodeId, dst: NodeId) -> Vec<(u32, u16)> {
    let (mut at, home) = (topology.attachment(src).0, topology.attachment(dst).0);
    let mut path = Vec::new();
    while at != home {
        let port = outputs[at.index()][dst.index()].unwrap_or_else(|| panic!("no output at {at} for {dst}"));
        path.push((at.0, port));
        assert!(path.len() <= outputs.len(), "packets from {src} for {dst} go in a loop");
        let Endpoint::Router(next, _) = topology.endpoint(at, PortId(port)) else { panic!("no router at {at} {port}") };
        at = next;
    }
    path
}

/// Installed programs: `opensm`, `ibsim` and their libraries, of Debian's `opensm` and `ibsim-utils`.
pub struct Opensm {
    root: PathBuf,
}

/// Result of a run.
pub struct Made {
    /// Engine whose tables OpenSM took, which is not the requested one if that failed.
    pub engine: String,
    pub outputs: Outputs,
    pub log: String,
}

const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const SWITCH_GUIDS: u64 = 0x1_0000;
const NODE_GUIDS: u64 = 0x100_0000;

/// Child process that ends with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Opensm {
    /// Returns the programs in the folder `CUTTHROUGH_OPENSM` (packages unpacked by `dpkg -x`), else those of the
    /// system. `None`: they are not installed.
    pub fn find() -> Option<Self> {
        let root = PathBuf::from(std::env::var("CUTTHROUGH_OPENSM").unwrap_or_else(|_| "/".to_owned()));
        let here = |path: &str| root.join(path).exists();
        let found = here("usr/sbin/opensm") && here("usr/bin/ibsim");
        if !found {
            eprintln!("skipped: opensm and ibsim are not installed (`CUTTHROUGH_OPENSM`: folder of unpacked packages)");
        }
        found.then_some(Self { root })
    }

    /// Runs an engine on a topology, with a file of root GUIDs unless there are no `roots`, and `nue` with QoS on at most
    /// `lanes` lanes. LIDs are 1 and up for the nodes in order, then for the routers.
    pub fn run(&self, engine: &str, topology: &dyn Topology, (roots, lanes): (&[u64], u32)) -> Made {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let name = format!("cutthrough-opensm-{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(&name);
        std::fs::create_dir_all(&folder).unwrap();
        let nodes = topology.nodes();
        std::fs::write(folder.join("net"), net(topology)).unwrap();
        std::fs::write(folder.join("guid2lid"), lids(topology)).unwrap();
        std::fs::write(folder.join("conf"), "honor_guid2lid_file TRUE\n").unwrap();
        let libraries = self.root.join(LIBRARIES);
        let mut simulator = self.command("usr/bin/ibsim", &folder, &name);
        simulator.args(["-s", "-n", "net"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut simulator = Running(simulator.spawn().unwrap());
        let said = simulator.0.stdout.take().unwrap();
        let mut said = BufReader::new(said).lines();
        assert!(said.any(|line| line.unwrap().contains("simulator ready")), "ibsim does not start");
        let mut manager = self.command("usr/sbin/opensm", &folder, &name);
        manager.args(["-F", "conf", "-R", engine, "-o", "-D", "0x43", "-f", "log"]);
        if lanes > 1 {
            manager.args(["-Q", "--nue_max_num_vls", &lanes.to_string()]);
        }
        if !roots.is_empty() {
            let guids: String = roots.iter().map(|root| format!("0x{:x}\n", SWITCH_GUIDS + root)).collect();
            std::fs::write(folder.join("roots"), guids).unwrap();
            manager.args(["-a", "roots"]);
        }
        manager.env("LD_PRELOAD", libraries.join("umad2sim/libumad2sim.so")).env("SIM_HOST", "H0");
        manager.env("OSM_TMP_DIR", &folder).env("OSM_CACHE_DIR", &folder);
        manager.stdout(Stdio::null()).stderr(Stdio::null());
        assert!(manager.status().unwrap().success(), "opensm fails");
        drop(simulator);
        let log = std::fs::read_to_string(folder.join("log")).unwrap();
        let outputs = read(&std::fs::read_to_string(folder.join("opensm-lfts.dump")).unwrap(), topology);
        let mut made =
            log.lines().filter_map(|line| line.split_once("osm_ucast_mgr_process: ")?.1.split_once(" tables"));
        let engine = made.next_back().unwrap_or_else(|| panic!("no tables of {nodes} nodes: {log}")).0.to_owned();
        std::fs::remove_dir_all(&folder).unwrap();
        Made { engine, outputs, log }
    }

    fn command(&self, program: &str, folder: &Path, name: &str) -> Command {
        let mut command = Command::new(self.root.join(program));
        command.current_dir(folder).env("IBSIM_SOCKNAME", name).env("LD_LIBRARY_PATH", self.root.join(LIBRARIES));
        command
    }
}

/// Returns a topology as a net file of ibsim. Port p of a router is port p + 1 of its switch.
fn net(topology: &dyn Topology) -> String {
    let mut text = String::new();
    for router in (0..topology.routers()).map(RouterId) {
        let ports = topology.ports(router);
        writeln!(text, "switchguid=0x{:x}\nSwitch {ports} \"S{router}\"", SWITCH_GUIDS + u64::from(router.0)).unwrap();
        for port in 0..ports {
            match topology.endpoint(router, PortId(port)) {
                Endpoint::Router(to, PortId(in_port)) => writeln!(text, "[{}] \"S{to}\"[{}]", port + 1, in_port + 1),
                Endpoint::Node(node) => writeln!(text, "[{}] \"H{node}\"[1]", port + 1),
                Endpoint::Unconnected => Ok(()),
            }
            .unwrap();
        }
        text.push('\n');
    }
    for node in (0..topology.nodes()).map(NodeId) {
        let (router, port) = topology.attachment(node);
        let guid = NODE_GUIDS + 2 * u64::from(node.0);
        writeln!(text, "caguid=0x{guid:x}\nHca 1 \"H{node}\"\n[1] \"S{router}\"[{}]\n", port.0 + 1).unwrap();
    }
    text
}

fn lids(topology: &dyn Topology) -> String {
    let nodes = (0..topology.nodes()).map(|node| NODE_GUIDS + 2 * u64::from(node) + 1);
    let routers = (0..topology.routers()).map(|router| SWITCH_GUIDS + u64::from(router));
    let line = |(lid, guid): (u32, u64)| format!("0x{guid:016x} 0x{lid:04x} 0x{lid:04x}\n\n");
    (1..).zip(nodes.chain(routers)).map(line).collect()
}

/// Reads the dump of all forwarding tables.
fn read(dump: &str, topology: &dyn Topology) -> Outputs {
    let mut tables = BTreeMap::new();
    let mut router = None;
    for line in dump.lines() {
        if let Some((_, rest)) = line.split_once(" guid 0x") {
            let guid = u64::from_str_radix(rest.split_whitespace().next().unwrap(), 16).unwrap();
            router = Some((guid - SWITCH_GUIDS) as u32);
        } else if let Some((lid, rest)) = line.strip_prefix("0x").and_then(|line| line.split_once(' ')) {
            let port: Option<u16> = rest.split_whitespace().next().and_then(|port| port.parse().ok());
            tables.insert((router.unwrap(), u32::from_str_radix(lid, 16).unwrap()), port);
        }
    }
    let output = |router: u32, node: u32| {
        let home = topology.attachment(NodeId(node)).0;
        let port = tables.get(&(router, node + 1)).copied().flatten();
        port.filter(|&port| home.0 != router && port > 0).map(|port| port - 1)
    };
    (0..topology.routers()).map(|at| (0..topology.nodes()).map(|node| output(at, node)).collect()).collect()
}
