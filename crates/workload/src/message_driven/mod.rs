//! Message-driven programs: a task graph whose tasks are objects, several on a processor, that compute when messages come
//! (Charm++'s model of execution).
//!
//! In every iteration an object has *entry methods*: one for each phase in which something is sent to it. That of a phase runs when
//! all that the phase sends to the object in this iteration has come, and the entry method before it has run. Then the object sends
//! what it sends in the later phases, up to and including the next one in which it receives. What it sends before it has to receive
//! anything it sends when its iteration begins: at once in the first, and in each other when the last entry method of the one before
//! has run. No barrier separates phases or iterations.
//!
//! What the model assumes:
//! - An object's load is spent in equal parts by its entry methods. An object that receives nothing computes as its iteration begins.
//! - An entry method sends when it has computed, and is not interrupted.
//! - A processor runs its entry methods one at a time, in the order in which they have become ready (Charm++'s queue without
//!   priorities). The sends of a begin that computes nothing, and the combining of a reduction, take no turn.
//! - Objects of one processor exchange messages without time. A multicast sends one message to each processor that has members, and
//!   a reduction gets one from each, as soon as the last member there has contributed.
//! - Messages of an arc differ in size by a byte at most. A task's messages of a phase begin at a target of its own, so that no task
//!   is everybody's first.
//!
//! A processor is a rank. It has wildcard receives posted as long as messages are to come, at most `POSTED` at once, and takes
//! whatever comes first. A message says by its tag which of the rank's messages it is, and of which iteration. What phases need has
//! been sent in phases before them or in the same one before anything is waited for, so every program ends.
//!
//! Memory: 16 bytes a message of an iteration, 4 for each delivery of it, some 50 an entry method, for all ranks together.

mod build;
mod entries;
mod programs;
mod rank;
mod table;

pub use entries::{DrivenError, DrivenSpec, MessageDriven};
