//! Schedules as text in the format of LogGOPSim (Hoefler, Schneider and Lumsdaine, "LogGOPSim: simulating large-scale
//! applications in the LogGOPS model", LSAP 2010): GOAL.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!   l1: calc 100 cpu 0
//!   l2: send 8b to 1 tag 3 cpu 0 nic 0
//!   l2 requires l1
//! }
//! rank 1 {
//!   l1: recv 8b from 0 tag 3
//! }
//! ```
//!
//! Every rank has a section, which may be empty. Calculations are in nanoseconds. Labels are local to a rank. `//`, `#`
//! and `/* */` begin comments. Extensions of the format: `from any` and `tag any` of a receive, and fractions of a
//! nanosecond.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use units::Notes;

use super::{LONGEST_CALC, OpId, OpKind, Schedule, ScheduleBuilder, ScheduleError};

/// Largest number of ranks. Each takes memory, even without operations.
const MOST_RANKS: u32 = 1 << 24;

/// Error in a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GoalError {
    /// A line has a syntax error.
    #[error("line {line}: {message}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// Description of the error.
        message: String,
    },
    /// The schedule cannot run.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}

/// Reads a schedule.
///
/// # Errors
/// A syntax error, with its line, or the reason why the schedule cannot run.
pub fn read(text: &str) -> Result<Schedule, GoalError> {
    let mut reader = Reader::default();
    let mut in_comment = false;
    let mut last = 0;
    for (number, line) in (1..).zip(text.lines()) {
        last = number;
        let line = without_comments(line, &mut in_comment);
        reader.number = number;
        // An error that is found at the end of a rank may concern an earlier line.
        reader.line(&line).map_err(|message| GoalError::Line { line: reader.number, message })?;
    }
    let unfinished = |message: &str| GoalError::Line { line: last.max(1), message: message.to_owned() };
    if reader.rank.is_some() {
        return Err(unfinished("the last rank has no closing `}`"));
    }
    let builder = reader.builder.ok_or_else(|| unfinished("there is no `num_ranks`"))?;
    if let Some(rank) = (0..reader.ranks).find(|rank| !reader.read.contains(rank)) {
        let message =
            format!("rank {rank} of {} has no section; one without operations is `rank {rank} {{ }}`", reader.ranks);
        return Err(unfinished(&message));
    }
    let mut notes = Notes::default();
    let things = ["requirement", "requirements"];
    notes.count(reader.repeated, things, ["is", "are"], "listed before, and left out");
    Ok(builder.build()?.with_notes(notes.sentences()))
}

/// Removes comments from a line. `inside` tells whether a multi-line comment continues.
fn without_comments(line: &str, inside: &mut bool) -> String {
    let (mut kept, mut rest) = (String::new(), line);
    loop {
        if *inside {
            let Some(end) = rest.find("*/") else { return kept };
            rest = &rest[end + 2..];
            *inside = false;
        }
        let begin = rest.find("/*").unwrap_or(rest.len());
        let end = ["//", "#"].iter().filter_map(|mark| rest.find(mark)).min().unwrap_or(rest.len());
        kept.push_str(&rest[..begin.min(end)]);
        kept.push(' ');
        if begin >= end {
            return kept;
        }
        rest = &rest[begin + 2..];
        *inside = true;
    }
}

/// State of the reader.
#[derive(Default)]
struct Reader {
    /// Line number.
    number: usize,
    builder: Option<ScheduleBuilder>,
    ranks: u32,
    rank: Option<u32>,
    /// The ranks that have begun.
    read: BTreeSet<u32>,
    /// The labels of the rank.
    labels: BTreeMap<String, OpId>,
    /// Requirements of the current rank: line, waiting label, required label, and whether only its start is required.
    /// Labels may be defined later.
    later: Vec<(usize, String, String, bool)>,
    /// Requirements that are listed again.
    repeated: u64,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let spaced = line.replace('{', " { ").replace('}', " } ").replace(':', " : ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut words = &words[..];
        while !words.is_empty() {
            words = self.statement(words)?;
        }
        Ok(())
    }

    /// Parses the first statement of a line. Returns the remaining words.
    fn statement<'a>(&mut self, words: &'a [&'a str]) -> Result<&'a [&'a str], String> {
        match words {
            ["num_ranks", count, rest @ ..] if self.builder.is_none() => {
                self.ranks = number(count, "a number of ranks")?;
                if !(1..=MOST_RANKS).contains(&self.ranks) {
                    return Err(format!("{count} ranks: 1 to {MOST_RANKS} are allowed"));
                }
                self.builder = Some(ScheduleBuilder::new(self.ranks));
                Ok(rest)
            }
            ["num_ranks", ..] => Err("`num_ranks` comes twice".to_owned()),
            ["rank", rank, "{", rest @ ..] if self.rank.is_none() => {
                let rank = number(rank, "a rank")?;
                if self.builder.is_none() {
                    return Err("`num_ranks` has to come first".to_owned());
                }
                if rank >= self.ranks {
                    return Err(format!("there is no rank {rank}: 0 to {} are allowed", self.ranks - 1));
                }
                if !self.read.insert(rank) {
                    return Err(format!("rank {rank} comes twice"));
                }
                self.rank = Some(rank);
                Ok(rest)
            }
            ["}", rest @ ..] if self.rank.is_some() => {
                self.end_rank()?;
                Ok(rest)
            }
            _ => match self.rank {
                Some(rank) => self.in_rank(rank, words),
                None => Err(format!("`{}`: `num_ranks N` or `rank N {{` is expected", words.join(" "))),
            },
        }
    }

    /// Parses an operation or a requirement. Returns the remaining words.
    fn in_rank<'a>(&mut self, rank: u32, words: &'a [&'a str]) -> Result<&'a [&'a str], String> {
        match words {
            [op, kind @ ("requires" | "irequires"), before, rest @ ..] => {
                self.later.push((self.number, (*op).to_owned(), (*before).to_owned(), *kind == "irequires"));
                Ok(rest)
            }
            [label, ":", rest @ ..] => {
                let (op, rest) = self.operation(rank, rest)?;
                if self.labels.insert((*label).to_owned(), op).is_some() {
                    return Err(format!("label `{label}` comes twice in rank {rank}"));
                }
                Ok(rest)
            }
            _ => Ok(self.operation(rank, words)?.1),
        }
    }

    fn operation<'a>(&mut self, rank: u32, words: &'a [&'a str]) -> Result<(OpId, &'a [&'a str]), String> {
        let Some(builder) = &mut self.builder else { return Err("`num_ranks` has to come first".to_owned()) };
        let (op, rest) = match words {
            ["calc", time, rest @ ..] => (builder.calc(rank, calculation(time)?), rest),
            ["send", size, "to", peer, rest @ ..] => {
                let (tag, rest) = tag(rest)?;
                let tag = tag.ok_or("`tag any` is for receives")?;
                (builder.send(rank, self::peer(peer, self.ranks)?, bytes(size)?, tag), rest)
            }
            ["recv", size, "from", peer, rest @ ..] => {
                let (tag, rest) = tag(rest)?;
                let from = if *peer == "any" { None } else { Some(self::peer(peer, self.ranks)?) };
                (builder.recv_any(rank, from, bytes(size)?, tag), rest)
            }
            _ => {
                let message = "`calc TIME`, `send SIZEb to RANK tag TAG`, `recv SIZEb from RANK tag TAG` or `LABEL requires LABEL` is expected";
                return Err(format!("`{}`: {message}", words.join(" ")));
            }
        };
        let (mut lanes, mut rest) = ([None, None], rest);
        while let [name @ ("cpu" | "nic"), lane, behind @ ..] = rest {
            let lane = number(lane, "the number of a processor or interface")?;
            if lanes[usize::from(*name == "nic")].replace(lane).is_some() {
                return Err(format!("`{name}` comes twice"));
            }
            rest = behind;
        }
        let [cpu, nic] = lanes.map(Option::unwrap_or_default);
        builder.on(op, cpu, nic);
        Ok((op, rest))
    }

    /// Resolves the requirements of a rank at its end.
    fn end_rank(&mut self) -> Result<(), String> {
        let Some(builder) = &mut self.builder else { return Ok(()) };
        let line = self.number;
        let mut listed = BTreeSet::new();
        for (number, op, before, is_start) in self.later.drain(..) {
            self.number = number;
            let find = |label: &String| {
                let known = self.labels.get(label).copied();
                known.ok_or_else(|| format!("rank {} has no label `{label}`", self.rank.unwrap_or_default()))
            };
            let requirement = (is_start, find(&op)?, find(&before)?);
            self.repeated += u64::from(!listed.insert(requirement));
            match requirement {
                (true, op, before) => builder.irequires(op, before),
                (false, op, before) => builder.requires(op, before),
            }
        }
        self.number = line;
        self.labels.clear();
        self.rank = None;
        Ok(())
    }
}

/// Parses the peer rank of a message, among `ranks` ranks.
fn peer(text: &str, ranks: u32) -> Result<u32, String> {
    let rank = number(text, "a rank")?;
    if rank >= ranks {
        return Err(format!("there is no rank {rank}: 0 to {} are allowed", ranks - 1));
    }
    Ok(rank)
}

/// Parses an optional tag (default: 0). Returns the remaining words.
fn tag<'a>(words: &'a [&'a str]) -> Result<(Option<u32>, &'a [&'a str]), String> {
    match words {
        ["tag", "any", rest @ ..] => Ok((None, rest)),
        ["tag", tag, rest @ ..] => Ok((Some(number(tag, "a tag")?), rest)),
        _ => Ok((Some(0), words)),
    }
}

fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not {what}"))
}

/// Parses a size in bytes, such as `8b`.
fn bytes(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix('b').and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| format!("`{text}` is not a size: bytes are written as `8b`"))
}

/// Parses the duration of a calculation, in nanoseconds, to picoseconds.
fn calculation(text: &str) -> Result<u64, String> {
    let time = nanoseconds(text)?;
    if time > LONGEST_CALC {
        return Err(format!("`calc {text}` is too long: a calculation takes at most 1000 s, 1000000000000 ns"));
    }
    Ok(time)
}

/// Parses nanoseconds with at most three decimals to picoseconds.
fn nanoseconds(text: &str) -> Result<u64, String> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let parsed = || {
        let whole: u64 = whole.parse().ok()?;
        let is_part = part.len() <= 3 && part.bytes().all(|digit| digit.is_ascii_digit());
        let part: u64 = if is_part { format!("{part:0<3}").parse().ok()? } else { return None };
        whole.checked_mul(1000)?.checked_add(part)
    };
    parsed().ok_or_else(|| format!("`{text}` is not a time in nanoseconds, of three decimals at most"))
}

/// Writes a schedule in the format that `read` reads.
pub fn write(schedule: &Schedule) -> String {
    let mut text = format!("num_ranks {}\n", schedule.ranks());
    for rank in 0..schedule.ranks() {
        let operations = schedule.of(rank);
        let label = |op: u32| op - operations.start + 1;
        // Writing to a string does not fail.
        let _ = writeln!(text, "\nrank {rank} {{");
        for op in operations.clone() {
            let _ = writeln!(text, "l{}: {}", label(op), operation(schedule, op));
        }
        for op in operations.clone() {
            for (word, followers) in [("requires", schedule.after_end(op)), ("irequires", schedule.after_start(op))] {
                for &next in followers {
                    let _ = writeln!(text, "l{} {word} l{}", label(next), label(op));
                }
            }
        }
        text.push_str("}\n");
    }
    text
}

fn operation(schedule: &Schedule, op: u32) -> String {
    let size = schedule.size(op);
    let any = |known: Option<u32>| known.map_or("any".to_owned(), |number| number.to_string());
    let (peer, tag) = (any(schedule.peer(op)), any(schedule.tag(op)));
    let (cpu, nic) = schedule.lanes(op);
    match schedule.kind(op) {
        OpKind::Calc if size.is_multiple_of(1000) => format!("calc {} cpu {cpu}", size / 1000),
        OpKind::Calc => format!("calc {}.{:03} cpu {cpu}", size / 1000, size % 1000),
        OpKind::Send => format!("send {size}b to {peer} tag {tag} cpu {cpu} nic {nic}"),
        OpKind::Recv | OpKind::RecvAny => format!("recv {size}b from {peer} tag {tag} cpu {cpu} nic {nic}"),
    }
}
