//! Files that include others.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use sim::{Experiment, ExperimentError};
use topology::TopologySpec;

use super::BASE;

/// A folder of files, for one test.
fn folder(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn read(folder: &Path, options: &[(&str, &str)]) -> Result<Experiment, ExperimentError> {
    let options: Vec<_> = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Experiment::read(&folder.join("main.toml"), &options)
}

/// The file, line and message of what is wrong with `main.toml`.
fn fault(folder: &Path, options: &[(&str, &str)]) -> (String, Option<usize>, String) {
    let error = read(folder, options).unwrap_err();
    let file = Path::new(&error.file).file_name().map_or(error.file.clone(), |name| name.to_string_lossy().into());
    (file, error.position.as_ref().map(|at| at.line), error.message.clone())
}

#[test]
fn what_a_file_leaves_out_is_what_it_includes() {
    // Would catch a section that is replaced whole, or an order in which the included file wins.
    let main = "include = \"base.toml\"\n[link]\ndelay = \"40 ns\"\n[router]\nvcs = 2\n";
    let folder = folder("overlay", &[("main.toml", main), ("base.toml", BASE)]);
    let experiment = read(&folder, &[("workload.load", "0.25")]).unwrap();
    let resolved = experiment.resolved(&experiment.points()[0]);
    for line in ["delay = \"40 ns\"", "bandwidth = \"10 Gb/s\"", "buffer = \"4 packets\"", "vcs = 2", "load = 0.25"] {
        assert!(resolved.contains(line), "{line} in {resolved}");
    }
    assert!(!resolved.contains("include ="), "what is resolved stands alone: {resolved}");
    // As one text it is the same experiment, wherever it is read.
    let again = Experiment::load(experiment.text(), "joined", Path::new("/"), &[]).unwrap();
    assert_eq!(again.points()[0].spec, read(&folder, &[]).unwrap().points()[0].spec);
}

#[test]
fn a_file_can_exclude_what_it_includes() {
    // Would catch a key that cannot be taken back, a name that is dropped though nothing has it, and one that comes
    // back.
    let base =
        format!("{BASE}[measure]\nmax_time = \"8 us\"\nseries = \"1 us\"\n[sweep]\n\"workload.load\" = [0.1, 0.2]\n");
    let jobs = "[[job]]\nname = \"a\"\nworkload = { kind = \"traffic\", load = 0.1 }\n[[job]]\nname = \"b\"\n\
                workload = { kind = \"traffic\", load = 0.2 }\n";
    let main = "include = [\"base.toml\", \"jobs.toml\"]\n\
                exclude = [\"measure.max_time\", 'sweep.\"workload.load\"', \"workload\", \"job.a\", \"job.b.workload.load\"]\n\
                [measure]\nseries = \"2 us\"\n";
    let folder = folder("dropped", &[("main.toml", main), ("base.toml", &base), ("jobs.toml", jobs)]);
    let experiment = read(&folder, &[("job.b.workload.load", "0.3")]).unwrap();
    let resolved = experiment.resolved(&experiment.points()[0]);
    assert_eq!(experiment.points().len(), 1);
    assert!(!resolved.contains("max_time") && resolved.contains("series = \"2 us\""), "{resolved}");
    assert!(!resolved.contains("\"a\"") && resolved.contains("load = 0.3"), "{resolved}");
    for (written, expected) in [
        ("[\"measure.precision\"]", "no included file has `measure.precision`"),
        ("[\"a b\"]", "`a b` is not the path of a key, such as measure.max_time"),
        ("\"measure.max_time\"", "`exclude` must be a list of keys' paths, not a string"),
        ("[1]", "`exclude` must be a list of keys' paths, not of 1"),
    ] {
        fs::write(folder.join("main.toml"), format!("include = \"base.toml\"\nexclude = {written}\n")).unwrap();
        assert_eq!(fault(&folder, &[]), ("main.toml".into(), Some(2), expected.into()));
    }
    fs::write(folder.join("main.toml"), format!("exclude = [\"seed\"]\n{BASE}")).unwrap();
    assert_eq!(fault(&folder, &[]), ("main.toml".into(), Some(1), "`exclude` goes with `include`".into()));
    fs::write(folder.join("main.toml"), "include = \"base.toml\"\n").unwrap();
    assert!(read(&folder, &[("exclude", "[]")]).unwrap_err().message.contains("options and sweeps cannot change it"));
}

#[test]
fn later_files_win_and_other_kinds_sweeps_and_lists_are_replaced() {
    let main =
        "include = [\"base.toml\", \"later.toml\"]\n[topology]\nkind = \"torus\"\ndims = [4, 4]\n[sweep]\nseed = [7]\n";
    let base = format!("{BASE}pattern = \"shift\"\n[sweep]\nworkload.load = [0.1, 0.2]\nseed = [1, 2]\n");
    let later = "title = \"later\"\nworkload.pattern.offset = 3\n";
    let folder = folder("replaced", &[("main.toml", main), ("base.toml", &base), ("later.toml", later)]);
    let experiment = read(&folder, &[]).unwrap();
    let [point] = experiment.points() else { panic!("one value of one key is swept") };
    assert_eq!((json!(point.keys), point.spec.title.as_str()), (json!([["seed", 7]]), "later"));
    // `k` and `n` of the fat-tree are no keys of a torus.
    assert!(matches!(point.spec.topology.topology, TopologySpec::Torus(_)));
    assert!(experiment.resolved(point).contains("offset = 3"), "a kind by its name takes keys: {experiment:?}");
}

#[test]
fn paths_start_from_the_folder_of_the_file_that_names_them() {
    // Would catch a path of an included file that is sought beside the including one.
    let base = BASE.replace("kind = \"fat-tree\"\nk = 4\nn = 2", "kind = \"file\"\npath = \"ring.edges\"");
    let files = [
        ("main.toml", "include = \"one/mid.toml\""),
        ("one/mid.toml", "include = \"two/base.toml\""),
        ("one/two/base.toml", &*base),
    ];
    let folder = folder("folders", &files);
    let experiment = read(&folder, &[]).unwrap();
    let TopologySpec::File(spec) = &experiment.points()[0].spec.topology.topology else { panic!("a file") };
    assert_eq!(spec.path.to_str(), Some("one/two/ring.edges"));
    let sweep = "[sweep]\n\"topology.path\" = [\"a.edges\", \"/b.edges\"]\n\"workload.pattern\" = [\"uniform\"]\n";
    fs::write(folder.join("one/two/base.toml"), format!("{base}{sweep}")).unwrap();
    let swept = read(&folder, &[]).unwrap();
    let paths: Vec<_> = swept.points().iter().map(|point| point.keys[0].1.clone()).collect();
    assert_eq!(json!(paths), json!(["one/two/a.edges", "/b.edges"]));
    // Short names of files, in a sweep too, and where a file on the way sets another key.
    let short =
        BASE.replace("[topology]\nkind = \"fat-tree\"\nk = 4\nn = 2\n", "topology = \"file:a.edges,recognise=grid\"\n");
    for (mid, sweep, expected) in [
        ("", "", "one/two/a.edges"),
        ("topology.planes = 2\n", "", "one/two/a.edges"),
        ("", "[sweep]\ntopology = [\"file:b.edges,recognise=grid\"]\n", "one/two/b.edges"),
    ] {
        fs::write(folder.join("one/mid.toml"), format!("include = \"two/base.toml\"\n{mid}")).unwrap();
        fs::write(folder.join("one/two/base.toml"), format!("{short}{sweep}")).unwrap();
        let experiment = read(&folder, &[]).unwrap();
        let TopologySpec::File(spec) = &experiment.points()[0].spec.topology.topology else { panic!("a file") };
        assert_eq!(spec.path.to_str(), Some(expected), "{mid}{sweep}");
        assert!(spec.recognise.is_some());
    }
}

#[test]
fn a_mistake_is_shown_in_the_file_in_which_it_stands() {
    let wrong = BASE.replace("load = 0.5", "laod = 0.5");
    let main = "title = \"x\"\ninclude = \"base.toml\"\n";
    let folder = folder("mistakes", &[("main.toml", main), ("base.toml", &wrong)]);
    assert_eq!(
        fault(&folder, &[]),
        ("base.toml".into(), Some(18), "unknown key `laod` in [workload] of kind \"traffic\"".into())
    );
    // An option's place is its own, although there are two files before it.
    fs::write(folder.join("base.toml"), BASE).unwrap();
    assert_eq!(fault(&folder, &[("workload.load", "2")]).0, "--set workload.load=2");
    let experiment = read(&folder, &[]).unwrap();
    assert!(experiment.error_at("topology.k", "no").file.ends_with("base.toml"));
    fs::write(folder.join("base.toml"), "[topology\n").unwrap();
    let (file, line, message) = fault(&folder, &[]);
    assert!(file == "base.toml" && line == Some(1) && message.starts_with("not valid TOML"), "{message}");
}

#[test]
fn what_cannot_be_included_is_refused_at_its_line() {
    let including = |what: &str| format!("# a file\ninclude = {what}\n{BASE}");
    let folder = folder("refused", &[("circle.toml", "include = \"main.toml\""), ("bytes.toml", "x")]);
    fs::write(folder.join("bytes.toml"), b"title = \"\xff\"").unwrap();
    for (what, file, line, message) in [
        ("\"absent.toml\"", "main.toml", 2, "the included file `absent.toml` does not exist"),
        ("\"main.toml\"", "main.toml", 2, "`main.toml` includes itself"),
        ("[\"circle.toml\"]", "circle.toml", 1, "`main.toml` includes itself"),
        ("\"bytes.toml\"", "main.toml", 2, "the included file `bytes.toml` is not a text file: byte 10"),
        ("\".\"", "main.toml", 2, "the included file `.` cannot be read: Is a directory"),
        ("3", "main.toml", 2, "`include` must be the path of a file, or a list of paths, not a whole number"),
        ("[\"\"]", "main.toml", 2, "`include` names no file"),
    ] {
        fs::write(folder.join("main.toml"), including(what)).unwrap();
        let found = fault(&folder, &[]);
        assert!((&*found.0, found.1) == (file, Some(line)) && found.2.starts_with(message), "{what}: {found:?}");
    }
    fs::write(folder.join("main.toml"), BASE).unwrap();
    let (file, _, message) = fault(&folder, &[("include", "circle.toml")]);
    assert!(file.starts_with("--set") && message.starts_with("`include` is read where a file begins"), "{message}");
}

#[test]
fn a_file_may_be_included_by_two_but_not_without_end() {
    let files = [
        ("main.toml", "include = [\"a.toml\", \"b.toml\"]"),
        ("a.toml", "include = \"base.toml\"\nseed = 2"),
        ("b.toml", "include = \"base.toml\""),
        ("base.toml", BASE),
    ];
    let folder = folder("diamond", &files);
    assert_eq!(read(&folder, &[]).unwrap().points()[0].spec.seed, 2);
    let many = format!("include = [{}]", "\"base.toml\", ".repeat(80));
    fs::write(folder.join("main.toml"), many).unwrap();
    assert_eq!(fault(&folder, &[]).2, "more than 64 files are included");
}
