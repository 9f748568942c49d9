//! Refusals of keys that are each valid but do not go together, by the rules beside the keys in the schema.

use serde_json::Value as Json;

use super::error::ConfigError;
use super::language::Language;
use super::locate::find;
use super::rule::{Relation, Rule, Term};
use super::schema::{Shape, TableShape};
use super::tree::Table;

/// Returns the refusals of a point, whose values are `root` in full: with presets, and with defaults that are values.
pub(crate) fn faults<L: Language>(spec: &L::Spec, root: &Json, tree: &Table) -> Vec<ConfigError> {
    let mut checker = Checker::<L> { spec, root, tree, item: None, faults: Vec::new() };
    checker.table(L::shape(), root, "");
    checker.faults
}

struct Checker<'a, L: Language> {
    spec: &'a L::Spec,
    root: &'a Json,
    tree: &'a Table,
    /// Table of a list that the walk is in, with the name of the list.
    item: Option<(&'a str, &'a Json)>,
    faults: Vec<ConfigError>,
}

impl<'a, L: Language> Checker<'a, L> {
    fn table(&mut self, shape: &'a TableShape, table: &'a Json, path: &str) {
        for key in &shape.keys {
            // A rule of a key is about values that differ from its default.
            let Some(value) = table.get(&key.name) else { continue };
            if value.is_null() || Some(value) == key.default.as_ref() {
                continue;
            }
            let path = if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) };
            self.obey(&key.rules, &key.shape, value, &path);
            if let (Shape::List(list), Some(items)) = (&key.shape, value.as_array()) {
                for (index, item) in items.iter().enumerate() {
                    self.item = Some((&key.name, item));
                    self.section(&list.items, item, &format!("{path}[{index}]"));
                }
                self.item = None;
            }
            self.section(&key.shape, value, &path);
        }
    }

    fn section(&mut self, shape: &'a Shape, value: &'a Json, path: &str) {
        match shape {
            Shape::Table(shape) => self.table(shape, value, path),
            Shape::Choice(choice) => {
                let Some(named) = value.get(&choice.tag) else { return };
                let is_named = |name: &str| choice.kinds.iter().find(|kind| kind.name.is(name));
                let Some(kind) = named.as_str().and_then(is_named) else { return };
                // Keys of a refused kind, which may be those of a preset, are not shown.
                if self.obey(&kind.table.rules, &Shape::Text, named, &format!("{path}.{}", choice.tag)) {
                    self.table(&kind.table, value, path);
                }
            }
            Shape::Either(shapes) => shapes.iter().for_each(|shape| self.section(shape, value, path)),
            _ => {}
        }
    }

    /// Checks the rules of the key `path`. Returns whether all are obeyed.
    fn obey(&mut self, rules: &[Rule], shape: &Shape, value: &Json, path: &str) -> bool {
        let messages = rules.iter().filter_map(|rule| Some((rule, self.refusal(rule, (shape, value), path)?)));
        let fault = |(rule, message): (&Rule, String)| {
            let helps = rule.terms.iter().filter(|_| rule.relation == Relation::Requires).map(|term| self.help(term));
            ConfigError::new(find(self.tree, path), path, message).or_help(&helps.collect::<String>())
        };
        let faults: Vec<ConfigError> = messages.map(fault).collect();
        let obeyed = faults.is_empty();
        self.faults.extend(faults);
        obeyed
    }

    /// Returns the message if the key `path` breaks a rule.
    fn refusal(&self, rule: &Rule, own: (&Shape, &Json), path: &str) -> Option<String> {
        if rule.condition.as_ref().is_some_and(|term| !self.holds(term)) {
            return None;
        }
        let holds = || rule.terms.iter().any(|term| self.holds(term));
        match rule.relation {
            Relation::Requires => (!holds()).then(|| format!("`{path}` {rule}")),
            Relation::Excludes => holds().then(|| format!("`{path}` {rule}")),
            relation => {
                let limit = rule.terms.iter().find_map(|term| self.beyond(relation, term, own))?;
                let (word, because) = (relation.word(), rule.because());
                Some(format!("`{path}` is {}; it must be {word} {limit}{because}", plain(own.1)))
            }
        }
    }

    /// Returns the key of a term with its value, if `value` is beyond it.
    fn beyond(&self, relation: Relation, term: &Term, (shape, value): (&Shape, &Json)) -> Option<String> {
        let Term::Key(path) = term else { return None };
        let own = number(shape, value)?;
        let is_beyond = |limit: &&Json| {
            number(shape, limit).is_some_and(|limit| match relation {
                Relation::UpTo => own > limit,
                Relation::Below => own >= limit,
                Relation::Above => own <= limit,
                Relation::Requires | Relation::Excludes => false,
            })
        };
        self.values(path).into_iter().find(is_beyond).map(|limit| format!("`{path}`, {}", plain(limit)))
    }

    fn holds(&self, term: &Term) -> bool {
        match term {
            Term::Key(path) => !self.values(path).is_empty(),
            Term::Value(path, value) => self.values(path).contains(&value),
            Term::Fact(phrase) => {
                L::FACTS.iter().find(|fact| fact.phrase == phrase).is_some_and(|fact| (fact.holds)(self.spec))
            }
        }
    }

    fn help(&self, term: &Term) -> &'static str {
        let Term::Fact(phrase) = term else { return "" };
        L::FACTS.iter().find(|fact| fact.phrase == phrase).map_or("", |fact| fact.help)
    }

    /// Returns the values of a key. In a table of a list, keys of the list and of sections that the table has too are
    /// those of this table. Outside of lists, a section is that of the file and of all tables of lists.
    fn values(&self, path: &str) -> Vec<&'a Json> {
        let at = |table: &'a Json, path: &str| {
            path.split('.').try_fold(table, |value, key| value.get(key)).filter(|value| !value.is_null())
        };
        let (section, below) = path.split_once('.').unwrap_or((path, ""));
        match self.item {
            Some((list, item)) if list == section => at(item, below).into_iter().collect(),
            Some((_, item)) if item.get(section).is_some() => at(item, path).into_iter().collect(),
            Some(_) => at(self.root, path).into_iter().collect(),
            None => {
                let lists = self.root.as_object().into_iter().flat_map(|root| root.values()).filter_map(Json::as_array);
                std::iter::once(self.root).chain(lists.flatten()).filter_map(|table| at(table, path)).collect()
            }
        }
    }
}

/// Returns a value as a number; `None` for words and tables.
fn number(shape: &Shape, value: &Json) -> Option<i128> {
    match shape {
        Shape::Quantity(quantity) => (quantity.parse)(value.as_str()?).ok().map(i128::from),
        Shape::Integer(_) => value.as_i64().map(i128::from),
        Shape::Either(shapes) => shapes.iter().find_map(|shape| number(shape, value)),
        _ => None,
    }
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
