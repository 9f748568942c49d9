//! Classes of routers: the levels of every family that has any.

use std::path::Path;
use std::sync::Arc;

use topology::{NetworkSpec, RouterClasses, Topology};
use units::RouterId;

fn build(text: &str) -> Arc<dyn Topology> {
    text.parse::<NetworkSpec>().unwrap().build(Path::new(".")).unwrap()
}

/// Returns the number of routers of each class, with its name.
fn counts(topology: &dyn Topology) -> Vec<(String, usize)> {
    let classes = RouterClasses::of(topology);
    let of = |class: usize| (0..topology.routers()).filter(|&router| classes.class(RouterId(router)) == class).count();
    classes.names().iter().cloned().enumerate().map(|(class, name)| (name, of(class))).collect()
}

#[test]
fn classes_are_the_levels_of_trees_and_the_stages_of_a_dragonfly_plus() {
    // Counts by hand. Would catch levels counted from the top, planes that share a class with another level's routers,
    // and levels that get lost with multiplied wires.
    for (text, expected) in [
        ("leaf-spine:leaves=6,spines=4,nodes_per_leaf=2", &[("leaf", 6), ("spine", 4)][..]),
        ("leaf-spine:leaves=6,spines=4,nodes_per_leaf=2,planes=3", &[("leaf", 18), ("spine", 12)]),
        ("leaf-spine:leaves=6,spines=4,nodes_per_leaf=2,wires.down=2", &[("leaf", 6), ("spine", 4)]),
        ("leaf-spine:leaves=6,spines=4,nodes_per_leaf=2,wires.down=2,planes=2", &[("leaf", 12), ("spine", 8)]),
        ("xgft:m=4x4x2,w=1x2x2", &[("leaf", 8), ("spine", 4), ("core", 4)]),
        ("fat-tree:k=2,n=4", &[("level0", 8), ("level1", 8), ("level2", 8), ("level3", 8)]),
        ("dragonfly-plus:leaves=4,spines=2,groups=5", &[("leaf", 20), ("spine", 10)]),
        ("dragonfly-plus:leaves=4,spines=2,groups=5,planes=2", &[("leaf", 40), ("spine", 20)]),
        ("fat-tree:k=4,n=1", &[]),
        ("single-switch:8", &[]),
        ("torus:4x4", &[]),
        ("dragonfly:h=2", &[]),
    ] {
        let expected: Vec<(String, usize)> = expected.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
        assert_eq!(counts(&*build(text)), expected, "{text}");
    }
}
