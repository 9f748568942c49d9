//! Who gets how much of a channel that all want: the parking lot of Dally and Towles (Principles and Practices of
//! Interconnection Networks, chapter 15) against its closed form.

use units::NodeId;

use crate::common::{Matrix, build, result};

/// The load that each of four nodes in a row gets to the node behind them, as a share of the last channel.
fn shares(router: &str) -> [f64; 4] {
    let matrix =
        Matrix::new(&format!("lot-{}", router.replace([' ', '"', '='], "")), &[0, 1, 2, 3].map(|src| (src, 4, 1.0)));
    let text = format!(
        r#"
        topology = {{ kind = "mesh", dims = [5] }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ {router}, buffer = "16 packets" }}
        workload = {{ kind = "traffic", load = 1.0, pattern = {} }}
        measure = {{ warm_up = "500 us", min_time = "4 ms", max_time = "4 ms" }}
        "#,
        matrix.pattern()
    );
    let (system, found) = (build(&text).unwrap(), result(&text));
    let channels = topology::Channels::new(&*system.network.topology);
    let used = |node| found.channel_utilization[channels.injection(NodeId(node)).index()];
    [0, 1, 2, 3].map(used)
}

fn check(router: &str, expected: [f64; 4], within: f64) {
    let found = shares(router);
    let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < within);
    assert!(near, "{router}: {found:?} instead of {expected:?}");
}

const ARBITRATED: [&str; 4] = ["output-queued", "input-queued", "input-output-queued", "input-crosspoint-queued"];
/// Each router halves what is left between its own node and those behind it.
const LOCALLY_FAIR: [f64; 4] = [0.125, 0.125, 0.25, 0.5];

#[test]
fn arbiters_that_are_fair_between_inputs_halve_a_parking_lot_at_every_router() {
    // Would catch an input that is preferred, a turn that is taken twice, a draw that is not even.
    for router in ARBITRATED {
        check(&format!(r#"kind = "{router}", arbitration = "round-robin""#), LOCALLY_FAIR, 0.002);
        // 20,000 packets: a standard error of 0.0035 for a half.
        check(&format!(r#"kind = "{router}", arbitration = "random""#), LOCALLY_FAIR, 0.015);
    }
    check(r#"kind = "virtual-output-queued""#, LOCALLY_FAIR, 0.002);
}

#[test]
fn an_arbiter_by_age_divides_a_parking_lot_evenly() {
    // Would catch an age that is that of the hop or of the router instead of the packet's own.
    for router in ARBITRATED {
        check(&format!(r#"kind = "{router}", arbitration = "oldest-first""#), [0.25; 4], 0.005);
    }
}
