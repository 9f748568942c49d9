//! The Python extension module: convert, call, convert.
