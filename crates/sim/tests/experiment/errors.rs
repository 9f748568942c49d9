//! The whole text of errors, word for word: they are what a user sees of the schema.

use sim::{PointError, Progress, analyze_point, check_point};

use super::{BASE, changed, error_of, load, load_with};

/// Would catch a message that loses its line, its mark, the list of what is allowed or the nearest name.
fn assert_text(text: &str, expected: &str) {
    assert_eq!(error_of(text).to_string(), expected.trim_matches('\n'));
}

#[test]
fn an_unknown_key_shows_the_keys_and_the_nearest() {
    assert_text(
        &changed("buffer", "buffe"),
        r#"
error: unknown key `buffe` in [router] of kind "output-queued"
  --> fat_tree.toml:14:1
   |
14 | buffe = "4 packets"
   | ^^^^^
   |
   = allowed: kind, buffer, ports, vcs, delay, credits, credit_return, arbitration
   = help: did you mean `buffer`?"#,
    );
}

#[test]
fn an_unknown_section_is_not_taken_for_a_missing_one() {
    assert_text(
        &changed("[link]", "[lnk]"),
        r#"
error: unknown section [lnk]
 --> fat_tree.toml:8:2
  |
8 | [lnk]
  |  ^^^
  |
  = allowed: title, seed, machine, topology, network, relay, link, router, routing, nic, node, in_switch, layout, cost, workload, placement, job, simulation, measure, include, exclude, seeds, sweep
  = help: did you mean `link`?"#,
    );
}

#[test]
fn an_unknown_kind_shows_the_kinds() {
    assert_text(
        &changed("output-queued", "outputqueue"),
        r#"
error: unknown kind `outputqueue` in [router]
  --> fat_tree.toml:13:8
   |
13 | kind = "outputqueue"
   |        ^^^^^^^^^^^^^
   |
   = allowed: output-queued, input-queued, virtual-output-queued, input-output-queued, input-crosspoint-queued, shared-buffer
   = help: did you mean `output-queued`?"#,
    );
}

#[test]
fn a_bare_number_for_a_quantity_asks_for_its_unit() {
    assert_text(
        &changed("\"20 ns\"", "20"),
        r#"
error: `link.delay`: `20` has no unit; write a time as for example "20 ns"
  --> fat_tree.toml:10:9
   |
10 | delay = 20
   |         ^^"#,
    );
}

#[test]
fn a_negative_quantity_must_be_positive() {
    // Would catch a sign that is taken for text, and for a word where a word may stand too.
    let error = error_of(&changed("10 Gb/s", "-400 Gb/s"));
    let expected =
        "`link.bandwidth`: `-400 Gb/s` is negative; a bandwidth must be positive, as for example \"10 Gb/s\"";
    assert_eq!(error.message, expected);
    assert!(error_of(&changed("\"20 ns\"", "-20")).message.contains("`-20` is negative"));
    let measure = "[measure]\nwarm_up = \"-1 us\"\n\n[workload]";
    assert!(error_of(&changed("[workload]", measure)).message.contains("is negative"));
}

#[test]
fn colours_are_only_where_they_are_asked_for() {
    // Would catch escapes in a file or a pipe, and a text that differs from that without colours.
    let error = error_of(&changed("buffer", "buffe"));
    let (plain, coloured) = (error.render(false), error.render(true));
    assert!(!plain.contains('\u{1b}') && coloured.contains("\u{1b}[1"), "{coloured}");
    let mut parts = coloured.split('\u{1b}');
    let first = parts.next().unwrap().to_owned();
    let bare = parts.map(|part| part.split_once('m').unwrap().1);
    assert_eq!(bare.fold(first, |text, part| text + part), plain);
}

#[test]
fn an_unknown_unit_shows_the_units() {
    assert_text(
        &changed("20 ns", "20 nsec"),
        r#"
error: `link.delay`: unknown unit `nsec` for a time; allowed: s, ms, us, ns, ps (for example "20 ns")
  --> fat_tree.toml:10:9
   |
10 | delay = "20 nsec"
   |         ^^^^^^^^^
   |
   = help: did you mean "20 ns"?"#,
    );
}

#[test]
fn a_number_in_quotes_or_in_percent_shows_the_number() {
    // Would catch `50%` that is refused without a word of 0.5, and a text that is no number taken for one.
    for (written, meant) in [("50%", "0.5"), ("12.5 %", "0.125"), ("0.3", "0.3"), ("30%", "0.3")] {
        let error = error_of(&changed("0.5", &format!("\"{written}\"")));
        assert_eq!(error.help.as_deref(), Some(&*format!("did you mean {meant}, without quotes?")), "{written}");
        let option = load_with(BASE, &[("workload.load", written)]);
        assert_eq!(option.is_ok(), !written.contains('%'), "{written}");
    }
    assert_eq!(error_of(&changed("0.5", "\"half\"")).help, None);
}

#[test]
fn unknown_kinds_name_the_way_round_them() {
    // Would catch a kind that people try, for which nothing says that a file has what it stands for.
    let help = |text: &str| error_of(text).help.clone().unwrap_or_default();
    assert!(help(&changed("\"fat-tree\"", "\"bcube\"")).contains("kind = \"file\""));
    assert!(help(&changed("[workload]", "[routing]\nkind = \"o1turn\"\n[workload]")).contains("kind = \"table\""));
    assert!(help(&changed("load = 0.5", "load = 0.5\npattern = \"zipf\"")).contains("kind = \"matrix\""));
    let program = "kind = \"program\"\nprogram = { kind = \"otf2\" }";
    let text = BASE.replace("kind = \"traffic\"\nload = 0.5", program);
    assert!(help(&text).contains("cutthrough record"), "{}", error_of(&text));
    let placed = changed("[workload]", "[placement]\nstrategy = \"slurm\"\n[workload]");
    assert!(help(&placed).contains("strategy = \"file\""));
    // What is nearly written is more likely to be meant.
    assert_eq!(help(&changed("\"fat-tree\"", "\"fattree\"")), "did you mean `fat-tree`?");
}

#[test]
fn multiples_of_wires_have_a_line_if_they_are_refused() {
    // Would catch a number that the table's reader refuses, without key and line, and kinds whose own key `wires`
    // excludes the table that their shorthand is written as.
    let tree = "kind = \"fat-tree\"\nk = 4\nn = 2";
    for (number, refused) in [("1.5", true), ("0.3", true), ("3.5", true), ("2", false), ("0.5", false)] {
        let experiment = load(&changed(tree, &format!("{tree}\nwires = {{ up = {number} }}"))).unwrap();
        let checked = check_point(&experiment, &experiment.points()[0], &Progress::new());
        let Err(PointError::Experiment(error)) = checked else {
            assert!(!refused && checked.is_ok(), "{number}");
            continue;
        };
        assert!(refused && error.message.contains(&format!("`wires` has `{number}`")), "{error}");
        assert_eq!((error.key.as_str(), error.position.as_ref().map(|at| at.line)), ("topology.wires", Some(7)));
    }
    for (own, class) in [
        ("kind = \"hyperx\"\ndims = [4, 4]", "dim0"),
        ("kind = \"leaf-spine\"\nleaves = 4\nspines = 4\nnodes_per_leaf = 2", "up"),
        ("kind = \"dragonfly-plus\"\nleaves = 2\nspines = 2\ngroups = 3", "global"),
    ] {
        for wires in [format!("{{ {class} = 2 }}"), (if class == "dim0" { "[2]" } else { "2" }).to_owned()] {
            let experiment = load(&changed(tree, &format!("{own}\nwires = {wires}"))).unwrap();
            let checked = check_point(&experiment, &experiment.points()[0], &Progress::new());
            assert!(checked.is_ok(), "{own}, {wires}: {:?}", checked.err());
            // The completed file is read again.
            load(&experiment.resolved(&experiment.points()[0])).unwrap();
        }
        let error = load(&changed(tree, &format!("{own}\nwires = \"two\""))).unwrap_err();
        assert_eq!(error.key, "topology.wires", "{error}");
    }
}

#[test]
fn a_routing_without_a_kind_is_that_of_the_topology() {
    // Would catch `--set routing.ties=...` that asks for a kind which `check` prints, and defaults of a file that are
    // lost.
    let kind = |text: &str, options: &[(&str, &str)]| {
        let experiment = load_with(text, options).unwrap();
        serde_json::to_value(&experiment.points()[0].spec.routing).unwrap()
    };
    let torus = changed("kind = \"fat-tree\"\nk = 4\nn = 2", "kind = \"torus\"\ndims = [4, 4]");
    let routing = kind(&torus, &[("routing.ties", "positive")]);
    assert_eq!((&routing["kind"], &routing["ties"]), (&"dimension-order".into(), &"positive".into()));
    let file = changed("kind = \"fat-tree\"\nk = 4\nn = 2", "kind = \"file\"\npath = \"ring.edges\"");
    let routing = kind(&file, &[("routing.vc_rule", "single")]);
    assert_eq!((&routing["kind"], &routing["ties"]), (&"shortest-path".into(), &"random".into()));
    assert_eq!(kind(&file, &[("routing.ties", "least-loaded")])["ties"], "least-loaded");
    // A key of one kind only determines the kind.
    let paced = load_with(BASE, &[("workload.pacer.window", "64 KiB")]).unwrap();
    let workload = serde_json::to_value(&paced.points()[0].spec.workload).unwrap();
    assert_eq!(workload["pacer"]["kind"], "window");
    // Where there is no default, the kinds that have the key are named.
    let error = load(&changed("kind = \"fat-tree\"\nk = 4\nn = 2", "dims = [4, 4]")).unwrap_err();
    assert_eq!(error.help.as_deref(), Some("`dims` goes with kind = \"torus\" | \"mesh\" | \"hyperx\""));
    // A key that the default does not have is refused by name.
    let error = load_with(BASE, &[("routing.ties", "random")]).unwrap_err();
    assert!(error.message.contains("unknown key `ties` in [routing] of kind \"adaptive-up-down\""), "{error}");
}

#[test]
fn a_value_out_of_range_shows_the_range() {
    assert_text(
        &changed("0.5", "1.5"),
        r#"
error: `workload.load` is 1.5; it must be greater than 0 and at most 1
  --> fat_tree.toml:18:8
   |
18 | load = 1.5
   |        ^^^"#,
    );
    assert_text(
        &changed("\"20 ns\"", "\"0 ns\""),
        r#"
error: `link.delay` is "0 ns"; it must be greater than 0
  --> fat_tree.toml:10:9
   |
10 | delay = "0 ns"
   |         ^^^^^^"#,
    );
}

#[test]
fn a_missing_key_is_shown_at_its_section() {
    assert_text(
        &changed("load = 0.5\n", ""),
        r#"
error: missing key `load` in [workload] of kind "traffic"
  --> fat_tree.toml:16:1
   |
16 | [workload]
   | ^^^^^^^^^^
   |
   = help: `load` is a number greater than 0 and at most 1: offered load of a node, as a share of its injection channel's bandwidth"#,
    );
}

#[test]
fn a_wrong_type_shows_the_right_one() {
    assert_text(
        &changed("k = 4", "k = \"4\""),
        r#"
error: `topology.k` must be a whole number from 2 to 32767, not a string
 --> fat_tree.toml:5:5
  |
5 | k = "4"
  |     ^^^
  |
  = help: did you mean 4, without quotes?"#,
    );
}

#[test]
fn an_option_is_shown_as_it_was_given() {
    let error = load_with(BASE, &[("seed", "7"), ("router.delays", "90 ns")]).expect_err("no such key");
    let expected = r#"error: unknown key `delays` in [router] of kind "output-queued"
--> --set router.delays=90 ns
 = allowed: kind, buffer, ports, vcs, delay, credits, credit_return, arbitration
 = help: did you mean `delay`?"#;
    assert_eq!(error.to_string(), expected);
}

#[test]
fn what_is_not_toml_is_shown_where_it_stops_being_so() {
    assert_text(
        &changed("[link]", "[link"),
        r#"
error: not valid TOML: unclosed table, expected `]`
 --> fat_tree.toml:8:6
  |
8 | [link
  |      ^"#,
    );
}

#[test]
fn a_key_of_another_kind_or_section_is_told_where_it_belongs() {
    // Would catch a user left alone with a key that is right elsewhere.
    let other_kind = changed("kind = \"output-queued\"", "kind = \"input-queued\"\ncredits = \"row-counter\"");
    assert_eq!(error_of(&other_kind).help.as_deref(), Some("`credits` goes with kind = \"output-queued\""));
    let other_section = changed("[workload]", "load = 0.5\n\n[workload]");
    assert_eq!(error_of(&other_section).help.as_deref(), Some("`load` belongs to [workload]: `workload.load`"));
}

#[test]
fn a_bare_pattern_that_needs_keys_is_told_which() {
    let error = error_of(&format!("{BASE}pattern = \"hotspot\"\n"));
    assert_eq!(error.message, "`workload.pattern` needs the key `nodes` for kind \"hotspot\"");
    assert_eq!(error.help.as_deref(), Some("write { kind = \"hotspot\", nodes = ... }"));
}

#[test]
fn a_long_line_is_cut_around_what_is_wrong() {
    // Would catch a screen full of one line, and a mark that points elsewhere after the cut.
    let text = changed("title = ", &format!("# {}\n{}title = ", "x".repeat(3000), " ".repeat(2500)));
    let text = text.replace("\"a fat-tree\"", &format!("7 # {}", "é".repeat(3000)));
    let shown = error_of(&text).to_string();
    assert!(shown.lines().all(|line| line.chars().count() < 120), "{shown}");
    let lines: Vec<Vec<char>> = shown.lines().map(|line| line.chars().collect()).collect();
    let mark = lines[4].iter().position(|&c| c == '^').unwrap();
    assert_eq!(lines[3][mark], '7', "{shown}");
}

#[test]
fn a_warm_up_that_leaves_no_time_to_measure_is_refused() {
    // Would catch a run that goes on beyond the time at which it should have ended.
    for warm_up in ["10 us", "11 us"] {
        let measure = format!("[measure]\nwarm_up = \"{warm_up}\"\nmax_time = \"10 us\"\n\n[workload]");
        let error = error_of(&changed("[workload]", &measure));
        assert_eq!(error.key, "measure.warm_up", "{error}");
        assert!(error.message.contains("no time to measure"), "{error}");
    }
    let measure = "[measure]\nwarm_up = \"9 us\"\nmax_time = \"10 us\"\n\n[workload]";
    assert!(load(&changed("[workload]", measure)).is_ok());
}

#[test]
fn one_class_of_a_depth_for_all_is_refused() {
    // Would catch an option or a sweep that replaces the depth of all classes by that of one, in silence.
    let error = load_with(BASE, &[("router.buffer.up", "\"8 KiB\"")]).expect_err("a depth for all");
    assert_eq!(error.key, "router.buffer.up");
    assert_eq!(error.message, "`router.buffer.up`: `router.buffer` is \"4 packets\" here, not a table");
    assert_eq!(error.help.as_deref(), Some("set it as a whole, as in router.buffer={ up = \"4 packets\" }"));
    let swept = format!("{BASE}[sweep]\n\"router.buffer.up\" = [\"8 KiB\", \"1 KiB\"]\n");
    assert_eq!(error_of(&swept).help, error.help);
    // After an option that gives a table, one of its classes may be set.
    let table = ("router.buffer", "{ down = \"1 KiB\" }");
    let set = load_with(BASE, &[table, ("router.buffer.up", "\"8 KiB\"")]).unwrap();
    let toml = set.resolved(&set.points()[0]);
    assert!(toml.contains("[router.buffer]\ndown = \"1 KiB\"\nup = \"8 KiB\"\n"), "{toml}");
    assert_eq!(load(&toml).unwrap().points()[0].spec, set.points()[0].spec);
}

#[test]
fn a_fault_in_a_table_of_a_list_is_at_the_path_that_options_take() {
    // Would catch a number for a name, in the key or in the message, a name that stands for another table, and a line of
    // another table. The kinds of faults: a range, an unknown key, a shorthand, keys that contradict each other, a rule
    // between keys, and what is found when the network is built.
    let networks = |rest: &str| {
        format!(
            "workload = {{ kind = \"traffic\", load = 0.1 }}\nlink = {{ bandwidth = \"1 Gb/s\", delay = \"1 ns\" }}\n\
             [[network]]\nname = \"inside\"\ntopology = \"single-switch:4\"\n[[network]]\n{rest}\n"
        )
    };
    let rail = |rest: &str| networks(&format!("name = \"rail\"\ntopology = \"single-switch:8\"\n{rest}"));
    let job = |rest: &str| {
        let (start, end) = (BASE.find("[workload]").unwrap(), "workload = { kind = \"traffic\", load = 0.1");
        let of = |name: &str, rest: &str| format!("[[job]]\nname = \"{name}\"\n{end}{rest}\n");
        format!("{}{}{}", &BASE[..start], of("a", " }"), of("b", rest))
    };
    for (text, key, says) in [
        (rail("router = { kind = \"input-output-queued\", vcs = 0 }"), "network.rail.router.vcs", "is 0"),
        (rail("linc = 1"), "network.rail.linc", "unknown key `linc` in [network.rail]"),
        (networks("name = \"rail\"\ntopology = \"tree:4\""), "network.rail.topology", "tree"),
        (rail("rail_nodes = 2"), "network.rail.rail_nodes", "by-rail"),
        (
            rail("link = { bandwidth = \"1 Gb/s\", delay = \"1 ns\", up = { delay = \"2 ns\" } }"),
            "network.rail.link.up",
            "up",
        ),
        (rail("endpoints = [3]"), "network.rail.endpoints", "no endpoint 3"),
        (networks("topology = \"single-switch:8\""), "network[1].name", "missing key `name` in [network[1]]"),
        (rail("linc = 1").replace("rail", "inside"), "network[1].linc", "[network[1]]"),
        (rail("linc = 1").replace("rail", "a.b"), "network[1].linc", "[network[1]]"),
        (job(", loadd = 1 }"), "job.b.workload.loadd", "in [job.b.workload]"),
        (job(" }\nstart = \"2 us\"\nend = \"1 us\""), "job.b.end", "`job.b.end` is 1 us"),
    ] {
        let found = load(&text).and_then(|experiment| {
            let point = &experiment.points()[0];
            analyze_point(&experiment, point, &Progress::new()).map(|_| ())
        });
        let error = found.expect_err(&text);
        assert_eq!(error.key, key, "{text}");
        assert!(error.message.contains(says), "{error}");
        let second = text.rfind("[[").unwrap();
        let line = error.position.as_ref().map(|position| position.line);
        assert!(line.is_some_and(|line| line > text[..second].lines().count()), "{error}");
    }
}
