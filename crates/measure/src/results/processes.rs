//! Times of a run in several processes.

use schemars::JsonSchema;
use serde::Serialize;

/// Times of a run in several processes, means over windows and processes. They do not affect other results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ProcessesResult {
    /// Number of processes.
    pub processes: u32,
    /// Number of windows of lookahead, after each of which processes exchange packets and credits.
    pub windows: u64,
    /// Wall-clock time of a window's simulation, in nanoseconds.
    pub window_work_ns: f64,
    /// Wall-clock time of packing and unpacking after a window, in nanoseconds.
    pub window_pack_ns: f64,
    /// Wall-clock time of sending and receiving after a window, in nanoseconds.
    pub window_exchange_ns: f64,
    /// Wall-clock time of waiting for other processes after a window, in nanoseconds.
    pub window_wait_ns: f64,
    /// Bytes that a process sends to other processes after a window.
    pub window_bytes: f64,
}
