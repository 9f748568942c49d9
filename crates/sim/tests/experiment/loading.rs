//! What a file means: defaults, options that override it, and what is not a file at all.

use std::path::Path;

use sim::{Experiment, MAX_FILE, NicSpec, WarmUp, WorkloadSpec};
use topology::NetworkSpec;
use units::{Bandwidth, Time};

use super::{BASE, changed, error_of, load, load_with};

#[test]
fn what_is_not_written_has_its_default() {
    // The defaults of the contract; would catch one that changes unnoticed.
    let experiment = load(BASE).unwrap();
    let [point] = experiment.points() else { panic!("one point without a sweep") };
    assert_eq!((point.index, point.spec.seed, point.keys.len()), (0, 1, 0));
    let Some(WorkloadSpec::Traffic(traffic)) = &point.spec.workload else { panic!("not traffic") };
    // What follows from the links is not written, but worked out when the system is built.
    assert_eq!((traffic.packet_size, traffic.message_size), (None, None));
    let NicSpec::Ideal(nic) = &point.spec.nic else { panic!("the default") };
    assert_eq!((nic.send_overhead, nic.receive_overhead), (Time(0), Time(0)));
    let measure = &point.spec.measure;
    assert_eq!((measure.warm_up, measure.confidence, measure.precision), (WarmUp::Auto, 0.95, 0.02));
    assert_eq!(point.spec.routing, None);
}

#[test]
fn a_resolved_experiment_loads_to_an_equal_one() {
    // Would catch a default that is written in another way than it is read.
    let rich = changed("[link]", "[link.up]\ndelay = \"1.5 us\"\n\n[link]")
        + "pattern = { kind = \"shift\", offset = 3 }\nmessage_size = \"1 KiB\"\n\n[measure]\nwarm_up = \"3 us\"\n\n"
        + "[routing]\nkind = \"d-mod-k\"\n\n[sweep]\n\"workload.load\" = [0.25, 0.1]\n";
    for text in [BASE, &rich] {
        let experiment = load(text).unwrap();
        for point in experiment.points() {
            let resolved = experiment.resolved(point);
            let again = load(&resolved).unwrap();
            assert_eq!(again.points()[0].spec, point.spec, "{resolved}");
            assert_eq!(again.resolved(&again.points()[0]), resolved);
            assert!(resolved.contains("confidence = 0.95"), "{resolved}");
        }
    }
}

#[test]
fn a_class_of_links_overrides_what_it_names() {
    let experiment = load(&changed("[link]", "[link.up]\ndelay = \"1 us\"\n\n[link]")).unwrap();
    let [point] = experiment.points() else { panic!("one point") };
    assert_eq!(point.spec.link.of_class("up"), (Bandwidth(10_000_000_000), Time(1_000_000)));
    assert_eq!(point.spec.link.of_class("down"), (Bandwidth(10_000_000_000), Time(20_000)));
    let topology = |text: &str| text.parse::<NetworkSpec>().unwrap().build(Path::new(".")).unwrap();
    assert!(experiment.check_classes(point, &*topology("fat-tree:k=4,n=2")).is_ok());
    let error = experiment.check_classes(point, &*topology("torus:4x4")).expect_err("no such class");
    assert_eq!((error.key.as_str(), error.position.as_ref().map(|at| at.line)), ("link.up", Some(8)));
    assert_eq!(error.allowed, ["injection", "ejection", "dim0", "dim1", "bandwidth", "delay"]);
}

#[test]
fn a_class_of_routers_has_to_be_one_of_the_topology() {
    // Would catch a class that no router has, and whose keys nothing reads.
    let topology = |text: &str| text.parse::<NetworkSpec>().unwrap().build(Path::new(".")).unwrap();
    let checked = |router: &str, text: &str| {
        let experiment = load(&changed("[router]", &format!("[router.{router}\n\n[router]"))).unwrap();
        experiment.check_classes(&experiment.points()[0], &*topology(text))
    };
    let spine = "spine]\ndelay = \"1 us\"";
    assert!(
        checked(spine, "fat-tree:k=4,n=2").is_ok()
            && checked(spine, "dragonfly-plus:leaves=2,spines=2,groups=3").is_ok()
    );
    let error = checked("spin]\ndelay = \"1 us\"", "fat-tree:k=4,n=3").expect_err("no such class");
    assert_eq!((error.key.as_str(), error.help.as_deref()), ("router.spin", Some("did you mean `spine`?")));
    assert_eq!(error.allowed, ["leaf", "spine", "core"]);
    let error = checked(spine, "torus:4x4").expect_err("one class");
    assert!(
        error.key == "router.spine" && error.message.contains("the routers of this torus are of one class"),
        "{error}"
    );
    let error = checked("spine]\nbuffer = { dim7 = \"1 packets\" }", "fat-tree:k=4,n=2").expect_err("no such channels");
    assert_eq!(
        (error.key.as_str(), error.allowed.clone()),
        ("router.spine.buffer.dim7", vec!["injection".to_owned(), "up".into(), "down".into()])
    );
    // Keys of a class are checked as those of all routers.
    let error = error_of(&changed("[router]", "[router.spine]\ndelai = \"1 us\"\n\n[router]"));
    assert_eq!((error.key.as_str(), error.help.as_deref()), ("router.spine.delai", Some("did you mean `delay`?")));
    let error = error_of(&changed("[router]", "[router.spine]\nspeedup = 65\n\n[router]"));
    assert_eq!(error.key, "router.spine.speedup");
    let swept = load_with(BASE, &[("router.spine.delay", "1 us")]).unwrap();
    assert_eq!(swept.points()[0].spec.router.of_class("spine").common().delay, Some(Time(1_000_000)));
}

#[test]
fn options_win_over_the_file() {
    // TOML values, bare strings, tables and keys that the file has not.
    let options = [
        ("workload.load", "0.75"),
        ("link.delay", "40 ns"),
        ("topology", "{ kind = \"torus\", dims = [4, 4] }"),
        ("router.buffer", "\"2 packets\""),
        ("title", "another"),
        ("workload.pattern", "shift"),
        ("workload.pattern.offset", "2"),
    ];
    let experiment = load_with(BASE, &options).unwrap();
    let resolved = experiment.resolved(&experiment.points()[0]);
    for line in [
        "load = 0.75",
        "delay = \"40 ns\"",
        "kind = \"torus\"",
        "buffer = \"2 packets\"",
        "title = \"another\"",
        "offset = 2",
    ] {
        assert!(resolved.contains(line), "{line} in {resolved}");
    }
}

#[test]
fn a_section_without_a_kind_is_of_its_default_kind() {
    let text = BASE.replace("[router]\nkind = \"output-queued\"\nbuffer = \"4 packets\"\n", "");
    let experiment = load_with(&text, &[("router.buffer", "2 packets")]).unwrap();
    let whole = load_with(&text, &[("router", "{ kind = \"shared-buffer\", buffer = \"2 packets\" }")]).unwrap();
    assert_eq!(experiment.points(), whole.points());
    // Where there is no default, the keys determine the kind, or it has to be written.
    assert_eq!(load(&changed("kind = \"fat-tree\"\n", "")).unwrap().points(), load(BASE).unwrap().points());
    let several = changed("kind = \"fat-tree\"\nk = 4\nn = 2", "dims = [4, 4]");
    assert_eq!(error_of(&several).key, "topology.kind");
}

#[test]
fn an_option_that_is_no_key_is_refused() {
    for key in ["", ".", "a..b", "a = 1\nb", "x]", "link.", "#", "\"", "workload.load.", "a b"] {
        let error = load_with(BASE, &[(key, "1")]).expect_err(key);
        assert!(error.file.starts_with("--set "), "{error}");
    }
}

#[test]
fn later_errors_find_the_place_of_their_key() {
    let text = format!("{BASE}\n[sweep]\n\"topology.n\" = [1,\n 2]\n");
    let experiment = load(&text).unwrap();
    let line_of = |path: &str| experiment.error_at(path, "no").position.clone().map(|at| at.line);
    assert_eq!(line_of("topology.k"), Some(5));
    assert_eq!(line_of("topology.n"), Some(21));
    // A key that was not written: its section; a section that was not written: the file.
    assert_eq!(line_of("router.vcs"), Some(12));
    assert_eq!(line_of("routing.kind"), None);
    let at_point = |index: usize| {
        let error = experiment.error_in(&experiment.points()[index], "topology.n", "no");
        error.position.as_ref().map(|at| (at.line, at.column))
    };
    assert_eq!((at_point(0), at_point(1)), (Some((21, 17)), Some((22, 2))));
    let torus = load_with(BASE, &[("topology", "{ kind = \"torus\", dims = [4, 4] }")]).unwrap();
    assert_eq!(torus.error_at("topology.dims[1]", "no").file, "--set topology={ kind = \"torus\", dims = [4, 4] }");
}

#[test]
fn keys_that_contradict_each_other_are_refused() {
    let error = error_of(&format!("{BASE}\n[measure]\nmin_time = \"2 us\"\nmax_time = \"1 us\"\n"));
    assert_eq!((error.key.as_str(), error.position.as_ref().map(|at| at.line)), ("measure.min_time", Some(21)));
    let error = error_of(&format!("{BASE}injection = \"backlogged\"\n"));
    assert_eq!(error.key, "workload.load");
}

#[test]
fn what_is_no_experiment_is_refused_with_a_reason() {
    let load_bytes = |bytes: &[u8]| Experiment::load_bytes(bytes, "x.toml", Path::new(""), &[]);
    let message = |bytes: &[u8]| load_bytes(bytes).expect_err("not an experiment").message.clone();
    assert_eq!(message(b""), "missing section [topology]");
    assert_eq!(message(b"title = \"\xff\""), "not a text file: byte 10 is not UTF-8");
    assert!(message(b"\x7fELF\x02\x01\x00\x00").starts_with("not valid TOML"));
    let huge = "#".repeat(MAX_FILE + 1);
    assert_eq!(message(huge.as_bytes()), "the file has 4194305 B; an experiment has at most 4 MiB");
    for deep in ["[", "{a=", "[a.", "a."] {
        assert!(load_bytes(format!("x = {}", deep.repeat(100_000)).as_bytes()).is_err());
        assert!(load_bytes(deep.repeat(100_000).as_bytes()).is_err());
    }
    let many = (0..200_000).map(|key| format!("key{key}=1\n")).collect::<String>();
    assert_eq!(message(many.as_bytes()), "unknown key `key0` at the top level");
    let absent = Experiment::read(Path::new("no/such/file.toml"), &[]).expect_err("absent");
    assert!(absent.message == "the file does not exist", "{absent}");
    assert!(Experiment::read(Path::new("."), &[]).is_err());
}
