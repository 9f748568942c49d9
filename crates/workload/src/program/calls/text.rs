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
//! or burst of the rank by its number from 0; `waitall`, `waitany`, `test`. `tag 0` may be left out. `times N` makes N
//! operations of a send or receive, and `stride S` adds S to the rank at the other end from one to the next, modulo
//! the number of ranks. `#` begins a comment.

use std::fmt::Write as _;

use units::{Bytes, Time};

use super::{ANY_SIZE, Calls, CallsBuilder, MOST_RANKS};
use crate::program::{Action, Burst, Programs, Step};

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// What a line may begin with.
const WORDS: &str = "ranks, rank, calc, isend, irecv, wait, waitall, waitany, test";

/// Reads calls.
///
/// # Errors
/// What is wrong, with the line.
pub fn read(text: &str) -> Result<Calls, TextError> {
    let mut reader = Reader { builder: None, ranks: 0, rank: None };
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
            ["rank", rank] => {
                let rank = number(rank, "a rank")?;
                if rank >= self.ranks {
                    return Err(format!("there is no rank {rank}: 0 to {} are allowed", self.ranks - 1));
                }
                self.rank = Some(rank);
                Ok(())
            }
            _ => self.call(step(words)?),
        }
    }

    fn call(&mut self, step: Step) -> Result<(), String> {
        let (Some(builder), Some(rank)) = (&mut self.builder, self.rank) else {
            return Err("`rank N` has to come before what it calls".to_owned());
        };
        builder.push(rank, step).map_err(|error| error.to_string())
    }
}

/// The call that the words of a line are.
fn step(words: &[&str]) -> Result<Step, String> {
    match words {
        ["calc", time @ ..] => Ok(Step::Do(Action::Calc { time: quantity::<Time>(time)?.0 })),
        ["isend", rest @ ..] => {
            let (size, rest) = until(rest, "to")?;
            let (to, rest) = rank(rest)?;
            let (tag, rest) = tag(rest)?;
            let to = to.ok_or("a send is to a rank, not to `any`")?;
            let tag = tag.ok_or("`tag any` is for receives")?;
            burst(Action::Send { to, bytes: quantity::<Bytes>(size)?.0, tag }, rest)
        }
        ["irecv", rest @ ..] => {
            let (size, rest) = until(rest, "from")?;
            let bytes = if size.is_empty() { ANY_SIZE } else { quantity::<Bytes>(size)?.0 };
            let (from, rest) = rank(rest)?;
            let (tag, rest) = tag(rest)?;
            burst(Action::Recv { from, bytes, tag }, rest)
        }
        ["wait", request] => Ok(Step::Wait(number(request, "a request: they are counted from 0")?)),
        ["waitall"] => Ok(Step::WaitAll),
        ["waitany"] => Ok(Step::WaitAny),
        ["test"] => Ok(Step::Test),
        _ => Err(format!("`{}` is no call; a line begins with one of {WORDS}", words.join(" "))),
    }
}

/// A list of words.
type Words<'a> = &'a [&'a str];

/// The words before a word, and those behind it.
fn until<'a>(words: Words<'a>, word: &str) -> Result<(Words<'a>, Words<'a>), String> {
    let place = words.iter().position(|&other| other == word).ok_or_else(|| format!("`{word} RANK` is missing"))?;
    Ok((&words[..place], &words[place + 1..]))
}

fn rank<'a>(words: Words<'a>) -> Result<(Option<u32>, Words<'a>), String> {
    match words {
        ["any", rest @ ..] => Ok((None, rest)),
        [rank, rest @ ..] => Ok((Some(number(rank, "a rank")?), rest)),
        [] => Err("a rank is missing".to_owned()),
    }
}

fn tag<'a>(words: Words<'a>) -> Result<(Option<u32>, Words<'a>), String> {
    match words {
        ["tag", "any", rest @ ..] => Ok((None, rest)),
        ["tag", tag, rest @ ..] => Ok((Some(number(tag, "a tag")?), rest)),
        _ => Ok((Some(0), words)),
    }
}

/// One operation, or several of them.
fn burst(first: Action, words: Words<'_>) -> Result<Step, String> {
    let (count, stride) = match words {
        [] => return Ok(Step::Do(first)),
        ["times", count] => (count, "0"),
        ["times", count, "stride", stride] => (count, *stride),
        _ => return Err(format!("`{}`: `times N stride S` may stand here, and nothing else", words.join(" "))),
    };
    let (count, stride) = (number(count, "a number of operations")?, number(stride, "a stride from 0")?);
    Ok(Step::Burst(Burst { first, count, stride }))
}

fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not {what}"))
}

fn quantity<T: std::str::FromStr<Err: std::fmt::Display>>(words: Words<'_>) -> Result<T, String> {
    words.join(" ").parse().map_err(|error: T::Err| error.to_string())
}

/// Writes calls, as `read` reads them.
pub fn write(calls: &Calls) -> String {
    let mut text = format!("ranks {}\n", calls.ranks());
    for rank in 0..calls.ranks() {
        // Writing to a text does not fail.
        let _ = writeln!(text, "rank {rank}");
        for step in calls.of(rank) {
            let _ = writeln!(text, "  {}", of_step(step));
        }
    }
    text
}

/// The line of a call.
pub(super) fn of_step(step: &Step) -> String {
    match *step {
        Step::Do(action) => of_action(action),
        Step::Burst(Burst { first, count, stride }) => format!("{} times {count} stride {stride}", of_action(first)),
        Step::Wait(request) => format!("wait {request}"),
        Step::WaitAll => "waitall".to_owned(),
        Step::WaitAny => "waitany".to_owned(),
        Step::Test => "test".to_owned(),
        Step::End | Step::Fail => String::new(),
    }
}

fn of_action(action: Action) -> String {
    let any = |known: Option<u32>| known.map_or("any".to_owned(), |number| number.to_string());
    match action {
        Action::Calc { time } => format!("calc {time} ps"),
        Action::Send { to, bytes, tag } => format!("isend {bytes} B to {to} tag {tag}"),
        Action::Recv { from, bytes: ANY_SIZE, tag } => format!("irecv from {} tag {}", any(from), any(tag)),
        Action::Recv { from, bytes, tag } => format!("irecv {bytes} B from {} tag {}", any(from), any(tag)),
    }
}
