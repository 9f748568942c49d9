//! MILC (`ks_imp_dyn`, paper, section 4.2): lattice QCD on a periodic grid of four dimensions with nearest neighbours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Boundary, LocatedError};

use super::{add_faces, tasks_of};
use crate::limits::positive;
use crate::{ArcList, TaskArray, TaskGraph};

/// Four-dimensional lattice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MilcSpec {
    /// Tasks in each of the four dimensions.
    #[schemars(length(min = 4, max = 4), inner(range(min = 1)))]
    pub dims: Vec<u32>,
    /// Lattice sites of a task in each dimension.
    #[serde(default = "sites")]
    #[schemars(range(min = 1, max = 1024))]
    pub sites: u64,
    /// Bytes per site on a face: a colour vector of three complex numbers in double precision.
    #[serde(default = "site_bytes")]
    #[schemars(range(min = 1))]
    pub site_bytes: u64,
}

fn sites() -> u64 {
    8
}

fn site_bytes() -> u64 {
    48
}

impl MilcSpec {
    /// Builds the graph.
    ///
    /// # Errors
    /// If there are not four extents, or too many tasks.
    pub fn build(&self) -> Result<TaskGraph, LocatedError> {
        if self.dims.len() != 4 {
            return Err(LocatedError::key("dims", format!("`dims` has {} extents; a lattice has 4", self.dims.len())));
        }
        positive(self.sites, "sites")?;
        positive(self.site_bytes, "site_bytes")?;
        let mut arcs = ArcList::new(tasks_of(&self.dims, 4, "dims")?);
        let face = self.sites.saturating_pow(3).saturating_mul(self.site_bytes);
        add_faces(&mut arcs, &self.dims, Boundary::Periodic, &|_| face);
        let mut graph = TaskGraph::new("milc", arcs.build());
        let dims = self.dims.clone();
        graph.arrays.push(TaskArray { name: "grid".into(), first: 0, dims, periodic: vec![true; 4] });
        let assumed = format!(
            "{0}^4 sites a task and {1} bytes a site of a face; the paper gives neither.",
            self.sites, self.site_bytes
        );
        graph.notes.push(assumed);
        Ok(graph)
    }
}
