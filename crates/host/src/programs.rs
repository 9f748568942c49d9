//! Programs of the ranks of an executor, and the log of their calls.
//!
//! A program is a function of its calls: the time at which it begins, and the ends of which it is notified. A
//! checkpoint therefore holds no state of programs, of which there are many kinds, but their calls, which are repeated
//! on new programs. The log is kept only for checkpoints. It has some ten bytes for a notification.

use std::mem;
use std::sync::Arc;

use mpi::program::{Ended, Interval, Matched, Notify, Op, ProgramError, Programs, RankProgram};
use units::{Record, State};

/// Programs of the ranks of an executor.
#[derive(Debug)]
pub(crate) struct RankPrograms {
    all: Vec<Box<dyn RankProgram>>,
    /// Calls of each program. None unless they are logged.
    log: Option<Vec<Log>>,
}

/// Calls of a program.
#[derive(Clone, Debug, Default, PartialEq)]
struct Log {
    bytes: Vec<u8>,
    /// Time of the last call, in picoseconds.
    now: u64,
}
units::record!(Log { bytes, now });

/// Call of a program.
enum Call {
    Begin(u64),
    Ended(Ended),
    ForgetIntervals,
}

/// First byte of a call. A notification has `MATCHED` added if it has a message.
const BEGIN: u8 = 0;
const FORGET: u8 = 1;
const ENDED: u8 = 2;
const MATCHED: u8 = 1;

impl Log {
    /// Adds a number, seven bits a byte.
    fn number(&mut self, mut number: u64) {
        while number >= 1 << 7 {
            self.bytes.push(number as u8 | 1 << 7);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Adds a time, as the difference from the last one.
    fn time(&mut self, now: u64) {
        let passed = now - mem::replace(&mut self.now, now);
        self.number(passed);
    }

    fn ended(&mut self, ended: &Ended) {
        let &Ended { id, at, matched, count } = ended;
        self.bytes.push(ENDED + if matched.is_some() { MATCHED } else { 0 });
        self.time(at);
        self.number(id.into());
        self.number(count.into());
        if let Some(Matched { source, tag, bytes }) = matched {
            [source.into(), tag.into(), bytes].into_iter().for_each(|number| self.number(number));
        }
    }
}

/// Reads a number that `Log::number` has added.
fn take_number(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = u8::take(from)?;
        number |= u64::from(byte & !(1 << 7)) << shift;
        if byte < 1 << 7 {
            return Some(number);
        }
    }
    None
}

/// Reads the next call of a log. `now` is the time of the last call.
fn take_call(from: &mut &[u8], now: &mut u64) -> Option<Call> {
    let kind = u8::take(from)?;
    if kind == FORGET {
        return Some(Call::ForgetIntervals);
    }
    *now = now.checked_add(take_number(from)?)?;
    if kind == BEGIN {
        return Some(Call::Begin(*now));
    }
    let mut number = || take_number(from);
    let (id, count) = (number()?.try_into().ok()?, number()?.try_into().ok()?);
    let matched = match kind {
        ENDED => None,
        _ => Some(Matched { source: number()?.try_into().ok()?, tag: number()?.try_into().ok()?, bytes: number()? }),
    };
    Some(Call::Ended(Ended { id, at: *now, matched, count }))
}

impl RankPrograms {
    /// Makes the programs of some ranks, which have not begun.
    pub fn new(programs: &Arc<dyn Programs>, ranks: &[u32]) -> Self {
        Self { all: ranks.iter().map(|&rank| Arc::clone(programs).rank(rank)).collect(), log: None }
    }

    /// Returns the number of programs.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Logs all calls. Must be called before the programs begin.
    pub fn log(&mut self) {
        self.log = Some(vec![Log::default(); self.all.len()]);
    }

    /// Begins a program ([`RankProgram::begin`]).
    pub fn begin(&mut self, rank: usize, now: u64, starts: &mut Vec<Op>) -> Result<Notify, ProgramError> {
        if let Some(log) = &mut self.log {
            log[rank].bytes.push(BEGIN);
            log[rank].time(now);
        }
        self.all[rank].begin(now, starts)
    }

    /// Notifies a program of ends ([`RankProgram::ended`]).
    #[inline]
    pub fn ended(&mut self, rank: usize, ended: &Ended, starts: &mut Vec<Op>) -> Result<Notify, ProgramError> {
        if let Some(log) = &mut self.log {
            log[rank].ended(ended);
        }
        self.all[rank].ended(ended, starts)
    }

    /// Iterates over the intervals that each program has measured.
    pub fn intervals(&self) -> impl Iterator<Item = &[Interval]> {
        self.all.iter().map(|program| program.intervals())
    }

    /// Clears the intervals of a program.
    pub fn forget_intervals(&mut self, rank: usize) {
        if self.all[rank].intervals().is_empty() {
            return;
        }
        if let Some(log) = &mut self.log {
            log[rank].bytes.push(FORGET);
        }
        self.all[rank].forget_intervals();
    }

    /// Repeats the calls of a log from `begin` on, which the program has not had.
    fn repeat(program: &mut dyn RankProgram, log: &Log, begin: usize, mut now: u64) -> Option<()> {
        let (mut rest, mut starts) = (log.bytes.get(begin..)?, Vec::new());
        while !rest.is_empty() {
            starts.clear();
            match take_call(&mut rest, &mut now)? {
                Call::Begin(at) => program.begin(at, &mut starts).ok().map(drop)?,
                Call::Ended(ended) => program.ended(&ended, &mut starts).ok().map(drop)?,
                Call::ForgetIntervals => program.forget_intervals(),
            }
        }
        (now == log.now).then_some(())
    }
}

impl State for RankPrograms {
    fn save(&self, to: &mut Vec<u8>) {
        self.log.put(to);
    }

    fn load(&mut self, from: &mut &[u8]) -> Option<()> {
        let log: Option<Vec<Log>> = Record::take(from)?;
        let (log, own) = (log?, self.log.take()?);
        if log.len() != own.len() {
            return None;
        }
        for ((program, log), own) in self.all.iter_mut().zip(&log).zip(&own) {
            // The programs may have begun.
            if !log.bytes.starts_with(&own.bytes) {
                return None;
            }
            Self::repeat(&mut **program, log, own.bytes.len(), own.now)?;
        }
        self.log = Some(log);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_says_every_call_again() {
        // Would catch numbers that are cut to seven bits, times that lose their base, and a message that is forgotten.
        let ended = |id, at, matched, count| Ended { id, at, matched, count };
        let matched = Some(Matched { source: 300, tag: u32::MAX, bytes: u64::MAX });
        let ends = [ended(0, 90, None, 1), ended(128, 1 << 50, matched, 70_000), ended(u32::MAX, 1 << 50, None, 2)];
        let mut log = Log::default();
        log.bytes.push(BEGIN);
        log.time(80);
        ends.iter().for_each(|end| log.ended(end));
        log.bytes.push(FORGET);
        let (mut rest, mut now) = (&log.bytes[..], 0);
        assert!(matches!(take_call(&mut rest, &mut now), Some(Call::Begin(80))));
        for end in ends {
            let Some(Call::Ended(found)) = take_call(&mut rest, &mut now) else { panic!("no end") };
            assert_eq!(found, end);
        }
        assert!(matches!(take_call(&mut rest, &mut now), Some(Call::ForgetIntervals)));
        assert_eq!((rest.len(), now), (0, log.now));
        assert!(take_call(&mut &log.bytes[2..5], &mut 0).is_none());
    }
}
