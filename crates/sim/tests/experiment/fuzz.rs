//! Files that nobody would write: no panic, no error without a reason, and nothing that is valid but cannot be read.

use proptest::prelude::*;
use sim::ExperimentError;

use super::{load, load_with};

/// An experiment with something in every section.
const RICH: &str = r#"title = "rich"
seed = 7
topology = { kind = "torus", dims = [4, 4], nodes_per_router = 2 }

[link]
bandwidth = "10 Gb/s"
delay = "20 ns"
injection = { bandwidth = "40 Gb/s", delay = "5 ns" }

[router]
kind = "output-queued"
buffer = "4 packets"
vcs = 4
delay = "90 ns"
credits = "row-minimum"

[routing]
kind = "dimension-order"

[nic]
kind = "ideal"
send_overhead = "1300 ns"

[workload]
kind = "traffic"
pattern = { kind = "hotspot", nodes = [0, 3] }
load = 0.5
injection = "poisson"
packet_size = "256 B"
message_size = "1 KiB"

[placement]
strategy = "contiguous"

[measure]
warm_up = "auto"
confidence = 0.95
max_time = "1 ms"
search = "saturation"

[sweep]
zip = [{ label = ["a", "b"], seed = [7, 8], "link.delay" = ["20 ns", "40 ns"] }]
"workload.load" = { from = 0.1, to = 0.5, step = 0.1 }
"router.delay" = ["1 ns", "2 ns"]
"#;

/// Values to put where others stood.
const VALUES: &[&str] = &[
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "99999999999999999999999999999999999999999999",
    "0x10",
    "1.5",
    "1e308",
    "1e400",
    "-0.0",
    "nan",
    "inf",
    "true",
    "\"\"",
    "\"0 ns\"",
    "\"4 packets\"",
    "\"1 ns\"",
    "\"5000000000 packets\"",
    "\"auto\"",
    "\"uniform\"",
    "\"\\u0000\\u200b\"",
    "'''\nx\n'''",
    "[]",
    "[1, 2]",
    "[[1], \"x\"]",
    "{}",
    "{ kind = \"shift\", offset = 1 }",
    "{ kind = \"input-queued\" }",
    "{ kind = 1 }",
    "{ from = 1, to = 2, step = 1 }",
    "{ from = 1.0, to = 1e15, step = 1e-15 }",
    "{ from = \"1 ns\", to = \"2 ns\", step = \"é ns\" }",
    "1979-05-27T07:32:00Z",
    "07:32:00",
    "",
];

/// What holds for every error: it says something, and its mark stands on its line.
fn check(error: &ExperimentError) -> Result<(), TestCaseError> {
    prop_assert!(!error.message.is_empty());
    let shown = error.to_string();
    prop_assert!(shown.starts_with("error: ") && shown.lines().count() <= 8, "{}", shown);
    if let Some(at) = &error.position {
        prop_assert!(at.line >= 1 && at.column >= 1 && at.width >= 1);
        prop_assert!(at.column + at.width <= at.text.chars().count() + 2, "{}", shown);
    }
    // Only the text as a whole has no key: what the schema takes, the types have to read.
    let whole = ["not valid TOML", "the number ", "nan is not", "inf is not", "1e400 is not", "-nan", "-inf", "+"];
    let no_key = error.file.starts_with("--set") && error.message.contains("is not the path of a key");
    let about_the_whole = no_key || whole.iter().any(|start| error.message.starts_with(start));
    // `""` is a key too, and an unknown one.
    let empty_key = ["unknown key ``", "unknown section []"].iter().any(|start| error.message.starts_with(start));
    prop_assert!(!error.key.is_empty() || about_the_whole || empty_key, "{}", shown);
    Ok(())
}

/// Whatever loads has to survive being written and read again.
fn try_load(text: &str, options: &[(&str, &str)]) -> Result<(), TestCaseError> {
    match load_with(text, options) {
        Err(error) => check(&error),
        Ok(experiment) => {
            let point = &experiment.points()[0];
            let resolved = experiment.resolved(point);
            let again = load(&resolved).map_err(|error| TestCaseError::fail(format!("{error}\n{resolved}")))?;
            prop_assert_eq!(&again.points()[0].spec, &point.spec);
            Ok(())
        }
    }
}

/// The lines with one's value replaced.
fn with_value(line: usize, value: &str) -> String {
    let replaced = |(index, text): (usize, &str)| match text.split_once(" = ") {
        Some((key, _)) if index == line => format!("{key} = {value}\n"),
        _ => format!("{text}\n"),
    };
    RICH.lines().enumerate().map(replaced).collect()
}

#[test]
fn the_rich_experiment_is_right() {
    // A search leaves the loads of the sweep out.
    assert_eq!(load(RICH).unwrap().points().len(), 4);
    assert_eq!(load(&RICH.replace("search = \"saturation\"\n", "")).unwrap().points().len(), 20);
}

#[test]
fn any_value_in_any_place_is_read_or_refused() {
    for line in 0..RICH.lines().count() {
        for value in VALUES {
            let text = with_value(line, value);
            try_load(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_text_is_read_or_refused(
        cuts in prop::collection::vec((0_usize..1200, 0_usize..20, "[\\PC\n\"\\[\\]{}=.#,0-9]{0,6}"), 1..4),
    ) {
        let mut text: Vec<char> = RICH.chars().collect();
        for (start, length, insert) in cuts {
            let start = start.min(text.len());
            let end = (start + length).min(text.len());
            text.splice(start..end, insert.chars());
        }
        try_load(&text.into_iter().collect::<String>(), &[])?;
    }

    #[test]
    fn shuffled_lines_are_read_or_refused(order in prop::collection::vec(0_usize..50, 0..60)) {
        let lines: Vec<&str> = RICH.lines().collect();
        let text: String = order.iter().filter_map(|&line| lines.get(line)).map(|line| format!("{line}\n")).collect();
        try_load(&text, &[])?;
    }

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let result = sim::Experiment::load_bytes(&bytes, "bytes", std::path::Path::new(""), &[]);
        prop_assert!(result.is_err());
    }

    #[test]
    fn any_options_are_taken_or_refused(
        key in "(workload|router|sweep|link|topology|x)?(\\.(load|kind|pattern|delay|up|dims|\"a.b\")){0,3}|\\PC{0,12}",
        value in prop_oneof![prop::sample::select(VALUES).prop_map(str::to_owned), "\\PC{0,12}"],
    ) {
        try_load(RICH, &[(&key, &value), ("seed", "3")])?;
    }
}
