#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod oracle;
pub mod processes;
pub mod routing;
pub mod topology;
pub mod trees;
