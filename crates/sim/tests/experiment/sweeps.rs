//! Points: the values that keys take in turn, and their combinations.

use serde_json::{Value, json};
use sim::{Experiment, WorkloadSpec};
use topology::{NetworkSpec, TopologySpec};

use super::{BASE, error_of, load, load_with};

fn swept(sweep: &str) -> Experiment {
    load(&format!("{BASE}\n[sweep]\n{sweep}")).unwrap()
}

fn values(experiment: &Experiment, key: &str) -> Vec<Value> {
    let value = |keys: &[(String, Value)]| keys.iter().find(|(own, _)| own == key).map(|(_, value)| value.clone());
    experiment.points().iter().filter_map(|point| value(&point.keys)).collect()
}

#[test]
fn a_range_is_exact_in_decimals_and_includes_its_end() {
    // Would catch 0.30000000000000004, and an end that is lost to rounding.
    let tenths = swept("\"workload.load\" = { from = 0.1, to = 1.0, step = 0.1 }");
    let expected = json!([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
    assert_eq!(json!(values(&tenths, "workload.load")), expected);
    // Whole numbers stay whole; an end that no step meets is a limit.
    assert_eq!(json!(values(&swept("seed = { from = 1, to = 8, step = 3 }"), "seed")), json!([1, 4, 7]));
    let quantities = swept("\"link.delay\" = { from = \"1 us\", to = \"2 us\", step = \"0.5 us\" }");
    assert_eq!(json!(values(&quantities, "link.delay")), json!(["1 us", "1.5 us", "2 us"]));
}

#[test]
fn several_keys_give_every_combination_in_the_order_of_the_file() {
    // Sorted by name the keys would be the other way round.
    let experiment = swept("workload.load = [0.5, 0.1]\nlink.delay = [\"2 ns\", \"1 ns\", \"3 ns\"]");
    assert_eq!(experiment.swept_keys(), ["workload.load", "link.delay"]);
    let keys: Vec<Value> = experiment.points().iter().map(|point| json!([point.keys[0].1, point.keys[1].1])).collect();
    let loads = [0.5, 0.1].into_iter();
    let expected: Vec<Value> =
        loads.flat_map(|load| ["2 ns", "1 ns", "3 ns"].map(|delay| json!([load, delay]))).collect();
    assert_eq!(keys, expected);
    assert_eq!(experiment.points().iter().map(|point| point.index).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    // What a point says of its keys is what it runs.
    assert!(experiment.resolved(&experiment.points()[4]).contains("load = 0.1"));
    assert!(experiment.resolved(&experiment.points()[4]).contains("delay = \"1 ns\""));
}

#[test]
fn a_required_key_may_be_given_by_the_sweep_alone() {
    let text = format!("{}\n[sweep]\nworkload.load = [0.2, 0.4]\n", BASE.replace("load = 0.5\n", ""));
    assert_eq!(load(&text).unwrap().points().len(), 2);
}

#[test]
fn whole_sections_may_be_swept() {
    let experiment = swept("topology = [{ kind = \"fat-tree\", k = 2, n = 2 }, { kind = \"torus\", dims = [4, 4] }]");
    assert!(experiment.resolved(&experiment.points()[1]).contains("dims = [4, 4]"));
}

#[test]
fn topologies_may_be_swept_by_their_short_names() {
    // Expected: the short name of every family means its table. Would catch defaults that rules refuse once they are
    // written, and an error without its place.
    for family in TopologySpec::FAMILIES.iter().filter(|family| !["file", "flat"].contains(&family.kind)) {
        let table = serde_json::to_value(family.example.parse::<NetworkSpec>().unwrap()).unwrap();
        let experiment = swept(&format!("topology = [\"torus:4x4\", \"{}\"]", family.example));
        let resolved: toml::Value = experiment.resolved(&experiment.points()[1]).parse::<toml::Table>().unwrap().into();
        for (key, value) in table.as_object().unwrap().iter().filter(|(_, value)| !value.is_null()) {
            assert_eq!(&serde_json::to_value(&resolved["topology"][key]).unwrap(), value, "{}", family.example);
        }
        assert_eq!(json!(values(&experiment, "topology")), json!(["torus:4x4", family.example]));
    }
    let several = swept("topology = [\"dragonfly:h=2,planes=2,wires.global=2\"]");
    assert!(several.resolved(&several.points()[0]).contains("planes = 2"));
    for (name, key, message) in [
        ("torus:4y4", "topology.dims", "`dims` has `4y4`"),
        ("tours:4x4", "topology", "`tours` is not a kind of topology"),
        ("torus", "topology", "must be a table with `kind`"),
    ] {
        let error = error_of(&format!("{BASE}\n[sweep]\ntopology = [\"{name}\"]"));
        assert_eq!(error.key, key);
        assert!(error.message.contains(message), "{error:?}");
    }
}

#[test]
fn keys_override_those_of_a_short_name() {
    // Would catch a name that is taken for a kind as soon as an option or a sweep sets another key of the topology, and a
    // key of the name that wins.
    let short = BASE.replace("[topology]\nkind = \"fat-tree\"\nk = 4\nn = 2\n", "topology = \"torus:4x4,planes=3\"\n");
    let has = |experiment: &Experiment, index: usize, line: &str| {
        let resolved = experiment.resolved(&experiment.points()[index]);
        assert!(resolved.contains(line) && resolved.contains("kind = \"torus\""), "{line}: {resolved}");
    };
    let set = load_with(&short, &[("topology.planes", "2"), ("topology.nodes_per_router", "3")]).unwrap();
    ["dims = [4, 4]", "planes = 2", "nodes_per_router = 3"].iter().for_each(|line| has(&set, 0, line));
    let swept = load(&format!("{short}\n[sweep]\n\"topology.planes\" = [1, 2]\n")).unwrap();
    has(&swept, 1, "planes = 2");
    assert_eq!(json!(values(&swept, "topology.planes")), json!([1, 2]));
    let names =
        load_with(&format!("{BASE}\n[sweep]\ntopology = [\"torus:4x4\", \"torus:8x4\"]"), &[("topology.planes", "2")]);
    let names = names.unwrap();
    ["dims = [4, 4]", "dims = [8, 4]"].iter().enumerate().for_each(|(index, line)| has(&names, index, line));
    (0..2).for_each(|index| has(&names, index, "planes = 2"));
    let error = load_with(&short, &[("topology.plans", "2")]).unwrap_err();
    assert_eq!(error.key, "topology.plans");
}

#[test]
fn an_option_settles_what_the_file_sweeps() {
    let text = format!("{BASE}\n[sweep]\n\"workload.load\" = [0.1, 0.2]\n");
    assert_eq!(load_with(&text, &[("workload.load", "0.3")]).unwrap().points().len(), 1);
    let other = load_with(&text, &[("sweep.workload.load", "[0.3, 0.4, 0.5]")]).unwrap();
    assert_eq!(json!(values(&other, "workload.load")), json!([0.3, 0.4, 0.5]));
    let text = format!("{BASE}\n[sweep]\nrouter = [{{ delay = \"1 ns\" }}, {{ delay = \"2 ns\" }}]\n");
    let refined = load_with(&text, &[("router.buffer", "9 packets")]).unwrap();
    assert!(refined.points().iter().all(|point| refined.resolved(point).contains("9 packets")));
}

#[test]
fn a_wrong_value_is_shown_where_the_sweep_gives_it() {
    for (sweep, key, column) in [
        ("\"workload.load\" = [0.5, 1.5]", "workload.load", 25),
        ("\"workload.laod\" = [0.5]", "workload.laod", 1),
        ("workload.load = []", "sweep.workload.load", 17),
        ("workload.load = 0.5", "sweep.workload.load", 17),
        ("workload.load = { from = 0.1, to = 1.0 }", "sweep.workload.load.step", 17),
        ("workload.load = { from = 0.1, to = 1.0, step = 0.0 }", "sweep.workload.load", 17),
        ("workload.load = { from = 0.9, to = 0.1, step = 0.1 }", "sweep.workload.load", 17),
        ("workload.load = { from = 0.1, to = 1.0, steps = 0.1 }", "sweep.workload.load.steps", 41),
        ("workload.load = { from = 0.1, to = 1.0, step = 1e-9 }", "sweep.workload.load", 17),
        ("workload.load = { from = 0.1, to = 1.0, step = \"1 ns\" }", "sweep.workload.load", 17),
        ("workload.load = { from = 0.1, to = 1e300, step = 0.1 }", "sweep.workload.load.to", 36),
        ("\"\" = [1]", "sweep", 1),
        ("\"a.b.c.d.e.f.g.h.i\" = [1]", "sweep", 1),
        ("sweep.seed = [1]", "sweep.seed", 7),
    ] {
        let error = error_of(&format!("{BASE}\n[sweep]\n{sweep}"));
        assert_eq!(error.key, key, "{error}");
        let position = error.position.clone().map(|at| (at.line, at.column));
        assert_eq!(position, Some((21, column)), "{error}");
    }
}

#[test]
fn a_sweep_has_a_limit() {
    let values = "{ from = 1, to = 1000, step = 1 }";
    let error = error_of(&format!("{BASE}\n[sweep]\nseed = {values}\ntopology.k = {values}\n"));
    assert_eq!(error.message, "the sweep has more than 100000 points");
}

#[test]
fn seeds_are_a_sweep_of_the_seed() {
    // Would catch a seed that is left out, an axis that is not the innermost, and `seeds` in a resolved point, which
    // would make it another point than that of a single seed.
    let text =
        format!("seed = 7\nseeds = 3\n{}\n[sweep]\n\"workload.load\" = [0.1, 0.2]\n", BASE.replace("seed = 7", ""));
    let experiment = load(&text).unwrap();
    assert_eq!(experiment.swept_keys(), ["workload.load", "seed"]);
    assert_eq!(json!(values(&experiment, "seed")), json!([7, 8, 9, 7, 8, 9]));
    assert!(experiment.points().iter().all(|point| !experiment.resolved(point).contains("seeds")));
    let alone = load_with(&text, &[("seeds", "1"), ("seed", "9"), ("workload.load", "0.2")]).unwrap();
    assert!(alone.swept_keys().is_empty());
    assert_eq!(alone.points()[0].spec, experiment.points()[5].spec);
    // An option replaces the file's sweep of the seed, and sets the first one.
    let swept = format!("{BASE}\n[sweep]\nseed = [4, 6]\n");
    let seeds = |overrides: &[(&str, &str)]| json!(values(&load_with(&swept, overrides).unwrap(), "seed"));
    assert_eq!(seeds(&[("seeds", "3"), ("seed", "20")]), json!([20, 21, 22]));
    let later = load_with(&swept, &[("seeds", "3"), ("seed", "20")]).unwrap();
    assert_eq!(later.points().iter().map(|point| point.spec.seed).collect::<Vec<_>>(), [20, 21, 22]);
    assert_eq!(seeds(&[("seeds", "1")]), json!([]));
}

#[test]
fn wrong_seeds_are_shown_where_they_stand() {
    let sweep = "[sweep]\nseed = [1, 2]\n";
    for (seeds, rest, key, message) in [
        ("0", "", "seeds", "`seeds` is 0; it must be from 1 to 10000"),
        ("\"3\"", "", "seeds", "`seeds` must be a whole number from 1 to 10000, not a string"),
        ("2", sweep, "seeds", "`seeds` is short for a sweep of `seed`, and [sweep] has one: give only one of them"),
        (
            "2",
            "[sweep]\nseeds = [1, 2]\n",
            "sweep.seeds",
            "`seeds` cannot be swept: it says with how many seeds each point is run",
        ),
        (
            "200",
            "[sweep]\ntopology.k = { from = 1, to = 1000, step = 1 }\n",
            "seeds",
            "the sweep has more than 100000 points",
        ),
    ] {
        let error = error_of(&format!("seeds = {seeds}\n{BASE}\n{rest}"));
        assert_eq!((error.key.as_str(), error.message.as_str()), (key, message), "{error}");
        assert!(error.position.is_some(), "{error}");
    }
    let last = i64::MAX.to_string();
    let error = load_with(BASE, &[("seed", last.as_str()), ("seeds", "2")]).unwrap_err();
    assert!(error.message.contains("goes beyond the largest seed"), "{error}");
}

#[test]
fn keys_of_jobs_are_swept_and_set_by_the_jobs_names() {
    // Would catch a key that is set in another job, and a name that makes a table where there was a list.
    let start = BASE.find("[workload]").unwrap();
    let rest = BASE[start..].find("\n\n").map_or("", |end| &BASE[start + end..]);
    let job = |name: &str| format!("[[job]]\nname = \"{name}\"\nworkload = {{ kind = \"traffic\", load = 0.5 }}\n");
    let jobs = format!("{}\n{}{}\n{rest}\n", &BASE[..start], job("bully"), job("victim"));
    let text = format!("{jobs}[sweep]\n\"job.bully.workload.load\" = [0.1, 0.9]\n");
    let experiment = load_with(&text, &[("job.victim.workload.pattern", "tornado")]).unwrap();
    let loads = |place: usize| -> Vec<(f64, String)> {
        let of = |workload: &WorkloadSpec| match workload {
            WorkloadSpec::Traffic(traffic) => {
                (traffic.load, serde_json::to_value(&traffic.pattern).unwrap().to_string())
            }
            other => panic!("{other:?}"),
        };
        experiment.points()[place].spec.jobs.iter().map(|job| of(&job.workload)).collect()
    };
    assert_eq!([loads(0)[0].0, loads(1)[0].0, loads(0)[1].0, loads(1)[1].0], [0.1, 0.9, 0.5, 0.5]);
    assert!(loads(1)[1].1.contains("tornado") && !loads(1)[0].1.contains("tornado"));
    let error = load_with(&text, &[("job.victm.workload.load", "0.2")]).unwrap_err();
    assert_eq!((error.key.as_str(), error.message.as_str()), ("job.victm.workload.load", "there is no job `victm`"));
    assert_eq!(error.help.as_deref(), Some("did you mean `victim`?"));
    let error = load_with(&jobs, &[("job.victim.workload.load", "1.5")]).unwrap_err();
    assert_eq!(error.key, "job.victim.workload.load");
    assert!(load_with(BASE, &[("job.victim.workload.load", "0.5")]).is_err());
    // What is resolved loads to the same.
    let resolved = experiment.resolved(&experiment.points()[1]);
    assert_eq!(load_with(&resolved, &[]).unwrap().points()[0].spec, experiment.points()[1].spec);
}

/// Two topologies, each with its routing, and two loads.
const ZIPPED: &str = r#"
"workload.load" = [0.1, 0.2]
[[sweep.zip]]
label = ["tree", "ring"]
topology = [{ kind = "fat-tree", k = 2, n = 2 }, { kind = "torus", dims = [4] }]
"routing.kind" = ["d-mod-k", "dimension-order"]
"#;

#[test]
fn zipped_keys_move_together() {
    // Would catch a product of zipped keys, and a group that does not combine with other keys.
    let experiment = swept(ZIPPED);
    let values: Vec<Value> = experiment
        .points()
        .iter()
        .map(|point| json!(point.keys.iter().map(|(_, value)| value).collect::<Vec<_>>()))
        .collect();
    let (tree, ring) = (json!({"kind": "fat-tree", "k": 2, "n": 2}), json!({"kind": "torus", "dims": [4]}));
    let expected = [("tree", 0.1), ("tree", 0.2), ("ring", 0.1), ("ring", 0.2)].map(|(label, load)| match label {
        "tree" => json!([label, tree, "d-mod-k", load]),
        _ => json!([label, ring, "dimension-order", load]),
    });
    assert_eq!(values, expected);
    assert_eq!(experiment.points()[0].keys[0].0, "label");
    assert_eq!(experiment.axes(), ["label", "workload.load"]);
    assert_eq!(experiment.swept_keys(), ["topology", "routing.kind", "workload.load"]);
    let (_, groups) = experiment.written();
    let steps: Vec<Vec<_>> = groups.iter().map(|group| group.keys.iter().map(|key| key.1.len()).collect()).collect();
    assert_eq!(steps, [vec![2, 2], vec![2]]);
    assert!(experiment.resolved(&experiment.points()[3]).contains("kind = \"dimension-order\""));
    // An error of a point is shown at the value that it has there.
    let error = experiment.error_in(&experiment.points()[2], "routing.kind", "no");
    assert_eq!(error.position.as_ref().map(|at| (at.line, at.column)), Some((26, 30)));
}

#[test]
fn several_groups_are_combined_and_named_together() {
    let groups = "[[sweep.zip]]\nseed = [1, 2]\nlabel = [\"a\", \"b\"]\n[[sweep.zip]]\nlabel = [\"c\", \"d\"]\nworkload.load = \
                  { from = 0.1, to = 0.2, step = 0.1 }\n\"link.delay\" = [\"1 ns\", \"2 ns\"]\n";
    let experiment = swept(groups);
    assert_eq!(json!(values(&experiment, "label")), json!(["a, c", "a, d", "b, c", "b, d"]));
    assert_eq!(json!(values(&experiment, "link.delay")), json!(["1 ns", "2 ns", "1 ns", "2 ns"]));
    assert_eq!(experiment.axes(), ["label"]);
}

#[test]
fn an_option_takes_its_key_out_of_a_group() {
    let text = format!("{BASE}\n[sweep]\n{ZIPPED}");
    let one = load_with(&text, &[("routing.kind", "\"shortest-path\"")]).unwrap();
    assert_eq!((one.points().len(), one.swept_keys()), (4, vec!["topology".to_owned(), "workload.load".to_owned()]));
    assert!(one.points().iter().all(|point| one.resolved(point).contains("kind = \"shortest-path\"")));
    let both = [("routing.kind", "\"shortest-path\""), ("topology", "{ kind = \"torus\", dims = [4] }")];
    let none = load_with(&text, &both).unwrap();
    assert_eq!((none.points().len(), none.axes()), (2, vec!["workload.load".to_owned()]), "labels of nothing are gone");
    let instead = load_with(&text, &[("sweep.zip", "[{ seed = [1, 2, 3] }]")]).unwrap();
    assert_eq!((instead.points().len(), json!(instead.axes())), (6, json!(["seed", "workload.load"])));
}

#[test]
fn an_option_may_not_make_labels_wrong() {
    // Would catch points that are named for a routing that they do not have.
    let text = format!("{BASE}\n[sweep]\n{ZIPPED}");
    let error = load_with(&text, &[("topology.k", "4")]).unwrap_err();
    assert_eq!(error.key, "topology.k");
    assert!(error.message.contains("is a part of `topology`, whose values [[sweep.zip]] names by labels"));
    // Without labels the values of the point are those that it has.
    let bare =
        text.replace("label = [\"tree\", \"ring\"]", "").replace("{ kind = \"torus\", dims = [4] }", "\"mesh:4\"");
    let bare =
        bare.replace("\"mesh:4\"", "{ kind = \"fat-tree\", k = 3, n = 2 }").replace("dimension-order", "d-mod-k");
    let refined = load_with(&bare, &[("topology.k", "4")]).unwrap();
    let sizes: Vec<Value> = values(&refined, "topology").iter().map(|value| value["k"].clone()).collect();
    assert_eq!(json!(sizes), json!([4, 4, 4, 4]));
}

#[test]
fn a_group_that_does_not_fit_together_is_refused() {
    for (group, key, message) in [
        (
            "seed = [1, 2]\nworkload.load = [0.1]",
            "sweep.zip.workload.load",
            "`workload.load` has 1 values and `seed` has 2: keys",
        ),
        ("seed = [1, 2]\nlabel = [\"a\"]", "sweep.zip.label", "`label` has 1 values and `seed` has 2: keys"),
        ("seed = [1, 2]\nlabel = [\"a\", \"a\"]", "sweep.zip.label", "the label `a` is given twice"),
        ("seed = [1, 2]\nlabel = [1, 2]", "sweep.zip.label[0]", "`sweep.zip.label[0]` must be a string"),
        ("label = [\"a\", \"b\"]", "sweep.zip", "[[sweep.zip]] names no keys"),
        ("seed = [1]\n[[sweep.zip]]\nseed = [2]", "sweep.seed", "`seed` is swept twice"),
        ("seed = []", "sweep.seed", "`sweep.seed` has 0 entries"),
        ("sed = [1]", "sed", "unknown key `sed` at the top level"),
        ("include = [\"a\"]", "include", "`include` is read where a file begins"),
    ] {
        let error = error_of(&format!("{BASE}\n[sweep]\n[[sweep.zip]]\n{group}"));
        assert_eq!(error.key, key, "{error}");
        assert!(error.message.starts_with(message) && error.position.is_some(), "{error}");
    }
    let error = error_of(&format!("{BASE}\n[sweep]\nzip = [1]"));
    assert_eq!(error.message, "`sweep.zip` must be a list of tables, as [[sweep.zip]] writes them, not a whole number");
}

#[test]
fn a_list_where_one_value_belongs_is_told_from_a_sweep() {
    // Would catch an error that leaves a user who wants several points without the way to them, and that advice where
    // no sweep is meant.
    let error = error_of(&BASE.replace("k = 4", "k = [4, 8]"));
    assert_eq!(error.key, "topology.k");
    let advice = "not a list; several values, a point for each, are the value of `sweep.\"topology.k\"`";
    assert!(error.message.ends_with(advice), "{error}");
    let error = error_of(&format!("{BASE}\n[sweep]\n[[sweep.zip]]\nseed = [1]\nlabel = [[\"a\"]]"));
    assert!(!error.message.contains("several values"), "{error}");
}

#[test]
fn a_search_leaves_the_loads_out_of_a_sweep() {
    // Would catch the same search once a load, loads that nobody validates, and other keys that are left out too.
    let sweep = "[sweep]\n\"workload.load\" = [0.1, 0.2, 0.3]\n\"link.delay\" = [\"1 ns\", \"2 ns\"]\n";
    let text = format!("{}\n{sweep}", BASE.replace("load = 0.5\n", ""));
    let search = [("measure.search", "saturation")];
    assert_eq!(load(&text).unwrap().points().len(), 6);
    let searched = load_with(&text, &search).unwrap();
    assert_eq!(searched.swept_keys(), ["link.delay"]);
    assert_eq!(json!(values(&searched, "link.delay")), json!(["1 ns", "2 ns"]));
    let wrong = load_with(&text.replace("0.3]", "3.0]"), &search).unwrap_err();
    assert_eq!(
        (wrong.key.as_str(), wrong.position.as_ref().map(|at| at.column)),
        ("workload.load", Some(30)),
        "{wrong}"
    );
    // Of a group only the load is left out, and steps that are then the same are one; a label is a step of its own.
    let zipped = |label: &str| {
        let keys = "\"workload.load\" = [0.1, 0.2, 0.3]\n\"link.delay\" = [\"1 ns\", \"1 ns\", \"2 ns\"]\n";
        load_with(&format!("{BASE}\n[[sweep.zip]]\n{label}{keys}"), &search).unwrap().points().len()
    };
    assert_eq!((zipped(""), zipped("label = [\"a\", \"b\", \"c\"]\n")), (2, 3));
    // A job's load is one too.
    let (rest, _) = BASE.split_once("[workload]").unwrap();
    let job = "[[job]]\nname = \"one\"\nworkload = { kind = \"traffic\" }\n[measure]\nsearch = \"saturation\"\n";
    let job = format!("{rest}{job}[sweep]\n\"job.one.workload.load\" = [0.1, 0.2]\n");
    assert_eq!(load(&job).unwrap().points().len(), 1);
}
