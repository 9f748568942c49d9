//! The routing algorithms, one file each.
