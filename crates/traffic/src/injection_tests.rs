use proptest::prelude::*;

use super::*;
use units::NamedStream;

const SLOT: u64 = 204_800;

/// Returns all times of a source before `end`.
fn times(injection: Injection, end: u64, name: &str) -> Vec<u64> {
    let (mut state, mut stream) = (InjectionState::default(), NamedStream::new(5, name));
    let first = injection.first(&mut state, &mut stream);
    std::iter::successors(first, |&previous| injection.next(&mut state, previous, &mut stream))
        .take_while(|&time| time < end)
        .collect()
}

#[test]
fn bernoulli_has_its_rate_and_its_slots() {
    // Would catch a gap that is off by a slot, a load per message that is not per slot, and sources out of step. The
    // number of messages in n slots is binomial; 5 standard deviations are allowed.
    let slots = 200_000;
    for load in [0.001, 0.05, 0.5, 0.93, 1.0] {
        let times = times(Injection::new(InjectionSpec::Bernoulli, load, SLOT), slots * SLOT, "bernoulli");
        let (expected, deviation) = (slots as f64 * load, (slots as f64 * load * (1.0 - load)).sqrt());
        assert!((times.len() as f64 - expected).abs() <= 5.0 * deviation, "{load}: {} messages", times.len());
        assert!(times.iter().all(|time| time.is_multiple_of(SLOT)));
        assert!(times.is_sorted_by(|one, other| one < other));
    }
}

#[test]
fn bernoulli_gaps_are_geometric() {
    // Would catch a distribution of the right mean but the wrong shape: P(gap = k) = p (1 - p)^(k - 1). The first slot
    // counts like any other.
    let (load, runs) = (0.3, 100_000_usize);
    let times = times(Injection::new(InjectionSpec::Bernoulli, load, 1), 400_000, "gaps");
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).take(runs).collect();
    assert_eq!(gaps.len(), runs);
    for gap in 1..12 {
        let probability = load * (1.0_f64 - load).powi(gap - 1);
        let found = gaps.iter().filter(|&&other| other == gap as u64).count() as f64;
        let deviation = (runs as f64 * probability * (1.0 - probability)).sqrt();
        assert!((found - runs as f64 * probability).abs() < 5.0 * deviation, "gap {gap}: {found}");
    }
    let injection = Injection::new(InjectionSpec::Bernoulli, load, 7);
    let mut stream = NamedStream::new(6, "first");
    let at_once = (0..runs).filter(|_| injection.first(&mut InjectionState::default(), &mut stream) == Some(0)).count();
    assert!((at_once as f64 / runs as f64 - load).abs() < 0.01, "{at_once}");
}

proptest! {
    #[test]
    fn the_table_of_a_geometric_says_what_the_logarithm_would(load in 1e-4_f64..1.0, bits: u64) {
        // Would catch a cell of the table that a boundary runs through.
        struct Bits(u64);
        impl Draw for Bits {
            fn bits(&mut self) -> u64 {
                self.0
            }
        }
        for load in [load, 0.5, 0.1, 1.0] {
            let mut geometric = Geometric::new(load);
            geometric.tabulate();
            // The edges of the cell are checked too.
            for bits in [bits, bits >> 56 << 56, bits | u64::MAX >> 8] {
                prop_assert_eq!(geometric.draw(&mut Bits(bits)), geometric.invert(bits));
            }
        }
    }
}

#[test]
fn poisson_has_its_rate_on_any_clock() {
    // Would catch gaps rounded one by one: on a clock of one tick a slot that loses 4 % of the load. The number of
    // messages is Poisson; 5 standard deviations are allowed.
    for (load, slot) in [(1.0, 1), (0.7, 1), (0.5, 3), (0.9, SLOT), (0.01, SLOT)] {
        let slots = 500_000;
        let times = times(Injection::new(InjectionSpec::Poisson, load, slot), slots * slot, "poisson");
        let expected = slots as f64 * load;
        assert!((times.len() as f64 - expected).abs() < 5.0 * expected.sqrt(), "{load} {slot}: {}", times.len());
    }
}

#[test]
fn poisson_gaps_are_exponential() {
    // Would catch a wrong shape: P(gap > x mean) = exp(-x), at the quartiles and in the tail.
    let times = times(Injection::new(InjectionSpec::Poisson, 0.4, SLOT), 300_000 * SLOT, "exponential");
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).take(100_000).collect();
    assert_eq!(gaps.len(), 100_000);
    for x in [0.1, 0.288, 0.693, 1.386, 3.0, 5.0] {
        let longer = gaps.iter().filter(|&&gap| gap as f64 > x * SLOT as f64 / 0.4).count() as f64 / 1e5;
        let probability = (-x).exp();
        assert!((longer - probability).abs() < 5.0 * (probability * (1.0 - probability) / 1e5).sqrt(), "{x}: {longer}");
    }
}

#[test]
fn periodic_does_not_drift() {
    // Would catch a period rounded to ticks, and a period added up in floating point. For load 0.3 the double is the
    // fraction 5404319552844595 / 2^54, and message k is due at floor(phase + k * slot * 2^54 / 5404319552844595).
    let (unit, slot) = (5_404_319_552_844_595_u128, 7_u128);
    assert_eq!(0.3, unit as f64 / (1_u64 << 54) as f64);
    let times = times(Injection::new(InjectionSpec::Periodic, 0.3, 7), 20_000_000, "periodic");
    assert!(times.len() > 800_000);
    // The phase is known to within a tick, so each time is known to within one tick.
    for (k, &time) in times.iter().enumerate() {
        let due = u128::from(times[0]) + (k as u128 * (slot << 54)) / unit;
        assert!((due..=due + 1).contains(&u128::from(time)), "message {k} at {time}, not {due}");
    }
}

#[test]
fn periodic_phases_fill_the_period() {
    // Would catch sources in step, which is another experiment, and a phase beyond the first period. On a clock of one
    // tick a slot the phases differ only in the fraction of a tick: a tenth of the sources then skips each tick.
    let mut stream = NamedStream::new(9, "phases");
    let mut phases = |injection: Injection| -> Vec<u64> {
        (0..10_000).map(|_| injection.first(&mut InjectionState::default(), &mut stream).unwrap()).collect()
    };
    let wide = phases(Injection::new(InjectionSpec::Periodic, 0.5, 1000));
    assert!(wide.iter().all(|&phase| phase < 2000));
    assert!((wide.iter().sum::<u64>() as f64 / 1e4 - 999.5).abs() < 30.0);
    let narrow = phases(Injection::new(InjectionSpec::Periodic, 0.9, 1));
    let late = narrow.iter().filter(|&&phase| phase == 1).count();
    assert!((late as f64 / 1e4 - 0.1).abs() < 0.02, "{late}");
}

#[test]
fn backlogged_sources_follow_their_messages() {
    // Would catch a backlogged source that waits for a clock.
    let injection = Injection::new(InjectionSpec::Backlogged, 1.0, SLOT);
    let (mut state, mut stream) = (InjectionState::default(), NamedStream::new(1, "backlogged"));
    assert!(injection.is_backlogged());
    assert_eq!(injection.first(&mut state, &mut stream), Some(0));
    assert_eq!(injection.next(&mut state, 12_345, &mut stream), Some(12_345));
}

#[test]
fn full_load_is_a_message_every_slot() {
    // Would catch a gap between messages at load 1: a complement pattern at full load has to accept all traffic.
    for spec in [InjectionSpec::Bernoulli, InjectionSpec::Periodic] {
        let times = times(Injection::new(spec, 1.0, SLOT), 1000 * SLOT, "full");
        assert_eq!(times.len(), 1000, "{spec:?}");
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == SLOT));
    }
}

#[test]
fn loads_are_checked() {
    // Would catch a load of 1.5 or NaN that is accepted silently.
    for load in [-0.1, 1.5, f64::NAN, f64::INFINITY] {
        assert!(matches!(InjectionSpec::Poisson.check(load), Err(InjectionError::Load(_))), "{load}");
    }
    assert_eq!(InjectionSpec::Backlogged.check(0.5), Err(InjectionError::Backlogged(0.5)));
    assert_eq!(InjectionSpec::Backlogged.check(1.0), Ok(()));
    assert_eq!(InjectionSpec::Bernoulli.check(0.0), Ok(()));
}

#[test]
fn the_times_of_a_seed_are_fixed() {
    // Would catch a change of the results of every experiment: equal seeds give equal bytes on every platform. The
    // numbers follow from no theory; they are those that the first version drew.
    let start = |spec| times(Injection::new(spec, 0.25, 1000), 16_000, "golden");
    assert_eq!(start(InjectionSpec::Bernoulli), [6000, 9000, 12_000, 14_000]);
    assert_eq!(start(InjectionSpec::Poisson), [6968, 10_147, 13_214, 14_848]);
    assert_eq!(start(InjectionSpec::Periodic), [700, 4700, 8700, 12_700]);
}

proptest! {
    #[test]
    fn any_load_and_slot_gives_times_in_order(
        spec in prop::sample::select(vec![
            InjectionSpec::Bernoulli, InjectionSpec::Poisson, InjectionSpec::Periodic, InjectionSpec::Backlogged,
        ]),
        load in prop_oneof![
            0.0..=1.0_f64, Just(5e-324), Just(1e-300), Just(1e-17), Just(f64::NAN), Just(-1.0), Just(2.0),
        ],
        slot in prop_oneof![0_u64..1000, any::<u64>()],
    ) {
        // Would catch an overflow at the ends of the ranges, an endless loop at slot 0, and time that runs backwards.
        let injection = Injection::new(spec, load, slot);
        let (mut state, mut stream) = (InjectionState::default(), NamedStream::new(3, "any"));
        let mut previous = injection.first(&mut state, &mut stream);
        prop_assert!(load > 0.0 || previous.is_none());
        for _ in 0..100 {
            let Some(time) = previous else { break };
            previous = injection.next(&mut state, time, &mut stream);
            prop_assert!(previous.is_none_or(|next| next >= time));
        }
    }
}
