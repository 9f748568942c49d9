//! Named nodes: the catalogue of nodes by name, one file each in the folder `nodes`.
//!
//! A file has `about`, parameters and `limit` as that of a machine, and
//!
//! - `[node]`: the number of endpoints (GPUs, dies of GPUs, chips, sockets);
//! - `[[network]]`: networks whose islands are inside the node or the rack;
//! - `[interface]`: keys of other networks of the experiment, which the interfaces of the node lead to: `endpoints`,
//!   `order` and `link`. A node without this section has no such interfaces;
//! - `[relay]`: relays, where not every endpoint has an interface.
//!
//! The comments name sources as those of machines do.

use toml::Table;

use super::{Files, MachineEntry, MachineFile, NameError, entries, files};

/// Names of the nodes, and their files.
pub const NODES: &Files = files! {
    "nodes/":
    "dgx-a100",
    "dgx-h100",
    "dgx-b200",
    "gb200-nvl72",
    "mi300x",
    "frontier",
    "aurora",
    "cpu-1-nic",
    "cpu-2-nic",
    "tpu-v4",
};

/// Node of the catalogue with values of its parameters.
#[derive(Clone, Debug)]
pub struct NamedNode {
    /// Sections of an experiment file, and `[interface]`.
    sections: Table,
}

impl NamedNode {
    /// Returns all nodes, without a node whose file cannot be read, which tests exclude.
    pub fn entries() -> Vec<MachineEntry> {
        entries(NODES)
    }

    /// Returns the node of a name such as `dgx-h100` or `tpu-v4:x=2`.
    ///
    /// # Errors
    /// If there is no such node, or if a parameter does not exist or has an invalid value.
    pub fn find(text: &str) -> Result<Self, NameError> {
        let MachineFile { sections, .. } = MachineFile::read("node", NODES, text)?;
        Ok(Self { sections })
    }

    /// Returns the sections of the node as TOML: those of an experiment file, and `[interface]`.
    pub fn text(&self) -> String {
        self.sections.to_string()
    }
}
