//! Contract suites and naive oracles that the tests of every variant join.

pub mod oracle;
pub mod routing;
pub mod topology;
pub mod trees;
