//! A pairwise covering design: experiments in which every two levels of two factors occur together.
//!
//! Factors are the choices of the schema (a kind each), its optional sections and some counts. Greedy: each experiment is drawn around a pair that
//! none has had, and repaired where it is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use sim::SystemError;
use toml::Table;

use crate::build;
use crate::generate::{ANY, Generator};
use crate::shape::{Factor, Key, factors};
use crate::values::Strata;

/// A factor and its level.
pub type Feature = (String, String);

/// What features need besides, which the schema does not say: a feature, a key, and its levels. A feature is written `path=level`; `*`
/// stands for any text, and a `-` before it takes it out again.
const NEEDS: &[(&str, &str, &str)] = &[
    ("routing=adaptive-up-down routing=random-up-down routing=d-mod-k", "topology", "fat-tree"),
    ("routing=dimension-order routing=minimal-adaptive", "topology", "torus mesh"),
    ("routing=minimal routing=valiant-* routing=ugal-* routing=par", "topology", "dragonfly"),
    ("workload.pattern=adversarial placement=random-groups", "topology", "dragonfly"),
    ("routing=table", "topology", "file"),
    ("topology=flat", "workload", "application benchmark program exchange"),
    (
        "placement=* -placement=contiguous -placement=round-robin -placement=random -placement=random-groups -placement=file",
        "workload",
        "application",
    ),
    ("placement=namd-*", "workload.graph", "namd:1"),
    ("nic=* -nic=ideal nic.* node.noise* node.memory*", "workload", "benchmark program application"),
    ("nic=* -nic=ideal nic.* node.noise* node.memory*", "workload.execution", "message-driven"),
    ("nic.collectives=*", "workload.collectives", "nic"),
    ("in_switch.elements=*", "in_switch.verify", "true"),
    ("in_switch.streaming=*", "in_switch.low_latency", "there"),
    ("in_switch.streaming=*", "in_switch.low_latency.max_message", "*"),
    ("workload.late=*", "workload.operation", "reduce allreduce barrier"),
    ("measure.timeline=*", "workload", "benchmark program application"),
    ("measure.timeline=*", "workload.execution", "message-driven"),
    ("measure.compare_alone=*", "job", "there"),
];

/// Pairs that are refused whatever else an experiment has: features of the first go with none of the second, and why.
const REFUSED: &[(&str, &str, &str)] = &[];

/// Whether a text has a form, in which `*` stands for any text.
fn has_form(text: &str, form: &str) -> bool {
    match form.split_once('*') {
        Some((start, "")) => text.starts_with(start),
        Some((start, end)) => text.starts_with(start) && text.ends_with(end) && text.len() >= start.len() + end.len(),
        None => text == form,
    }
}

fn is_any_of(feature: &Feature, forms: &str) -> bool {
    let text = format!("{}={}", feature.0, feature.1);
    let is = |taken: bool| forms.split(' ').filter(move |form| form.starts_with('-') == taken);
    let is_one = is(false).any(|form| has_form(&text, form));
    is_one && !is(true).any(|form| has_form(&text, &form[1..]))
}

/// Whether a pair is refused whatever else there is.
fn is_refused((one, other): &(Feature, Feature)) -> bool {
    let is = |(first, second, _): &(&str, &str, &str)| {
        is_any_of(one, first) && is_any_of(other, second) || is_any_of(other, first) && is_any_of(one, second)
    };
    REFUSED.iter().any(is)
}

/// What a covering design has.
pub struct Design {
    /// Experiments that are accepted.
    pub files: Vec<Table>,
    /// Pairs that may occur together.
    pub allowed: BTreeSet<(Feature, Feature)>,
    /// Those that do.
    pub covered: BTreeSet<(Feature, Feature)>,
    /// Pairs that `REFUSED` has and that were accepted all the same.
    pub wrongly_refused: BTreeSet<(Feature, Feature)>,
}

/// The needs of two features together: by choice the kinds that both need; none if they contradict one another.
fn needs_of(factors: &BTreeMap<String, Factor>, pair: [&Feature; 2]) -> Option<BTreeMap<String, BTreeSet<String>>> {
    let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, level) in pair {
        let besides = NEEDS.iter().filter(|need| is_any_of(&(path.clone(), level.clone()), need.0));
        let besides = besides.map(|need| (need.1.to_owned(), need.2.split(' ').map(str::to_owned).collect()));
        let itself = [(path.clone(), BTreeSet::from([level.clone()]))];
        let own = factors[path].needs.clone().into_iter().chain(itself).chain(besides);
        for (choice, kinds) in own {
            let both = match needs.get(&choice) {
                Some(before) if kinds.contains(ANY) => before.clone(),
                Some(before) if !before.contains(ANY) => before.intersection(&kinds).cloned().collect(),
                Some(_) => kinds,
                None => kinds,
            };
            if both.is_empty() {
                return None;
            }
            needs.insert(choice, both);
        }
    }
    Some(needs)
}

/// All pairs of features of different factors that do not contradict one another.
pub fn pairs(factors: &BTreeMap<String, Factor>) -> BTreeSet<(Feature, Feature)> {
    let features: Vec<Feature> = factors
        .iter()
        .flat_map(|(path, factor)| factor.levels.iter().map(|level| (path.clone(), level.clone())))
        .collect();
    let mut pairs = BTreeSet::new();
    for (number, one) in features.iter().enumerate() {
        for other in features[..number].iter().filter(|other| other.0 != one.0) {
            if needs_of(factors, [one, other]).is_some() {
                pairs.insert((other.clone(), one.clone()));
            }
        }
    }
    pairs
}

/// Repairs of an experiment before another one is drawn.
const REPAIRS: usize = 30;

/// An experiment that is accepted, with the generator's pins if any is found.
pub fn accepted(generator: &mut Generator<'_>) -> Result<Table, SystemError> {
    generator.banned.clear();
    let mut file = generator.experiment();
    for _ in 0..REPAIRS {
        match build(&file) {
            Ok(_) => return Ok(file),
            Err(error) => generator.repair(&mut file, &error.key, &error.message),
        }
    }
    build(&file).map(|_| file)
}

/// How a design is drawn: short runs.
pub const SHORT: Strata = Strata { sections: 30, keys: 10, short: true, extreme: 0 };

/// Draws a design of at most `most` experiments.
pub fn design(file: &[Key], seed: u64, most: usize) -> Design {
    let factors = factors(file);
    let (refused, allowed): (BTreeSet<_>, BTreeSet<_>) = pairs(&factors).into_iter().partition(is_refused);
    let mut generator = Generator::new(file, seed, SHORT);
    let mut open: Vec<(Feature, Feature)> = allowed.iter().cloned().collect();
    let mut design = Design { files: Vec::new(), allowed, covered: BTreeSet::new(), wrongly_refused: BTreeSet::new() };
    let mut tries: BTreeMap<(Feature, Feature), u32> = BTreeMap::new();
    while !open.is_empty() && design.files.len() < most {
        let place = generator.random.below(open.len());
        let pair = open[place].clone();
        generator.pins = BTreeMap::from([pair.0.clone(), pair.1.clone()]);
        generator.allowed = needs_of(&factors, [&pair.0, &pair.1]).unwrap();
        let count = tries.entry(pair.clone()).or_default();
        *count += 1;
        let is_hopeless = *count >= TRIES;
        let found = match accepted(&mut generator) {
            Ok(found) => found,
            Err(error) => {
                println!(
                    "FAIL {}={} {}={} :: {}: {}",
                    pair.0.0, pair.0.1, pair.1.0, pair.1.1, error.key, error.message
                );
                if is_hopeless {
                    open.swap_remove(place);
                }
                continue;
            }
        };
        let features: Vec<Feature> = generator.features(&found).into_iter().collect();
        let mut added = 0;
        for (number, one) in features.iter().enumerate() {
            for other in &features[..number] {
                let pair = (other.clone(), one.clone());
                if refused.contains(&pair) {
                    design.wrongly_refused.insert(pair.clone());
                }
                added += usize::from(design.allowed.contains(&pair) && design.covered.insert(pair));
            }
        }
        if added > 0 {
            design.files.push(found);
            open.retain(|pair| !design.covered.contains(pair));
        } else if is_hopeless {
            open.retain(|own| *own != pair);
        }
    }
    design
}

/// Experiments that are drawn around a pair before it is given up.
const TRIES: u32 = 4;

/// Pairs that a design has not got, counted by the features that have most of them.
pub fn uncovered(design: &Design) -> String {
    let mut text = String::new();
    let missing: Vec<_> = design.allowed.difference(&design.covered).collect();
    let mut counts: BTreeMap<&Feature, usize> = BTreeMap::new();
    for (one, other) in &missing {
        *counts.entry(one).or_default() += 1;
        *counts.entry(other).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|own| std::cmp::Reverse(own.1));
    for ((path, level), count) in counts.iter().take(40) {
        let _ = writeln!(text, "{count} {path}={level}");
    }
    for ((a, b), (c, d)) in missing.iter().take(3000) {
        let _ = writeln!(text, "  {a}={b} {c}={d}");
    }
    text
}

#[test]
fn the_design_covers_the_pairs() {
    let file = crate::shape::file_shape();
    let most = std::env::var("DESIGN").ok().and_then(|most| most.parse().ok()).unwrap_or(300);
    let begin = std::time::Instant::now();
    let design = design(&file, crate::seed(), most);
    println!("{} factors", factors(&file).len());
    println!("{}", uncovered(&design));
    println!("{:?}", design.wrongly_refused);
    println!(
        "{} pairs covered of {} allowed by {} experiments, {:?}",
        design.covered.len(),
        design.allowed.len(),
        design.files.len(),
        begin.elapsed()
    );
    assert!(design.covered.len() * 100 >= design.allowed.len() * 95);
}
