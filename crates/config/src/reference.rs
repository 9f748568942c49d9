//! Reference of every section and key, from the definitions that read them.

use serde::Serialize;
use serde_json::Value as Json;

use super::rule::Rule;
use super::schema::{Choice, Key, Kind, ListShape, Name, Shape, TableShape};
use super::validate::{quantity_range, range};

/// Documentation of a section of the experiment file, or of one kind of a section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SectionDoc {
    /// Path of the section, such as `router` or `workload.pattern`. Empty for the keys at the top level.
    pub section: String,
    /// Whether the section is a list of tables, written as `[[section]]` any number of times.
    pub list: bool,
    /// Key that selects the kind, and the kind, such as `kind` and `output-queued`. `None` if the section has no kinds.
    pub kind: Option<(String, String)>,
    /// Documentation text of the section. It ends with the rules.
    pub doc: String,
    /// Sentences on what the section, or this kind of it, requires or excludes.
    pub rules: Vec<String>,
    /// Lines of a file with the section. `None` if its keys suffice as an example.
    pub example: Option<String>,
    /// What to do if no kind fits. `None` if the section has no kinds.
    pub otherwise: Option<String>,
    /// Keys of the section, except the key that selects the kind.
    pub keys: Vec<KeyDoc>,
}

/// Documentation of a key of a section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyDoc {
    /// Name of the key.
    pub key: String,
    /// Type of the value, in words.
    pub value: String,
    /// Default as TOML. `None` if the key is required, or if a missing key has a separate meaning.
    pub default: Option<String>,
    /// Whether the key is required.
    pub required: bool,
    /// Example value as TOML. `None` if type and range suffice as an example.
    pub example: Option<String>,
    /// Allowed values in words. `None` if all values of the type are allowed.
    pub range: Option<String>,
    /// Allowed words. Empty if the values are not words.
    pub values: Vec<ValueDoc>,
    /// Documentation text of the key. It ends with the rules.
    pub doc: String,
    /// Sentences on what the key requires, excludes, or is limited by.
    pub rules: Vec<String>,
}

/// Documentation of a word that a key accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValueDoc {
    /// The word.
    pub name: String,
    /// Documentation text of the word.
    pub doc: String,
}

/// Returns the documentation of all sections and their kinds, in the order of their definition.
pub fn reference(file: &TableShape) -> Vec<SectionDoc> {
    let mut sections = Vec::new();
    table(file, "", None, &mut sections);
    // A section that several kinds share is documented once.
    let mut once: Vec<SectionDoc> = Vec::with_capacity(sections.len());
    for section in sections {
        if !once.contains(&section) {
            once.push(section);
        }
    }
    once
}

fn table(shape: &TableShape, path: &str, kind: Option<(&Choice, &Kind)>, sections: &mut Vec<SectionDoc>) {
    let tag = kind.map(|(choice, _)| choice.tag.as_str());
    let scalar = |key: &&Key| Some(key.name.as_str()) != tag && !is_section(&key.shape);
    sections.push(SectionDoc {
        section: path.to_owned(),
        list: false,
        kind: kind.map(|(choice, kind)| (choice.tag.clone(), kind.name.name.clone())),
        doc: ruled(kind.map_or(&shape.doc, |(_, kind)| &kind.name.doc), &shape.rules),
        rules: sentences(&shape.rules),
        example: given(&shape.example),
        otherwise: kind.and_then(|(choice, _)| given(&choice.otherwise)),
        keys: shape.keys.iter().filter(scalar).map(key_doc).collect(),
    });
    for key in shape.keys.iter().filter(|key| is_section(&key.shape)) {
        let path = if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) };
        nested(&key.shape, &path, (&key.doc, &key.rules), sections);
    }
    for key in &shape.keys {
        if let Shape::List(ListShape { items, .. }) = &key.shape
            && let Shape::Table(shape) = &**items
        {
            let keys = shape.keys.iter().filter(|key| !is_section(&key.shape)).map(key_doc).collect();
            sections.push(SectionDoc {
                section: if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) },
                list: true,
                kind: None,
                doc: ruled(&shape.doc, &key.rules),
                rules: sentences(&key.rules),
                example: given(&shape.example),
                otherwise: None,
                keys,
            });
        }
    }
    if let Some(others) = &shape.others
        && is_section(others)
    {
        nested(others, &format!("{path}.NAME"), ("", &[]), sections);
    }
}

fn nested(shape: &Shape, path: &str, (doc, rules): (&str, &[Rule]), sections: &mut Vec<SectionDoc>) {
    match shape {
        Shape::Table(shape) => {
            let doc = if doc.is_empty() { shape.doc.clone() } else { doc.to_owned() };
            table(&TableShape { doc, rules: rules.to_vec(), ..shape.clone() }, path, None, sections);
        }
        Shape::Choice(choice) => {
            for kind in &choice.kinds {
                table(&kind.table, path, Some((choice, kind)), sections);
            }
        }
        Shape::Either(shapes) => shapes.iter().for_each(|shape| nested(shape, path, (doc, rules), sections)),
        _ => {}
    }
}

/// Returns whether a value is documented as a section, with its keys.
fn is_section(shape: &Shape) -> bool {
    match shape {
        Shape::Table(_) | Shape::Choice(_) => true,
        // A quantity that may also be a table of quantities is a key, and so are numbers that may be a table of numbers.
        Shape::Either(shapes) => {
            let has_keys = |shape: &Shape| !matches!(shape, Shape::Table(table) if table.keys.is_empty());
            let is_key = |shape: &Shape| match shape {
                Shape::Quantity(_) => true,
                Shape::Integer(_) | Shape::List(_) => !shapes.iter().any(|other| is_section(other) && has_keys(other)),
                _ => false,
            };
            shapes.iter().any(is_section) && !shapes.iter().any(is_key)
        }
        _ => false,
    }
}

fn key_doc(key: &Key) -> KeyDoc {
    KeyDoc {
        key: key.name.clone(),
        value: type_of(&key.shape),
        default: key.default.as_ref().map(Json::to_string),
        required: key.required,
        example: given(&key.example),
        range: range_of(&key.shape).filter(|range| !range.is_empty()),
        values: words(&key.shape).into_iter().map(|name| ValueDoc { name: name.name, doc: name.doc }).collect(),
        doc: ruled(&key.doc, &key.rules),
        rules: sentences(&key.rules),
    }
}

fn sentences(rules: &[Rule]) -> Vec<String> {
    rules.iter().map(Rule::sentence).collect()
}

/// Returns a documentation text with the rules that follow from the schema.
fn ruled(doc: &str, rules: &[Rule]) -> String {
    std::iter::once(doc.to_owned()).chain(sentences(rules)).collect::<Vec<_>>().join(" ")
}

/// Returns `text`, or `None` if it is empty.
fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn type_of(shape: &Shape) -> String {
    match shape {
        Shape::Table(TableShape { keys, others: Some(others), .. }) if keys.is_empty() => {
            format!("table of {}", type_of(others))
        }
        Shape::Table(_) | Shape::Choice(_) => "table".into(),
        Shape::Quantity(quantity) => quantity.what.trim_start_matches("a ").to_owned(),
        Shape::Text => "string".into(),
        Shape::Names(_) => "word".into(),
        Shape::Integer(_) => "whole number".into(),
        Shape::Number(_) => "number".into(),
        Shape::Boolean => "true or false".into(),
        Shape::List(list) => format!("list of {}", type_of(&list.items)),
        Shape::Either(shapes) => shapes.iter().map(type_of).collect::<Vec<_>>().join(" or "),
        Shape::Any => "any value".into(),
    }
}

fn range_of(shape: &Shape) -> Option<String> {
    match shape {
        Shape::Integer(bounds) => Some(range(bounds)),
        Shape::Number(bounds) => Some(range(bounds)),
        Shape::Quantity(quantity) if quantity.bounds.min.or(quantity.bounds.max).is_some() => {
            Some(quantity_range(quantity))
        }
        Shape::List(list) => range_of(&list.items),
        Shape::Either(shapes) => shapes.iter().find_map(range_of),
        _ => None,
    }
}

fn words(shape: &Shape) -> Vec<Name> {
    match shape {
        Shape::Names(names) => names.clone(),
        Shape::Either(shapes) => shapes.iter().flat_map(words).collect(),
        _ => Vec::new(),
    }
}
