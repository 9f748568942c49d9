//! Interconnect of a Cray XC, as dumped by its system: a line for each port of each Aries router,
//!
//! ```text
//! c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)
//! c0-0c0s0a0l04(0:0:0) blue -> unused
//! c0-0c0s0a0l50(0:0:0) ptile -> processor
//! ```
//!
//! The coordinates are group, chassis and slot. Green wires join the routers of a chassis, black wires the routers of
//! equal slots in a group, blue wires join groups; the colours become the classes of channels. Every wire is listed
//! from both ends. A node has two of the tiles that lead to processors; if none are listed, four nodes on each router
//! are assumed, as on an XC blade.

use std::collections::BTreeMap;

use units::LocatedError;

use super::Wiring;

/// Number of nodes on an Aries router without listed processor tiles.
const NODES: u32 = 4;
/// Number of processor tiles of a node.
const TILES: u32 = 2;

/// Number of tiles of an Aries router that dumps list.
const LISTED: u64 = 48;

/// End of a wire: the router and the name of its port.
type Port<'a> = (&'a str, &'a str);

/// Line of a dump: the port, its router's coordinates, the colour, and the port at the other end, if any.
struct Line<'a> {
    from: Port<'a>,
    at: [u32; 3],
    colour: &'a str,
    to: Option<Port<'a>>,
}

/// Returns whether a text seems to be such a dump.
pub(crate) fn recognize(text: &str) -> bool {
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| parse(line.trim()).is_some())
}

/// Reads a dump.
///
/// # Errors
/// If a line has another form, or a wire is not listed from both of its ends.
pub(crate) fn read(text: &str) -> Result<Wiring, LocatedError> {
    let mut wires: BTreeMap<(Port<'_>, Port<'_>), (u64, &str)> = BTreeMap::new();
    let mut routers: BTreeMap<[u32; 3], &str> = BTreeMap::new();
    let mut tiles: BTreeMap<&str, u32> = BTreeMap::new();
    let mut ports: BTreeMap<Port<'_>, u64> = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let Some(Line { from, at, colour, to }) = parse(line) else {
            let message = "expected a port such as `c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)`";
            return Err(LocatedError::at(number, message));
        };
        if let Some(before) = routers.insert(at, from.0).filter(|&before| before != from.0) {
            let message = format!("{} and {before} have the same coordinates", from.0);
            return Err(LocatedError::at(number, message));
        }
        if let Some(before) = ports.insert(from, number) {
            let message = format!("the port {}{} is listed already, in line {before}", from.0, from.1);
            return Err(LocatedError::at(number, message));
        }
        if colour == "ptile" {
            *tiles.entry(from.0).or_insert(0) += 1;
        } else if let Some(to) = to {
            wires.insert((from, to), (number, colour));
        }
    }
    if let Some((router, tiles)) = tiles.iter().find(|(_, tiles)| *tiles % TILES > 0) {
        let message = format!("the router {router} has {tiles} processor tiles; a node has {TILES}");
        return Err(LocatedError::new(message));
    }
    build(&wires, &routers, (&tiles, &ports))
}

/// Returns the number of tiles without a line, in dumps that list all tiles of some router.
fn unlisted(ports: &BTreeMap<Port<'_>, u64>, routers: &BTreeMap<[u32; 3], &str>) -> u64 {
    let mut listed: BTreeMap<&str, u64> = BTreeMap::new();
    ports.keys().for_each(|port| *listed.entry(port.0).or_insert(0) += 1);
    match listed.values().any(|&listed| listed == LISTED) {
        true => (LISTED * routers.len() as u64).saturating_sub(ports.len() as u64),
        false => 0,
    }
}

fn build(
    wires: &BTreeMap<(Port<'_>, Port<'_>), (u64, &str)>,
    routers: &BTreeMap<[u32; 3], &str>,
    (tiles, ports): (&BTreeMap<&str, u32>, &BTreeMap<Port<'_>, u64>),
) -> Result<Wiring, LocatedError> {
    let mut wiring = Wiring::default();
    // Ends of cables that lead from a router to itself.
    let mut loops = 0;
    for &name in routers.values() {
        let router = wiring.router(name);
        // A blade is named without its router: c0-0c0s0a0 has the nodes c0-0c0s0n0 to n3.
        let blade = name.rsplit_once('a').map_or(name, |(blade, _)| blade);
        let nodes = if tiles.is_empty() { NODES } else { tiles.get(name).map_or(0, |tiles| tiles / TILES) };
        (0..nodes).for_each(|node| wiring.host(router, format!("{blade}n{node}")));
    }
    for (&(from, to), &(line, colour)) in wires {
        match wires.get(&(to, from)) {
            None => {
                let message = format!("the wire to {}{} is not listed from there", to.0, to.1);
                return Err(LocatedError::at(line, message));
            }
            Some((other, of_other)) if *of_other != colour => {
                let message = format!("the wire is {colour} here and {of_other} from its other end, in line {other}");
                return Err(LocatedError::at(line, message));
            }
            Some(_) => {}
        }
        let (Some(one), Some(other)) = (wiring.known(from.0), wiring.known(to.0)) else {
            return Err(LocatedError::at(line, format!("the router {} has no ports of its own", to.0)));
        };
        if one == other {
            loops += 1;
        } else if from < to {
            wiring.wires.push((one, other, colour.to_owned()));
        }
    }
    if tiles.is_empty() {
        wiring.notes.add(format!("{NODES} nodes on each router are assumed"));
    }
    let things = ["cable from a router to itself", "cables from a router to itself"];
    wiring.notes.count(loops / 2, things, ["is", "are"], "left out");
    wiring.notes.count(unlisted(ports, routers), ["tile", "tiles"], ["is", "are"], "not listed, of 48 of each router");
    Ok(wiring)
}

fn parse(line: &str) -> Option<Line<'_>> {
    let mut words = line.split_whitespace();
    let (from, colour, arrow, to) = (words.next()?, words.next()?, words.next()?, words.next()?);
    if arrow != "->" || words.next().is_some() || !matches!(colour, "green" | "black" | "blue" | "ptile") {
        return None;
    }
    let to = if matches!(to, "unused" | "processor") { None } else { Some(port(to)?.0) };
    let (from, at) = port(from)?;
    Some(Line { from, at, colour, to })
}

/// Reads a port such as `c0-0c0s0a0l00(0:0:0)`: its router, its name, and the coordinates.
fn port(text: &str) -> Option<(Port<'_>, [u32; 3])> {
    let (name, at) = text.strip_suffix(')')?.split_once('(')?;
    let (router, port) = name.split_at(name.rfind('l')?);
    let mut numbers = at.split(':').map(str::parse::<u32>);
    let point = [numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?];
    (numbers.next().is_none() && !router.is_empty()).then_some(((router, port), point))
}
