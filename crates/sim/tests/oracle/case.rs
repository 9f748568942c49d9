//! Random experiments: a small network of any kind, and the jobs on it.

use std::fmt;
use std::path::PathBuf;

use fabric::Grain;
use testkit::oracle::Mutant;

use crate::draw::Random;
use crate::network::{self, Units};
use crate::work::{Features, Job};

/// Features of a case beyond messages from task to task in one network.
pub const FEATURES: [&str; 5] = ["multicasts", "several planes", "several jobs", "a pacer", "combine units"];

/// An experiment whose result is compared.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where its files are.
    pub folder: PathBuf,
    /// Everything but the jobs.
    network: String,
    /// The edge list of a topology from a file.
    edges: String,
    /// Bytes of the largest packet.
    pub packet: u64,
    pub jobs: Vec<Job>,
    planes: u64,
    two_threads: bool,
}

impl Case {
    /// Case `number` of a seed.
    pub fn draw(seed: u64, number: u64) -> Self {
        let random = &mut Random::new(seed, number);
        let units = Units { round: random.chance(60) };
        let (features, planes) = features(&mut Random::new(!seed, number));
        let (topology, edges, nodes, classes) = network::topology(random);
        let topology = match planes {
            1 => topology,
            planes => topology.replacen("topology = { ", &format!("topology = {{ planes = {planes}, "), 1),
        };
        let packet = units.packet(random);
        let link = network::link(random, &units, classes);
        let router = network::router(random, &units, (packet, features), classes);
        let own = &mut Random::new(!seed.rotate_left(32), number);
        let router = network::with_classes(own, &units, (router, &topology), packet);
        let network = topology + &link + &router + &network::node(random, &units, packet);
        let network = match features.groups {
            true => network + &network::combine_units(random, &units),
            false => network,
        };
        Self {
            folder: std::env::temp_dir().join(format!("cutthrough-oracle-{}-{seed}-{number}", std::process::id())),
            network,
            edges,
            packet,
            jobs: (0..features.jobs).map(|_| Job::draw(random, &units, (nodes, packet), features)).collect(),
            planes,
            two_threads: random.chance(1),
        }
    }

    /// Those of `FEATURES` that the case has.
    pub fn features(&self) -> Vec<&'static str> {
        let messages = || self.jobs.iter().flat_map(Job::messages).flatten();
        let has = [
            messages().any(|message| message.to.len() > 1),
            self.planes > 1,
            self.jobs.len() > 1,
            self.jobs.iter().any(|job| job.window.is_some()),
            self.jobs.iter().any(|job| job.allreduce().is_some()),
        ];
        FEATURES.into_iter().zip(has).filter(|&(_, has)| has).map(|(name, _)| name).collect()
    }

    /// Whether the case has the feature that a planted mistake is about.
    pub fn may_show(&self, mutant: Mutant) -> bool {
        let feature = match mutant {
            Mutant::LostCopy => "multicasts",
            Mutant::SwappedPlanes => "several planes",
            Mutant::FirstJobFirst => "several jobs",
            Mutant::ShortWindow => "a pacer",
            Mutant::LongGroupWindow => "combine units",
        };
        self.features().contains(&feature)
    }

    /// The experiment file.
    pub fn text(&self) -> String {
        let jobs: String = match &self.jobs[..] {
            [job] => job.keys("job0-", self.packet),
            jobs => jobs.iter().enumerate().map(|(at, job)| job.table(&format!("job{at}-"), self.packet)).collect(),
        };
        format!("seed = 7\n{}{jobs}", self.network)
    }

    /// Threads and partitions to run it with. Two threads wait for one another every few nanoseconds, so that they are
    /// for some networks only.
    pub fn divisions(&self) -> Vec<(usize, Grain)> {
        match self.two_threads {
            true => vec![(1, Grain::Coarse), (2, Grain::Fine)],
            false => vec![(1, Grain::Coarse), (1, Grain::Exactly(3))],
        }
    }

    /// Writes the files that the experiment names, has something done with them, and removes them.
    pub fn with_files<T>(&self, then: impl FnOnce() -> T) -> T {
        std::fs::create_dir_all(&self.folder).unwrap();
        std::fs::write(self.folder.join("edges"), &self.edges).unwrap();
        for (at, job) in self.jobs.iter().enumerate() {
            for (name, text) in job.files(&format!("job{at}-")) {
                std::fs::write(self.folder.join(name), text).unwrap();
            }
        }
        let found = then();
        // What is left behind in the temporary folder harms nobody.
        let _ = std::fs::remove_dir_all(&self.folder);
        found
    }

    /// A workload as small as a few passes find it that still differs.
    pub fn shrink(mut self, differs: impl Fn(&Self) -> bool) -> Self {
        for divisor in [u64::MAX, 2, 2, 2] {
            for job in 0..self.jobs.len() {
                for (phase, messages) in self.jobs[job].messages().iter().enumerate() {
                    // From the end, so that a message that is removed leaves the others where they are.
                    for message in (0..messages.len()).rev() {
                        let Some(less) = self.jobs[job].with_less((phase, message), divisor) else { continue };
                        let mut smaller = self.clone();
                        smaller.jobs[job] = less;
                        if differs(&smaller) {
                            self = smaller;
                        }
                    }
                }
            }
        }
        self
    }
}

/// What the jobs of a case have, and the number of planes. They have a stream of their own.
fn features(random: &mut Random) -> (Features, u64) {
    // A pacer holds back the only link of a node, and no multicasts. Trees of groups are in one plane.
    let window = random.chance(15);
    let groups = !window && random.chance(18);
    let more = !window && !groups;
    let multicasts = more && random.chance(35);
    let planes = if more && random.chance(20) { random.within(2, 3) } else { 1 };
    let jobs = if more && random.chance(20) { random.pick(&[2, 2, 3]) } else { 1 };
    (Features { multicasts, window, groups, jobs }, planes)
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.text(), self.edges)?;
        for (at, job) in self.jobs.iter().enumerate() {
            for (phase, messages) in job.messages().iter().enumerate() {
                let all: Vec<_> = messages.iter().map(|one| (one.from, &one.to, one.bytes)).collect();
                writeln!(f, "job {at}, phase {phase} (from, to, bytes): {all:?}")?;
            }
        }
        Ok(())
    }
}
