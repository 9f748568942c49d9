//! The families of topologies, one file each.
