//! The traffic patterns, one file each.
