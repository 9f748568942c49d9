//! Random multicasts: senders, numbers of destinations and destinations.
//!
//! The number of destinations follows a distribution. The destinations are drawn uniformly among the other nodes,
//! without replacement. The whole distribution of the number is tabulated, so that its mean is exactly the mean in the
//! file and analyses are exact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, NodeId, TaskId};

use crate::{Pattern, Shares};

/// Number of destinations of a multicast.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FanoutSpec {
    /// Mean number of destinations of a multicast.
    #[schemars(range(min = 1.0))]
    pub mean: f64,
    /// Distribution of the number of destinations.
    #[serde(default)]
    pub law: FanoutLaw,
}

/// Distribution of the number of destinations, among N candidate nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FanoutLaw {
    /// Constant. Requires a whole number as the mean.
    #[default]
    Fixed,
    /// Uniform over the whole numbers from 1 to 2 * mean - 1.
    Uniform,
    /// Binomial: each node is a destination independently, with equal probability. Empty sets are drawn again. The
    /// probability is chosen such that the mean is kept.
    Binomial,
    /// Geometric, truncated at N: each number is less likely than the previous one by a constant factor. The factor is
    /// chosen such that the mean is kept.
    Geometric,
}

/// Mean number of destinations that a distribution cannot have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FanoutError {
    /// The mean is below 1 or above the number of candidate nodes.
    #[error(
        "a mean of {mean} is out of range: there are {nodes} nodes that a multicast may be for, and each has at least one"
    )]
    Range {
        /// Mean.
        mean: f64,
        /// Largest number of destinations.
        nodes: u32,
    },
    /// The mean is not a whole number.
    #[error(
        "a mean of {0} is no whole number, which `law = \"fixed\"` needs; \"uniform\", \"binomial\" and \"geometric\" do not"
    )]
    Broken(f64),
    /// The mean exceeds the range of the distribution.
    #[error("a mean of {mean} is too large for `law = \"{law}\"` with {nodes} nodes: at most {most} is possible")]
    Large {
        /// Mean.
        mean: f64,
        /// Name of the distribution in the file.
        law: &'static str,
        /// Largest number of destinations.
        nodes: u32,
        /// Largest mean that the distribution can have.
        most: f64,
    },
    /// The mean is not that of a uniform distribution over whole numbers from 1: twice the mean is not a whole number.
    #[error("a mean of {0} is between two that `law = \"uniform\"` has: twice the mean has to be a whole number")]
    Half(f64),
}

/// Distribution of the number of destinations.
#[derive(Clone, Debug, PartialEq)]
pub struct Fanout {
    /// Probability of each number, from 1 on.
    shares: Vec<f64>,
    /// Cumulative probabilities, from 1 on. The last is 1.
    sums: Vec<f64>,
}

impl Fanout {
    /// Tabulates the distribution. `nodes` is the number of candidate nodes.
    ///
    /// # Errors
    /// If the distribution cannot have this mean.
    pub fn new(spec: FanoutSpec, nodes: u32) -> Result<Self, FanoutError> {
        let FanoutSpec { mean, law } = spec;
        if !(1.0..=f64::from(nodes)).contains(&mean) {
            return Err(FanoutError::Range { mean, nodes });
        }
        let shares = match law {
            FanoutLaw::Fixed if mean.fract() != 0.0 => return Err(FanoutError::Broken(mean)),
            FanoutLaw::Fixed => point(mean as usize),
            FanoutLaw::Uniform => uniform(mean, nodes)?,
            FanoutLaw::Binomial => binomial(mean, nodes),
            FanoutLaw::Geometric => geometric(mean, nodes)?,
        };
        let total: f64 = shares.iter().sum();
        let shares: Vec<f64> = shares.iter().map(|share| share / total).collect();
        let mut sums: Vec<f64> = shares
            .iter()
            .scan(0.0, |sum, share| {
                *sum += share;
                Some(*sum)
            })
            .collect();
        if let Some(last) = sums.last_mut() {
            *last = 1.0;
        }
        Ok(Self { shares, sums })
    }

    /// Iterates over the numbers of destinations that occur and their probabilities.
    pub fn distribution(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        (1..).zip(self.shares.iter().copied()).filter(|&(_, share)| share > 0.0)
    }

    /// Returns the mean number of destinations.
    pub fn mean(&self) -> f64 {
        self.distribution().map(|(count, share)| f64::from(count) * share).sum()
    }

    /// Returns the largest number of destinations.
    pub fn most(&self) -> u32 {
        self.shares.len() as u32
    }

    /// Returns the probability that a destination set hits at least one of k given nodes, for each k from 0 to `nodes`.
    /// All sets of equal size among the `nodes` nodes are equally likely.
    pub fn hit(&self, nodes: u32) -> Vec<f64> {
        let miss = |some: u32| {
            let mut miss_all = 1.0;
            let mut sum = 0.0;
            for (count, share) in (1..=self.most()).zip(&self.shares) {
                // Probability that one more draw, among the nodes left, misses as well.
                let (left, wanted) =
                    (f64::from(nodes - count + 1), f64::from(nodes.saturating_sub(some)) - f64::from(count - 1));
                miss_all *= (wanted / left).max(0.0);
                sum += share * miss_all;
            }
            sum
        };
        (0..=nodes).map(|some| 1.0 - miss(some)).collect()
    }

    /// Draws a number of destinations.
    pub fn draw(&self, draw: &mut dyn Draw) -> u32 {
        if self.distribution().nth(1).is_none() {
            return self.most();
        }
        let unit = draw.unit();
        self.sums.partition_point(|&sum| sum <= unit) as u32 + 1
    }
}

/// Returns the probabilities of a constant.
fn point(number: usize) -> Vec<f64> {
    let mut shares = vec![0.0; number];
    shares[number - 1] = 1.0;
    shares
}

fn uniform(mean: f64, nodes: u32) -> Result<Vec<f64>, FanoutError> {
    let most = 2.0 * mean - 1.0;
    if most.fract() != 0.0 {
        return Err(FanoutError::Half(mean));
    }
    if most > f64::from(nodes) {
        let limit = f64::from(nodes + 1) / 2.0;
        return Err(FanoutError::Large { mean, law: "uniform", nodes, most: limit });
    }
    Ok(vec![1.0; most as usize])
}

/// Returns the binomial distribution without 0 that has the given mean.
fn binomial(mean: f64, nodes: u32) -> Vec<f64> {
    let count = nodes as usize;
    if mean == f64::from(nodes) {
        return point(count);
    }
    // The mean grows with the probability, from 1 to all nodes.
    let mean_of = |p: f64| f64::from(nodes) * p / -libm::expm1(f64::from(nodes) * libm::log1p(-p));
    let p = bisect((1e-15, 1.0 - 1e-15), |p| mean_of(p) < mean);
    // From the largest term outwards, so that nothing under- or overflows.
    let ratio = |k: usize| (count - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
    let top = ((f64::from(nodes) * p) as usize).clamp(1, count);
    let mut shares = vec![0.0; count];
    shares[top - 1] = 1.0;
    for k in top..count {
        shares[k] = shares[k - 1] * ratio(k);
    }
    for k in (1..top).rev() {
        shares[k - 1] = shares[k] / ratio(k);
    }
    shares
}

/// Returns the geometric distribution on 1 to `nodes` that has the given mean.
fn geometric(mean: f64, nodes: u32) -> Result<Vec<f64>, FanoutError> {
    let most = f64::from(nodes + 1) / 2.0;
    if mean > most {
        return Err(FanoutError::Large { mean, law: "geometric", nodes, most });
    }
    let shares = |q: f64| {
        let all = std::iter::successors(Some(1.0), move |share| Some(share * q));
        all.take(nodes as usize).take_while(|&share| share > 1e-300).collect::<Vec<f64>>()
    };
    let mean_of = |q: f64| {
        let shares = shares(q);
        let sum: f64 = shares.iter().sum();
        (1..).zip(&shares).map(|(count, share)| f64::from(count) * share).sum::<f64>() / sum
    };
    Ok(shares(bisect((0.0, 1.0), |q| mean_of(q) < mean)))
}

/// Returns the boundary below which the condition holds and above which it does not.
fn bisect((mut low, mut high): (f64, f64), holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        *(if holds(middle) { &mut low } else { &mut high }) = middle;
    }
    0.5 * (low + high)
}

/// Random multicasts among a set of nodes.
#[derive(Clone, Debug)]
pub struct RandomSets {
    /// Candidate destinations, in ascending order.
    nodes: Vec<u32>,
    fanout: Fanout,
    include_self: bool,
}

impl RandomSets {
    /// Creates multicasts among `nodes`, given in ascending order. With `include_self`, the sender may be a
    /// destination.
    ///
    /// # Errors
    /// If the distribution cannot have this mean.
    pub fn new(nodes: Vec<u32>, spec: FanoutSpec, include_self: bool) -> Result<Self, FanoutError> {
        let others = nodes.len() as u32 - u32::from(!include_self && !nodes.is_empty());
        Ok(Self { fanout: Fanout::new(spec, others)?, nodes, include_self })
    }

    /// Returns the distribution of the number of destinations.
    pub fn fanout(&self) -> &Fanout {
        &self.fanout
    }

    /// Iterates over the candidate destinations of `source`, in ascending order.
    pub fn candidates(&self, source: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let own = self.place_of(source);
        let others = (0..self.nodes.len()).filter(move |&place| Some(place) != own);
        others.map(|place| NodeId(self.nodes[place]))
    }

    /// Iterates over all candidate destinations, including the sender.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes.iter().map(|&node| NodeId(node))
    }

    /// Whether a sender may be a destination of its own multicast.
    pub fn includes_self(&self) -> bool {
        self.include_self
    }

    /// Returns the probability that a multicast hits at least one of k given candidates, for each k from 0.
    pub fn hit(&self) -> Vec<f64> {
        self.fanout.hit(self.nodes.len() as u32 - u32::from(!self.include_self))
    }

    /// Returns the index of `source` among the nodes if its multicasts exclude it.
    fn place_of(&self, source: NodeId) -> Option<usize> {
        if self.include_self { None } else { self.nodes.binary_search(&source.0).ok() }
    }

    /// Draws the destinations of the next multicast of `source`, in ascending order, into the empty list `into`.
    pub fn draw(&self, source: NodeId, draw: &mut dyn Draw, into: &mut Vec<NodeId>) {
        let own = self.place_of(source);
        let places = self.nodes.len() as u32 - u32::from(own.is_some());
        let count = self.fanout.draw(draw).min(places);
        // Floyd's method: every subset of the size is equally likely, with one draw per element.
        for last in places - count..places {
            let place = NodeId(draw.below(last + 1));
            let (place, at) = match into.binary_search(&place) {
                Err(at) => (place, at),
                // A new largest element: all elements in the list are smaller.
                Ok(_) => (NodeId(last), into.len()),
            };
            into.insert(at, place);
        }
        let shift = |place: usize| place + usize::from(own.is_some_and(|own| place >= own));
        into.iter_mut().for_each(|place| *place = NodeId(self.nodes[shift(place.index())]));
    }
}

/// Destination sets that are drawn once: every multicast of a sender goes to one fixed set.
#[derive(Clone, Debug)]
pub struct FixedSets {
    /// Senders with their destination sets, both in ascending order.
    sets: Vec<(NodeId, Vec<NodeId>)>,
}

impl FixedSets {
    /// Draws the set of each sender, from the stream that `draws` returns for it. `senders` are in ascending order.
    pub fn drawn<D: Draw>(
        sets: &RandomSets,
        senders: impl Iterator<Item = NodeId>,
        draws: impl Fn(NodeId) -> D,
    ) -> Self {
        let draw = |sender: NodeId| {
            let mut own = Vec::new();
            sets.draw(sender, &mut draws(sender), &mut own);
            (sender, own)
        };
        Self { sets: senders.map(draw).collect() }
    }

    /// Returns the number and the nodes of a sender's set. `None` if the node does not send.
    pub fn of(&self, sender: NodeId) -> Option<(u32, &[NodeId])> {
        let place = self.sets.binary_search_by_key(&sender, |&(sender, _)| sender).ok()?;
        Some((place as u32, &self.sets[place].1))
    }

    /// Returns the mean size of the sets.
    pub fn mean(&self) -> f64 {
        let all: usize = self.sets.iter().map(|(_, set)| set.len()).sum();
        all as f64 / self.sets.len().max(1) as f64
    }

    /// Iterates over the senders, in ascending order.
    pub fn senders(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.sets.iter().map(|own| own.0)
    }

    /// Returns, for each sender, the group of the sender and its destinations, in ascending order.
    pub fn groups(&self) -> Vec<Vec<NodeId>> {
        let group = |(sender, set): &(NodeId, Vec<NodeId>)| {
            let mut members = set.clone();
            let place = members.binary_search(sender).unwrap_or_else(|place| {
                members.insert(place, *sender);
                place
            });
            debug_assert_eq!(members[place], *sender);
            members
        };
        self.sets.iter().map(group).collect()
    }
}

/// Traffic matrix of uniform multicasts: evenly spread senders, each destination equally likely.
#[derive(Clone, Debug)]
pub struct Destinations {
    tasks: u32,
    senders: u32,
    include_self: bool,
}

impl Destinations {
    /// Creates `senders` senders, spread evenly over `tasks` tasks.
    pub fn new(tasks: u32, senders: u32, include_self: bool) -> Self {
        Self { tasks, senders, include_self }
    }
}

impl Pattern for Destinations {
    fn kind(&self) -> &'static str {
        "multicast"
    }

    fn sends(&self, src: TaskId) -> bool {
        // Sender i is task i * tasks / senders, rounded down.
        let first = |sender: u64| sender * u64::from(self.tasks) / u64::from(self.senders);
        let sender = (u64::from(src.0) * u64::from(self.senders)).div_ceil(u64::from(self.tasks));
        sender < u64::from(self.senders) && first(sender) == u64::from(src.0)
    }

    fn destination(&self, src: TaskId, draw: &mut dyn Draw) -> TaskId {
        let drawn = draw.below(self.tasks - u32::from(!self.include_self));
        TaskId(drawn + u32::from(!self.include_self && drawn >= src.0))
    }

    fn shares(&self, src: TaskId) -> Shares {
        if !self.sends(src) {
            return Shares::default();
        }
        let except = Some(src).filter(|_| !self.include_self);
        Shares::of_even(0..self.tasks, 1.0 / f64::from(self.tasks - except.map_or(0, |_| 1)), except)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Simple random number generator.
    struct Weyl(u64);

    impl Draw for Weyl {
        fn bits(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        }
    }

    #[test]
    fn every_law_keeps_its_mean() {
        // Would catch a mean that truncation or the missing zero shifts, and a distribution whose sum is not 1.
        for (law, mean, nodes) in [
            (FanoutLaw::Fixed, 4.0, 8),
            (FanoutLaw::Uniform, 4.0, 7),
            (FanoutLaw::Uniform, 2.5, 7),
            (FanoutLaw::Binomial, 4.0, 8),
            (FanoutLaw::Binomial, 1.05, 255),
            (FanoutLaw::Binomial, 254.5, 255),
            (FanoutLaw::Binomial, 16.0, 60_000),
            (FanoutLaw::Geometric, 4.0, 7),
            (FanoutLaw::Geometric, 3.0, 7),
            (FanoutLaw::Geometric, 8.0, 255),
        ] {
            let fanout = Fanout::new(FanoutSpec { mean, law }, nodes).unwrap();
            assert!((fanout.mean() - mean).abs() < 1e-9 * mean, "{law:?} of {nodes}: {} for {mean}", fanout.mean());
            let sum: f64 = fanout.distribution().map(|(_, share)| share).sum();
            assert!((sum - 1.0).abs() < 1e-12 && fanout.most() <= nodes);
        }
        // Uniform is the geometric law at its largest mean.
        let uniform = Fanout::new(FanoutSpec { mean: 4.0, law: FanoutLaw::Uniform }, 7).unwrap();
        let geometric = Fanout::new(FanoutSpec { mean: 4.0, law: FanoutLaw::Geometric }, 7).unwrap();
        assert!(uniform.distribution().zip(geometric.distribution()).all(|((_, a), (_, b))| (a - b).abs() < 1e-12));
    }

    #[test]
    fn senders_are_as_many_as_asked_and_evenly_spread() {
        // Would catch one sender too many or too few where the numbers do not divide, and a first task that does not
        // send.
        for (tasks, senders) in [(256, 16), (10, 3), (7, 7), (5, 1), (1000, 63)] {
            let pattern = Destinations::new(tasks, senders, false);
            let sending: Vec<u32> = (0..tasks).filter(|&task| pattern.sends(TaskId(task))).collect();
            assert_eq!(sending.len() as u32, senders);
            assert!(sending[0] == 0 && sending.windows(2).all(|pair| pair[1] - pair[0] <= tasks.div_ceil(senders)));
        }
    }

    #[test]
    fn the_probability_to_be_for_any_of_some_nodes_is_that_of_all_subsets() {
        // Would catch sampling with replacement. The sets of 1, 2 or 3 of 5 nodes, each size equally likely, are
        // enumerated.
        let fanout = Fanout::new(FanoutSpec { mean: 2.0, law: FanoutLaw::Uniform }, 5).unwrap();
        let hit = fanout.hit(5);
        for some in 0..=5_u32 {
            let expected: f64 = [1, 2, 3]
                .map(|size| {
                    let sets: Vec<u32> = (0..32_u32).filter(|set| set.count_ones() == size).collect();
                    let any = sets.iter().filter(|&&set| set & ((1 << some) - 1) != 0).count();
                    any as f64 / sets.len() as f64 / 3.0
                })
                .iter()
                .sum();
            assert!((hit[some as usize] - expected).abs() < 1e-12, "{some}: {} for {expected}", hit[some as usize]);
        }
    }

    #[test]
    fn means_that_a_law_cannot_have_are_refused() {
        // Would catch a distribution whose mean silently differs from the mean in the file.
        let of = |mean, law, nodes| Fanout::new(FanoutSpec { mean, law }, nodes).map(|fanout| fanout.mean());
        assert_eq!(of(9.0, FanoutLaw::Fixed, 8), Err(FanoutError::Range { mean: 9.0, nodes: 8 }));
        assert_eq!(of(0.5, FanoutLaw::Binomial, 8), Err(FanoutError::Range { mean: 0.5, nodes: 8 }));
        assert_eq!(of(2.5, FanoutLaw::Fixed, 8), Err(FanoutError::Broken(2.5)));
        assert_eq!(of(2.3, FanoutLaw::Uniform, 8), Err(FanoutError::Half(2.3)));
        assert!(matches!(of(5.0, FanoutLaw::Uniform, 8), Err(FanoutError::Large { most: 4.5, .. })));
        assert!(matches!(of(5.0, FanoutLaw::Geometric, 8), Err(FanoutError::Large { most: 4.5, .. })));
        assert!(of(f64::NAN, FanoutLaw::Fixed, 8).is_err());
    }

    #[test]
    fn every_subset_is_drawn_alike_and_without_the_sender() {
        // Would catch an incorrect Floyd's method (subsets with the last elements too rare), a sender among its
        // destinations, and unsorted or repeated destinations. 10 subsets of 2 of 5 nodes, 20,000 draws: 2000 each,
        // with a standard deviation of 42.
        let nodes = vec![2, 3, 5, 7, 11, 13];
        let sets = RandomSets::new(nodes, FanoutSpec { mean: 2.0, law: FanoutLaw::Fixed }, false).unwrap();
        let (mut draw, mut counts) = (Weyl(7), BTreeMap::new());
        for _ in 0..20_000 {
            let mut set = Vec::new();
            sets.draw(NodeId(7), &mut draw, &mut set);
            assert!(set.is_sorted() && set.len() == 2 && !set.contains(&NodeId(7)));
            *counts.entry(set).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|&count| (1800..2200).contains(&count)), "{counts:?}");
    }
}
