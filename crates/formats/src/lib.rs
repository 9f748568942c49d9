//! Tables of numbers as text, in one dialect: see [`rows`].

pub mod rows;
