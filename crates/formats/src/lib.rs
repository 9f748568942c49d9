//! Tables of numbers as text, in one dialect: see [`rows`]. JSON whose objects have each key once: see [`json`].

#![forbid(unsafe_code)]

pub mod json;
pub mod rows;
