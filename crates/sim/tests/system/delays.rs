//! Delays of links that follow from the lengths of cables.

use sim::{System, analyze, check};
use units::{KeyError, Time};

use crate::common::build;

fn text(topology: &str, link: &str, sections: &str) -> String {
    format!(
        r#"
        topology = {topology}
        link = {{ bandwidth = "400 Gb/s"{link} }}
        workload = {{ kind = "traffic", load = 0.1 }}
        {sections}
        "#
    )
}

const LAYOUT: &str = r#"layout = { routers_per_rack = 4, racks_per_row = 3, rack_width = "1 m", row_pitch = "3 m" }"#;
const DRAGONFLY: &str = r#"{ kind = "dragonfly", p = 1, a = 4, h = 2 }"#;

fn system(topology: &str, link: &str, sections: &str) -> System {
    let text = text(topology, link, sections);
    build(&text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn refused(topology: &str, link: &str, sections: &str) -> KeyError {
    build(&text(topology, link, sections)).err().unwrap()
}

/// The delay of a class of channels in nanoseconds.
fn delay(system: &System, class: &str) -> f64 {
    let names = system.network.topology.class_names();
    let class = names.iter().position(|name| *name == class).unwrap();
    let plan = &system.network.plan;
    system.picoseconds(plan.link_delay(topology::ChannelClass(class as u8))) as f64 / 1e3
}

#[test]
fn delays_are_those_of_the_mean_cable_of_a_class() {
    // A rack for each of 9 groups. By hand: cables inside a rack are 1 m, so 5 ns. Would catch lengths in another unit, and
    // a cable that counts at one end only.
    let found = system(DRAGONFLY, "", LAYOUT);
    let lengths = analyze(&found).unwrap().design.cables_by_class;
    let mean = |name: &str| lengths.iter().find(|own| own.class == name).unwrap().lengths.unwrap().length_mean_m;
    assert_eq!((delay(&found, "injection"), delay(&found, "ejection"), delay(&found, "local")), (5.0, 5.0, 5.0));
    assert_eq!(delay(&found, "global"), (mean("global") * 5.0).round());
    // Two racks side by side: 1 m apart, and 2 m of slack.
    let pair = system(
        r#"{ kind = "mesh", dims = [2] }"#,
        "",
        r#"layout = { routers_per_rack = 1, racks_per_row = 2, rack_width = "1 m" }"#,
    );
    assert_eq!(delay(&pair, "dim0"), 15.0);
    // A class whose cables have no length still has a delay, on which parallel runs depend.
    let near = system(
        r#"{ kind = "mesh", dims = [2] }"#,
        "",
        r#"layout = { routers_per_rack = 2, racks_per_row = 1, within_rack = "0 m" }"#,
    );
    assert_eq!(delay(&near, "dim0"), 1.0);
}

#[test]
fn given_delays_stay_and_the_check_says_which_follow() {
    // Would catch a delay of the file that is replaced, and delays that nobody is told of.
    let class = r#", global = { delay = "300 ns" }"#;
    let some = system(DRAGONFLY, class, LAYOUT);
    assert_eq!((delay(&some, "global"), delay(&some, "local")), (300.0, 5.0));
    let all = system(DRAGONFLY, r#", delay = "20 ns""#, LAYOUT);
    assert_eq!((delay(&all, "global"), delay(&all, "local")), (20.0, 20.0));
    assert_eq!(all.spec.link.delay, Some(Time(20_000)));
    let said = |system: &System| check(system).unwrap().notes;
    assert!(
        said(&some).iter().any(|note| note.contains("5 ns a metre") && note.contains("local 5 ns")),
        "{:?}",
        said(&some)
    );
    // Delays of the file are not said to follow.
    assert!(said(&some).iter().all(|note| !note.contains("global")), "{:?}", said(&some));
    assert!(said(&all).is_empty(), "{:?}", said(&all));
}

#[test]
fn a_delay_or_a_layout_is_required() {
    // Would catch a network of delay 0, and a flat network with cables.
    let none = refused(DRAGONFLY, "", "");
    assert!(none.key == "link.delay" && none.message.contains("[layout]"), "{none}");
    let flat = text(r#"{ kind = "flat", nodes = 4 }"#, "", LAYOUT)
        .replace(r#"kind = "traffic", load = 0.1"#, r#"kind = "exchange""#);
    let flat = build(&flat).err().unwrap();
    assert!(flat.key == "link.delay" && flat.message.contains("no cables"), "{flat}");
}
