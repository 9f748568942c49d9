//! Machines and the Topology Manager.

use std::path::{Path, PathBuf};

use mapping::{HostTable, MachineSource, NamedMachine, RankOrder};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

use super::{wrong_at, wrong_input};
use crate::topology::{Topology, for_pairs};
use crate::watched::interruptible;

/// A topology with cores and an allocation.
#[pyclass(frozen, module = "cutthrough._core")]
pub struct Machine {
    pub inner: mapping::Machine,
}

impl Machine {
    fn no_rank(&self) -> PyErr {
        PyIndexError::new_err(format!("no such rank; there are {}", self.inner.ranks()))
    }
}

/// Collects the options of a machine in addition to its name.
fn source(
    machine: &str,
    cores: Option<u32>,
    rank_order: &str,
    allocation: Option<&str>,
    node: Option<&str>,
) -> PyResult<MachineSource> {
    let rank_order = match rank_order {
        "TXYZ" => RankOrder::CoresFirst,
        "XYZT" => RankOrder::NodesFirst,
        other => {
            let message = format!("`{}` is not TXYZ or XYZT", other.escape_debug());
            return Err(wrong_at(Some("rank_order"), &message));
        }
    };
    let machine = machine.to_owned();
    Ok(MachineSource {
        machine,
        cores,
        rank_order,
        allocation: allocation.map(str::to_owned),
        node: node.map(str::to_owned),
    })
}

#[pymethods]
impl Machine {
    #[new]
    fn new(
        py: Python<'_>,
        machine: &str,
        cores: Option<u32>,
        rank_order: &str,
        allocation: Option<&str>,
        node: Option<&str>,
        base_dir: PathBuf,
    ) -> PyResult<Self> {
        let source = source(machine, cores, rank_order, allocation, node)?;
        let is_joined = NamedMachine::find(machine).is_ok_and(|named| named.is_joined());
        if is_joined && !base_dir.join(machine).is_file() {
            return Self::of_topology(
                py,
                &Topology::joined(py, machine)?,
                machine,
                cores,
                rank_order,
                allocation,
                node,
            );
        }
        let read = interruptible(py, move || source.read(&base_dir))?;
        read.map(|inner| Self { inner }).map_err(|error| wrong_input(&error))
    }

    /// Makes a machine of a topology that has been built.
    #[staticmethod]
    fn of_topology(
        py: Python<'_>,
        topology: &Topology,
        name: &str,
        cores: Option<u32>,
        rank_order: &str,
        allocation: Option<&str>,
        node: Option<&str>,
    ) -> PyResult<Self> {
        let source = source(name, cores, rank_order, allocation, node)?;
        let (shape, spec) = (topology.inner.clone(), topology.spec.clone());
        let made = interruptible(py, move || source.of_topology(shape, spec, Path::new(".")))?;
        made.map(|inner| Self { inner }).map_err(|error| wrong_input(&error))
    }

    /// The number of allocated nodes.
    #[getter]
    fn places(&self) -> u32 {
        self.inner.places()
    }

    /// The number of cores of a node.
    #[getter]
    fn cores(&self) -> u32 {
        self.inner.cores()
    }

    /// The number of ranks.
    #[getter]
    fn ranks(&self) -> u64 {
        self.inner.ranks()
    }

    /// The extents of the allocation.
    #[getter]
    fn extents(&self) -> Vec<u32> {
        self.inner.extents()
    }

    /// Whether the allocation wraps around, by dimension.
    #[getter]
    fn is_torus(&self) -> Vec<bool> {
        self.inner.is_torus()
    }

    /// Whether the allocation fills its box.
    #[getter]
    fn is_contiguous(&self) -> bool {
        self.inner.is_contiguous()
    }

    /// The number of each place's node in the topology.
    fn nodes(&self) -> Vec<u32> {
        self.inner.nodes().iter().map(|node| node.0).collect()
    }

    /// The name of each place's node.
    fn names(&self) -> Vec<String> {
        (0..self.inner.places()).map(|place| self.inner.place_name(place)).collect()
    }

    /// The host of each place's node, if known, and the number of the node among those of the host.
    fn homes(&self) -> Vec<(Option<String>, u32)> {
        let homes = (0..self.inner.places()).map(|place| self.inner.place_home(place));
        homes.map(|home| (home.host, home.slot)).collect()
    }

    /// The topology of the whole machine.
    fn topology(&self) -> PyResult<Topology> {
        Topology::shared(self.inner.topology().clone())
    }

    /// JSON: the table of `[topology]`; null if the machine is a file of another kind.
    fn topology_spec(&self) -> String {
        json!(self.inner.about().topology).to_string()
    }

    /// JSON: the name, the inside of a node, links, and the assumptions.
    fn about(&self) -> String {
        let about = self.inner.about();
        let node = about.node.as_ref().map(|node| {
            json!({ "packages": node.packages, "numa_nodes": node.numa_nodes, "cores": node.cores, "threads": node.threads })
        });
        let link = about.link.map(|link| json!({ "bytes_per_s": link.bytes_per_s, "delay_ns": link.delay_ns }));
        json!({ "name": about.name, "node": node, "link": link, "notes": about.notes }).to_string()
    }

    /// Hops, for pairs of places: 32-bit numbers in and out.
    fn hops<'py>(&self, py: Python<'py>, places: &[u8], others: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let hops = self.inner.hops();
        for_pairs(py, (places, others), self.inner.places(), |one, other| hops.hops(one, other))
    }

    /// The place and the core of a rank.
    fn place_of_rank(&self, rank: u64) -> PyResult<(u32, u32)> {
        self.inner.place_of_rank(rank).ok_or_else(|| self.no_rank())
    }

    /// The coordinates and the core of a rank.
    fn rank_to_coordinates(&self, rank: u64) -> PyResult<(Vec<u32>, u32)> {
        let place = self.inner.coordinates_of_rank(rank).ok_or_else(|| self.no_rank())?;
        Ok((place.coordinates, place.core))
    }

    /// The rank at coordinates, on a core.
    fn coordinates_to_rank(&self, coordinates: Vec<u32>, core: u32) -> PyResult<u64> {
        let nobody = || PyIndexError::new_err("no rank is there");
        self.inner.rank_at(&coordinates, core).ok_or_else(nobody)
    }

    /// Hops between two ranks.
    fn hops_between_ranks(&self, rank: u64, other: u64) -> PyResult<u32> {
        self.inner.hops_between_ranks(rank, other).ok_or_else(|| self.no_rank())
    }

    /// The rank of `others` that is closest to `rank`.
    fn closest_rank(&self, rank: u64, others: Vec<u64>) -> PyResult<u64> {
        if others.is_empty() {
            return Err(wrong_at(Some("ranks"), &"there are no ranks to choose from; at least one is needed"));
        }
        self.inner.closest_rank(rank, &others).ok_or_else(|| self.no_rank())
    }

    /// The ranks of `others` in the order of their hops from `rank`.
    fn ranks_by_hops(&self, rank: u64, others: Vec<u64>) -> PyResult<Vec<u64>> {
        self.inner.ranks_by_hops(rank, &others).ok_or_else(|| self.no_rank())
    }
}

/// Returns the nodes of each host of a named machine.
#[pyfunction]
pub fn hosts_of_machine(name: &str) -> PyResult<Vec<(String, Vec<u32>)>> {
    let table = HostTable::of_machine(name).map_err(|error| wrong_input(&error))?;
    Ok(table.hosts().map(|(host, nodes)| (host.to_owned(), nodes.iter().map(|node| node.0).collect())).collect())
}

/// Returns the hosts of a list in lines and commas, also in the form of Slurm. `name` is the list's name for errors.
#[pyfunction]
pub fn hosts_of_list(text: &str, name: &str) -> PyResult<Vec<String>> {
    ::mapping::hosts_of_list(text, name).map_err(|error| wrong_input(&error))
}
