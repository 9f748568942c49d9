//! What may mislead in a result.

use schemars::JsonSchema;
use serde::Serialize;

/// Something that will mislead in a result although nothing is wrong with the experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// What it is of: `fast-link`, `credits`, `memory`, `head-of-line`, `short-run`, `coarse-series`, `fine-series`, `no-timeline`,
    /// `starvation`, `not-monotone` or `unreceived`.
    pub kind: &'static str,
    /// The key of the experiment that changes it.
    pub key: &'static str,
    /// What is to be expected, and what can be done.
    pub message: String,
}
