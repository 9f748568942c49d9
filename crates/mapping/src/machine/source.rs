//! The source of a machine: a topology's shorthand, a preset, or a file.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use topology::families::file::FileTopology;
use topology::{Topology, TopologyError, TopologySpec};
use units::NodeId;

use super::importers::{Wiring, cray, hwloc, ibnetdiscover, slurm, slurm_yaml};
use super::{About, Machine, MachineSpec, NodeShape, RankOrder, allocation, presets};
use crate::MachineError;

/// The most bytes of a file.
const MAX_BYTES: u64 = 1 << 28;

/// The description of a machine by a user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineSource {
    /// A shorthand (`torus:16x16x16`), a preset (`bluegene-p:1024`) or a file.
    pub machine: String,
    /// Cores of a node; without it the preset's, those of `node`, or 1.
    pub cores: Option<u32>,
    /// How ranks fill the cores.
    pub rank_order: RankOrder,
    /// The nodes of the job: a box, numbers, or hosts; without it all of them.
    pub allocation: Option<String>,
    /// A file of hwloc that describes a node.
    pub node: Option<String>,
}

/// A topology with the other properties that its source states.
struct Found {
    topology: Arc<dyn Topology>,
    about: About,
    cores: Option<u32>,
    /// How many of the first nodes the job uses, if not all.
    used: Option<u32>,
}

impl MachineSource {
    /// Reads the machine; paths are relative to `base`.
    ///
    /// # Errors
    /// If the machine is of no known form, or an option does not fit it. An error names the file and the line, or the key.
    pub fn read(&self, base: &Path) -> Result<Machine, MachineError> {
        self.complete(self.find(base)?, base)
    }

    /// The machine of a topology that is built, under the name `machine`; `spec` is how experiment files name it.
    ///
    /// # Errors
    /// If an option does not fit it.
    pub fn of_topology(
        &self,
        topology: Arc<dyn Topology>,
        spec: Option<TopologySpec>,
        base: &Path,
    ) -> Result<Machine, MachineError> {
        let about = About { name: self.machine.clone(), topology: spec, ..About::default() };
        self.complete(Found { topology, about, cores: None, used: None }, base)
    }

    fn complete(&self, mut found: Found, base: &Path) -> Result<Machine, MachineError> {
        if let Some(file) = &self.node {
            found.about.node = Some(read_node(file, base)?);
        }
        let shape = found.about.node.as_ref().map(|shape| shape.cores);
        let cores = self.cores.or(shape).or(found.cores).unwrap_or(1);
        if cores == 0 || cores > 65_536 {
            return Err(MachineError::key("cores", format!("a node has 1 to 65536 cores, not {cores}")));
        }
        let names = found.about.names.as_deref().map(Vec::as_slice);
        let nodes = match (&self.allocation, found.used) {
            (Some(text), _) => allocation::parse(text, &*found.topology, names)?,
            (None, Some(used)) => (0..used).map(NodeId).collect(),
            (None, None) => (0..found.topology.nodes()).map(NodeId).collect(),
        };
        let spec = MachineSpec { cores, rank_order: self.rank_order };
        let machine = Machine::with_allocation(found.topology, spec, nodes)?;
        Ok(machine.described(found.about))
    }

    fn find(&self, base: &Path) -> Result<Found, MachineError> {
        let text = self.machine.trim();
        let (name, size) = text.split_once(':').map_or((text, None), |(name, size)| (name, Some(size)));
        if let Some(preset) = presets::find(name) {
            let (topology, used) = preset.build(size)?;
            let mut about = About { name: text.to_owned(), link: Some(preset.link), ..About::default() };
            if !preset.assumed.is_empty() {
                about.notes.push(preset.assumed.to_owned());
            }
            return Ok(Found { topology, about, cores: Some(preset.cores), used });
        }
        let kinds = TopologySpec::KINDS.map(|(kind, _)| kind);
        if kinds.contains(&name) {
            let spec = text.parse::<TopologySpec>()?;
            if matches!(spec, TopologySpec::Flat(_)) {
                let message = "a flat network has no channels: wherever tasks are, messages take the same time";
                return Err(MachineError::key("machine", message.to_owned()));
            }
            let topology = spec.build(base)?;
            return Ok(Found {
                topology,
                about: About { name: text.to_owned(), topology: Some(spec), ..About::default() },
                cores: None,
                used: None,
            });
        }
        let path = base.join(text);
        if path.is_file() {
            return from_file(text, &path);
        }
        Err(unknown(text, name, &kinds))
    }
}

fn unknown(text: &str, name: &str, kinds: &[&str]) -> MachineError {
    let presets = presets::PRESETS.iter().map(|preset| preset.name);
    let known: Vec<&str> = kinds.iter().copied().chain(presets).collect();
    let nearest = known.iter().map(|known| (strsim::damerau_levenshtein(name, known), known)).min();
    let hint = nearest
        .filter(|(far, _)| 2 * far <= name.chars().count())
        .map_or(String::new(), |(_, known)| format!("; did you mean `{known}`?"));
    let message =
        format!("`{}` is no file, and no machine of the kinds {}{hint}", text.escape_debug(), known.join(", "));
    MachineError::key("machine", message)
}

/// Reads a text file.
pub(crate) fn read_text(path: &Path, name: &str) -> Result<String, MachineError> {
    let explain = |error: std::io::Error| {
        MachineError::new(format!("it cannot be read: {}", units::reason(&error))).in_file(name)
    };
    let mut bytes = Vec::new();
    std::fs::File::open(path).map_err(explain)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(explain)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(MachineError::new("it is larger than 256 MiB, the most that is read").in_file(name));
    }
    let text = String::from_utf8(bytes).map_err(|_| MachineError::new("it is not UTF-8 text").in_file(name))?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

fn read_node(file: &str, base: &Path) -> Result<NodeShape, MachineError> {
    let text = read_text(&base.join(file), file)?;
    hwloc::read(&text).map_err(|error| error.in_file(file))
}

/// Builds a topology, of which a file may be of any format that machines are read from; paths are relative to `base`.
///
/// # Errors
/// What is wrong with it, at its key; in a file with the line.
pub fn build_topology(spec: &TopologySpec, base: &Path) -> Result<Arc<dyn Topology>, TopologyError> {
    let TopologySpec::File(file) = spec else { return spec.build(base) };
    let (name, path) = (file.path.display().to_string(), base.join(&file.path));
    // What is no such file is an edge list, which says what is wrong.
    match path.is_file().then(|| read_text(&path, &name)) {
        Some(Ok(text)) if is_known(&text) => {
            let found = from_file(&name, &path).map_err(|error| TopologyError::new("path", error.to_string()))?;
            Ok(found.topology)
        }
        _ => spec.build(base),
    }
}

/// Whether a text is of a format other than an edge list.
fn is_known(text: &str) -> bool {
    let formats =
        [hwloc::recognize, cray::recognize, ibnetdiscover::recognize, slurm_yaml::recognize, slurm::recognize];
    formats.iter().any(|recognize| recognize(text))
}

/// Determines the format of a file, and reads it.
fn from_file(name: &str, path: &Path) -> Result<Found, MachineError> {
    let text = read_text(path, name)?;
    if hwloc::recognize(&text) {
        let shape = hwloc::read(&text).map_err(|error| error.in_file(name))?;
        return cores_as_nodes(name, &shape).map_err(|error| error.in_file(name));
    }
    let wiring = if cray::recognize(&text) {
        cray::read(&text)
    } else if ibnetdiscover::recognize(&text) {
        ibnetdiscover::read(&text)
    } else if slurm_yaml::recognize(&text) {
        slurm_yaml::read(&text)
    } else if slurm::recognize(&text) {
        slurm::read(&text)
    } else {
        let topology: Arc<dyn Topology> = Arc::new(FileTopology::from_text(&text, name).map_err(|error| {
            let message = format!(
                "{}; known are edge lists, ibnetdiscover's output, Slurm's topology.conf and topology.yaml, a Cray \
                 interconnect and hwloc's XML",
                error.message
            );
            MachineError::key("machine", message)
        })?);
        let about = About { name: name.to_owned(), ..About::default() };
        return Ok(Found { topology, about, cores: None, used: None });
    };
    imported(name, &wiring.map_err(|error| error.in_file(name))?).map_err(|error| error.in_file(name))
}

fn imported(name: &str, wiring: &Wiring) -> Result<Found, MachineError> {
    let about = About {
        name: name.to_owned(),
        names: Some(Arc::new(wiring.nodes.iter().map(|(_, name)| name.clone()).collect())),
        notes: wiring.notes.clone(),
        ..About::default()
    };
    Ok(Found { topology: wiring.build()?, about, cores: None, used: None })
}

/// A single node as a machine whose places are its cores: a tree of sockets and last-level caches.
fn cores_as_nodes(name: &str, shape: &NodeShape) -> Result<Found, MachineError> {
    let mut wiring = Wiring::default();
    let top = wiring.router("node");
    for (core, (package, cache)) in shape.core_places.iter().enumerate() {
        let (socket, shared) = (format!("package {package}"), format!("cache {cache}"));
        if wiring.known(&socket).is_none() {
            let below = wiring.router(&socket);
            wiring.wires.push((top, below, "link".to_owned()));
        }
        let above = wiring.router(&socket);
        if wiring.known(&shared).is_none() {
            let below = wiring.router(&shared);
            wiring.wires.push((above, below, "link".to_owned()));
        }
        let home = wiring.router(&shared);
        wiring.nodes.push((home, format!("core{core}")));
    }
    let mut found = imported(name, &wiring)?;
    found.cores = Some(1);
    found.about.notes.push("the places are the cores of one node".to_owned());
    Ok(found)
}
