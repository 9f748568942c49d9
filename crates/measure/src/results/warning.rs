//! Warnings about results that may mislead.

use schemars::JsonSchema;
use serde::Serialize;

/// Warning about a result that may mislead although the experiment is valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// Kind of the warning, one of `fast-link`, `slow-bus`, `credits`, `memory`, `head-of-line`, `short-run`,
    /// `cut-short`, `coarse-series`, `fine-series`, `no-timeline`, `starvation`, `idle-paths`, `shortest-only`,
    /// `default-routing`, `spread-flows`, `unproven`, `not-monotone` or `unreceived`.
    pub kind: &'static str,
    /// Key of the experiment whose value causes it.
    pub key: &'static str,
    /// Effect to expect, and possible remedies.
    pub message: String,
}
