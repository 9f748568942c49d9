//! Calls as text.
//!
//! ```text
//! ranks 2
//! rank 0
//!   calc 5 us
//!   isend 4 KiB to 1 tag 3
//!   irecv from any tag any
//!   waitall
//! rank 1
//!   irecv 4 KiB from 0 tag 3
//!   wait 0
//!   isend 8 B to 0 tag 7 times 2 stride 0
//! ```
//!
//! A line is a call, in the order in which its rank makes them: `calc TIME`; `isend SIZE to RANK tag NUMBER`; `irecv from RANK
//! tag NUMBER`, with a size for the most that it takes, and with `any` for a rank or a tag; `wait REQUEST`, a send, receive
//! or burst of the rank by its number from 0; `waitall`, `waitany`, `test`; `poll`, a test that finds nothing;
//! `probe from RANK tag NUMBER`, which waits for such a message and does not receive it, and `iprobe`, which does not wait. `tag 0` may be left out. `times N` makes N
//! operations of a send or receive, and `stride S` adds S to the rank at the other end from one to the next, modulo
//! the number of ranks. `in N` behind the tag of a send, receive or probe makes it one of communicator N, whose messages meet only one
//! another; the rank at the other end is written as everywhere. `#` begins a comment.
//!
//! `start calc TIME on UNIT` starts a calculation beside the rank, which is a request: unit 0, or none, is the rank's processor, others are
//! streams of accelerators, each of which carries out one calculation at a time. `after REQUEST` before a request has it begin when that one
//! has ended; the rank goes on at once.
//!
//! A collective operation is `allreduce SIZE by ALGORITHM`, with `in N` for a communicator other than that of all ranks, `root R`
//! for the member that is its root, `segment SIZE` for the segments of one that has some, and `per-byte TIME` for what combining takes; `barrier` has no size, and `start` before it
//! goes on at once. `communicator N of RANK RANK ...`, before the first rank, says who is a member of one, numbered from 1 on.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::line::{line_of, number, step};
use super::{Calls, CallsBuilder, MOST_RANKS};
use crate::program::{Programs, Step};

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// Reads calls.
///
/// # Errors
/// What is wrong, with the line.
pub fn read(text: &str) -> Result<Calls, TextError> {
    let mut reader = Reader { builder: None, ranks: 0, rank: None, read: BTreeSet::new() };
    for (line, words) in (1..).zip(text.lines()) {
        let words: Vec<&str> = words.split('#').next().unwrap_or_default().split_whitespace().collect();
        reader.line(&words).map_err(|message| TextError { line, message })?;
    }
    let missing = || TextError { line: 1, message: "there is no `ranks N`".to_owned() };
    Ok(reader.builder.ok_or_else(missing)?.build())
}

/// A text that is being read.
struct Reader {
    builder: Option<CallsBuilder>,
    ranks: u32,
    rank: Option<u32>,
    /// The ranks that have begun.
    read: BTreeSet<u32>,
}

impl Reader {
    fn line(&mut self, words: &[&str]) -> Result<(), String> {
        match words {
            [] => Ok(()),
            ["ranks", count] if self.builder.is_none() => {
                self.ranks = number(count, "a number of ranks")?;
                if !(1..=MOST_RANKS).contains(&self.ranks) {
                    return Err(format!("{count} ranks: 1 to {MOST_RANKS} are allowed"));
                }
                self.builder = Some(CallsBuilder::new(self.ranks));
                Ok(())
            }
            ["ranks", _] => Err("`ranks` comes twice".to_owned()),
            _ if self.builder.is_none() => Err("`ranks N` has to come first".to_owned()),
            ["communicator", number, "of", ranks @ ..] if self.rank.is_none() => self.communicator(number, ranks),
            ["rank", rank] => {
                let rank = number(rank, "a rank")?;
                if rank >= self.ranks {
                    return Err(format!("there is no rank {rank}: 0 to {} are allowed", self.ranks - 1));
                }
                if !self.read.insert(rank) {
                    return Err(format!("rank {rank} comes twice"));
                }
                self.rank = Some(rank);
                Ok(())
            }
            _ => self.call(step(words)?),
        }
    }

    fn communicator(&mut self, text: &str, ranks: &[&str]) -> Result<(), String> {
        let ranks: Vec<u32> = ranks.iter().map(|rank| number(rank, "a rank")).collect::<Result<_, _>>()?;
        let Some(builder) = &mut self.builder else { return Ok(()) };
        let next = builder.communicator(ranks).map_err(|error| error.to_string())?;
        if number(text, "the number of a communicator") == Ok(next) {
            return Ok(());
        }
        Err(format!("communicator {text}: they are numbered from 1 on in their order, and this is number {next}"))
    }

    fn call(&mut self, step: Step) -> Result<(), String> {
        let (Some(builder), Some(rank)) = (&mut self.builder, self.rank) else {
            return Err("`rank N` has to come before what it calls".to_owned());
        };
        builder.push(rank, step).map_err(|error| error.to_string())
    }
}

/// Writes calls, as `read` reads them.
pub fn write(calls: &Calls) -> String {
    let mut text = format!("ranks {}\n", calls.ranks());
    for (number, group) in (1..).zip(&calls.groups) {
        let ranks: Vec<String> = (0..group.len()).map(|member| group.rank(member).to_string()).collect();
        // Writing to a text does not fail.
        let _ = writeln!(text, "communicator {number} of {}", ranks.join(" "));
    }
    for rank in 0..calls.ranks() {
        // Writing to a text does not fail.
        let _ = writeln!(text, "rank {rank}");
        for step in calls.of(rank) {
            let _ = writeln!(text, "  {}", line_of(step));
        }
    }
    text
}
