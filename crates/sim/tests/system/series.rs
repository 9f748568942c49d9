//! Time series: their sums are the totals, and they are what closed forms say.

use sim::{PointResult, SeriesResult};

use crate::common::{Matrix, build, result};

fn series(found: &PointResult) -> SeriesResult {
    found.series.clone().unwrap()
}

/// By interval, its length in nanoseconds.
fn lengths(series: &SeriesResult) -> Vec<f64> {
    let begins = std::iter::once(&0.0).chain(&series.time_ns);
    series.time_ns.iter().zip(begins).map(|(end, begin)| end - begin).collect()
}

/// Load times nanoseconds, from a time on and up to another.
fn sum(series: &SeriesResult, from: f64, to: f64) -> f64 {
    let all = series.time_ns.iter().zip(&series.accepted_load).zip(lengths(series));
    all.filter(|&((&end, _), _)| end > from + 1e-6 && end < to + 1e-6).map(|((_, load), length)| load * length).sum()
}

#[test]
fn the_series_of_open_traffic_sums_up_to_its_accepted_load() {
    // A torus below and past saturation. Would catch bytes that two intervals count or none, an interval at the wrong
    // time, and a load of another capacity.
    for load in [0.3, 1.0] {
        let text = format!(
            r#"
            topology = {{ kind = "torus", dims = [4, 4] }}
            link = {{ bandwidth = "10 Gb/s", delay = "40 ns" }}
            workload = {{ kind = "traffic", load = {load}, pattern = "tornado" }}
            measure = {{ series = "1 us", warm_up = "20 us", max_time = "148 us", precision = 1e-6 }}
            "#
        );
        let found = result(&text);
        let own = series(&found);
        let (begin, end) = (found.open().unwrap().warm_up_ns, found.open().unwrap().warm_up_ns + found.measured_ns);
        assert_eq!((begin, end), (20_000.0, 148_000.0));
        let mean = sum(&own, begin, end) / found.measured_ns;
        assert!(
            (mean - found.open().unwrap().accepted_load).abs() < 1e-9,
            "{mean} {}",
            found.open().unwrap().accepted_load
        );
        assert!((lengths(&own)[0], own.interval_ns) == (1000.0, 1000.0));
        assert!((own.time_ns.last().unwrap() - found.sim_time_ns).abs() < 1e-6);
        // Past saturation source queues grow without end, and buffers are full.
        let waits = own.source_wait_max_ns.unwrap();
        assert_eq!(waits[100] > 10_000.0, found.open().unwrap().saturated, "{waits:?}");
        let dim0 = own.queues.iter().find(|queue| queue.class == "dim0").unwrap();
        assert_eq!(dim0.channels, 32);
        assert_eq!(dim0.max_bytes[100] >= 1024, found.open().unwrap().saturated, "{:?}", dim0.max_bytes);
    }
}

#[test]
fn the_series_of_a_closed_workload_is_its_volume_over_time() {
    // Two nodes send 20 packets of 200 ns each to a third: after the first head is there, its channel is busy all the
    // time, half of what the two could send. Would catch a phase that begins at another's time, bytes lost at the end,
    // and a queue that is read when all has gone.
    let graph = std::env::temp_dir().join(format!("cutthrough-{}-series.csv", std::process::id()));
    std::fs::write(&graph, "from,to,bytes\n0,2,2000\n1,2,2000\n").unwrap();
    let text = format!(
        r#"
        topology = {{ kind = "single-switch", ports = 4 }}
        link = {{ bandwidth = "4 Gb/s", delay = "5 ns" }}
        router = {{ kind = "output-queued", delay = "10 ns", buffer = "8 packets" }}
        workload = {{ kind = "application", graph = '{0}', next_graphs = ['{0}'], packet_size = "100 B" }}
        measure = {{ series = "2 us" }}
        "#,
        graph.display()
    );
    let found = result(&text);
    std::fs::remove_file(&graph).unwrap();
    let (closed, own) = (found.closed().unwrap().clone(), series(&found));
    let phase = 5.0 + 10.0 + 5.0 + 40.0 * 200.0;
    assert_eq!(closed.time_ns, Some(2.0 * phase));
    let times = [2000.0, 4000.0, 6000.0, 8000.0, phase].map(|time| [time, phase + time]);
    let wanted: Vec<f64> = [0, 1].iter().flat_map(|&number| times.map(|both| both[number])).collect();
    assert_eq!(own.time_ns, wanted);
    // Each phase has 40 packets of 200 ns, over the channels of two nodes.
    assert!((sum(&own, 0.0, f64::INFINITY) - 2.0 * 40.0 * 200.0 / 2.0).abs() < 1e-6, "{own:?}");
    // Of the first 2 us, 15 ns pass before the first head leaves; the packet that the end of an interval cuts counts by
    // its part, in bytes.
    let exact = [1985.0 / 4000.0, 0.5, 0.5, 0.5];
    let is_near = |(found, exact): (&f64, f64)| (found - exact).abs() < 2.0 / 4000.0;
    assert!(own.accepted_load[..4].iter().zip(exact).all(is_near), "{own:?}");
    let ejection = own.queues.iter().find(|queue| queue.class == "ejection").unwrap();
    assert_eq!(ejection.max_bytes[4], 0, "{own:?}");
    assert!(ejection.max_bytes[1] > 0 && ejection.max_bytes[1] <= 1600, "{own:?}");
}

#[test]
fn the_series_of_jobs_are_apart_and_sum_up() {
    // Would catch one job's bytes in another's series, and a total that is a mean of loads of nodes that do not send.
    let matrix = [Matrix::pair("series-one", 0, 1), Matrix::pair("series-two", 2, 3)];
    let job = |name: &str, start: &str, load: f64, matrix: &Matrix| {
        format!(
            "[[job]]\nname = \"{name}\"\nstart = \"{start}\"\nworkload = {{ kind = \"traffic\", load = {load}, injection = \
             \"periodic\", pattern = {} }}\n",
            matrix.pattern()
        )
    };
    let text = format!(
        "topology = {{ kind = \"single-switch\", ports = 4 }}\nlink = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\" }}\n\
         measure = {{ series = \"10 us\", warm_up = \"5 us\", max_time = \"200 us\" }}\n{}{}",
        job("one", "0 ps", 0.8, &matrix[0]),
        job("two", "50 us", 0.4, &matrix[1])
    );
    let found = result(&text);
    let (all, one, two) = (series(&found), series(&found.jobs[0].point), series(&found.jobs[1].point));
    assert!((one.accepted_load[2] - 0.8).abs() < 0.03 && (one.accepted_load[10] - 0.8).abs() < 0.03, "{one:?}");
    assert!(two.accepted_load[..5].iter().all(|&load| load == 0.0), "{two:?}");
    assert!((two.accepted_load[10] - 0.4).abs() < 0.03, "{two:?}");
    // Of a load of 0.8 and half of it, all together accept in proportion to what they offer.
    assert!(
        (all.accepted_load[10] - 0.8).abs() < 0.03 && (all.accepted_load[2] - 0.8 * 2.0 / 3.0).abs() < 0.03,
        "{all:?}"
    );
    assert!(one.queues.is_empty() && !all.queues.is_empty() && all.source_wait_max_ns.is_none());
}

#[test]
fn series_that_cannot_be_kept_are_refused() {
    // Would catch a list without bounds, and a message that does not say what is allowed.
    let text = |series: &str| {
        format!(
            "topology = {{ kind = \"single-switch\", ports = 4 }}\nlink = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\" }}\n\
             workload = {{ kind = \"traffic\", load = 0.5 }}\nmeasure = {{ series = \"{series}\", max_time = \"1 s\" }}"
        )
    };
    for (period, words) in [("100 ps", "tick"), ("1 us", "65536"), ("1 us", "15258790 ps")] {
        let error = build(&text(period)).unwrap_err();
        assert!(error.key == "measure.series" && error.message.contains(words), "{error:?}");
    }
    assert!(build(&text("16 us")).is_ok());
}
