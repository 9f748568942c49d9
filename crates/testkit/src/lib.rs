//! Contract suites and naive oracles shared by the tests of all variants.

#![forbid(unsafe_code)]

pub mod oracle;
pub mod routing;
pub mod topology;
pub mod trees;
