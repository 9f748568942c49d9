//! Tables of numbers as text, in one dialect: see [`rows`].

#![forbid(unsafe_code)]

pub mod rows;
