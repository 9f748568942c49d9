//! Set-up that is cancelled.

use std::path::Path;

use sim::{Experiment, PointError, Progress, RunError, RunOptions, check_point, run_point, validate_point};

#[test]
fn a_proof_that_is_cancelled_has_no_verdict_and_is_made_anew() {
    // Would catch a set-up of minutes that only its end cancels, and a proof that is taken for found because it was
    // begun.
    let text = r#"
        topology = { kind = "torus", dims = [4, 4] }
        link = { bandwidth = "10 Gb/s", delay = "20 ns" }
        workload = { kind = "exchange", volume = "1 KiB" }
    "#;
    let experiment = Experiment::load(text, "test.toml", Path::new("."), &[]).unwrap();
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
