//! Network of an InfraGraph infrastructure (version 3 of its schema), in YAML or JSON.
//!
//! Devices have components, instances are copies of devices, and the edges of the infrastructure join components of
//! instances. An instance whose device, or a device in it, has a component of the kind `xpu`, `nic` or `memory` is a
//! host, any other a switch. Each component of a host that an edge joins to a switch is a node, a slot of the host.
//! The class of a wire is the name of its link. Routers and nodes are numbered by name.
//!
//! Left out, with notes: the inside of devices, instances without an edge, latencies of links. The file cannot say
//! which of several edges of a host's component is used: further edges are left out. Errors: an edge between two hosts,
//! which do not forward packets, and the scheme `ring`, which InfraGraph's own service refuses.

mod expand;
mod schema;

use std::collections::{BTreeMap, BTreeSet};

use units::{LocatedError, shortened};

use self::expand::{Endpoint, Expander};
use self::schema::{Choice, Component, Device, Infrastructure, Link, Rate, Scheme};
use super::Wiring;
use super::slurm_yaml::check_depth;
use super::wiring::{Node, natural};

/// Largest number of edges between endpoints.
const MAX_EDGES: usize = 1 << 20;
/// Largest depth of devices in devices.
const MAX_DEVICES: u32 = 32;

/// Returns whether a text seems to be of this format.
pub(crate) fn recognize(text: &str) -> bool {
    let has = |key: &str| {
        text.lines().any(|line| {
            let line = line.trim_start_matches(['{', ' ', '\t', ',', '-']);
            let (word, rest) = line.split_once(':').unwrap_or((line, ""));
            word.trim_matches('"') == key && !rest.trim_start().starts_with('"')
        }) || text.trim_start().starts_with('{') && text.contains(&format!("\"{key}\":"))
    };
    !text.trim_start().starts_with('<') && has("devices") && (has("instances") || text.contains("components"))
}

/// Reads an infrastructure.
///
/// # Errors
/// If the text is not of the schema, if a name is unknown or given twice, and if edges do not form a network.
pub(crate) fn read(text: &str) -> Result<Wiring, LocatedError> {
    check_depth(text)?;
    let found: Infrastructure = serde_yaml_ng::from_str(text).map_err(|error| {
        let line = error.location().map(|place| place.line() as u64);
        LocatedError { line, ..LocatedError::new(format!("it is no InfraGraph infrastructure: {error}")) }
    })?;
    let mut network = Network::new(&found, text)?;
    network.edges(&found)?;
    network.finish(&found)
}

/// Pair of endpoints, the smaller one first.
type Pair<'a> = (Endpoint<'a>, Endpoint<'a>);

struct Network<'a> {
    text: &'a str,
    expander: Expander<'a>,
    links: BTreeMap<&'a str, &'a Link>,
    /// Instances that are hosts.
    hosts: BTreeSet<&'a str>,
    /// Link and number of the edge of each pair of endpoints.
    pairs: BTreeMap<Pair<'a>, (&'a Link, usize)>,
}

/// Indexes objects by name.
fn named<'a, T>(
    objects: &'a [T],
    kind: &str,
    name: fn(&'a T) -> &'a str,
) -> Result<BTreeMap<&'a str, &'a T>, LocatedError> {
    let mut all = BTreeMap::new();
    for object in objects {
        if all.insert(name(object), object).is_some() {
            return Err(LocatedError::new(format!("the {kind} `{}` is there twice", shortened(name(object)))));
        }
    }
    Ok(all)
}

impl<'a> Network<'a> {
    fn new(found: &'a Infrastructure, text: &'a str) -> Result<Self, LocatedError> {
        let devices = named(&found.devices, "device", |device| &device.name)?;
        for device in &found.devices {
            named(&device.components, "component", |component| &component.name)?;
            named(&device.links, "link", |link| &link.name)?;
        }
        let instances = named(&found.instances, "instance", |instance| &instance.name)?;
        let links = named(&found.links, "link", |link| &link.name)?;
        let (mut hosts, mut known) = (BTreeSet::new(), BTreeMap::new());
        for instance in &found.instances {
            let Some(device) = devices.get(&*instance.device) else {
                let message =
                    format!("the instance `{}` is of the unknown device `{}`", instance.name, instance.device);
                return Err(LocatedError { line: line_of(text, &instance.device), ..LocatedError::new(message) });
            };
            if is_host(&devices, &mut known, (device, 0))? {
                hosts.insert(&*instance.name);
            }
        }
        Ok(Self { text, expander: Expander { devices, instances }, links, hosts, pairs: BTreeMap::new() })
    }

    /// Expands the edges of the infrastructure.
    fn edges(&mut self, found: &'a Infrastructure) -> Result<(), LocatedError> {
        for (number, edge) in found.edges.iter().enumerate() {
            let ends = [&edge.ep1, &edge.ep2];
            let text = self.text;
            let at = |problem: String| {
                let line = line_of(text, &edge.ep2.instance).or_else(|| line_of(text, &edge.ep1.instance));
                let name = ends.map(|end| format!("`{}` `{}`", shortened(&end.instance), shortened(&end.component)));
                let message = format!("edge {} ({} to {}): {problem}", number + 1, name[0], name[1]);
                LocatedError { line, ..LocatedError::new(message) }
            };
            let Some(&link) = self.links.get(&*edge.link) else {
                return Err(at(format!("the link `{}` is not in `links`", shortened(&edge.link))));
            };
            let [ones, others] = ends.map(|end| self.expander.expand(&end.instance, &end.component));
            let (ones, others) = (ones.map_err(at)?, others.map_err(at)?);
            let pairs: Vec<Pair<'a>> = match edge.scheme {
                Some(Scheme::OneToOne) if ones.len() != others.len() => {
                    let message = format!("`one2one` of {} and {} endpoints", ones.len(), others.len());
                    return Err(at(message));
                }
                Some(Scheme::OneToOne) => ones.into_iter().zip(others).collect(),
                Some(Scheme::ManyToMany) if ones.len().saturating_mul(others.len()) > MAX_EDGES => {
                    return Err(at(format!("more than {MAX_EDGES} edges")));
                }
                Some(Scheme::ManyToMany) => {
                    ones.iter().flat_map(|one| others.iter().map(|other| (one.clone(), other.clone()))).collect()
                }
                Some(Scheme::Ring) => return Err(at("the scheme `ring` is not supported".to_owned())),
                None => return Err(at("it has no `scheme`: `one2one` or `many2many`".to_owned())),
            };
            for (one, other) in pairs {
                self.pair(if one < other { (one, other) } else { (other, one) }, (link, number)).map_err(at)?;
            }
        }
        Ok(())
    }

    fn pair(&mut self, pair: Pair<'a>, (link, number): (&'a Link, usize)) -> Result<(), String> {
        // Both orders of `many2many` between equal sets are one wire.
        if pair.0 == pair.1 || self.pairs.get(&pair).is_some_and(|&(_, other)| other == number) {
            return Ok(());
        }
        if self.hosts.contains(pair.0.instance) && self.hosts.contains(pair.1.instance) {
            return Err(format!("{} and {} are both of hosts, which do not forward packets", pair.0, pair.1));
        }
        if let Some((_, other)) = self.pairs.get(&pair) {
            return Err(format!("{} and {} are joined already, by edge {}", pair.0, pair.1, other + 1));
        }
        if self.pairs.len() >= MAX_EDGES {
            return Err(format!("more than {MAX_EDGES} edges"));
        }
        self.pairs.insert(pair, (link, number));
        Ok(())
    }

    fn finish(self, found: &Infrastructure) -> Result<Wiring, LocatedError> {
        let mut wiring = Wiring::default();
        let is_host = |end: &Endpoint<'_>| self.hosts.contains(end.instance);
        let ends = || self.pairs.keys().flat_map(|(one, other)| [one, other]);
        let mut switches: Vec<String> =
            ends().filter(|end| !is_host(end)).map(Endpoint::device).collect::<BTreeSet<_>>().into_iter().collect();
        switches.sort_by_cached_key(|name| natural(name));
        switches.iter().for_each(|name| _ = wiring.router(name));
        let (mut ports, mut nodes) = (BTreeMap::new(), BTreeMap::new());
        let (mut further, mut loops, mut classes) = (0, 0, BTreeMap::new());
        for ((one, other), &(link, _)) in &self.pairs {
            for end in [one, other].into_iter().filter(|end| end.is_port && !is_host(end)) {
                if ports.insert(end, ()).is_some() {
                    return Err(LocatedError::new(format!("the port {end} has two wires")));
                }
            }
            let (host, switch) =
                if is_host(one) { (Some(one), other) } else { (Some(other).filter(|end| is_host(end)), one) };
            let Some(router) = wiring.known(&switch.device()) else { continue };
            match host {
                Some(host) if nodes.insert(host, router).is_some() => further += 1,
                Some(_) => {}
                None if one.device() == other.device() => loops += 1,
                None => {
                    let Some(far) = wiring.known(&other.device()) else { continue };
                    wiring.wires.push((router, far, class(link, &mut classes)?));
                }
            }
        }
        self.add_nodes(&mut wiring, &nodes);
        let of_hosts = nodes.keys().map(|end| end.device()).collect::<BTreeSet<_>>().len();
        let all: u64 = found.instances.iter().map(|instance| u64::from(instance.count)).sum();
        let notes = &mut wiring.notes;
        let inner: u64 = found.devices.iter().map(|device| device.edges.len() as u64).sum();
        notes.count(inner, ["edge within devices", "edges within devices"], ["is", "are"], "left out");
        let alone = all.saturating_sub((switches.len() + of_hosts) as u64);
        notes.count(alone, ["instance without an edge", "instances without an edge"], ["is", "are"], "left out");
        let rest = "left out: a component of a host is a node on one switch";
        notes.count(
            further,
            ["further edge of a host's component", "further edges of hosts' components"],
            ["is", "are"],
            rest,
        );
        notes.count(
            loops,
            ["edge of a switch to itself", "edges of switches to themselves"],
            ["is", "are"],
            "left out",
        );
        wiring.bytes_per_s = self.rates(&mut wiring)?;
        Ok(wiring)
    }

    fn add_nodes(&self, wiring: &mut Wiring, nodes: &BTreeMap<&Endpoint<'a>, u32>) {
        let node = |(end, &router): (&&Endpoint<'a>, &u32)| Node {
            router,
            name: end.to_string(),
            host: Some(end.device()),
            slot: 0,
        };
        wiring.nodes = nodes.iter().map(node).collect();
        wiring.nodes.sort_by_cached_key(|node| natural(&node.name));
        let mut slots: BTreeMap<String, u32> = BTreeMap::new();
        for node in &mut wiring.nodes {
            let next = slots.entry(node.host.clone().unwrap_or_default()).or_default();
            node.slot = *next;
            *next += 1;
        }
    }

    /// Adds notes about the rates of links. Returns the bandwidth of most wires, in bytes per second.
    fn rates(&self, wiring: &mut Wiring) -> Result<Option<f64>, LocatedError> {
        let mut uses: BTreeMap<&str, u64> = BTreeMap::new();
        self.pairs.values().for_each(|(link, _)| *uses.entry(&link.name).or_default() += 1);
        let mut rates: BTreeMap<u64, u64> = BTreeMap::new();
        for (name, &wires) in &uses {
            let physical = self.links[name].physical.as_ref();
            let about = match physical.and_then(|own| own.bandwidth.as_ref()).map(|own| own.rate()).transpose() {
                Err(problem) => return Err(LocatedError::new(format!("the link `{name}`: {problem}"))),
                Ok(None) => "without a bandwidth".to_owned(),
                Ok(Some(Rate::Transfers(rate))) => format!("of {rate} GT/s, which is no bandwidth"),
                Ok(Some(Rate::Gigabits(rate))) => {
                    *rates.entry((rate * 1e3).round() as u64).or_default() += wires;
                    format!("of {rate} Gb/s")
                }
            };
            let rest = format!("of the link `{name}`, {about}");
            wiring.notes.count(wires, ["wire", "wires"], ["is", "are"], &rest);
        }
        let latencies = found_latencies(&self.links);
        wiring.notes.count(latencies, ["latency of a link", "latencies of links"], ["is", "are"], "left out");
        Ok(rates.into_iter().max_by_key(|&(rate, wires)| (wires, rate)).map(|(rate, _)| rate as f64 * 1e6 / 8.0))
    }
}

fn found_latencies(links: &BTreeMap<&str, &Link>) -> u64 {
    let has = |link: &&&Link| link.physical.as_ref().is_some_and(|own| own.latency.is_some());
    links.values().filter(has).count() as u64
}

/// Returns the class of the wires of a link: its name as a word.
fn class<'a>(link: &'a Link, classes: &mut BTreeMap<String, &'a str>) -> Result<String, LocatedError> {
    let word: String = link
        .name
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' })
        .collect();
    let is_plain = word.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let looks_like_count = word.strip_prefix('x').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    let is_taken = ["injection", "ejection"].contains(&&*word);
    let word = if is_plain && !looks_like_count && !is_taken { word } else { format!("link_{word}") };
    match classes.insert(word.clone(), &link.name) {
        Some(other) if other != link.name => {
            Err(LocatedError::new(format!("the links `{other}` and `{}` have one class, `{word}`", link.name)))
        }
        _ => Ok(word),
    }
}

/// Returns whether a device, or a device in it, has a component that sends packets. `known` holds what has been found.
fn is_host<'a>(
    devices: &BTreeMap<&'a str, &'a Device>,
    known: &mut BTreeMap<&'a str, bool>,
    (device, depth): (&'a Device, u32),
) -> Result<bool, LocatedError> {
    if let Some(&found) = known.get(&*device.name) {
        return Ok(found);
    }
    if depth > MAX_DEVICES {
        let message = format!("the device `{}` contains devices more than {MAX_DEVICES} deep", device.name);
        return Err(LocatedError::new(message));
    }
    let mut found = false;
    for Component { name, choice, .. } in &device.components {
        found |= match choice {
            Choice::Xpu | Choice::Nic | Choice::Memory => true,
            Choice::Device => match devices.get(&**name) {
                Some(inner) => is_host(devices, known, (inner, depth + 1))?,
                None => {
                    let message = format!("the component `{name}` of `{}` is an unknown device", device.name);
                    return Err(LocatedError::new(message));
                }
            },
            Choice::Cpu | Choice::Port | Choice::Switch | Choice::Custom => false,
        };
    }
    known.insert(&device.name, found);
    Ok(found)
}

/// Returns the first line that has a name or an endpoint.
fn line_of(text: &str, name: &str) -> Option<u64> {
    (1..).zip(text.lines()).find(|(_, line)| line.contains(name)).map(|(number, _)| number)
}
