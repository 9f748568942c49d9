//! Records that a run keeps for later ones.

use std::path::{Path, PathBuf};

use sim::{PointResult, ReuseFiles, RunOptions, run};

use crate::{as_text, build};

/// File in the temporary folder, which goes when this does.
struct Kept(PathBuf);

impl Drop for Kept {
    fn drop(&mut self) {
        // What is left behind in the temporary folder harms nobody.
        let _ = std::fs::remove_file(&self.0);
    }
}

const RING: &str = r#"
    topology = { kind = "fat-tree", k = 4, n = 2 }
    routing = { kind = "d-mod-k" }
    router = { kind = "virtual-output-queued", delay = "50 ns", buffer = "4 packets" }
    link = { bandwidth = "10 Gb/s", delay = "20 ns" }
    workload = { kind = "program", packet_size = "256 B", program = { kind = "collective", operation = "alltoall", algorithm = "linear", size = "600 B" } }
    simulation = { reuse = true }
"#;

/// Returns the result of a run that reads and writes files of records, or its error.
fn ran(text: &str, from: Option<&Path>, to: Option<&Path>) -> Result<PointResult, String> {
    let reuse = ReuseFiles { from: from.map(Path::to_owned), to: to.map(Path::to_owned), simulator: "1 a".to_owned() };
    let options = RunOptions { threads: 1, reuse, ..RunOptions::default() };
    run(&build(text, None)?, &options).map_err(|error| error.to_string())
}

/// Returns a result without what may differ between equal runs.
fn plain(mut point: PointResult) -> String {
    (point.wall_s, point.reuse) = (0.0, None);
    as_text(&point)
}

#[test]
fn kept_records_replace_the_simulation_and_other_files_are_refused() {
    // Would catch a part of a record that is lost, records of another network that are taken, and a damaged file that is
    // trusted.
    let kept = Kept(std::env::temp_dir().join(format!("cutthrough-reuse-{}.records", std::process::id())));
    let path = kept.0.as_path();
    let first = ran(RING, None, Some(path)).unwrap();
    assert_eq!(first.reuse.as_ref().unwrap().gave_up, None);
    let second = ran(RING, Some(path), Some(path)).unwrap();
    let [before, after] = [&first, &second].map(|point| point.reuse.clone().unwrap());
    assert!(before.records > 0 && before.simulated_packet_hops > 0, "{before:?}");
    assert_eq!((after.records, after.simulated_packet_hops, after.replayed_messages), (0, 0, after.messages));
    assert_eq!(plain(first), plain(second));

    let whole = std::fs::read(path).unwrap();
    let refused = |text: &str, bytes: &[u8]| {
        std::fs::write(path, bytes).unwrap();
        ran(text, Some(path), None).map(plain).unwrap_err()
    };
    for (old, new, what) in [
        ("k = 4", "k = 3", "another topology"),
        ("d-mod-k", "up-down", "another routing"),
        ("4 packets", "5 packets", "another router"),
        ("10 Gb/s", "20 Gb/s", "another link"),
        ("256 B", "128 B", "another packet size (256 B instead of 128 B)"),
    ] {
        let error = refused(&RING.replace(old, new), &whole);
        assert!(error.contains(what) && error.contains("the file of records"), "{what}: {error}");
    }
    for length in (0..whole.len()).step_by(13) {
        let error = refused(RING, &whole[..length]);
        assert!(error.contains("cut or garbled") || error.contains("is not a file"), "{length}: {error}");
    }
    for place in (0..whole.len()).step_by(17) {
        let mut garbled = whole.clone();
        garbled[place] ^= 0x10;
        let error = refused(RING, &garbled);
        assert!(error.contains("cut or garbled") || error.contains("is not a file"), "{place}: {error}");
    }
    std::fs::write(path, &whole).unwrap();
    let reuse = ReuseFiles { from: Some(path.to_owned()), to: None, simulator: "1 b".to_owned() };
    let options = RunOptions { threads: 1, reuse, ..RunOptions::default() };
    let error = run(&build(RING, None).unwrap(), &options).unwrap_err().to_string();
    assert!(error.contains("is of Cutthrough 1 a, and this is 1 b"), "{error}");
    assert!(refused(&RING.replace("reuse = true", "reuse = false"), &whole).contains("requires `simulation.reuse"));
    let error = ran(RING, Some(Path::new("/nowhere/records")), None).unwrap_err();
    assert!(error.contains("does not exist"), "{error}");
    let point = ran(RING, None, Some(Path::new("/nowhere/records"))).unwrap();
    assert!(point.notes.iter().any(|note| note.contains("are not kept: /nowhere/records")), "{:?}", point.notes);
}

#[test]
fn records_of_all_phases_are_kept() {
    // Would catch records of a phase that the next phase, or the file, does not have.
    let kept = Kept(std::env::temp_dir().join(format!("cutthrough-phases-{}.records", std::process::id())));
    let program = &RING[RING.find("workload").unwrap()..RING.find("simulation").unwrap()];
    let exchange = r#"workload = { kind = "exchange", packet_size = "256 B", dims = [4, 4], volume = "3000 B" }"#;
    let text = RING.replace(program, &format!("{exchange}\n")) + r#"seed = 3"#;
    let first = ran(&text, None, Some(&kept.0)).unwrap();
    let second = ran(&text, Some(&kept.0), None).unwrap();
    let [before, after] = [&first, &second].map(|point| point.reuse.clone().unwrap());
    assert!(before.records > 1 && before.gave_up.is_none(), "{before:?}");
    assert_eq!((after.records, after.simulated_packet_hops), (0, 0));
    assert_eq!(plain(first), plain(second));
}
