//! The executor: times, matching and memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

mod causal;
mod collectives;
mod flat;
mod groups;
mod interface;
mod matching;
mod processor;
mod progress;
mod protocols;
mod reference;
mod relays;
mod switch;
mod times;
mod training;
mod under_way;
mod ways;
mod world;
