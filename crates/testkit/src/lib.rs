//! Contract suites and naive oracles shared by the tests of all variants.

pub mod oracle;
pub mod routing;
pub mod topology;
pub mod trees;
