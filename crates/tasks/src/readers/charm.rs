//! Dumps of Charm++'s load balancing (`+LBDump`): the database of its central load balancers. The tasks are the
//! migratable objects, in the order of the dump. Their loads are their running times in seconds. The messages between
//! two objects since the previous balancing step are an arc.
//!
//! Charm++ documents no format: a dump is the packed memory of its balancer (`CentralLB::writeStatsMsgs`,
//! `BaseLB::LDStats::pup`). The reader accepts the dumps that Charm++ 8.0.1 writes on 64-bit machines, as established
//! by comparing a dump with the database that Charm++ prints (`+LBDebug 3`). Other releases write other records under
//! an unchanged version number. A dump is therefore read only if all of it fits: sums, references, flags and the end.
//!
//! Not read: objects that cannot migrate and their messages, messages from processors to objects (such as broadcasts),
//! and the time that processors spend outside objects.

use units::{LocatedError, Notes, counted};

use super::text::tasks;
use crate::{ArcList, TaskGraph};

/// First bytes of a dump: Charm++'s mark.
const MAGIC: [u8; 4] = [0x10, 0xea, 0xbd, 0xf9];
/// Next bytes: a format; the sizes of `char`, `short`, `int`, `long` and 128-bit integers, and their byte order
/// (little-endian); the sizes of `float` and `double`, and their layout (IEEE); the sizes of `bool` and of pointers.
const MACHINE: [u8; 12] = [1, 1, 2, 4, 8, 16, 1, 4, 8, 1, 1, 8];
/// Version of the dump.
const VERSION: i32 = 3;
/// Sizes of the records in bytes. For messages: the smallest record, of a message to a processor.
const PROCESSOR_BYTES: usize = 41;
const OBJECT_BYTES: usize = 32;
const MESSAGES_BYTES: usize = 29;
const KEY_BYTES: usize = 12;

/// Whether a file begins like a dump.
pub(super) fn is_dump(begin: &[u8]) -> bool {
    begin.starts_with(&MAGIC)
}

/// Key of an object: its array, and its number in the array.
type Key = (i32, u64);

/// Object as stored in the dump.
struct Object {
    key: Key,
    seconds: f64,
    migrates: bool,
}

/// Reads a graph.
pub(super) fn parse(bytes: &[u8]) -> Result<TaskGraph, LocatedError> {
    let mut dump = Dump { bytes, at: 0, of_others: 0 };
    dump.header()?;
    let (processors, expected) = dump.processors()?;
    let objects = dump.objects(expected)?;
    dump.places(objects.len(), processors)?;
    let migrating: Vec<&Object> = objects.iter().filter(|object| object.migrates).collect();
    let count = tasks(migrating.len() as u64, 0).map_err(|error| {
        LocatedError::new(format!("of its objects none, or too many, may migrate: {}", error.message))
    })?;
    let mut numbers: Vec<(Key, u32)> = (0..).zip(&migrating).map(|(task, object)| (object.key, task)).collect();
    numbers.sort_unstable();
    if let Some(pair) = numbers.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let (array, number) = pair[0].0;
        return Err(LocatedError::new(format!("object {number} of array {array} is in it twice")));
    }
    let mut arcs = ArcList::new(count);
    dump.messages(&numbers, &mut arcs)?;
    if dump.at < bytes.len() {
        return Err(dump.wrong(format!(
            "{} left behind its last record",
            counted((bytes.len() - dump.at) as u64, ["byte is", "bytes are"])
        )));
    }
    let loads = migrating.iter().map(|object| object.seconds).collect();
    let mut notes = Notes::default();
    let fixed = (objects.len() - migrating.len()) as u64;
    let rest = "left out as not migratable, with all messages from or to such objects";
    notes.count(fixed, ["object", "objects"], ["is", "are"], rest);
    notes.count(
        dump.of_others,
        ["record of messages", "records of messages"],
        ["is", "are"],
        "left out: not between tasks",
    );
    Ok(TaskGraph { loads, notes: notes.sentences().to_vec(), ..TaskGraph::new("dump", arcs.build()) })
}

/// Dump that is being read, with the current offset.
struct Dump<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Records of messages that are not between two tasks.
    of_others: u64,
}

impl Dump<'_> {
    /// Creates an error at the current offset.
    fn wrong(&self, what: impl std::fmt::Display) -> LocatedError {
        let known = "dumps of Charm++ 8 are read, and other releases write other records";
        LocatedError::new(format!("byte {}: {what}; {known}", self.at))
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], LocatedError> {
        let part = self.bytes[self.at..].first_chunk().ok_or_else(|| self.wrong("it ends within a record"))?;
        self.at += N;
        Ok(*part)
    }

    fn whole(&mut self) -> Result<i32, LocatedError> {
        self.take().map(i32::from_le_bytes)
    }

    /// Reads a non-negative number.
    fn natural(&mut self, what: &str) -> Result<u32, LocatedError> {
        let found = self.whole()?;
        u32::try_from(found).map_err(|_| self.wrong(format!("{found} {what}; 0 to {} are possible", i32::MAX)))
    }

    /// Reads a time in seconds.
    fn seconds(&mut self) -> Result<f64, LocatedError> {
        let found = f64::from_le_bytes(self.take()?);
        let right = (0.0..1e12).contains(&found);
        if right { Ok(found) } else { Err(self.wrong(format!("{found:e} is no time in seconds"))) }
    }

    fn flag(&mut self) -> Result<bool, LocatedError> {
        match self.take()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(self.wrong(format!("{other} is neither 0 nor 1"))),
        }
    }

    fn key(&mut self) -> Result<Key, LocatedError> {
        Ok((self.whole()?, u64::from_le_bytes(self.take()?)))
    }

    /// Reads the number of following records of at least `size` bytes. Refuses more than fit in the rest of the file.
    fn count(&mut self, what: &str, size: usize) -> Result<usize, LocatedError> {
        let count = u64::from_le_bytes(self.take()?);
        let room = ((self.bytes.len() - self.at) / size) as u64;
        if count > room {
            return Err(self.wrong(format!("{count} {what}, and room for {room}")));
        }
        Ok(count as usize)
    }

    fn header(&mut self) -> Result<(), LocatedError> {
        if !is_dump(self.bytes) {
            return Err(LocatedError::new("it is no dump of Charm++'s load balancing: it does not begin as one"));
        }
        self.at = MAGIC.len();
        if self.take()? != MACHINE {
            return Err(self.wrong("it is of a machine other than of 64 bits and little-endian"));
        }
        match self.whole()? {
            VERSION => Ok(()),
            other => Err(self.wrong(format!("its version is {other}, and {VERSION} is read"))),
        }
    }

    /// Reads the number of processors, and the numbers of all and of migratable objects on them.
    fn processors(&mut self) -> Result<(u32, Expected), LocatedError> {
        let (count, migrating) = (self.natural("processors")?, self.natural("objects that may migrate")?);
        let records = self.count("processors", PROCESSOR_BYTES)?;
        if records != count as usize {
            return Err(self.wrong(format!("{records} processors, where there are {count}")));
        }
        let mut objects = 0;
        for _ in 0..records {
            self.take::<32>()?; // Total time, idle time and time outside objects, and speed.
            self.flag()?;
            objects += u64::from(self.natural("objects")?);
            self.number_of_processor(count)?;
        }
        Ok((count, Expected { objects, migrating }))
    }

    fn number_of_processor(&mut self, count: u32) -> Result<(), LocatedError> {
        match self.whole()? {
            found if (0..i64::from(count)).contains(&i64::from(found)) => Ok(()),
            found => Err(self.wrong(format!("there is no processor {found} of {count}"))),
        }
    }

    fn objects(&mut self, expected: Expected) -> Result<Vec<Object>, LocatedError> {
        let count = self.count("objects", OBJECT_BYTES)?;
        if count as u64 != expected.objects {
            return Err(self.wrong(format!("{count} objects, where its processors have {}", expected.objects)));
        }
        let mut objects = Vec::with_capacity(count);
        for _ in 0..count {
            let array = self.whole()?;
            self.whole()?; // Index of the array in its processor's database.
            let key = (array, u64::from_le_bytes(self.take()?));
            self.whole()?; // Index of the object in that database.
            let seconds = self.seconds()?;
            let migrates = self.flag()?;
            self.flag()?; // Whether it may arrive late.
            self.take::<2>()?; // Size of the object, encoded.
            objects.push(Object { key, seconds, migrates });
        }
        let migrating = objects.iter().filter(|object| object.migrates).count();
        if migrating != expected.migrating as usize {
            return Err(self.wrong(format!("{migrating} objects may migrate, where {} may", expected.migrating)));
        }
        Ok(objects)
    }

    /// Skips the processors of objects, which a mapping does not need.
    fn places(&mut self, objects: usize, processors: u32) -> Result<(), LocatedError> {
        let count = self.count("places of objects", 4)?;
        if count != objects {
            return Err(self.wrong(format!("{count} places of {objects} objects")));
        }
        (0..count).try_for_each(|_| self.number_of_processor(processors))
    }

    /// Reads the messages of objects.
    fn messages(&mut self, numbers: &[(Key, u32)], arcs: &mut ArcList) -> Result<(), LocatedError> {
        let task_of = |key: &Key| numbers.binary_search_by_key(key, |own| own.0).ok().map(|place| numbers[place].1);
        for _ in 0..self.count("records of messages", MESSAGES_BYTES)? {
            let of_processor = self.whole()? != -1;
            let sender = task_of(&self.key()?).filter(|_| !of_processor);
            let receivers = self.receivers()?;
            let messages = self.natural("messages")?;
            let bytes = self.natural("bytes")?;
            let tasks: Vec<u32> = receivers.iter().filter_map(task_of).collect();
            self.of_others += u64::from(sender.is_none() || tasks.len() < receivers.len().max(1));
            if let Some(sender) = sender {
                tasks.into_iter().for_each(|receiver| arcs.add(sender, receiver, u64::from(bytes), messages));
            }
        }
        Ok(())
    }

    /// Reads the receivers of messages: one object, the members of a multicast, or none if the receiver is a processor.
    fn receivers(&mut self) -> Result<Vec<Key>, LocatedError> {
        match self.take()? {
            [1] => self.whole().map(|_| Vec::new()),
            [2] => {
                let key = self.key()?;
                self.whole()?; // Processor on which it was believed to be.
                Ok(vec![key])
            }
            [3] => (0..self.count("members of a multicast", KEY_BYTES)?).map(|_| self.key()).collect(),
            [other] => Err(self.wrong(format!("there is no kind {other} of receivers"))),
        }
    }
}

/// Numbers of objects according to the processors of a dump.
#[derive(Clone, Copy)]
struct Expected {
    objects: u64,
    migrating: u32,
}
