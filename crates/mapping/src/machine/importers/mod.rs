//! Importers of machines from the descriptions that real systems print, one file each.
//!
//! An importer turns a text into a `Wiring`: named switches, wires between them and named nodes. Importers do not read
//! files; their errors have the line.

mod cpusets;
pub(crate) mod cray;
pub(crate) mod graphml;
pub(crate) mod hostlist;
pub(crate) mod hwloc;
pub(crate) mod ibnetdiscover;
pub(crate) mod infragraph;
pub(crate) mod slurm;
pub(crate) mod slurm_yaml;
mod wiring;
mod xml;

pub(crate) use wiring::{Node, Wiring, WiringAddresses};
