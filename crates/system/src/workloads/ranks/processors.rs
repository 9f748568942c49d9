//! Processors of nodes: speed and noise.

use std::sync::Arc;

use host::{NodeParams, NoiseParams};
use units::{KeyError, KeyResult};

use crate::workloads::build_context::BuildContext;
use ::experiment::{Detours, NodeSpec, NoisePhase, NoiseSpec};

/// Processors of all nodes of a machine.
#[derive(Clone, Debug)]
pub(crate) struct NodeProcessors {
    /// Speeds of nodes 0, 1, 2 and so on, repeated. Empty if all speeds are 1.
    speeds: Arc<[f64]>,
    noise: Option<NoiseParams>,
    /// Whether each node has noise. Empty if all nodes have it.
    noisy: Arc<[bool]>,
}

impl NodeProcessors {
    /// Creates the processors that the experiment describes.
    ///
    /// # Errors
    /// If noise is set for nodes that do not exist.
    pub fn new(context: &BuildContext<'_>) -> Result<Self, KeyError> {
        let NodeSpec { speeds, noise, .. } = context.node;
        let noisy = match noise {
            Some(NoiseSpec { nodes: Some(nodes), .. }) => {
                let nodes = mapping::parse_allocation(nodes, &**context.topology).at_key("node.noise.nodes")?;
                let mut noisy = vec![false; context.topology.nodes() as usize];
                nodes.iter().for_each(|node| noisy[node.0 as usize] = true);
                noisy
            }
            _ => Vec::new(),
        };
        let params = |noise: &NoiseSpec| NoiseParams {
            period: noise.period.0,
            duration: noise.duration.0,
            drawn: noise.detours == Detours::Drawn,
            aligned: noise.phase == NoisePhase::Aligned,
            seed: context.seed,
        };
        Ok(Self { speeds: speeds.clone().into(), noise: noise.as_ref().map(params), noisy: noisy.into() })
    }

    /// Whether some processor has noise, or speeds are set.
    pub fn differ(&self) -> bool {
        !self.speeds.is_empty() || self.noise.is_some()
    }

    /// Returns the noise of nodes that have it.
    pub fn noise(&self) -> Option<NoiseParams> {
        self.noise
    }

    /// Returns the processors of a node.
    pub fn node(&self, node: u32) -> NodeParams {
        let node = node as usize;
        NodeParams {
            speed: self.speeds.get(node % self.speeds.len().max(1)).copied().unwrap_or(1.0),
            noisy: self.noise.is_some() && self.noisy.get(node).copied().unwrap_or(self.noisy.is_empty()),
        }
    }
}
