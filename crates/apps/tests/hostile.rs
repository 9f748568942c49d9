//! Malformed files: texts of programs and tables in which bytes have been changed, doubled and removed.

use mpi::program::calls::text;
use mpi::schedule::goal;
use proptest::prelude::*;
use tasks::{GraphFormat, parse_graph};

const GOAL: &str = "num_ranks 3\nrank 0 { l1: calc 2000 cpu 0\n l2: send 8192b to 1 tag 3 cpu 0 nic 0\n l2 requires l1\n}\n\
                    rank 1 {\n l1: recv 8192b from any tag any\n l2: send 7b to 2 /* so */\n l2 irequires l1\n}\nrank 2 { recv 7b from 1 }\n";

const CALLS: &str = "ranks 3\ncommunicator 1 of 2 0\nrank 0\n calc 5 us\n isend 4 KiB to 2 tag 3 in 1 times 3 stride 0\n waitall\n start allreduce 8 B by ring\n\
                     wait 1\nrank 1\n irecv from any tag any\n test\n allreduce 8 B by ring\nrank 2\n irecv 4 KiB from 0 tag 3 in 1\n wait 0\n allreduce 8 B by ring\n";

const EDGES: &str = "from,to,bytes,messages\n0,1,800,2\n1,2,16,1\ntask,4,2.5\n2,0,1e3,1\n";

const METIS: &str = "% a graph\n4 3 011\n1 2 5\n1 1 5 3 6\n2 2 6 4 7\n1 3 7\n";

const MARKET: &str = "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 500\n3 2 700\n";

const MATRIX: &str = "0 5 7\n5 0 9\n7 9 0\n";

/// Dump written by Charm++ 8.0.1: a ring of eight objects on two processors.
const DUMP: &[u8] = include_bytes!("../../tasks/tests/data/ring.lbdump");

/// Change of a text.
#[derive(Clone, Debug)]
enum Change {
    /// Another byte at a position.
    Byte(prop::sample::Index, u8),
    /// A part occurs twice.
    Double(prop::sample::Index, usize),
    /// A part is removed.
    Lose(prop::sample::Index, usize),
    /// Digits are inserted, so that numbers become large.
    Digits(prop::sample::Index, usize),
    /// The text after a position is removed.
    Cut(prop::sample::Index),
}

/// Returns the graphs, each in its format.
fn graphs() -> [(&'static [u8], GraphFormat); 5] {
    [
        (EDGES.as_bytes(), GraphFormat::Edges),
        (METIS.as_bytes(), GraphFormat::Metis),
        (MARKET.as_bytes(), GraphFormat::MatrixMarket),
        (MATRIX.as_bytes(), GraphFormat::Matrix),
        (DUMP, GraphFormat::CharmLb),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let place = || any::<prop::sample::Index>();
    prop_oneof![
        (place(), any::<u8>()).prop_map(|(place, byte)| Change::Byte(place, byte)),
        (place(), prop::sample::select(&b" \n{}:,.-0123456789abelnrst#/*"[..]))
            .prop_map(|(place, byte)| Change::Byte(place, byte)),
        (place(), 1_usize..40).prop_map(|(place, length)| Change::Double(place, length)),
        (place(), 1_usize..20).prop_map(|(place, length)| Change::Lose(place, length)),
        // At most three digits, so that the number of ranks stays small: memory is allocated for the allowed number.
        (place(), 1_usize..4).prop_map(|(place, length)| Change::Digits(place, length)),
        place().prop_map(Change::Cut),
    ]
}

fn changed(text: impl AsRef<[u8]>, changes: &[Change]) -> Vec<u8> {
    let mut bytes = text.as_ref().to_vec();
    for change in changes {
        let at = |place: &prop::sample::Index| place.index(bytes.len().max(1)).min(bytes.len());
        match change {
            Change::Byte(place, byte) => {
                let at = at(place);
                bytes.splice(at..(at + 1).min(bytes.len()), [*byte]);
            }
            Change::Double(place, length) => {
                let at = at(place);
                let part = bytes[at..(at + length).min(bytes.len())].to_vec();
                bytes.splice(at..at, part);
            }
            Change::Lose(place, length) => {
                let at = at(place);
                bytes.drain(at..(at + length).min(bytes.len()));
            }
            Change::Digits(place, length) => {
                let at = at(place);
                bytes.splice(at..at, std::iter::repeat_n(b'9', *length));
            }
            Change::Cut(place) => bytes.truncate(at(place)),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn changed_texts_are_answered(changes in prop::collection::vec(change(), 0..5)) {
        // Would catch a panic, an endless loop, and an error without the line of the fault.
        let read = |text: &str| String::from_utf8_lossy(&changed(text, &changes)).into_owned();
        if let Ok(schedule) = goal::read(&read(GOAL)) {
            let _ = schedule.check_progress(Some(0));
            prop_assert!(goal::read(&goal::write(&schedule)).is_ok());
        }
        match text::read(&read(CALLS)) {
            Ok(calls) => {
                prop_assert_eq!(text::read(&text::write(&calls)), Ok(calls.clone()));
                let _ = calls.check(Some(0));
                let _ = calls.schedule();
            }
            Err(error) => prop_assert!(error.line > 0 && !error.message.is_empty()),
        }
        for (text, format) in graphs() {
            if let Err(error) = parse_graph(&changed(text, &changes), format) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}

#[test]
fn the_texts_are_right_before_they_are_changed() {
    // Would catch a base text that is refused at its first line, so that changes test nothing.
    goal::read(GOAL).unwrap();
    text::read(CALLS).unwrap();
    for (text, format) in graphs() {
        parse_graph(text, format).unwrap();
    }
}

#[test]
fn a_schedule_of_too_many_operations_is_refused() {
    // Would catch a line that makes a schedule of four thousand million operations, for which no memory has room.
    let text =
        "ranks 2\nrank 0\n isend 1 B to 1 times 4294967295 stride 0\nrank 1\n irecv from 0 times 4294967295 stride 0\n";
    let error = text::read(text).unwrap().schedule().unwrap_err();
    assert!(error.to_string().contains("33554432 are the most"), "{error}");
}
