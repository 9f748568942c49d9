//! Runs the points of an experiment file: `run_file FILE [KEY=VALUE]...`. Prints the speed of each point, and with the
//! environment variable `FULL` its result as JSON. `THREADS` is the number of threads.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a tool for developers")]

use std::env;
use std::path::Path;

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let [file, settings @ ..] = &args[..] else { return println!("usage: run_file FILE [KEY=VALUE]...") };
    let settings: Vec<(String, String)> = settings
        .iter()
        .filter_map(|text| text.split_once('='))
        .map(|(key, value)| (key.into(), value.into()))
        .collect();
    let threads = env::var("THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let experiment = match sim::Experiment::read(Path::new(file), &settings) {
        Ok(experiment) => experiment,
        Err(error) => return println!("{error}"),
    };
    for point in experiment.points() {
        let options = sim::RunOptions { threads, ..Default::default() };
        let keys: Vec<String> = point.keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
        match sim::run_point(&experiment, point, &options) {
            Ok(result) if env::var("FULL").is_ok() => println!("{}", serde_json::to_string(&result).unwrap()),
            Ok(result) => {
                let rate = result.packet_hops as f64 / result.wall_s / 1e6;
                println!(
                    "{}: {} packet-hops, {:.2} s, {rate:.2} M/s",
                    keys.join(" "),
                    result.packet_hops,
                    result.wall_s
                );
            }
            Err(error) => println!("{}: {error}", keys.join(" ")),
        }
    }
}
