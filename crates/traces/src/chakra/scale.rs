//! Traces at other numbers of ranks: more or fewer replicas of the model.
//!
//! The ranks of a training step form a grid: the ranks of a replica, and the replicas along the dimension of data
//! parallelism. The data-parallel process groups give the grid. With `inner` ranks between two neighbours of such a
//! group and D replicas, rank i + `inner` (d + D o) has the place (i, o) in replica d. At D' replicas it is rank
//! i + `inner` (d + D' o), and a new replica d acts as replica d mod D. Groups within a replica exist once in each
//! replica. Groups of all replicas get the members of all replicas.

use std::collections::BTreeSet;

use mpi::collectives::Operation;
use mpi::program::calls::MOST_RANKS;
use units::counted;

use super::error::ChakraError;
use super::groups::Described;
use super::nodes::File;
use super::options::Options;

/// Beginnings of the names of data-parallel groups.
const DATA: [&str; 4] = ["data", "ddp", "dp", "fsdp"];

/// Name of the group of all ranks in PyTorch and ASTRA-sim.
pub(super) const ALL: &str = "0";

/// Ranks of a trace, and the ranks that it is scaled to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    /// Distance between neighbours of a data-parallel group.
    inner: u32,
    /// Replicas of the trace, and of the scaled one.
    replicas: u32,
    wanted: u32,
    /// Ranks of a replica.
    model: u32,
    /// Names of data-parallel groups.
    data: BTreeSet<String>,
}

/// Members of a group in a scaled trace.
pub(super) struct Members {
    pub ranks: Vec<u32>,
    /// Number of members in the trace.
    pub before: u64,
}

impl Scale {
    /// Returns the scale of a trace that keeps its ranks.
    pub fn identity(ranks: u32) -> Self {
        Self { inner: 1, replicas: ranks, wanted: ranks, model: 1, data: BTreeSet::new() }
    }

    /// Finds the replicas of a trace and scales them to the ranks of the options.
    ///
    /// # Errors
    /// If the process groups do not tell which ranks are replicas of one another, or if the wanted number of ranks is no
    /// multiple of the ranks of a replica.
    pub fn of(files: &[File], options: &Options, wanted: u32) -> Result<Self, ChakraError> {
        let ranks = files.len() as u32;
        if wanted == ranks {
            return Ok(Self::identity(ranks));
        }
        let wrong = |reason: String| ChakraError::Scale { ranks: wanted, reason };
        let (data, inner, replicas) = grid(files, options, ranks).map_err(wrong)?;
        let model = ranks / replicas;
        if !wanted.is_multiple_of(model) {
            let near = wanted.div_ceil(model).saturating_mul(model).min(MOST_RANKS / model * model);
            return Err(wrong(format!(
                "a replica has {}, so that the number of ranks is a multiple of {model}, such as {near}",
                counted(model.into(), ["rank", "ranks"])
            )));
        }
        Ok(Self { inner, replicas, wanted: wanted / model, model, data })
    }

    /// Returns whether all ranks stay as they are.
    pub fn is_identity(&self) -> bool {
        self.wanted == self.replicas
    }

    /// Returns the number of ranks of the trace.
    pub fn before(&self) -> u32 {
        self.model * self.replicas
    }

    /// Returns the number of ranks after scaling.
    pub fn ranks(&self) -> u32 {
        self.model * self.wanted
    }

    /// Refuses a rank that the trace does not have.
    fn check(&self, rank: u32) -> Result<(), String> {
        if rank < self.before() { Ok(()) } else { Err(format!("there is no rank {rank} in the trace")) }
    }

    /// Returns the rank of the trace that a rank acts as.
    pub fn source(&self, rank: u32) -> u32 {
        let (i, d, o) = split(rank, self.inner, self.wanted);
        join((i, d % self.replicas, o), self.inner, self.replicas)
    }

    /// Returns the rank to which a rank sends, or from which it receives. `peer` is that of its source.
    ///
    /// # Errors
    /// If the source's peer is in another replica.
    pub fn peer(&self, rank: u32, peer: u32) -> Result<u32, String> {
        if self.is_identity() {
            return Ok(peer);
        }
        self.check(peer)?;
        let own = split(self.source(rank), self.inner, self.replicas);
        let (i, d, o) = split(peer, self.inner, self.replicas);
        if d != own.1 {
            return Err(format!(
                "a message with rank {peer}, which is not in its replica: the trace does not tell with which replica at \
                 {} ranks",
                self.ranks()
            ));
        }
        Ok(join((i, split(rank, self.inner, self.wanted).1, o), self.inner, self.wanted))
    }

    /// Returns the members of the group of a rank. `ranks` are those of the group of its source, and `name` is the
    /// group's name.
    ///
    /// # Errors
    /// If the group has ranks of some replicas only.
    pub fn group(&self, rank: u32, name: &str, ranks: &[u32]) -> Result<Members, String> {
        let before = ranks.len() as u64;
        if self.is_identity() {
            return Ok(Members { ranks: ranks.to_vec(), before });
        }
        ranks.iter().try_for_each(|&own| self.check(own))?;
        let places: Vec<_> = ranks.iter().map(|&own| split(own, self.inner, self.replicas)).collect();
        let replicas: BTreeSet<u32> = places.iter().map(|own| own.1).collect();
        let columns: BTreeSet<(u32, u32)> = places.iter().map(|own| (own.2, own.0)).collect();
        // With one replica, all groups of the trace are within it: their names tell which of them grow.
        let grows = self.replicas == 1 && (self.data.contains(name) || name == ALL);
        if replicas.len() == 1 && !grows {
            let d = split(rank, self.inner, self.wanted).1;
            let ranks = places.iter().map(|own| join((own.0, d, own.2), self.inner, self.wanted)).collect();
            return Ok(Members { ranks, before });
        }
        let is_product = replicas.len() == self.replicas as usize && columns.len() * replicas.len() == ranks.len();
        if !is_product || !ranks.is_sorted() {
            return Err(format!(
                "the process group `{name}` has {} of {} of the {} replicas, out of order or not all: the trace does not \
                 tell which ranks it has at {} ranks",
                counted(before, ["rank", "ranks"]),
                replicas.len(),
                self.replicas,
                self.ranks()
            ));
        }
        let all = columns.iter().flat_map(|&(o, i)| (0..self.wanted).map(move |d| (i, d, o)));
        let mut ranks: Vec<u32> = all.map(|place| join(place, self.inner, self.wanted)).collect();
        ranks.sort_unstable();
        Ok(Members { ranks, before })
    }

    /// Returns all groups that a group of the trace becomes: one, or one for each replica that acts as its own.
    ///
    /// # Errors
    /// If the group has ranks of some replicas only.
    pub fn groups(&self, name: &str, ranks: &[u32]) -> Result<Vec<Vec<u32>>, String> {
        if self.is_identity() {
            return Ok(vec![ranks.to_vec()]);
        }
        let first = ranks.first().copied().unwrap_or(0);
        self.check(first)?;
        let (i, d, o) = split(first, self.inner, self.replicas);
        let of = |d: u32| self.group(join((i, d, o), self.inner, self.wanted), name, ranks).map(|own| own.ranks);
        let found: Result<BTreeSet<Vec<u32>>, String> =
            (d..self.wanted).step_by(self.replicas as usize).map(of).collect();
        Ok(found?.into_iter().collect())
    }

    /// Returns the position of a root among the members of a scaled group. `root` is its position in the trace.
    ///
    /// # Errors
    /// If the root's replica does not exist any more.
    pub fn root(&self, root: u32, before: &[u32], after: &[u32]) -> Result<u32, String> {
        let Some(&rank) = before.get(root as usize) else { return Ok(root) };
        if before.len() == after.len() {
            return Ok(root);
        }
        let (i, d, o) = split(rank, self.inner, self.replicas);
        let new = join((i, d, o), self.inner, self.wanted);
        let found = after.iter().position(|&own| own == new).filter(|_| d < self.wanted);
        found
            .map(|place| place as u32)
            .ok_or_else(|| format!("its root, rank {rank}, is in a replica that is left out"))
    }

    /// Returns the bytes of an operation at a rank. `sharded` tells that an allgather collects shards of a buffer.
    ///
    /// # Errors
    /// If a buffer has no equal shards for all members.
    pub fn bytes(
        &self,
        operation: Operation,
        bytes: u64,
        (before, after): (u64, u64),
        sharded: bool,
    ) -> Result<u64, String> {
        if operation != Operation::Allgather || !sharded || before == after {
            return Ok(bytes);
        }
        let whole = bytes.saturating_mul(before);
        match whole % after {
            0 => Ok(whole / after),
            _ => Err(format!("a buffer of {whole} bytes, whose shards {after} members hold, has no equal shards")),
        }
    }
}

/// Returns the place (i, d, o) of a rank among `replicas` replicas.
fn split(rank: u32, inner: u32, replicas: u32) -> (u32, u32, u32) {
    (rank % inner, rank / inner % replicas, rank / inner / replicas)
}

/// Returns the rank at a place (i, d, o).
fn join((i, d, o): (u32, u32, u32), inner: u32, replicas: u32) -> u32 {
    i + inner * (d + replicas * o)
}

/// Returns the names of data-parallel groups, the distance of neighbours in them, and the number of replicas.
fn grid(files: &[File], options: &Options, ranks: u32) -> Result<(BTreeSet<String>, u32, u32), String> {
    let described = files.iter().flat_map(|file| &file.groups).filter_map(|(name, own)| match own {
        Described::Ranks(ranks) if !options.groups.contains_key(name) => Some((name, ranks)),
        _ => None,
    });
    let all: BTreeSet<(&String, &Vec<u32>)> = options.groups.iter().chain(described).collect();
    let is_whole = |own: &Vec<u32>| own.len() == ranks as usize;
    if options.grow.is_empty() && all.iter().all(|(_, own)| is_whole(own)) {
        return Ok((BTreeSet::new(), 1, ranks));
    }
    let found: Vec<_> = all.iter().filter(|(name, _)| is_data(name, &options.grow)).collect();
    let names: BTreeSet<String> = found.iter().map(|(name, _)| (*name).clone()).collect();
    let Some(size) = found.first().map(|(_, own)| own.len() as u32) else {
        let known: BTreeSet<String> = all.iter().map(|(name, _)| format!("`{name}`")).take(8).collect();
        let known: Vec<String> = known.into_iter().collect();
        return Err(format!(
            "none of its process groups ({}) has a name of data parallelism ({}): name those that grow",
            known.join(", "),
            DATA.join(", ")
        ));
    };
    if let Some((other, _)) = found.iter().find(|(_, own)| own.len() as u32 != size) {
        return Err(format!("its data-parallel groups have different sizes: `{}` and `{other}`", found[0].0));
    }
    let inner = match found[0].1[..] {
        [one, other, ..] => other.saturating_sub(one).max(1),
        _ => ranks,
    };
    let groups: BTreeSet<&Vec<u32>> = found.iter().map(|(_, own)| *own).collect();
    let whole = size > 0 && (size == 1 || ranks.is_multiple_of(inner.saturating_mul(size)));
    let expected = |rank: u32| -> Vec<u32> {
        let (i, _, o) = split(rank, inner, size);
        (0..size).map(|d| join((i, d, o), inner, size)).collect()
    };
    if !whole || !(0..ranks).all(|rank| groups.contains(&expected(rank))) {
        return Err(format!(
            "its data-parallel groups ({}) do not divide all {ranks} ranks into groups with equal distances",
            names.iter().take(8).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ));
    }
    Ok((names, inner, size))
}

/// Returns whether a group is data-parallel: one of the given names, or a beginning of its name, before a number or a
/// separator.
fn is_data(name: &str, grow: &[String]) -> bool {
    let lower = name.to_lowercase();
    let begins = |word: &str| {
        lower.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphabetic()))
    };
    if grow.is_empty() {
        return DATA.into_iter().any(begins);
    }
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
    grow.iter().any(|word| name == word || !is_number && begins(&word.to_lowercase()))
}
