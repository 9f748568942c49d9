//! Source of a machine: a topology's shorthand, a name of the catalogue, or a file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use topology::families::file::{FileSpec, FileTopology};
use topology::{NetworkSpec, Topology, TopologySpec};
use units::{KeyError, KeyResult, LocatedError, NodeId, input};

use super::importers::{Wiring, cray, graphml, hwloc, ibnetdiscover, infragraph, slurm, slurm_yaml};
use super::{
    Home, MACHINES, Machine, MachineFacts, MachineSpec, NamedMachine, NodeShape, PresetLink, RankOrder, allocation,
};

/// Assumed delay of a channel whose bandwidth comes from a file, in nanoseconds.
const ASSUMED_DELAY_NS: f64 = 20.0;

/// Description of a machine by a user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineSource {
    /// Machine: a shorthand (`torus:16x16x16`), a name (`bluegene-p:1024`) or a file.
    pub machine: String,
    /// Number of cores of a node. Default: that of the named machine or of `node`, or 1.
    pub cores: Option<u32>,
    /// Order in which ranks fill the cores.
    pub rank_order: RankOrder,
    /// Nodes of the job: a box, numbers, or hosts. Default: all nodes.
    pub allocation: Option<String>,
    /// hwloc file that describes a node.
    pub node: Option<String>,
}

/// Topology with the other properties that its source states.
struct Found {
    topology: Arc<dyn Topology>,
    about: MachineFacts,
    cores: Option<u32>,
    /// Number of first nodes that the job uses. Absent if it uses all.
    used: Option<u32>,
}

impl MachineSource {
    /// Reads the machine. Relative paths start from `base`.
    ///
    /// # Errors
    /// If the machine has no known form, or an option does not fit it. An error names the file and the line, or the
    /// key.
    pub fn read(&self, base: &Path) -> Result<Machine, LocatedError> {
        self.complete(self.find(base)?, base)
    }

    /// Creates the machine of a topology that has been built, under the name `machine`. `spec` is the topology in the
    /// form of experiment files.
    ///
    /// # Errors
    /// If an option does not fit the machine.
    pub fn of_topology(
        &self,
        topology: Arc<dyn Topology>,
        spec: Option<NetworkSpec>,
        base: &Path,
    ) -> Result<Machine, LocatedError> {
        let notes = topology.views().notes.to_vec();
        let about = MachineFacts { name: self.machine.clone(), topology: spec, notes, ..MachineFacts::default() };
        self.complete(Found { topology, about, cores: None, used: None }, base)
    }

    fn complete(&self, mut found: Found, base: &Path) -> Result<Machine, LocatedError> {
        if let Some(file) = &self.node {
            let shape = read_node(file, base)?;
            found.about.notes.extend(shape.notes.sentences().iter().cloned());
            found.about.node = Some(shape);
        }
        let shape = found.about.node.as_ref().map(|shape| shape.cores);
        let cores = self.cores.or(shape).or(found.cores).unwrap_or(1);
        if cores == 0 || cores > 65_536 {
            return Err(LocatedError::key("cores", format!("a node has 1 to 65536 cores, not {cores}")));
        }
        let names = found.about.names.as_deref().zip(found.about.homes.as_deref());
        let nodes = match (&self.allocation, found.used) {
            (Some(text), _) => allocation::parse(text, &*found.topology, names)?,
            (None, Some(used)) => (0..used).map(NodeId).collect(),
            (None, None) => (0..found.topology.nodes()).map(NodeId).collect(),
        };
        let spec = MachineSpec { cores, rank_order: self.rank_order };
        let machine = Machine::with_allocation(found.topology, spec, nodes)?;
        Ok(machine.described(found.about))
    }

    fn find(&self, base: &Path) -> Result<Found, LocatedError> {
        let text = self.machine.trim();
        let name = text.split_once(':').map_or(text, |(name, _)| name);
        if NamedMachine::is_name(text) && !base.join(text).is_file() {
            return by_name(text, base);
        }
        let kinds: Vec<&str> = TopologySpec::FAMILIES.iter().map(|family| family.kind).collect();
        if kinds.contains(&name) {
            let spec = text.parse::<NetworkSpec>()?;
            if matches!(spec.topology, TopologySpec::Flat(_)) {
                let message = "a flat network has no channels: wherever tasks are, messages take the same time";
                return Err(LocatedError::key("machine", message.to_owned()));
            }
            let topology = build_topology(&spec, base)?;
            return Ok(Found {
                topology,
                about: MachineFacts { name: text.to_owned(), topology: Some(spec), ..MachineFacts::default() },
                cores: None,
                used: None,
            });
        }
        let path = base.join(text);
        if path.exists() && !path.is_dir() {
            return from_file(text, &path);
        }
        Err(unknown(text, name, &kinds))
    }
}

/// Returns a machine of the catalogue.
fn by_name(text: &str, base: &Path) -> Result<Found, LocatedError> {
    let wrong = |error: &dyn ToString| LocatedError::key("machine", error.to_string());
    let named = NamedMachine::find(text).map_err(|error| wrong(&error))?;
    let spec = named.topology().map_err(|error| wrong(&error))?;
    let topology = spec.build(base)?;
    let notes = Some(named.assumed.clone()).filter(|assumed| !assumed.is_empty()).into_iter().collect();
    let (topology_spec, link) = (Some(spec), named.link());
    let about = MachineFacts { name: text.to_owned(), topology: topology_spec, link, notes, ..MachineFacts::default() };
    Ok(Found { topology, about, cores: Some(named.cores), used: named.used })
}

fn unknown(text: &str, name: &str, kinds: &[&str]) -> LocatedError {
    let known: Vec<&str> = kinds.iter().copied().chain(MACHINES.iter().map(|(name, _)| *name)).collect();
    let nearest = known.iter().map(|known| (strsim::damerau_levenshtein(name, known), known)).min();
    let hint = nearest
        .filter(|(far, _)| 2 * far <= name.chars().count())
        .map_or(String::new(), |(_, known)| format!("; did you mean `{known}`?"));
    let message =
        format!("`{}` is no file, and no machine of the kinds {}{hint}", text.escape_debug(), known.join(", "));
    LocatedError::key("machine", message)
}

/// Reads a text file.
pub(crate) fn read_text(path: &Path, name: &str) -> Result<String, LocatedError> {
    input::MACHINE.read_text(path).map_err(|error| LocatedError::new(format!("it {error}")).in_file(name))
}

fn read_node(file: &str, base: &Path) -> Result<NodeShape, LocatedError> {
    let text = read_text(&base.join(file), file)?;
    hwloc::read(&text).map_err(|error| error.in_file(file))
}

/// Builds a topology, whose file may have any format of machines. Relative paths start from `base`.
///
/// # Errors
/// If the topology is invalid, at its key; in a file with the line.
pub fn build_topology(spec: &NetworkSpec, base: &Path) -> Result<Arc<dyn Topology>, KeyError> {
    spec.of_plane(build_plane(&spec.topology, base)?)
}

fn build_plane(spec: &TopologySpec, base: &Path) -> Result<Arc<dyn Topology>, KeyError> {
    let TopologySpec::File(file) = spec else { return spec.build(base) };
    let (name, path) = (file.path.display().to_string(), base.join(&file.path));
    let read = input::MACHINE.read_text(&path);
    let text = read.map_err(|problem| KeyError::new("path", format!("`{name}` {problem}")))?;
    match import(&text, (&name, &path)) {
        // This reader reports the fault itself.
        None => Ok(Arc::new(FileTopology::read(&text, &name, file.recognise)?)),
        Some(found) => match (found.at_key("path")?.topology, file.recognise) {
            (topology, None) => Ok(topology),
            (topology, Some(_)) if topology.views().are_known() => {
                let message =
                    format!("`{name}` states levels, groups or a grid; leave out `recognise`, or what it states");
                Err(KeyError::new("recognise", message))
            }
            (topology, Some(property)) => Ok(Arc::new(FileTopology::recognised(&*topology, property)?)),
        },
    }
}

/// Function that reads a text, given its name and its path.
type Importer = fn(&str, (&str, &Path)) -> Result<Found, LocatedError>;

/// Format: a function that recognizes a text, and the reader.
type Format = (fn(&str) -> bool, Importer);

/// Formats of machines other than edge lists.
const FORMATS: [Format; 7] = [
    (hwloc::recognize, |text, (name, _)| {
        let shape = hwloc::read(text)?;
        let mut wiring = hwloc::cores_as_nodes(&shape);
        shape.notes.sentences().iter().for_each(|note| wiring.notes.add(note));
        let mut found = imported(name, &wiring)?;
        found.cores = Some(1);
        Ok(found)
    }),
    (graphml::recognize, |text, (name, _)| {
        let mut found = imported(name, &graphml::read(text)?)?;
        found.about.topology = Some(as_file(name));
        Ok(found)
    }),
    (cray::recognize, |text, (name, _)| imported(name, &cray::read(text)?)),
    (ibnetdiscover::recognize, |text, (name, _)| imported(name, &ibnetdiscover::read(text)?)),
    (infragraph::recognize, |text, (name, _)| imported(name, &infragraph::read(text)?)),
    (slurm_yaml::recognize, |text, (name, _)| imported(name, &slurm_yaml::read(text)?)),
    (slurm::recognize, |text, (name, path)| {
        let folder = path.parent().unwrap_or(Path::new(""));
        // Names of included files are relative to the folder of the file.
        let beside = |file: String| Path::new(name).with_file_name(file).display().to_string();
        let wiring = slurm::read(text, &|file| read_text(&folder.join(file), file))
            .map_err(|error| LocatedError { file: error.file.map(beside), ..error })?;
        imported(name, &wiring)
    }),
];

/// Reads a text that is not an edge list; `None` if no reader recognizes it. Errors name the file.
fn import(text: &str, place: (&str, &Path)) -> Option<Result<Found, LocatedError>> {
    let (_, import) = FORMATS.iter().find(|(recognize, _)| recognize(text))?;
    let in_file = |error: LocatedError| if error.file.is_none() { error.in_file(place.0) } else { error };
    Some(import(text, place).map_err(in_file))
}

/// Returns the nodes of each host of a file of a machine, whose nodes must be on the same routers in `topology`. `None`
/// if no reader recognizes the text, or if it names no hosts.
pub(crate) fn named_nodes(
    text: &str,
    place: (&str, &Path),
    topology: &dyn Topology,
) -> Option<Result<BTreeMap<String, Vec<NodeId>>, LocatedError>> {
    let Found { topology: own, about, .. } = match import(text, place)? {
        Ok(found) => found,
        Err(error) => return Some(Err(error)),
    };
    let router = |network: &dyn Topology, node| network.attachment(NodeId(node)).0;
    let is_moved = |&node: &u32| node >= topology.nodes() || router(&*own, node) != router(topology, node);
    if let Some(node) = (0..own.nodes()).find(is_moved) {
        let message = format!(
            "node {node} is on router {} in it, and not so in the topology: name the file in `[topology]`, or a file \
             with lines `HOST ROUTER`",
            router(&*own, node)
        );
        return Some(Err(LocatedError::new(message).in_file(place.0)));
    }
    let mut nodes: BTreeMap<String, Vec<NodeId>> = BTreeMap::new();
    for (node, home) in (0..).map(NodeId).zip(about.homes.as_deref()?) {
        if let Some(host) = &home.host {
            nodes.entry(host.clone()).or_default().push(node);
        }
    }
    Some(Ok(nodes))
}

/// Determines the format of a file, and reads it.
fn from_file(name: &str, path: &Path) -> Result<Found, LocatedError> {
    let text = read_text(path, name)?;
    if let Some(found) = import(&text, (name, path)) {
        return found;
    }
    let topology: Arc<dyn Topology> = Arc::new(FileTopology::from_text(&text, name).map_err(|error| {
        let message = format!(
            "{}; known are edge lists, the output of ibnetdiscover and of saquery, InfraGraph, Slurm's topology.conf and \
             topology.yaml, a Cray interconnect, GraphML and hwloc's XML",
            error.message
        );
        LocatedError::key("machine", message)
    })?);
    let about = MachineFacts {
        name: name.to_owned(),
        notes: topology.views().notes.to_vec(),
        topology: Some(as_file(name)),
        ..MachineFacts::default()
    };
    Ok(Found { topology, about, cores: None, used: None })
}

/// Returns the topology of an experiment that reads a file. Unlike an edge list of the wires, it has the levels, groups
/// or grid that the file states.
fn as_file(name: &str) -> NetworkSpec {
    TopologySpec::File(FileSpec { path: name.into(), recognise: None }).into()
}

fn imported(name: &str, wiring: &Wiring) -> Result<Found, LocatedError> {
    let homes = wiring.nodes.iter().map(|node| Home { host: node.host.clone(), slot: node.slot });
    let about = MachineFacts {
        name: name.to_owned(),
        names: Some(Arc::new(wiring.nodes.iter().map(|node| node.name.clone()).collect())),
        homes: Some(Arc::new(homes.collect())),
        link: wiring.bytes_per_s.map(|bytes_per_s| PresetLink { bytes_per_s, delay_ns: ASSUMED_DELAY_NS }),
        notes: wiring.notes.sentences().to_vec(),
        ..MachineFacts::default()
    };
    Ok(Found { topology: wiring.build()?, about, cores: None, used: None })
}
