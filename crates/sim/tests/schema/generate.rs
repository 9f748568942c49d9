//! Random experiments over the whole schema: sections, kinds and keys are drawn, what is refused is repaired where the
//! error points.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use crate::shape::{COUNTS, Key, NOT_DRAWN, Shape, THERE, is_not_drawn, path_of};
use crate::values::{Strata, program_file, value_of};

/// A source of random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.bits() % count.max(1) as u64) as usize
    }

    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Whether something of a chance in percent happens.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Draws experiments.
pub struct Generator<'a> {
    pub file: &'a [Key],
    pub random: Random,
    pub strata: Strata,
    /// Factors whose levels are given.
    pub pins: BTreeMap<String, String>,
    /// Levels that a factor may take, where the pins need some.
    pub allowed: BTreeMap<String, BTreeSet<String>>,
    /// Levels that were refused.
    pub banned: BTreeSet<(String, String)>,
}

/// A place in a file: keys, and the numbers of jobs.
type Place = Vec<String>;

impl<'a> Generator<'a> {
    pub fn new(file: &'a [Key], seed: u64, strata: Strata) -> Self {
        Self {
            file,
            random: Random(seed),
            strata,
            pins: BTreeMap::new(),
            allowed: BTreeMap::new(),
            banned: BTreeSet::new(),
        }
    }

    /// A whole file.
    pub fn experiment(&mut self) -> Table {
        let has_jobs = self.is_needed("job") || self.random.chance(20);
        let mut table = Table::new();
        for key in self.file {
            match key.name.as_str() {
                "job" if has_jobs => {
                    let jobs = 2 + self.random.below(2);
                    let jobs: Vec<Value> = (0..jobs).map(|job| self.job(&key.shape, job).into()).collect();
                    table.insert("job".into(), jobs.into());
                }
                "job" => {}
                "workload" | "placement" if has_jobs => {}
                name @ ("workload" | "topology" | "link") => self.add(key, name, true, &mut table),
                name => self.add(key, name, false, &mut table),
            }
        }
        table
    }

    /// A job, whose workload and placement have the paths of those of a file. Only the first is pinned.
    fn job(&mut self, shape: &Shape, number: usize) -> Table {
        let Shape::List(items, ..) = shape else { panic!("jobs are a list") };
        let Shape::Table(keys) = &**items else { panic!("jobs are tables") };
        let pins = (number > 0).then(|| (std::mem::take(&mut self.pins), std::mem::take(&mut self.allowed)));
        let mut table = Table::new();
        table.insert("name".into(), JOBS[number].into());
        for key in keys.iter().filter(|key| key.name != "name") {
            match key.name.as_str() {
                "nodes" if self.random.chance(85) => _ = table.insert("nodes".into(), NODES[number].into()),
                "workload" => self.add(key, "workload", true, &mut table),
                "placement" => self.add(key, "placement", false, &mut table),
                name => self.add(key, &path_of("job", name), false, &mut table),
            }
        }
        if let Some((pins, allowed)) = pins {
            (self.pins, self.allowed) = (pins, allowed);
        }
        table
    }

    /// Whether the pins cannot be without a key.
    fn is_needed(&self, path: &str) -> bool {
        let is_within = |own: &String| own == path || own.starts_with(path) && own[path.len()..].starts_with('.');
        self.pins.keys().chain(self.allowed.keys()).any(is_within)
    }

    fn is_banned(&self, path: &str, level: &str) -> bool {
        self.banned.contains(&(path.to_owned(), level.to_owned()))
    }

    /// Adds a key to its table, or leaves it out.
    fn add(&mut self, key: &Key, path: &str, required: bool, table: &mut Table) {
        let must = required || key.required || self.is_needed(path) || self.strata.has_always(path);
        if NOT_DRAWN.contains(&path) || !must && self.is_banned(path, ANY) {
            return;
        }
        let is_section = matches!(key.shape, Shape::Table(_) | Shape::Choice(..) | Shape::Either(_));
        let is_count = COUNTS.iter().any(|(name, _)| *name == path);
        let chance = if is_section || is_count { self.strata.sections } else { self.strata.keys };
        if !must && !self.random.chance(chance) {
            return;
        }
        if let Some(value) = self.value(&key.shape, path) {
            table.insert(key.name.clone(), value);
        } else {
            assert!(!key.required || path == "workload.program.file", "say in values.rs what `{path}` may be");
        }
    }

    /// A value for a path.
    pub fn value(&mut self, shape: &Shape, path: &str) -> Option<Value> {
        let is_table =
            matches!(shape, Shape::Either(shapes) if shapes.iter().any(|own| matches!(own, Shape::Table(_))));
        let leaf = value_of(path, shape, &self.strata, &mut self.random).filter(|_| !is_table || !self.is_needed(path));
        if let Some(value) = leaf {
            let given = self.pins.get(path).cloned().or_else(|| {
                let allowed: Vec<&String> = self.allowed.get(path)?.iter().filter(|own| *own != ANY).collect();
                (!allowed.is_empty()).then(|| (*self.random.one(&allowed)).clone())
            });
            return Some(given.map_or(value, |text| literal(&text)));
        }
        match shape {
            Shape::Table(keys) => {
                let mut table = Table::new();
                keys.iter().for_each(|key| self.add(key, &path_of(path, &key.name), false, &mut table));
                Some(table.into())
            }
            Shape::Choice(tag, kinds) => {
                let kind = self.kind(kinds, path)?;
                let mut table = Table::from_iter([(tag.clone(), Value::from(kind.0.clone()))]);
                kind.1.iter().for_each(|key| self.add(key, &path_of(path, &key.name), false, &mut table));
                if let Some(file) = program_file(&kind.0).filter(|_| path == "workload.program") {
                    table.insert("file".to_owned(), file.into());
                }
                Some(table.into())
            }
            Shape::Either(shapes) => {
                // What is pinned is in a table.
                let tables: Vec<_> =
                    shapes.iter().filter(|own| matches!(own, Shape::Table(_) | Shape::Choice(..))).collect();
                let drawn = self.random.below(shapes.len());
                let shape = if self.is_needed(path) {
                    tables.first().copied().unwrap_or(&shapes[drawn])
                } else {
                    &shapes[drawn]
                };
                self.value(shape, path)
            }
            Shape::List(items, least, most) => {
                let count = (*least).max(1) + self.random.below(2);
                (0..count.min(*most)).map(|_| self.value(items, path)).collect::<Option<Vec<_>>>().map(Value::from)
            }
            _ => None,
        }
    }

    /// One of several kinds: the pinned one, or one that the pins allow and that was not refused.
    fn kind<'k>(&mut self, kinds: &'k [(String, Vec<Key>)], path: &str) -> Option<&'k (String, Vec<Key>)> {
        let may = |kind: &str| match (self.pins.get(path), self.allowed.get(path)) {
            _ if is_not_drawn(path, kind) => false,
            (Some(pin), _) => pin == kind,
            (None, Some(allowed)) => allowed.contains(kind) || allowed.contains(ANY),
            (None, None) => true,
        };
        let of: Vec<_> = kinds.iter().filter(|(kind, _)| may(kind)).collect();
        let open: Vec<_> = of.iter().copied().filter(|(kind, _)| !self.is_banned(path, kind)).collect();
        match (&open[..], &of[..]) {
            ([], []) => None,
            ([], of) => Some(of[self.random.below(of.len())]),
            (open, _) => Some(open[self.random.below(open.len())]),
        }
    }

    /// Changes an experiment where an error says that something is wrong.
    pub fn repair(&mut self, file: &mut Table, key: &str, message: &str) {
        let mut place = place_of(key);
        if place.len() > 1 && self.random.chance(25) {
            // The kind of a section is at fault as often as its key.
            place.pop();
        }
        // What the message names is at fault as often as what the error is at.
        let named: Vec<Place> = quoted(message).into_iter().flat_map(|word| places_named(file, word)).collect();
        if !named.is_empty() && self.random.chance(40) {
            let other = named[self.random.below(named.len())].clone();
            if self.change(file, &other) {
                return;
            }
        }
        if self.change(file, &place) || named.iter().any(|other| self.change(file, other)) {
            return;
        }
        // Whatever else is not pinned.
        let all = places(file);
        let of_topology: Vec<Place> = all.iter().filter(|own| own[0] == "topology").cloned().collect();
        let all = if self.random.chance(50) && !of_topology.is_empty() { of_topology } else { all };
        for _ in 0..8 {
            let other = all[self.random.below(all.len())].clone();
            if self.change(file, &other) {
                return;
            }
        }
    }

    /// Removes what stands at a place, draws it anew, or adds it; false if it has to stay as it is.
    fn change(&mut self, file: &mut Table, place: &[String]) -> bool {
        let Some((last, parents)) = place.split_last() else { return false };
        let path = path_at(place);
        let Some((shape, required)) = self.shape_at(file, place) else {
            return if parents.is_empty() { false } else { self.change(file, parents) };
        };
        let is_second_job = place.len() > 1 && place[0] == "job" && place[1] != "0";
        let is_pinned = !is_second_job && self.is_needed(&path);
        let must = required || is_pinned || self.strata.has_always(&path) || path == "workload";
        let Some(table) = table_at(file, parents) else { return self.change(file, parents) };
        let is_there = table.contains_key(last);
        if is_there && !must && self.random.chance(70) {
            table.remove(last);
            self.banned.insert((path, ANY.to_owned()));
            return true;
        }
        if is_pinned && matches!(shape, Shape::Table(_)) {
            return false;
        }
        if let (Shape::Choice(tag, _), Some(Value::Table(own))) = (&shape, table.get(last)) {
            if self.pins.contains_key(&path) && !is_second_job {
                return false;
            }
            let kind = own.get(tag).and_then(Value::as_str).unwrap_or_default().to_owned();
            self.banned.insert((path.clone(), kind));
        }
        if is_pinned && self.pins.contains_key(&path) && is_there {
            return false;
        }
        let saved = is_second_job.then(|| (std::mem::take(&mut self.pins), std::mem::take(&mut self.allowed)));
        let value = self.value(&shape, &path);
        if let Some((pins, allowed)) = saved {
            (self.pins, self.allowed) = (pins, allowed);
        }
        let Some(value) = value else { return false };
        let changed = table.get(last) != Some(&value);
        table.insert(last.clone(), value);
        changed
    }

    /// The shape at a place of a file, and whether it is required.
    fn shape_at(&self, file: &Table, place: &[String]) -> Option<(Shape, bool)> {
        let (mut keys, mut table) = (self.file, file);
        let mut rest = place;
        loop {
            let (first, after) = rest.split_first()?;
            let key = keys.iter().find(|key| key.name == *first)?;
            let mut shape = &key.shape;
            rest = after;
            if first == "job" {
                let Shape::List(items, ..) = shape else { return None };
                let (number, after) = rest.split_first()?;
                table = table.get("job")?.as_array()?.get(number.parse::<usize>().ok()?)?.as_table()?;
                shape = items;
                rest = after;
                if rest.is_empty() {
                    return None;
                }
            } else if rest.is_empty() {
                return Some((shape.clone(), key.required));
            } else {
                table = table.get(first)?.as_table()?;
            }
            keys = keys_of(shape, table)?;
        }
    }

    /// The factors of a file and their levels: what kinds, sections and counts it has.
    pub fn features(&self, file: &Table) -> BTreeSet<(String, String)> {
        let mut found = BTreeSet::new();
        features_of(self.file, file, "", &mut found);
        found
    }
}

/// Names of jobs.
pub const JOBS: [&str; 3] = ["first", "second", "third"];

/// Nodes of their own for jobs.
const NODES: [&str; 3] = ["0-1", "2-3", "4-5"];

/// Any level of a factor.
pub const ANY: &str = "*";

/// A value that is written without quotes.
fn literal(text: &str) -> Value {
    let number = text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<bool>().map(Value::from));
    number.unwrap_or_else(|_| text.into())
}

/// The keys of a table of a shape.
fn keys_of<'k>(shape: &'k Shape, table: &Table) -> Option<&'k [Key]> {
    match shape {
        Shape::Table(keys) => Some(keys),
        Shape::Choice(tag, kinds) => {
            let kind = table.get(tag)?.as_str()?;
            kinds.iter().find(|(name, _)| name == kind).map(|(_, keys)| &keys[..])
        }
        Shape::Either(shapes) => shapes.iter().find_map(|shape| keys_of(shape, table)),
        _ => None,
    }
}

fn features_of(keys: &[Key], table: &Table, path: &str, found: &mut BTreeSet<(String, String)>) {
    for key in keys {
        let Some(value) = table.get(&key.name) else { continue };
        let own = match (path, key.name.as_str()) {
            ("job", "workload" | "placement") => key.name.clone(),
            _ => path_of(path, &key.name),
        };
        match value {
            Value::Array(jobs) if own == "job" => {
                found.insert((own.clone(), THERE.to_owned()));
                let Shape::List(items, ..) = &key.shape else { continue };
                for job in jobs.iter().filter_map(Value::as_table) {
                    features_of(keys_of(items, job).unwrap_or_default(), job, "job", found);
                }
            }
            Value::Table(inner) => {
                let level = tag_of(&key.shape, inner).unwrap_or_else(|| THERE.to_owned());
                found.insert((own.clone(), level));
                features_of(keys_of(&key.shape, inner).unwrap_or_default(), inner, &own, found);
            }
            Value::Integer(count) => _ = found.insert((own, count.to_string())),
            Value::Boolean(true) => _ = found.insert((own, "true".to_owned())),
            _ => {}
        }
    }
}

fn tag_of(shape: &Shape, table: &Table) -> Option<String> {
    match shape {
        Shape::Choice(tag, _) => Some(table.get(tag)?.as_str()?.to_owned()),
        Shape::Either(shapes) => shapes.iter().find_map(|shape| tag_of(shape, table)),
        _ => None,
    }
}

/// The place that an error is at: `job.second.workload.load` and `job[1].workload.load` are the same.
fn place_of(key: &str) -> Place {
    let key = key.replace('[', ".").replace([']', '"'], "");
    let mut place: Place = key.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    if place.first().is_some_and(|first| first == "job")
        && let Some(number) = place.get(1).and_then(|name| JOBS.iter().position(|job| job == name))
    {
        place[1] = number.to_string();
    }
    place
}

/// The path of a place: that of a job's workload is the file's.
fn path_at(place: &[String]) -> String {
    let own: Vec<&str> = place.iter().map(String::as_str).collect();
    match own[..] {
        ["job", _, "workload" | "placement", ..] => own[2..].join("."),
        ["job", _, ..] => format!("job.{}", own[2..].join(".")),
        _ => own.join("."),
    }
}

fn table_at<'t>(file: &'t mut Table, place: &[String]) -> Option<&'t mut Table> {
    let Some((first, rest)) = place.split_first() else { return Some(file) };
    match (file.get_mut(first)?, rest) {
        (Value::Table(table), rest) => table_at(table, rest),
        (Value::Array(tables), [step, rest @ ..]) => {
            let is_named = |table: &Value| table.get("name").and_then(Value::as_str) == Some(step);
            let at = step.parse().ok().or_else(|| tables.iter().position(is_named))?;
            table_at(tables.get_mut(at)?.as_table_mut()?, rest)
        }
        _ => None,
    }
}

/// All places of a file that hold a value.
fn places(file: &Table) -> Vec<Place> {
    let mut all = Vec::new();
    add_places(file, &mut Vec::new(), &mut all);
    all
}

fn add_places(table: &Table, place: &mut Place, all: &mut Vec<Place>) {
    for (key, value) in table {
        place.push(key.clone());
        all.push(place.clone());
        match value {
            Value::Table(inner) => add_places(inner, place, all),
            Value::Array(items) => {
                for (number, item) in items.iter().enumerate() {
                    if let Value::Table(inner) = item {
                        place.push(number.to_string());
                        add_places(inner, place, all);
                        place.pop();
                    }
                }
            }
            _ => {}
        }
        place.pop();
    }
}

/// The words in backticks of a message.
fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).map(|word| word.split([' ', '=']).next().unwrap_or(word)).collect()
}

/// The places of a file whose path ends in a name.
fn places_named(file: &Table, name: &str) -> Vec<Place> {
    let name = name.trim_matches(['[', ']']);
    let is_named = |place: &Place| {
        let path = path_at(place);
        path == name || path.ends_with(&format!(".{name}"))
    };
    places(file).into_iter().filter(is_named).collect()
}
