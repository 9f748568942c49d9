//! Forms of a pattern in the experiment file, and the error for each mistake.

use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use traffic::{PatternSpec, list};

#[derive(Debug, Deserialize)]
struct File {
    pattern: PatternSpec,
}

fn read(value: &str) -> Result<PatternSpec, String> {
    toml::from_str::<File>(&format!("pattern = {value}")).map(|file| file.pattern).map_err(|error| error.to_string())
}

#[test]
fn a_name_and_a_table_of_the_kind_alone_mean_the_same() {
    // Would catch a pattern whose defaults depend on how it is written, and a name that only one form accepts.
    for name in list().into_iter().map(|entry| entry.name) {
        let (bare, table) = (read(&format!("\"{name}\"")), read(&format!("{{ kind = \"{name}\" }}")));
        match (bare, table) {
            (Ok(bare), Ok(table)) => {
                assert_eq!(bare, table);
                assert_eq!(bare.kind(), name);
            }
            (Err(bare), Err(table)) => {
                assert!(bare.contains("missing field") && table.contains("missing field"), "{bare} {table}");
            }
            (bare, table) => panic!("{name}: {bare:?} {table:?}"),
        }
    }
}

#[test]
fn keys_are_read() {
    // Would catch a key that is parsed but lost.
    let cases = [
        ("{ kind = \"shift\", offset = -5 }", json!({ "kind": "shift", "offset": -5 })),
        ("{ kind = \"uniform\", include_self = true }", json!({ "kind": "uniform", "include_self": true })),
        ("{ kind = \"hotspot\", nodes = [3, 1] }", json!({ "kind": "hotspot", "nodes": [3, 1], "fraction": 0.2 })),
        ("\"neighbour\"", json!({ "kind": "neighbor" })),
    ];
    for (text, expected) in cases {
        assert_eq!(serde_json::to_value(read(text).unwrap()).unwrap(), expected, "{text}");
    }
}

#[test]
fn what_is_written_reads_back() {
    // Would catch a Serialize that the file's reader refuses: the resolved experiment is written with the results.
    for text in
        ["\"uniform\"", "\"tornado\"", "{ kind = \"shift\", offset = 5 }", "{ kind = \"matrix\", path = \"m.csv\" }"]
    {
        let spec = read(text).unwrap();
        let written = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<PatternSpec>(&written).unwrap(), spec);
    }
}

#[test]
fn mistakes_are_named() {
    // Would catch a key that is silently ignored, and an error that does not name the allowed values.
    let cases = [
        ("\"uniforn\"", "unknown variant `uniforn`, expected one of `uniform`"),
        ("{ kind = \"transpose\", offset = 1 }", "unknown field `offset`"),
        ("{ kind = \"uniform\", self = true }", "unknown field `self`, expected `include_self`"),
        ("{ offset = 1 }", "missing field `kind`"),
        ("\"hotspot\"", "missing field `nodes`"),
        ("{ kind = \"shift\", offset = 1.5 }", "expected i64"),
        ("7", "a pattern: a name such as"),
        ("[\"uniform\"]", "a pattern: a name such as"),
    ];
    for (text, expected) in cases {
        let error = read(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn the_schema_knows_every_name_and_table() {
    // Would catch a schema (hence an editor's completion, and the documentation) that lags behind the reader.
    let schema = serde_json::to_value(schemars::schema_for!(PatternSpec)).unwrap();
    let variants = schema["oneOf"].as_array().unwrap();
    let bare: Vec<&str> = variants[0]["enum"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let names: Vec<String> = list().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), variants.len() - 1);
    for name in &names {
        let readable = read(&format!("\"{name}\"")).is_ok();
        assert_eq!(bare.contains(&name.as_str()), readable, "{name}");
    }
    assert_eq!(variants[0]["type"], "string");
    assert!(list().iter().all(|entry| entry.summary.ends_with('.') && !entry.summary.contains('\n')), "{:?}", list());
}

#[test]
fn a_path_starts_from_the_experiments_folder() {
    // Would catch a path taken from the working directory.
    let spec = read("{ kind = \"matrix\", path = \"absent.csv\" }").unwrap();
    let PatternSpec::Matrix(matrix) = &spec else { panic!("{spec:?}") };
    let error = traffic::patterns::matrix::Matrix::read(matrix, 4, Path::new("/no/such/folder")).unwrap_err();
    assert!(error.message.starts_with("/no/such/folder/absent.csv: does not exist"), "{error}");
    assert_eq!(error.key, "path");
}
