//! Results do not depend on the number of threads, whatever an experiment has.

use fabric::Grain;
use sim::{PointResult, RunOptions, System, run};
use toml::Table;

use crate::cover::{design, report};
use crate::watch::Watch;
use crate::{build, map_alone, seed};

/// Threads whose results have to be those of one.
const THREADS: [usize; 3] = [2, 3, 7];

/// All that a run says but its wall-clock time: results, channels, messages and timelines, as text that differs if a
/// bit of it does.
fn outcome(system: &System, threads: usize) -> String {
    let forget = |point: &mut PointResult| point.wall_s = 0.0;
    // `Grain::Fine` does not divide small flat networks.
    let grain = if system.network.topology.kind() == "flat" { Grain::Exactly(1) } else { Grain::Fine };
    match run(system, &RunOptions { threads, grain, ..RunOptions::default() }) {
        Ok(mut point) => {
            forget(&mut point);
            point.jobs.iter_mut().for_each(|job| forget(&mut job.point));
            format!("{point:?}\n{}", serde_json::to_string(&point).unwrap())
        }
        Err(error) => format!("error: {error}"),
    }
}

/// Where two texts differ first.
fn difference(one: &str, other: &str) -> String {
    let place = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| text.chars().skip(place.saturating_sub(120)).take(200).collect::<String>();
    format!("{}\nis not\n{}", around(one), around(other))
}

/// Runs experiments on any number of threads; returns how many ended with a result.
fn compare(files: &[Table]) -> usize {
    let (_alone, watch) = (map_alone(), Watch::new());
    let mut ended = 0;
    for (number, file) in files.iter().enumerate() {
        let text = file.to_string();
        let (_, took) = watch.over(&text, || {
            let system = build(file).unwrap_or_else(|error| panic!("{text}\n{error}"));
            let one = outcome(&system, 1);
            ended += usize::from(!one.starts_with("error: "));
            for threads in THREADS {
                let other = outcome(&system, threads);
                assert!(one == other, "{threads} threads differ from one:\n{text}\n{}", difference(&one, &other));
            }
        });
        if std::env::var_os("CUTTHROUGH_TIMES").is_some() {
            println!("case {number}: {took:?}");
        }
    }
    ended
}

/// Compares the first experiments of the design.
fn compare_first(most: usize) {
    println!("CUTTHROUGH_TEST_SEED={}", seed());
    let found = design(seed(), most);
    println!("{}", report(&found));
    let ended = compare(&found.files);
    println!("{ended} of {} experiments ended with a result", found.files.len());
    assert!(ended * 2 > found.files.len());
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    // Would catch an order of deliveries, messages or draws that the division over threads decides, in any pair of
    // kinds and sections: packets of two planes that reach a node at the instant at which its ranks post receives were
    // one.
    compare_first(FEW);
}

#[test]
#[ignore = "long: make test-long"]
fn any_number_of_threads_gives_the_same_bytes_in_every_pair() {
    // Would catch what is above in pairs that the first experiments of the design do not have.
    compare_first(usize::MAX);
}

/// Experiments of `make test`.
const FEW: usize = 200;
