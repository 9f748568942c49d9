//! An experiment file with its points, and what the points share.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::apps::motifs::ProgramSpec;
use experiment::{ExperimentError, ExperimentLanguage, ExperimentSpec, File, Point, ProgramRanksSpec, WorkloadSpec};
use fabric::catalogue::Depths;
use topology::{ChannelClass, RouterClasses, Topology};

use units::KeyError;

use ::system::Proofs;
use ::system::{BuildCache, GivenPrograms};

/// An experiment as written (see [`File`]), and its points.
#[derive(Clone, Debug)]
pub struct Experiment {
    file: File,
    base_dir: PathBuf,
    points: Vec<Point>,
    proofs: Proofs,
    parts: BuildCache,
}

impl Deref for Experiment {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Experiment {
    /// Reads an experiment from text; see [`File::load`].
    ///
    /// # Errors
    /// The first error, in the order of the file.
    pub fn load(
        text: &str,
        name: &str,
        base_dir: &Path,
        overrides: &[(String, String)],
    ) -> Result<Self, ExperimentError> {
        Ok(Self::new(File::load::<ExperimentLanguage>(text, name, base_dir, overrides)?, base_dir))
    }

    /// Reads an experiment from the bytes of a file; see [`File::load_bytes`].
    ///
    /// # Errors
    /// If the bytes are not text, and all errors of `load`.
    pub fn load_bytes(
        bytes: &[u8],
        name: &str,
        base_dir: &Path,
        overrides: &[(String, String)],
    ) -> Result<Self, ExperimentError> {
        Ok(Self::new(File::load_bytes::<ExperimentLanguage>(bytes, name, base_dir, overrides)?, base_dir))
    }

    /// Reads an experiment file. Paths in it start from its folder.
    ///
    /// # Errors
    /// If the file cannot be read, and all errors of `load`.
    pub fn read(path: &Path, overrides: &[(String, String)]) -> Result<Self, ExperimentError> {
        let base_dir = path.parent().unwrap_or(Path::new(""));
        Ok(Self::new(File::read::<ExperimentLanguage>(path, overrides)?, base_dir))
    }

    fn new((file, points): (File, Vec<Point>), base_dir: &Path) -> Self {
        Self { file, base_dir: base_dir.to_owned(), points, proofs: Proofs::default(), parts: BuildCache::default() }
    }

    /// Returns the points: at least one, and exactly one without a sweep.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Returns the folder that paths in the experiment start from.
    pub fn base_dir(&self) -> &Path {
        &self.base_dir
    }

    /// Returns what is known about the freedom from deadlock of the experiment's points.
    pub(crate) fn proofs(&self) -> &Proofs {
        &self.proofs
    }

    /// Reads the experiment of a machine of the catalogue with several networks: an all-reduce of all its endpoints.
    ///
    /// # Errors
    /// If there is no such machine, or if a parameter is wrong.
    pub fn of_machine(name: &str) -> Result<Self, ExperimentError> {
        let text = format!(
            "machine.name = {name:?}\nworkload.program = {{ kind = \"collective\", operation = \"allreduce\", size = \"64 KiB\" }}"
        );
        Self::load(&text, name, Path::new("."), &[])
    }

    /// Builds the topology of a point: of several networks, the joint one.
    ///
    /// # Errors
    /// If it cannot be built. The error names the key at fault.
    pub fn topology(&self, point: &Point) -> Result<Arc<dyn Topology>, KeyError> {
        self.parts.topology(&point.spec, self.base_dir())
    }

    /// Returns the topologies and routings of the experiment's points.
    pub(crate) fn parts(&self) -> &BuildCache {
        &self.parts
    }

    /// Returns the names of the programs that points need and that no file can contain; see `with_programs`.
    pub fn called_back(&self) -> BTreeSet<String> {
        let workloads = |spec: &ExperimentSpec| {
            let jobs = spec.jobs.iter().map(|job| job.workload.clone());
            spec.workload.clone().into_iter().chain(jobs).collect::<Vec<_>>()
        };
        let name = |workload: WorkloadSpec| match workload {
            WorkloadSpec::Program(ProgramRanksSpec { program: ProgramSpec::CalledBack(own), .. }) => Some(own.name),
            _ => None,
        };
        self.points.iter().flat_map(|point| workloads(&point.spec)).filter_map(name).collect()
    }

    /// Returns the experiment with the programs that `called_back` names.
    #[must_use]
    pub fn with_programs(mut self, programs: GivenPrograms) -> Self {
        self.parts.programs = Arc::new(programs);
        self
    }

    /// Returns the whole experiment of a point as TOML, with every default that the file alone determines. It loads to
    /// an equal experiment.
    pub fn resolved(&self, point: &Point) -> String {
        point.spec.to_toml()
    }

    /// Returns an error of one point that is found after loading. A swept key is shown at its value for the point.
    pub fn error_in(&self, point: &Point, path: &str, message: impl Into<String>) -> ExperimentError {
        self.file.error_in(point.index, path, message)
    }

    /// Checks the names of the classes of channels in a point's `[link.CLASS]` and `buffer` tables, and of the classes of
    /// routers in its `[router.CLASS]` tables, against its topology.
    ///
    /// # Errors
    /// The first class that the topology does not have, and a depth for ejection channels, which have no buffer.
    pub fn check_classes(&self, point: &Point, topology: &dyn Topology) -> Result<(), ExperimentError> {
        if !point.spec.networks.is_empty() {
            // They are checked with the joint network.
            return Ok(());
        }
        let (names, router) = (topology.class_names(), point.spec.router.common());
        let ejection = names.get(usize::from(ChannelClass::EJECTION.0)).copied().unwrap_or_default();
        let of_links = point.spec.link.classes.keys().map(|class| ("link".to_owned(), class.as_str()));
        let of_classes =
            router.classes.iter().map(|(class, own)| (format!("router.{class}.buffer"), own.buffer.as_ref()));
        let buffers = std::iter::once(("router.buffer".to_owned(), router.buffer)).chain(of_classes);
        let of_buffers = buffers.flat_map(|(table, depths)| {
            depths.into_iter().flat_map(Depths::classes).map(move |class| (table.clone(), class))
        });
        let links = of_links.filter(|(_, class)| !names.contains(class));
        let buffers = of_buffers.filter(|(_, class)| *class == ejection || !names.contains(class));
        let Some((table, class)) = links.chain(buffers).next() else {
            return self.check_router_classes(point, topology);
        };
        let reason = if class == ejection {
            "nodes take packets without credit, but for `node.receive_buffer`"
        } else {
            "the topology has none of that name"
        };
        let message = format!("unknown class of channels `{class}` in [{table}]: {reason}");
        let allowed: Vec<&str> = match table.as_str() {
            "link" => names.iter().copied().chain(["bandwidth", "delay"]).collect(),
            _ => names.iter().copied().filter(|name| *name != ejection).collect(),
        };
        Err(self.file.unknown_in((point.index, &format!("{table}.{class}")), message, class, allowed))
    }

    fn check_router_classes(&self, point: &Point, topology: &dyn Topology) -> Result<(), ExperimentError> {
        let given = point.spec.router.common().classes;
        // Nothing is counted for the routers of most networks.
        let known = if given.is_empty() { RouterClasses::default() } else { RouterClasses::of(topology) };
        let Some(class) = given.keys().find(|class| !known.names().contains(class)) else { return Ok(()) };
        let place = (point.index, &*format!("router.{class}"));
        if known.names().is_empty() {
            let kind = topology.kind();
            let message = format!("the routers of this {kind} are of one class: give its keys in [router]");
            return Err(self.file.error_in(place.0, place.1, message));
        }
        let message = format!("unknown class of routers `{class}` in [router]: the topology has none of that name");
        Err(self.file.unknown_in(place, message, class, known.names().iter().map(String::as_str)))
    }
}
