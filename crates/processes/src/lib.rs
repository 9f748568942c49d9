#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod alive;
mod shim;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::{Exchange, Peer};

use alive::Watched;
use shim::{Outgoing, Shim};

/// Reason why processes cannot join a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessesError {
    /// The shim, or the MPI library that it needs, cannot be loaded. The fields are its path and the reason.
    #[error("{0} cannot be loaded: {1}")]
    Load(String, String),
    /// The MPI library does not allow calls of several threads in turn.
    #[error("the MPI library is initialized for calls of its main thread alone: MPI_THREAD_SERIALIZED is needed")]
    Threads,
    /// MPI has returned an error.
    #[error("MPI: {0}")]
    Mpi(String),
}

/// Returns the name and the version of the MPI library that a shim loads. Does not initialize MPI.
///
/// # Errors
/// If the file is not a shim, or if its MPI library cannot be loaded.
pub fn library(path: &Path) -> Result<String, ProcessesError> {
    Shim::library(path)
}

/// Largest message, in bytes. Longer ones are sent in several.
const CHUNK: usize = 1 << 30;

/// Tags of mail, and of messages to process 0.
const MAIL: i32 = 1;
const GATHER: i32 = 2;

/// Number of polls before a waiting process yields its core, if each process has one.
const POLLS: u32 = 2000;

/// Seconds after which a waiting process sleeps between polls.
const AWAKE: f64 = 0.01;

/// Sleep between two polls.
const SLEEP: Duration = Duration::from_micros(100);

/// Seconds between two checks that the other processes of the node are alive.
const CHECK: f64 = 0.1;

/// Exchange over MPI: all processes of `MPI_COMM_WORLD`, on a communicator that nobody else uses.
///
/// An error of MPI ends all processes with a message, since the others cannot go on.
#[derive(Debug)]
pub struct Processes {
    /// None once it is closed.
    shim: Mutex<Option<Shim>>,
    rank: usize,
    size: usize,
    /// Number of polls before a waiting process yields its core.
    polls: u32,
    /// Names of all processes, by rank: number, process and node.
    names: Vec<String>,
    /// Other processes of this node.
    watched: Vec<Watched>,
}

impl Processes {
    /// Joins the processes that the launcher has started. Collective. `path` is that of the compiled shim. Each process
    /// of this node simulates with up to `threads` threads.
    ///
    /// # Errors
    /// If the shim cannot be loaded, or if MPI refuses.
    pub fn open(path: &Path, threads: usize) -> Result<Self, ProcessesError> {
        let mut shim = Shim::open(path)?;
        let [rank, size, local] = shim.places().map_err(ProcessesError::Mpi)?;
        let polls = if is_crowded(local, threads.max(1)) { 0 } else { POLLS };
        let mut own = Self { shim: Mutex::new(Some(shim)), rank, size, polls, names: Vec::new(), watched: Vec::new() };
        let exchange: &dyn Exchange = &own;
        let all = exchange.share(vec![Watched::this(rank)]);
        own.names = all.iter().map(ToString::to_string).collect();
        own.watched = alive::of_this_node(all, rank);
        Ok(own)
    }

    /// Returns the names of all processes, by rank: rank, number of the process in its system, and node.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Leaves the other processes. Collective. Nothing may be exchanged afterwards.
    ///
    /// # Errors
    /// If MPI returns an error.
    pub fn close(&self) -> Result<(), ProcessesError> {
        let shim = self.lock().take();
        shim.map_or(Ok(()), |shim| shim.close().map_err(ProcessesError::Mpi))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Shim>> {
        self.shim.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls MPI.
    fn call<T>(&self, work: impl FnOnce(&mut Shim) -> Result<T, String>) -> T {
        let mut shim = self.lock();
        let found = shim.as_mut().map_or_else(|| Err("the processes have ended".to_owned()), work);
        drop(shim);
        found.unwrap_or_else(|error| self.fail(&error))
    }

    /// Returns a function that waits between two polls. It is called with the time in seconds.
    fn waiting(&self) -> impl FnMut(f64) + '_ {
        let (mut polls, mut since, mut checked) = (0_u32, None, 0.0);
        move |now| {
            if polls < self.polls {
                polls += 1;
                return std::hint::spin_loop();
            }
            let waited = now - *since.get_or_insert(now);
            if waited < AWAKE {
                return std::thread::yield_now();
            }
            if waited > checked + CHECK {
                checked = waited;
                if let Some(dead) = self.watched.iter().find(|other| !other.is_alive()) {
                    // This thread holds the lock.
                    self.report(&format!("{dead} has died"));
                    std::process::exit(1);
                }
            }
            std::thread::sleep(SLEEP);
        }
    }

    #[allow(clippy::print_stderr, reason = "the last words of a process that ends")]
    fn report(&self, message: &str) {
        eprintln!("error: process {} of {}: {message}", self.rank, self.size);
    }
}

/// Whether the `local` processes of this node have more threads than cores. A launcher may have bound this process to
/// some of the cores, which it then does not share.
fn is_crowded(local: usize, threads: usize) -> bool {
    let own = std::thread::available_parallelism().map_or(1, usize::from);
    let all = alive::cores().unwrap_or(own);
    threads > own || (own >= all && local * threads > all)
}

impl Exchange for Processes {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn sum(&self, values: &mut [u64]) {
        for values in values.chunks_mut(CHUNK / 8) {
            self.call(|shim| shim.reduce(values, false, self.waiting()));
        }
    }

    fn max(&self, values: &mut [u64]) {
        for values in values.chunks_mut(CHUNK / 8) {
            self.call(|shim| shim.reduce(values, true, self.waiting()));
        }
    }

    fn swap(&self, peers: &mut [Peer]) -> f64 {
        if let Some(peer) = peers.iter().find(|peer| peer.outgoing.len() > CHUNK) {
            self.fail(&format!("the mail of a window for process {} exceeds 1 GiB", peer.rank));
        }
        self.call(|shim| {
            let (mut outgoing, mut missing) = (Vec::new(), Vec::new());
            for Peer { rank, outgoing: data, incoming } in peers {
                outgoing.push(Outgoing { to: *rank, tag: MAIL, data });
                missing.push((*rank, incoming));
            }
            let (mut waited, mut since) = (0.0, None);
            let receive = |shim: &mut Shim| {
                let (before, mut error) = (missing.len(), None);
                missing.retain_mut(|(rank, incoming)| match shim.receive(*rank, MAIL, incoming) {
                    Ok(has_come) => !has_come,
                    Err(text) => {
                        error = Some(text);
                        true
                    }
                });
                if missing.len() < before {
                    waited += since.take().map_or(0.0, |since| shim.seconds() - since);
                } else {
                    since = since.or_else(|| Some(shim.seconds()));
                }
                error.map_or(Ok(missing.is_empty()), Err)
            };
            shim.transfer(&outgoing, receive, self.waiting())?;
            Ok(waited)
        })
    }

    fn gather(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        if self.rank > 0 {
            let length = (own.len() as u64).to_le_bytes();
            let send = |data| Outgoing { to: 0, tag: GATHER, data };
            let all: Vec<_> = std::iter::once(&length[..]).chain(own.chunks(CHUNK)).map(send).collect();
            self.call(|shim| shim.transfer(&all, |_| Ok(true), self.waiting()));
            return Vec::new();
        }
        let mut all = vec![own];
        for rank in 1..self.size {
            let receive = |data: &mut Vec<u8>| {
                self.call(|shim| shim.transfer(&[], |shim| shim.receive(rank, GATHER, data), self.waiting()));
            };
            let (mut chunk, mut message) = (Vec::new(), Vec::new());
            receive(&mut chunk);
            let length = chunk.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            while (message.len() as u64) < length {
                receive(&mut chunk);
                message.append(&mut chunk);
            }
            all.push(message);
        }
        all
    }

    fn broadcast(&self, message: &mut Vec<u8>) {
        let mut length = (message.len() as u64).to_le_bytes();
        self.call(|shim| shim.broadcast(&mut length, self.waiting()));
        message.resize(u64::from_le_bytes(length) as usize, 0);
        for chunk in message.chunks_mut(CHUNK) {
            self.call(|shim| shim.broadcast(chunk, self.waiting()));
        }
    }

    fn seconds(&self) -> f64 {
        self.lock().as_ref().map_or(0.0, Shim::seconds)
    }

    fn fail(&self, message: &str) -> ! {
        self.report(message);
        // A thread that waits holds the lock: then the launcher ends the others once this process has ended.
        match self.shim.try_lock().ok().as_deref_mut() {
            Some(Some(shim)) => shim.abort(),
            _ => std::process::exit(1),
        }
    }
}
