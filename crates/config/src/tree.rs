//! The experiment as written: a tree of values with their places in the text.

use serde_json::{Map, Number, Value as Json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::ConfigError;
use super::place::Place;

/// The keys that select the kind of a section.
const KINDS: [&str; 2] = ["kind", "strategy"];

/// A value, with its place in the text.
#[derive(Clone, Debug)]
pub struct Node {
    /// Place of the value.
    pub place: Place,
    /// The value.
    pub value: Value,
}

/// A value as written.
#[derive(Clone, Debug)]
pub enum Value {
    /// A string.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A finite number.
    Float(f64),
    /// True or false.
    Boolean(bool),
    /// A date or a time of day, which no key accepts.
    Date(String),
    /// A list of values.
    List(Vec<Node>),
    /// A table.
    Table(Table),
}

/// The entries of a table, in the order in which they were written.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The entries.
    pub entries: Vec<Entry>,
}

/// A key of a table, and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name of the key.
    pub key: String,
    /// Place of the key.
    pub key_place: Place,
    /// Value of the key.
    pub node: Node,
}

impl Table {
    /// Returns the entry of a key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Removes and returns the entry of a key.
    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(index))
    }

    /// Removes and returns the value at `path`; `None` if there is none. A step may be the name of a table in a list.
    pub fn take(&mut self, path: &[String]) -> Option<Node> {
        let (key, rest) = path.split_first()?;
        if rest.is_empty() {
            return self.remove(key).map(|entry| entry.node);
        }
        let entry = self.entries.iter_mut().find(|entry| entry.key == *key)?;
        entry.node.take(rest)
    }

    /// Overrides these entries with the entries of another table. Tables are merged, and other values replaced. A table
    /// of another kind replaces the existing one, whose keys belong to the other kind.
    pub fn overlay(&mut self, over: Self) {
        for entry in over.entries {
            match self.entries.iter_mut().find(|own| own.key == entry.key) {
                Some(own) => own.overlay(entry),
                None => self.entries.push(entry),
            }
        }
    }

    /// Adds the entries of `preset` that this table does not have. They get the place of the table's header.
    pub fn complete(&mut self, mut preset: Self, header: Place) {
        preset.entries.iter_mut().for_each(|entry| entry.move_to(header));
        preset.overlay(std::mem::take(self));
        *self = preset;
    }

    /// Adds a table named `name` to the list `section`, unless the list has it. The list is created if it does not exist.
    pub fn add_named(&mut self, section: &str, name: &str, place: Place) {
        if self.get(section).is_none() {
            let list = Node { place, value: Value::List(Vec::new()) };
            self.entries.push(Entry { key: section.to_owned(), key_place: place, node: list });
        }
        let entry = self.entries.iter_mut().find(|entry| entry.key == section && entry.node.index_of(name).is_none());
        if let Some(Value::List(items)) = entry.map(|entry| &mut entry.node.value) {
            let name = Node { place, value: Value::Text(name.to_owned()) };
            let entries = vec![Entry { key: "name".into(), key_place: place, node: name }];
            items.push(Node { place, value: Value::Table(Self { entries }) });
        }
    }

    /// Returns the kind of the table, if it names one.
    fn kind(&self) -> Option<&str> {
        KINDS.iter().find_map(|key| self.get(key)).and_then(|entry| entry.node.as_text())
    }

    /// Sets the value at `path`, and creates the tables on the way. A name that stands for a table on the way (such as
    /// `pattern = "shift"`) becomes that table. Any other value on the way is replaced.
    pub fn set(&mut self, path: &[String], key_place: Place, node: Node) {
        let Some((key, rest)) = path.split_first() else { return };
        let index = self.entries.iter().position(|entry| entry.key == *key).unwrap_or_else(|| {
            let table = Node { place: key_place, value: Value::Table(Self::default()) };
            self.entries.push(Entry { key: key.clone(), key_place, node: table });
            self.entries.len() - 1
        });
        let entry = &mut self.entries[index];
        if rest.is_empty() {
            (entry.key_place, entry.node) = (key_place, node);
            return;
        }
        // In a list of tables the next step is the name of a table.
        if let Some(index) = entry.node.index_of(&rest[0])
            && let Value::List(items) = &mut entry.node.value
        {
            return items[index].set(&rest[1..], key_place, node);
        }
        entry.node.set(rest, key_place, node);
    }
}

impl Entry {
    /// Gives an entry that is not in the file, and its parts, the place of something that is.
    fn move_to(&mut self, place: Place) {
        self.key_place = place;
        self.node.move_to(place);
    }

    fn overlay(&mut self, over: Self) {
        let Value::Table(table) = over.node.value else {
            *self = over;
            return;
        };
        let below = match &self.node.value {
            Value::Table(below) => below.kind(),
            below => below.as_text(),
        };
        let is_section = matches!(self.node.value, Value::Table(_) | Value::Text(_));
        if !is_section || table.kind().is_some_and(|kind| below.is_some_and(|below| below != kind)) {
            *self = Self { node: Node { value: Value::Table(table), ..over.node }, ..over };
            return;
        }
        let mut whole = self.node.take_table(over.key_place);
        whole.overlay(table);
        self.key_place = over.key_place;
        self.node = Node { place: over.node.place, value: Value::Table(whole) };
    }
}

impl Value {
    fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl Node {
    fn move_to(&mut self, place: Place) {
        self.place = place;
        match &mut self.value {
            Value::Table(table) => table.entries.iter_mut().for_each(|entry| entry.move_to(place)),
            Value::List(items) => items.iter_mut().for_each(|item| item.move_to(place)),
            _ => {}
        }
    }

    /// Sets the value at a path below this node.
    pub fn set(&mut self, path: &[String], key_place: Place, node: Self) {
        if path.is_empty() {
            *self = node;
            return;
        }
        let mut table = self.take_table(key_place);
        table.set(path, key_place, node);
        self.value = Value::Table(table);
    }

    /// Removes and returns the value at a path below this node.
    fn take(&mut self, path: &[String]) -> Option<Self> {
        let (name, rest) = path.split_first()?;
        let index = self.index_of(name);
        match &mut self.value {
            Value::Table(table) => table.take(path),
            Value::List(items) if rest.is_empty() => index.map(|index| items.remove(index)),
            Value::List(items) => items.get_mut(index?)?.take(rest),
            _ => None,
        }
    }

    /// Returns the index of the table named `name` in a list of tables.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        let Value::List(items) = &self.value else { return None };
        items.iter().position(|item| item.name() == Some(name))
    }

    /// Returns the table; `None` if the value is not a table.
    pub fn as_table(&mut self) -> Option<&mut Table> {
        if let Value::Table(table) = &mut self.value { Some(table) } else { None }
    }

    /// Returns the `name` of a table.
    pub fn name(&self) -> Option<&str> {
        let Value::Table(table) = &self.value else { return None };
        table.get("name")?.node.as_text()
    }

    /// Takes the table out of a node, so that it can be changed and put back.
    fn take_table(&mut self, key_place: Place) -> Table {
        match std::mem::replace(&mut self.value, Value::Boolean(false)) {
            Value::Table(table) => table,
            Value::Text(name) => {
                let kind = Node { place: self.place, value: Value::Text(name) };
                Table { entries: vec![Entry { key: "kind".into(), key_place: self.place, node: kind }] }
            }
            _ => {
                self.place = key_place;
                Table::default()
            }
        }
    }

    /// Returns the text; `None` if the value is not a string.
    pub fn as_text(&self) -> Option<&str> {
        self.value.as_text()
    }

    /// Returns the value as text, for messages.
    pub fn written(&self) -> String {
        self.to_json().to_string()
    }

    /// Returns the type of the value, in words.
    pub fn what(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a string",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a floating-point number",
            Value::Boolean(_) => "true or false",
            Value::Date(_) => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// Converts the value to JSON.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Text(text) | Value::Date(text) => Json::String(text.clone()),
            Value::Integer(number) => Json::Number((*number).into()),
            Value::Float(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
            Value::Boolean(value) => Json::Bool(*value),
            Value::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Value::Table(table) => table.to_json(),
        }
    }

    /// Converts JSON to values at one place. Keys whose value is null are left out.
    pub fn from_json(json: &Json, place: Place) -> Self {
        let entry = |(key, value): (&String, &Json)| Entry {
            key: key.clone(),
            key_place: place,
            node: Self::from_json(value, place),
        };
        let value = match json {
            Json::Object(entries) => {
                let given = entries.iter().filter(|(_, value)| !value.is_null());
                Value::Table(Table { entries: given.map(entry).collect() })
            }
            Json::Array(items) => Value::List(items.iter().map(|item| Self::from_json(item, place)).collect()),
            Json::String(text) => Value::Text(text.clone()),
            Json::Bool(value) => Value::Boolean(*value),
            Json::Number(number) => match number.as_i64() {
                Some(number) => Value::Integer(number),
                None => Value::Float(number.as_f64().unwrap_or(0.0)),
            },
            Json::Null => Value::Text(String::new()),
        };
        Self { place, value }
    }

    /// Converts a parsed value.
    pub(crate) fn from_toml(parsed: &Spanned<DeValue<'_>>, source: usize) -> Result<Self, ConfigError> {
        let place = Place::new(source, parsed.span());
        let value = match parsed.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map(Value::Integer)
                .map_err(|_| ConfigError::new(place, "", format!("the number {number} has more than 63 bits")))?,
            DeValue::Float(number) => {
                let value: f64 = number.as_str().parse().unwrap_or(f64::NAN);
                if !value.is_finite() {
                    return Err(ConfigError::new(place, "", format!("{number} is not a finite number")));
                }
                Value::Float(value)
            }
            DeValue::Boolean(value) => Value::Boolean(*value),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
            DeValue::Array(items) => {
                Value::List(items.iter().map(|item| Self::from_toml(item, source)).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => Value::Table(Table::from_toml(table, source)?),
        };
        Ok(Self { place, value })
    }
}

/// Returns the parts of a key's path, such as `workload.load` or `sweep."workload.load"`; `None` if it is not a path.
pub(crate) fn path_of(key: &str) -> Option<Vec<String>> {
    if key.contains(['\n', '\r', '=', '#', '[', ']']) {
        return None;
    }
    let line = format!("{key} = 0");
    let parsed = DeTable::parse(&line).ok()?;
    let mut path = Vec::new();
    let mut table = parsed.get_ref();
    while let Some((key, value)) = table.iter().next() {
        path.push(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    Some(path)
}

impl Table {
    /// Converts the table to JSON.
    pub fn to_json(&self) -> Json {
        Json::Object(self.entries.iter().map(|entry| (entry.key.clone(), entry.node.to_json())).collect::<Map<_, _>>())
    }

    /// Reads a table that is a part of the program, such as a preset; `None` if the text is not TOML.
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_toml(DeTable::parse(text).ok()?.get_ref(), 0).ok()
    }

    /// Converts a parsed table, whose keys are in the order of the text.
    pub(crate) fn from_toml(parsed: &DeTable<'_>, source: usize) -> Result<Self, ConfigError> {
        let mut entries = Vec::with_capacity(parsed.len());
        for (key, value) in parsed {
            let key_place = Place::new(source, key.span());
            let node = Node::from_toml(value, source)?;
            entries.push(Entry { key: key.get_ref().to_string(), key_place, node });
        }
        Ok(Self { entries })
    }
}
