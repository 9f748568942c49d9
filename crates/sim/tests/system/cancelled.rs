//! Set-up that is cancelled.

use std::path::Path;

use sim::{Experiment, PointError, Progress, RunError, RunOptions, check_point, run_point, validate_point};

/// Checks that set-up ends without a verdict if it is cancelled, and that it is made anew and kept afterwards.
fn check_cancelled(topology: &str, workload: &str) {
    let link = r#"link = { bandwidth = "10 Gb/s", delay = "20 ns" }"#;
    let text = format!("topology = {{ {topology} }}\n{link}\nworkload = {{ {workload} }}");
    let experiment = Experiment::load(&text, "test.toml", Path::new("."), &[]).unwrap();
    let (point, cancelled) = (&experiment.points()[0], Progress::new());
    cancelled.cancel();
    let options = RunOptions { progress: cancelled.clone(), ..RunOptions::default() };
    let found = [
        validate_point(&experiment, point, &cancelled).err(),
        check_point(&experiment, point, &cancelled).err(),
        run_point(&experiment, point, &options).err(),
    ];
    for error in found {
        assert!(matches!(error, Some(PointError::Run(RunError::Cancelled))), "{error:?}");
    }
    assert!(validate_point(&experiment, point, &Progress::new()).is_ok());
    // What is known already needs no proof.
    assert!(check_point(&experiment, point, &cancelled).is_ok());
}

#[test]
fn a_proof_that_is_cancelled_has_no_verdict_and_is_made_anew() {
    // Would catch a set-up of minutes that only its end cancels, and a proof that is taken for found because it was
    // begun.
    check_cancelled(r#"kind = "torus", dims = [4, 4]"#, r#"kind = "exchange", volume = "1 KiB""#);
}

#[test]
fn a_search_for_the_worst_permutation_can_be_cancelled() {
    // Would catch a search that goes on after Ctrl-C, and a cancelled run that is blamed on the experiment's file.
    let workload = r#"kind = "traffic", load = 0.1, pattern = "adversarial""#;
    check_cancelled(r#"kind = "slim-fly", q = 3, nodes_per_router = 2"#, workload);
}
