//! Random experiments over the whole schema, with values that nobody would write: each is accepted or refused, in
//! seconds, without a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::generate::Generator;
use crate::shape::{Key, file_shape};
use crate::values::Strata;
use crate::watch::Watch;
use crate::{build, map_alone, seed};

/// How experiments are drawn: any key, and some values that are the extremes of their types.
const WILD: Strata = Strata { sections: 30, keys: 15, short: false, extreme: 3 };

/// Repairs of an experiment that is refused: each is tried as well.
const REPAIRS: usize = 8;

/// What became of experiments.
#[derive(Debug, Default)]
struct Counts {
    experiments: usize,
    accepted: usize,
    /// Files that were loaded, built and checked, those between repairs included.
    tried: usize,
    longest: Duration,
}

/// Draws one experiment, and repairs it until it is accepted or given up.
fn try_one(file: &[Key], seed: u64, watch: &Watch, counts: &mut Counts) {
    let mut generator = Generator::new(file, seed, WILD);
    let mut drawn = generator.experiment();
    counts.experiments += 1;
    for _ in 0..=REPAIRS {
        counts.tried += 1;
        let text = drawn.to_string();
        let check = || build(&drawn).and_then(|system| sim::check(&system));
        let (found, took) = watch.over(&text, || catch_unwind(AssertUnwindSafe(check)));
        counts.longest = counts.longest.max(took);
        if took > Duration::from_secs(2) {
            println!("{took:?}:\n{text}");
        }
        match found.unwrap_or_else(|_| panic!("seed {seed}: a panic:\n{text}")) {
            Ok(_) => {
                counts.accepted += 1;
                return;
            }
            Err(error) => {
                assert!(!error.message.is_empty(), "{text}");
                generator.repair(&mut drawn, &error.key, &error.message);
            }
        }
    }
}

fn fuzz(experiments: u64) {
    let _alone = map_alone();
    let (file, watch, mut counts) = (file_shape(), Watch::new(), Counts::default());
    println!("CUTTHROUGH_TEST_SEED={}", seed());
    for number in 0..experiments {
        try_one(&file, seed().wrapping_mul(1 << 32).wrapping_add(number), &watch, &mut counts);
    }
    println!("{counts:?}");
    assert!(counts.accepted * 10 >= counts.experiments * 3, "{counts:?}");
}

#[test]
fn three_hundred_experiments_are_accepted_or_refused() {
    // Would catch a panic, an endless check and a value that no validation looks at.
    fuzz(300);
}

#[test]
#[ignore = "long: make test-long"]
fn twenty_thousand_experiments_are_accepted_or_refused() {
    // Would catch what is above where few experiments have it.
    fuzz(20_000);
}
