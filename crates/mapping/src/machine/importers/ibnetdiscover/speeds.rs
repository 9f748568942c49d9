//! Data rates of wires, as reported by their ends.

use std::collections::BTreeMap;

use units::{Notes, counted};

/// Counts of a fabric's wires by speed.
#[derive(Default)]
pub(super) struct Speeds {
    /// Wires between switches, by their speed.
    between: BTreeMap<String, u64>,
    /// All wires, by their rate in Mb/s.
    rates: BTreeMap<u64, u64>,
    /// Wires between switches without a speed.
    unknown: u64,
    /// Wires whose ends report different speeds.
    differing: u64,
}

/// Wire as its ends list it.
#[derive(Clone, Copy)]
pub(super) struct ListedWire<'a> {
    /// Speeds that its ends report.
    pub ends: [Option<&'a str>; 2],
    /// Whether both ends list the wire.
    pub both: bool,
    /// Whether both ends are switches.
    pub switches: bool,
}

impl Speeds {
    /// Counts a wire by the speed that its ends report: the slower of two.
    pub fn count(&mut self, ListedWire { ends: [one, other], both, switches }: ListedWire<'_>) {
        self.differing += u64::from(both && one != other && one.is_some() && other.is_some());
        let known = one.into_iter().chain(other);
        let slowest = known.min_by(|one, other| rate(one).total_cmp(&rate(other)));
        if let Some(rate) = slowest.and_then(bandwidth) {
            *self.rates.entry((rate * 1e3).round() as u64).or_insert(0) += 1;
        }
        match slowest.filter(|_| switches) {
            Some(speed) => *self.between.entry(speed.to_owned()).or_insert(0) += 1,
            None => self.unknown += u64::from(switches),
        }
    }

    /// Adds notes about the speeds. Returns the bandwidth of most wires, in bytes per second.
    pub fn describe(&self, notes: &mut Notes) -> Option<f64> {
        const WIRES: [&str; 2] = ["wire between switches", "wires between switches"];
        for (speed, &wires) in &self.between {
            let known = bandwidth(speed).map_or_else(String::new, |rate| format!(" ({rate} Gb/s)"));
            notes.count(wires, WIRES, ["is", "are"], &format!("{speed}{known}"));
        }
        notes.count(self.unknown, WIRES, ["is", "are"], "listed without a speed");
        let things = ["wire whose ends report different speeds", "wires whose ends report different speeds"];
        notes.count(self.differing, things, ["has", "have"], "the slower one of them");
        let (&rate, &most) = self.rates.iter().max_by_key(|&(rate, wires)| (wires, rate))?;
        let gigabits = rate as f64 / 1e3;
        let others: u64 = self.rates.values().sum::<u64>() - most;
        let whose = match others {
            0 => "that of all wires".to_owned(),
            _ => format!("that of most wires ({})", counted(others, ["other differs", "others differ"])),
        };
        notes.add(format!("every channel has {gigabits} Gb/s in simulations of a mapping, {whose}"));
        Some(gigabits * 1e9 / 8.0)
    }
}

fn rate(speed: &str) -> f64 {
    bandwidth(speed).unwrap_or(f64::INFINITY)
}

/// Returns the data rate of a width and speed such as `4xNDR`, in Gb/s, after the line code.
fn bandwidth(speed: &str) -> Option<f64> {
    let (width, kind) = speed.split_once('x')?;
    let lane = match kind {
        "SDR" => 2.0,
        "DDR" => 4.0,
        "QDR" => 8.0,
        "FDR10" => 10.0,
        "FDR" => 13.64,
        "EDR" => 25.0,
        "HDR" => 50.0,
        "NDR" => 100.0,
        "XDR" => 200.0,
        _ => return None,
    };
    Some(f64::from(width.parse::<u8>().ok()?) * lane)
}
