//! Shares of time and of bandwidth, which are never above 1, whatever cuts a run.

use proptest::prelude::*;
use sim::PointResult;

use crate::common::result;

/// Shares of a result: of classes, of the hottest channels, of all channels, what is accepted, and what is accepted in
/// intervals of a series. Values of a series are counted in bytes: a byte of a node more or less is rounding.
fn shares(point: &PointResult, byte: f64) -> Vec<(String, f64)> {
    let classes = point.class_utilization.iter().map(|class| (format!("{} at most", class.class), class.max));
    let hottest = point.hottest_channels.iter().map(|channel| (channel.channel.clone(), channel.utilization));
    let all = point.channel_utilization.iter().map(|&share| ("a channel".to_owned(), share));
    // A run may end before anything arrives.
    let throughput = |closed: &sim::ClosedResult| closed.throughput.unwrap_or(f64::NAN);
    let load = point.open().map_or_else(|| throughput(point.closed().unwrap()), |open| open.accepted_load);
    let accepted = [("accepted".to_owned(), load)];
    let least =
        point.open().and_then(|open| open.accepted_load_min).map(|least| ("the least accepted".to_owned(), least));
    let of_series = |series: &sim::SeriesResult| {
        let mut before = 0.0;
        let each = series.time_ns.iter().zip(&series.accepted_load).map(|(&end, &load)| {
            let length = std::mem::replace(&mut before, end);
            (format!("accepted until {end} ns"), (load - byte / (end - length)).max(0.0))
        });
        each.collect::<Vec<_>>()
    };
    let series = point.series.as_ref().map(of_series).unwrap_or_default();
    classes
        .chain(hottest)
        .chain(all)
        .chain(accepted)
        .chain(least)
        .chain(series)
        .filter(|share| !share.1.is_nan())
        .collect()
}

fn check(text: &str) {
    // 1 B takes 0.08 ns at 100 Gb/s.
    let point = result(text);
    let points = point.jobs.iter().map(|job| &job.point).chain([&point]);
    for (what, share) in points.flat_map(|point| shares(point, 0.08)) {
        assert!((0.0..=1.0 + 1e-9).contains(&share), "{what}: {share}\n{text}");
    }
}

const TOPOLOGIES: [&str; 4] = [
    r#"{ kind = "single-switch", ports = 4 }"#,
    r#"{ kind = "torus", dims = [3, 2] }"#,
    r#"{ kind = "dragonfly", p = 1, a = 2, h = 1 }"#,
    r#"{ kind = "flat", nodes = 6 }"#,
];

/// Workloads, and whether a flat network carries them.
const WORKLOADS: [(&str, bool); 5] = [
    (r#"{ kind = "traffic", pattern = "uniform", load = 1.0"#, false),
    (r#"{ kind = "traffic", pattern = "uniform", load = 0.9, message_size = "9000 B""#, false),
    (r#"{ kind = "exchange", volume = "100 KiB""#, true),
    (r#"{ kind = "benchmark", benchmark = { kind = "osu-bibw", sizes = ["1 MiB"] }"#, true),
    (r#"{ kind = "benchmark", benchmark = { kind = "alltoall", sizes = ["64 KiB"] }"#, true),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_share_exceeds_1(
        (topology, workload) in (0..TOPOLOGIES.len(), 0..WORKLOADS.len()),
        packet in prop::sample::select(vec![256_u64, 4096, 65_536]),
        router in 0..crate::common::ROUTERS.len(),
        (end, series, warm_up) in (3_000_u64..60_000, 300_u64..9000, 0_u64..2000),
    ) {
        // Would catch a packet that an end of the measured window cuts and that counts as a whole (1.0486 of exchanges
        // of 64 KiB packets), what is handed over to a flat network and has not left (14.98), and intervals of series
        // that count more than they hold (1.0008).
        let (workload, on_flat) = WORKLOADS[workload];
        let topology = TOPOLOGIES[topology];
        let is_flat = topology.contains("flat");
        prop_assume!(on_flat || !is_flat);
        let router = if is_flat { String::new() } else { format!(
            r#"router = {{ kind = "{}", delay = "90 ns", buffer = "4 packets" }}"#,
            crate::common::ROUTERS[router]
        ) };
        let packet = if is_flat { String::new() } else { format!(r#", packet_size = "{packet} B""#) };
        let is_open = workload.contains("load =");
        let warm_up = if is_open { format!(r#", warm_up = "{warm_up} ns", min_time = "1 ns""#) } else { String::new() };
        let series = if is_flat { String::new() } else { format!(r#", series = "{series} ns""#) };
        check(&format!(
            r#"
            topology = {topology}
            link = {{ bandwidth = "100 Gb/s", delay = "20 ns" }}
            {router}
            workload = {workload}{packet} }}
            measure = {{ max_time = "{end} ns"{series}{warm_up} }}
            "#
        ));
    }
}
