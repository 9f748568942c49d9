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
//! Each line is a call. The calls of a rank stand in their order.
//!
//! - `calc TIME` calculates.
//! - `isend SIZE to RANK tag NUMBER` sends. `tag 0` may be omitted.
//! - `irecv from RANK tag NUMBER` receives. A size before `from` limits the size accepted. `any` stands for any rank or
//!   any tag.
//! - `wait REQUEST` waits for a request by its number. The sends, receives, bursts and other requests of a rank are
//!   numbered from 0.
//! - `waitall`, `waitany` and `test` wait for, or test, all or any requests.
//! - `poll` enters the progress engine, like a test that finds nothing.
//! - `probe from RANK tag NUMBER` waits for a matching message and does not receive it. `iprobe` does not wait.
//!
//! After a send or a receive, `times N` repeats it N times, and `stride S` adds S to the peer rank at each repetition,
//! modulo the number of ranks. After the tag of a send, receive or probe, `in N` assigns it to communicator N. Messages
//! match only within one communicator; peers are ranks in the communicator of all ranks. `#` begins a comment.
//!
//! `start calc TIME on UNIT` starts a calculation, which is a request, and continues at once. Unit 0, the default, is
//! the rank's processor. Other units are streams of accelerators. Each unit carries out one calculation at a time.
//! `after REQUEST` makes the next request begin only when that request has ended; the rank continues at once.
//!
//! `allreduce SIZE by ALGORITHM` is a collective operation; other operations are written alike. `in N` selects a
//! communicator other than that of all ranks, `root R` the root member, `segment SIZE` the segment size of algorithms
//! that have segments, and `per-byte TIME` the time of combining a byte. `barrier` has no size. `start` before a
//! collective operation makes it nonblocking. `communicator N of RANK RANK ...`, before the first rank, defines a
//! communicator. Communicators are numbered from 1.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::line::{line_of, number, step};
use super::{Calls, CallsBuilder, MOST_RANKS};
use crate::program::{Programs, ScriptCall};

/// Syntax error in a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TextError {
    /// Line number, from 1.
    pub line: usize,
    /// Description of the error.
    pub message: String,
}

/// Reads calls.
///
/// # Errors
/// The first syntax error, with its line.
pub fn read(text: &str) -> Result<Calls, TextError> {
    let mut reader = Reader { builder: None, ranks: 0, rank: None, read: BTreeSet::new() };
    for (line, words) in (1..).zip(text.lines()) {
        let words: Vec<&str> = words.split('#').next().unwrap_or_default().split_whitespace().collect();
        reader.line(&words).map_err(|message| TextError { line, message })?;
    }
    let missing = || TextError { line: 1, message: "there is no `ranks N`".to_owned() };
    Ok(reader.builder.ok_or_else(missing)?.build())
}

/// State of the reader.
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

    fn call(&mut self, step: ScriptCall) -> Result<(), String> {
        let (Some(builder), Some(rank)) = (&mut self.builder, self.rank) else {
            return Err("`rank N` has to come before what it calls".to_owned());
        };
        builder.push(rank, step).map_err(|error| error.to_string())
    }
}

/// Writes calls in the format that `read` reads.
pub fn write(calls: &Calls) -> String {
    let mut text = format!("ranks {}\n", calls.ranks());
    for (number, group) in (1..).zip(&calls.groups) {
        let ranks: Vec<String> = (0..group.len()).map(|member| group.rank(member).to_string()).collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "communicator {number} of {}", ranks.join(" "));
    }
    for rank in 0..calls.ranks() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "rank {rank}");
        for step in calls.of(rank) {
            let _ = writeln!(text, "  {}", line_of(step));
        }
    }
    text
}
