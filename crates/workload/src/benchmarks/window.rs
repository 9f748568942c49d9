//! Many messages at once: the OSU benchmarks' bandwidths, and the streaming bandwidth of Brightwell, Doerfler and Underwood ("A preliminary
//! analysis of the InfiniPath and XD1 network interfaces", section 3), which gives the rate of messages too.
//!
//! A rank sends a window of messages to its partner, which has posted as many receives and answers when all have come.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::sizes::{MOST_WINDOW, check_pair, powers, repetition};
use super::table::{TableBenchmark, TableRow};
use super::timed::{At, Exercise, Timed};
use crate::PatternError;
use crate::communicator::Group;
use crate::motifs::ProgramSite;
use crate::program::{Action, Burst, Step};

/// A pair of ranks, one of which sends many messages at once, or both do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WindowSpec {
    /// Sizes of messages, a row each. Without it, the powers of two up to 4 MiB.
    #[schemars(extend("x-example" = "[\"8 B\", \"1 KiB\"]"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Bytes>>,
    /// Windows of each size that are measured.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub repetitions: u32,
    /// Windows of each size before those that are measured.
    #[schemars(range(max = 1_000_000))]
    pub warm_up: u32,
    /// Messages that are sent one after the other before the answer is waited for. Without it, 64, and 160 of `streaming`.
    #[schemars(range(min = 1, max = 1_048_576))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Bytes of the answer.
    pub answer_size: Bytes,
    /// The two ranks, the one that sends first. All others do nothing.
    #[schemars(length(min = 2, max = 2))]
    pub pair: [u32; 2],
}

impl Default for WindowSpec {
    fn default() -> Self {
        Self { sizes: None, repetitions: 5, warm_up: 1, window: None, answer_size: Bytes(4), pair: [0, 1] }
    }
}

/// Pairs of ranks, each with one that sends many messages at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ManyPairsSpec {
    /// Sizes of messages, a row each. Without it, the powers of two up to 4 MiB.
    #[schemars(extend("x-example" = "[\"8 B\", \"1 KiB\"]"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Bytes>>,
    /// Windows of each size that are measured.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub repetitions: u32,
    /// Windows of each size before those that are measured.
    #[schemars(range(max = 1_000_000))]
    pub warm_up: u32,
    /// Messages that are sent one after the other before the answer is waited for.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub window: u32,
    /// Bytes of the answer.
    pub answer_size: Bytes,
    /// How many pairs there are: rank i sends to rank i + pairs. Without it, half of the ranks.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<u32>,
}

impl Default for ManyPairsSpec {
    fn default() -> Self {
        Self { sizes: None, repetitions: 5, warm_up: 1, window: 64, answer_size: Bytes(4), pairs: None }
    }
}

/// Who sends whom.
#[derive(Clone, Copy, Debug)]
enum Senders {
    /// The first of two; whether the second one sends as much.
    Pair([u32; 2], bool),
    /// The first half of so many pairs.
    Many(u32),
}

impl Senders {
    /// The partner of a rank, and whether it sends and receives windows.
    fn of(self, rank: u32) -> (u32, bool, bool) {
        match self {
            Self::Pair([first, second], both) => {
                let is_first = rank == first;
                (if is_first { second } else { first }, both || is_first, both || !is_first)
            }
            Self::Many(pairs) if rank < pairs => (rank + pairs, true, false),
            Self::Many(pairs) => (rank - pairs, false, true),
        }
    }
}

/// Tags of the windows and of their answers.
const DATA: u32 = 0;
const ANSWER: u32 = 1;

#[derive(Debug)]
struct Windows {
    senders: Senders,
    window: u32,
    answer: u64,
}

impl Exercise for Windows {
    fn call(&self, at: At, number: u32) -> Option<Step> {
        let (partner, sends, receives) = self.senders.of(at.rank);
        let burst = |first| Step::Burst(Burst { first, count: self.window, stride: 0 });
        let receive =
            |first: bool| (receives == first).then(|| burst(Action::recv(Some(partner), at.bytes, Some(DATA))));
        // Receives first, then sends, then waiting; the second of a pair reports to the first that all has come.
        let steps = [
            receive(true),
            sends.then(|| burst(Action::send(partner, at.bytes, DATA))),
            Some(Step::WaitAll),
            Some(match self.answers(at.rank) {
                true => Step::Do(Action::send(partner, self.answer, ANSWER)),
                false => Step::Do(Action::recv(Some(partner), self.answer, Some(ANSWER))),
            }),
            Some(Step::WaitAll),
        ];
        steps.into_iter().flatten().nth(number as usize)
    }

    fn messages(&self, at: At, visit: &mut dyn FnMut(u32, u64, u64)) {
        let (partner, sends, _) = self.senders.of(at.rank);
        if sends {
            visit(partner, at.bytes, u64::from(self.window));
        }
        if self.answers(at.rank) {
            visit(partner, self.answer, 1);
        }
    }

    fn measures(&self, rank: u32) -> bool {
        !self.answers(rank)
    }
}

impl Windows {
    /// Whether a rank answers, and does not wait for an answer.
    fn answers(&self, rank: u32) -> bool {
        match self.senders {
            Senders::Pair(pair, _) => rank == pair[1],
            Senders::Many(pairs) => rank >= pairs,
        }
    }
}

/// What a benchmark of windows is called, and what it does by default.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub kind: &'static str,
    /// Whether both ranks send.
    pub both: bool,
    /// The window by default.
    pub window: u32,
    /// Whether it has a rate of messages.
    pub rates: bool,
}

fn wrong(key: &'static str, message: String) -> PatternError {
    PatternError::new(key, message)
}

fn check_window(window: u32, answer: Bytes) -> Result<(), PatternError> {
    if !(1..=MOST_WINDOW).contains(&window) {
        return Err(wrong("window", format!("{window} is out of range: 1 to {MOST_WINDOW} are allowed")));
    }
    match answer.0 > 1 << 30 {
        true => Err(wrong("answer_size", format!("{answer} is too large: at most 1 GiB is allowed"))),
        false => Ok(()),
    }
}

/// The benchmark of two ranks, among so many.
///
/// # Errors
/// Ranks that do not exist, or sizes out of range.
pub(super) fn build(spec: &WindowSpec, style: Style, site: &ProgramSite<'_>) -> Result<TableBenchmark, PatternError> {
    let ranks = site.node_of.len() as u32;
    check_pair(spec.pair, ranks)?;
    let window = spec.window.unwrap_or(style.window);
    check_window(window, spec.answer_size)?;
    let sizes = spec.sizes.clone().unwrap_or_else(|| powers(false));
    let repetition = repetition(&sizes, (spec.repetitions, spec.warm_up), site.settle)?;
    let all = u64::from(window) * if style.both { 2 } else { 1 };
    let rows = rows(&repetition.sizes, spec.repetitions, (all, style.rates));
    let windows = Windows { senders: Senders::Pair(spec.pair, style.both), window, answer: spec.answer_size.0 };
    let programs = Timed::new(windows, (ranks, Group::list(spec.pair.to_vec())), repetition);
    Ok(TableBenchmark { kind: style.kind, programs: Arc::new(programs), ranks: 2, rows })
}

/// The benchmark of many pairs, among so many ranks.
///
/// # Errors
/// More pairs than there are, or sizes out of range.
pub(super) fn build_many(
    spec: &ManyPairsSpec,
    kind: &'static str,
    site: &ProgramSite<'_>,
) -> Result<TableBenchmark, PatternError> {
    let ranks = site.node_of.len() as u32;
    if ranks < 2 {
        return Err(wrong("kind", format!("a benchmark of pairs needs two ranks, and there is {ranks}")));
    }
    let pairs = spec.pairs.unwrap_or(ranks / 2);
    if pairs == 0 || pairs > ranks / 2 {
        return Err(wrong("pairs", format!("{pairs} pairs of {ranks} ranks: 1 to {} are allowed", ranks / 2)));
    }
    check_window(spec.window, spec.answer_size)?;
    let sizes = spec.sizes.clone().unwrap_or_else(|| powers(false));
    let repetition = repetition(&sizes, (spec.repetitions, spec.warm_up), site.settle)?;
    let rows = rows(&repetition.sizes, spec.repetitions, (u64::from(spec.window) * u64::from(pairs), true));
    let windows = Windows { senders: Senders::Many(pairs), window: spec.window, answer: spec.answer_size.0 };
    let programs = Timed::new(windows, (ranks, Group::all(2 * pairs)), repetition);
    Ok(TableBenchmark { kind, programs: Arc::new(programs), ranks: 2 * pairs, rows })
}

fn rows(sizes: &[u64], repetitions: u32, (messages, rates): (u64, bool)) -> Vec<TableRow> {
    Timed::rows(sizes, repetitions, |bytes| TableRow {
        parts: 1,
        moved: Some(bytes.saturating_mul(messages)),
        messages: rates.then_some(messages),
        ..TableRow::default()
    })
}
