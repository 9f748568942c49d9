//! Choices of paths: turns, draws, and ports to which least is assigned.

use routing::{Choice, Route};
use units::{PortId, VcClass};

use super::choices::Choices;

fn route(count: u16, choice: Choice) -> Route {
    Route::range(PortId(0), count, VcClass(0), choice)
}

/// Returns how often each of `count` candidates is taken in `numbers` walks of two hops, at the second.
fn taken(numbers: u32, count: u16, choices: impl Fn(u32) -> Choices, choice: Choice) -> Vec<u32> {
    let mut times = vec![0; usize::from(count)];
    for number in 0..numbers {
        let mut own = choices(number);
        own.candidate(&route(count, choice), |_| 0.0);
        times[usize::from(own.candidate(&route(count, choice), |_| 0.0))] += 1;
    }
    times
}

#[test]
fn strands_take_candidates_in_turn() {
    // Would catch strands that take the same candidate of the second hop, and paths that are counted wrongly.
    assert_eq!(taken(9, 3, |number| Choices::in_turn(number, 32, 5), Choice::RoundRobin), [3, 3, 3]);
    let mut own = Choices::in_turn(0, 32, 5);
    for _ in 0..2 {
        own.candidate(&route(3, Choice::Random), |_| 0.0);
    }
    assert!(own.paths == 9 && own.is_random && !own.is_adaptive);
}

#[test]
fn drawn_choices_are_uniform_and_independent() {
    // Would catch draws that follow the number of the packet, and a bias: 4 candidates are expected 2500 times each,
    // with a standard deviation of 43.
    let times = taken(10_000, 4, |number| Choices::drawn(number, 32, 7), Choice::Random);
    assert!(times.iter().all(|&own| own.abs_diff(2500) < 200), "{times:?}");
    assert!(times.iter().any(|&own| own.abs_diff(2500) > 2), "{times:?} is in turn");
}

#[test]
fn adaptive_choices_take_the_least_load_and_draw_among_equal_ones() {
    // Would catch a candidate with more load, and ties that always go to one port.
    let load = |candidate: u16| [2.0, 1.0, 3.0, 1.0][usize::from(candidate)];
    let mut times = [0; 4];
    for number in 0..1000 {
        let mut own = Choices::drawn(number, 32, 3);
        times[usize::from(own.candidate(&route(4, Choice::LeastLoaded), load))] += 1;
        assert!(own.is_adaptive);
    }
    assert!(times[0] == 0 && times[2] == 0 && times[1] > 400 && times[3] > 400, "{times:?}");
}
