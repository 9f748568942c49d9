//! The experiment files that the project ships.

use std::path::{Path, PathBuf};

use sim::Experiment;

fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let (folders, files): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.is_dir());
    let own = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    own.chain(folders.iter().flat_map(|folder| toml_files(folder))).collect()
}

#[test]
fn every_shipped_experiment_loads() {
    // Would catch an example that a renamed key has left behind.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = ["examples", "papers"].map(|folder| toml_files(&root.join(folder))).concat();
    assert!(!files.is_empty());
    for file in files {
        let experiment = Experiment::read(&file, &[]).unwrap_or_else(|error| panic!("{error}"));
        for point in experiment.points() {
            let resolved = experiment.resolved(point);
            let again = Experiment::load(&resolved, "resolved", experiment.base_dir(), &[]).unwrap();
            assert_eq!(again.points()[0].spec, point.spec, "{resolved}");
        }
    }
}
