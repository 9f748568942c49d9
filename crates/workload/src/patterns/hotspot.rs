//! Hotspot: a part of the messages goes to a few hot nodes, the rest to any other node, uniformly.
//!
//! With probability `fraction` a message goes to one of the hot nodes, each as likely; otherwise to any node but its
//! source, hot ones included, each as likely. A node never sends to itself: a hot node shares its hot part among the
//! other hot nodes, and if there is none it sends uniformly.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, NodeId};

use super::uniform::other_node;
use crate::{Pattern, PatternError};

/// The name in the experiment file.
pub const KIND: &str = "hotspot";

/// The keys of `hotspot`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotspotSpec {
    /// The hot nodes, each once.
    #[schemars(length(min = 1))]
    pub nodes: Vec<u64>,
    /// The part of the messages that goes to them, beyond what the uniform rest gives them.
    #[serde(default = "default_fraction")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fraction: f64,
}

fn default_fraction() -> f64 {
    0.2
}

/// Some nodes are hotter than others.
#[derive(Debug)]
pub struct Hotspot {
    nodes: u32,
    /// Ascending.
    hot: Vec<u32>,
    fraction: f64,
}

impl Hotspot {
    /// The pattern for a number of nodes.
    ///
    /// # Errors
    /// If there are fewer than 2 nodes, no hot node, one that does not exist or is given twice, or if the fraction is
    /// not in 0..=1.
    pub fn new(spec: &HotspotSpec, nodes: u32) -> Result<Self, PatternError> {
        if nodes < 2 {
            let message = format!("`{KIND}` needs 2 nodes or more; this topology has {nodes}");
            return Err(PatternError::new("kind", message));
        }
        if !(0.0..=1.0).contains(&spec.fraction) {
            let message = format!("fraction is {}; it has to be between 0 and 1", spec.fraction);
            return Err(PatternError::new("fraction", message));
        }
        Ok(Self { nodes, hot: hot_nodes(&spec.nodes, nodes)?, fraction: spec.fraction })
    }

    /// The hot nodes that a node may choose: their number, and its own place among them if it is one.
    fn choice(&self, src: NodeId) -> (u32, Option<usize>) {
        let own = self.hot.binary_search(&src.0).ok();
        (self.hot.len() as u32 - u32::from(own.is_some()), own)
    }
}

/// The hot nodes in ascending order.
fn hot_nodes(given: &[u64], nodes: u32) -> Result<Vec<u32>, PatternError> {
    let refuse = |message: String| Err(PatternError::new("nodes", message));
    if given.is_empty() {
        return refuse("nodes is empty; name one hot node or more, such as [0]".to_owned());
    }
    let mut hot: Vec<u32> = given.iter().map(|&node| node as u32).collect();
    hot.sort_unstable();
    if let Some(&absent) = given.iter().find(|&&node| node >= u64::from(nodes)) {
        return refuse(format!("there is no node {absent}; this topology has the nodes 0 to {}", nodes - 1));
    }
    if let Some(pair) = hot.windows(2).find(|pair| pair[0] == pair[1]) {
        return refuse(format!("node {} is given twice", pair[0]));
    }
    Ok(hot)
}

impl Pattern for Hotspot {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn sends(&self, _src: NodeId) -> bool {
        true
    }

    fn destination(&self, src: NodeId, draw: &mut dyn Draw) -> NodeId {
        let (choices, own) = self.choice(src);
        if choices == 0 || draw.unit() >= self.fraction {
            return other_node(src, self.nodes, draw);
        }
        let place = draw.below(choices) as usize;
        NodeId(self.hot[place + usize::from(own.is_some_and(|own| place >= own))])
    }

    fn distribution(&self, src: NodeId) -> Vec<(NodeId, f64)> {
        let (choices, _) = self.choice(src);
        let hot_part = if choices == 0 { 0.0 } else { self.fraction };
        let rest = (1.0 - hot_part) / f64::from(self.nodes - 1);
        let share = |dst: u32| match self.hot.binary_search(&dst) {
            Ok(_) => rest + hot_part / f64::from(choices),
            Err(_) => rest,
        };
        let others = (0..self.nodes).filter(|&dst| dst != src.0);
        others.map(|dst| (NodeId(dst), share(dst))).filter(|&(_, part)| part > 0.0).collect()
    }
}
