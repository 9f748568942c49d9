//! Results of large networks: distributions instead of a value for each channel and rank.

use measure::Listed;

use crate::common::{build, result};

const JOBS: &str = r#"
topology = { kind = "torus", dims = [4, 4] }
link = { bandwidth = "10 Gb/s", delay = "20 ns" }
measure = { warm_up = "5 us", max_time = "40 us" }
[[job]]
name = "open"
workload = { kind = "traffic", load = 0.3 }
[[job]]
name = "ranks"
nodes = "4-11"
workload = { kind = "program", program = { kind = "fft", message_size = "3 KiB" } }
"#;

#[test]
fn many_channels_and_ranks_are_summarized() {
    // Would catch a result that grows with the network, one of a small network that loses its lists, quantiles of
    // another class, and a summary without advice on how to get what it leaves out.
    let (whole, network) = (result(JOBS), build(JOBS).unwrap().network);
    let channels: u64 = whole.class_utilization.iter().map(|class| u64::from(class.channels)).sum();
    let mut unchanged = whole.clone();
    unchanged.summarize(&network, Listed { channels, ranks: 8 });
    assert_eq!(unchanged, whole);
    let mut short = whole.clone();
    short.summarize(&network, Listed { channels: channels - 1, ranks: 7 });
    for (own, listed) in [(&short, &whole), (&short.jobs[1].point, &whole.jobs[1].point)] {
        assert!(own.channel_utilization.is_empty());
        assert_eq!(own.hottest_channels[..10], listed.hottest_channels[..]);
        assert!(own.hottest_channels.is_sorted_by(|a, b| a.utilization >= b.utilization));
        for (class, before) in own.class_utilization.iter().zip(&listed.class_utilization) {
            let quantiles = class.quantiles.unwrap();
            assert_eq!((quantiles.count, quantiles.max), (u64::from(before.channels), before.max));
            assert!((quantiles.mean - before.mean).abs() < 1e-12 && before.quantiles.is_none());
            assert!(
                [quantiles.min, quantiles.p10, quantiles.p50, quantiles.p90, quantiles.p99, quantiles.max].is_sorted()
            );
        }
        assert!(own.notes[0].ends_with("`measure.full = true` keeps each of them."), "{:?}", own.notes);
    }
    let (ranks, listed) = (short.jobs[1].point.closed().unwrap(), whole.jobs[1].point.closed().unwrap());
    let ended: Vec<f64> = listed.per_rank.iter().copied().flatten().collect();
    let times = ranks.per_rank_ns.unwrap();
    assert!(ranks.per_rank.is_empty() && times.count == 8 && listed.per_rank_ns.is_none());
    assert_eq!(times.max, ended.iter().copied().fold(0.0, f64::max));
}

#[test]
fn times_of_very_many_ranks_are_kept_if_asked_for() {
    // Would catch a limit that is not applied to runs, and a key that does nothing.
    let text = |full: bool| {
        format!(
            "topology = {{ kind = \"flat\", nodes = 65537 }}\nlink = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\" }}\n\
             measure = {{ full = {full} }}\nworkload = {{ kind = \"program\", program = {{ kind = \"collective\", \
             operation = \"broadcast\", size = \"8 B\" }} }}"
        )
    };
    let lengths = |full| {
        let point = result(&text(full));
        let closed = point.closed().unwrap();
        (closed.per_rank.len(), closed.per_rank_ns.map(|times| times.count))
    };
    assert_eq!(lengths(false), (0, Some(65_537)));
    assert_eq!(lengths(true), (65_537, None));
}
