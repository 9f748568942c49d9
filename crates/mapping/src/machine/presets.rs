//! Presets: the machines of the paper, by name.
//!
//! Blue Gene partitions are electrically isolated: a partition is a torus from a midplane (512 nodes) on, a mesh below.
//! A job on an XT gets a part of the whole machine's torus. Properties that the paper and public documentation leave
//! open are marked as assumed.

use std::fmt::Write as _;
use std::sync::Arc;

use topology::families::file::FileTopology;
use topology::{Topology, TopologySpec};
use units::LocatedError;

/// Links of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PresetLink {
    /// Bandwidth of a channel in bytes per second.
    pub bytes_per_s: f64,
    /// Delay of a hop in nanoseconds.
    pub delay_ns: f64,
}

/// Named machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// The name of the preset.
    pub name: &'static str,
    /// A description.
    pub about: &'static str,
    /// Number of cores of a node.
    pub cores: u32,
    /// Links of the machine.
    pub link: PresetLink,
    /// Assumptions, as one sentence; empty if there are none.
    pub assumed: &'static str,
}

/// All presets.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "bluegene-l",
        about: "Blue Gene/L, a partition of N nodes: bluegene-l:512",
        cores: 2,
        link: PresetLink { bytes_per_s: 175e6, delay_ns: 89.0 },
        assumed: "The shapes of partitions other than 8x8x8 and 8x8x16 are assumed near-cubic.",
    },
    Preset {
        name: "bluegene-p",
        about: "Blue Gene/P, a partition of N nodes: bluegene-p:1024",
        cores: 4,
        link: PresetLink { bytes_per_s: 425e6, delay_ns: 64.0 },
        assumed: "The delay of a hop and the shapes of partitions other than 8x8x8 and 8x8x16 are assumed.",
    },
    Preset {
        name: "bigben",
        about: "Cray XT3 of PSC, torus 11x12x16",
        cores: 2,
        link: PresetLink { bytes_per_s: 3.8e9, delay_ns: 50.0 },
        assumed: "Links of SeaStar (3.8 GB/s a direction, 50 ns a hop) and wrap-around in all dimensions are assumed.",
    },
    Preset {
        name: "jaguar",
        about: "Cray XT4 of ORNL, torus 21x16x24",
        cores: 4,
        link: PresetLink { bytes_per_s: 3.8e9, delay_ns: 50.0 },
        assumed: "Links as those of BigBen and wrap-around in all dimensions are assumed.",
    },
    Preset {
        name: "ranger",
        about: "Sun Constellation of TACC, 3,936 nodes",
        cores: 16,
        link: PresetLink { bytes_per_s: 1e9, delay_ns: 100.0 },
        assumed: "328 chassis of 12 nodes, each with two wires to each of two core switches, are assumed.",
    },
    Preset {
        name: "abe",
        about: "Dell cluster of NCSA, 1,200 nodes",
        cores: 8,
        link: PresetLink { bytes_per_s: 1e9, delay_ns: 100.0 },
        assumed: "75 leaf switches of 16 nodes with a wire to each of 8 spines are assumed.",
    },
];

/// Returns the preset of a name.
pub(crate) fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// Returns the topology, and the number of first nodes that the job uses. `nodes` is the number after the colon.
    ///
    /// # Errors
    /// If a Blue Gene is named without a number of nodes or with too many, or another machine with a number.
    pub(crate) fn build(&self, nodes: Option<&str>) -> Result<(Arc<dyn Topology>, Option<u32>), LocatedError> {
        let smallest = match self.name {
            "bluegene-l" => 32,
            "bluegene-p" => 64,
            _ => {
                if nodes.is_some() {
                    let message = format!("`{}` takes no size; use `allocation` for a part of it", self.name);
                    return Err(LocatedError::key("machine", message));
                }
                return Ok((self.whole()?, None));
            }
        };
        let most = PARTITIONS[PARTITIONS.len() - 1].0;
        let wanted = nodes.and_then(|text| text.parse::<u32>().ok()).filter(|&nodes| nodes > 0 && nodes <= most);
        let Some(wanted) = wanted else {
            let message = format!("`{0}` needs a number of nodes from 1 to {most}, such as `{0}:512`", self.name);
            return Err(LocatedError::key("machine", message));
        };
        let partition = blue_gene_partition(wanted, smallest);
        let spec = format!("{}:{}", partition.kind(), partition.shorthand());
        let topology = spec.parse::<TopologySpec>()?.build(std::path::Path::new("."))?;
        Ok((topology, Some(wanted)))
    }

    fn whole(&self) -> Result<Arc<dyn Topology>, LocatedError> {
        match self.name {
            "bigben" => grid("torus:11x12x16"),
            "jaguar" => grid("torus:21x16x24"),
            "ranger" => tree(328, 12, 2, 2),
            _ => tree(75, 16, 8, 1),
        }
    }
}

fn grid(text: &str) -> Result<Arc<dyn Topology>, LocatedError> {
    Ok(text.parse::<TopologySpec>()?.build(std::path::Path::new("."))?)
}

/// Builds a tree of leaf switches with nodes, each with `wires` wires to each spine.
fn tree(leaves: u32, nodes: u32, spines: u32, wires: u32) -> Result<Arc<dyn Topology>, LocatedError> {
    let mut text = String::new();
    for leaf in 0..leaves {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "node {leaf} x{nodes}");
        for spine in 0..spines {
            let _ = writeln!(text, "link {leaf} {} x{wires}", leaves + spine);
        }
    }
    Ok(Arc::new(FileTopology::from_text(&text, "the preset")?))
}

/// Partition of a Blue Gene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Extents of the partition, in nodes.
    pub dims: [u32; 3],
    /// Whether the partition wraps around in every dimension.
    pub torus: bool,
}

impl Partition {
    fn kind(self) -> &'static str {
        if self.torus { "torus" } else { "mesh" }
    }

    fn shorthand(self) -> String {
        self.dims.map(|size| size.to_string()).join("x")
    }
}

/// Sizes and shapes of partitions. 8x8x8 and 8x8x16 are the paper's (figure 1).
const PARTITIONS: [(u32, [u32; 3]); 10] = [
    (32, [4, 4, 2]),
    (64, [4, 4, 4]),
    (128, [4, 4, 8]),
    (256, [8, 4, 8]),
    (512, [8, 8, 8]),
    (1024, [8, 8, 16]),
    (2048, [8, 16, 16]),
    (4096, [16, 16, 16]),
    (8192, [16, 16, 32]),
    (16384, [16, 32, 32]),
];

/// Returns the smallest partition with at least `nodes` nodes, and at least `smallest`. Returns the largest partition
/// if `nodes` exceeds it.
pub fn blue_gene_partition(nodes: u32, smallest: u32) -> Partition {
    let fitting = PARTITIONS.iter().find(|(size, _)| *size >= nodes.max(smallest));
    let (size, dims) = fitting.copied().unwrap_or(PARTITIONS[PARTITIONS.len() - 1]);
    Partition { dims, torus: size >= 512 }
}

#[cfg(test)]
mod tests {
    use super::{PARTITIONS, PRESETS, blue_gene_partition};

    #[test]
    fn partitions_have_as_many_nodes_as_they_say() {
        // Would catch a wrong extent, and a request below the smallest partition that is not rounded up.
        for (size, dims) in PARTITIONS {
            assert_eq!(dims.iter().product::<u32>(), size);
        }
        assert_eq!(blue_gene_partition(20, 32).dims, [4, 4, 2]);
        assert_eq!(blue_gene_partition(20, 64).dims, [4, 4, 4]);
        assert!(!blue_gene_partition(500, 32).dims.contains(&16) && blue_gene_partition(500, 32).torus);
        assert!(!blue_gene_partition(256, 64).torus);
    }

    #[test]
    fn every_preset_builds() {
        // Would catch a preset whose edge list is refused. Nodes: 11x12x16, 21x16x24, 328x12, 75x16.
        let nodes = |name: &str, size| {
            let preset = PRESETS.iter().find(|preset| preset.name == name)?;
            Some(preset.build(size).ok()?.0.nodes())
        };
        assert_eq!(nodes("bluegene-l", Some("512")), Some(512));
        assert_eq!(nodes("bluegene-p", Some("1000")), Some(1024));
        assert_eq!(nodes("bigben", None), Some(2112));
        assert_eq!(nodes("jaguar", None), Some(8064));
        assert_eq!(nodes("ranger", None), Some(3936));
        assert_eq!(nodes("abe", None), Some(1200));
        assert_eq!(nodes("bluegene-l", None), None);
        assert_eq!(nodes("bigben", Some("4")), None);
    }
}
