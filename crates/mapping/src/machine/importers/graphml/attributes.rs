//! Attributes of a graph, its vertices and its edges, and an account of attributes without effect.

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::Node as Element;
use units::{LocatedError, Notes, shortened};

use crate::machine::importers::xml::wrong;

/// Maximum number of unknown attributes that notes name.
const MOST_UNKNOWN: usize = 8;
/// Maximum number of declared attributes, whose defaults every element may have.
const MAX_KEYS: usize = 1024;

/// Attributes with an effect, or that repeat what the file says otherwise, by the element that has them. Coordinates
/// `dim0`, `dim1`, ... belong to vertices too.
const KNOWN: [(&str, &[&str]); 3] = [
    ("graph", &["grid", "wrap", "cliques", "kind"]),
    ("node", &["kind", "nodes", "level", "group", "name", "id"]),
    ("edge", &["class", "count", "bandwidth_bit_per_s"]),
];

/// Values of an element's attributes with an effect, by name, without blanks around.
pub(super) type Values<'a> = BTreeMap<&'a str, &'a str>;

/// Declared attributes of a file.
#[derive(Default)]
pub(super) struct Attributes<'a> {
    /// Declarations by `id`.
    keys: BTreeMap<&'a str, Key<'a>>,
    /// Numbers of elements with attributes without effect, by kind of element and attribute.
    unknown: BTreeMap<(&'static str, String), u64>,
    /// Names and values of defaults with an effect, by kind of element.
    defaults: BTreeMap<&'static str, Vec<(&'a str, &'a str)>>,
    /// Kinds and names of defaults without effect.
    unknown_defaults: Vec<(&'static str, &'a str)>,
    /// Numbers of elements by kind: each has the defaults of its kind.
    elements: BTreeMap<&'static str, u64>,
}

/// Declaration of an attribute.
struct Key<'a> {
    name: &'a str,
    /// Kind of element that has it: `graph`, `node`, `edge`, or `all`.
    of: &'a str,
    default: Option<&'a str>,
}

impl<'a> Attributes<'a> {
    /// Reads the declarations of a file.
    pub(super) fn declared(root: &Element<'a, '_>) -> Result<Self, LocatedError> {
        let mut read = Self::default();
        check_text(root)?;
        read.note_unknown(root, "graph", &["schemaLocation"]);
        for child in root.children().filter(Element::is_element) {
            match child.tag_name().name() {
                "key" => read.declare(&child)?,
                "graph" => {}
                other => *read.unknown.entry(("graph", format!("element `{}`", shortened(other)))).or_default() += 1,
            }
        }
        Ok(read)
    }

    fn declare(&mut self, key: &Element<'a, '_>) -> Result<(), LocatedError> {
        let id = key.attribute("id").ok_or_else(|| wrong(key, "a `key` has no `id`"))?;
        let name = key.attribute("attr.name").unwrap_or(id);
        let of = key.attribute("for").unwrap_or("all");
        if !["graph", "node", "edge", "all", "graphml", "port", "endpoint", "hyperedge"].contains(&of) {
            return Err(wrong(
                key,
                format!("`for` is `{}`; a key is for `graph`, `node`, `edge` or `all`", shortened(of)),
            ));
        }
        if self.keys.len() == MAX_KEYS {
            return Err(wrong(key, format!("this is one attribute more than {MAX_KEYS}")));
        }
        check_text(key)?;
        let mut default = None;
        for child in key.children().filter(Element::is_element) {
            match child.tag_name().name() {
                "default" if default.is_none() => default = Some(value_of(&child)),
                "default" => return Err(wrong(&child, "this is the second `default` of the key")),
                other => *self.unknown.entry(("graph", format!("element `{}`", shortened(other)))).or_default() += 1,
            }
        }
        self.note_unknown(key, "graph", &["id", "for", "attr.name", "attr.type"]);
        if self.keys.values().any(|own| own.name == name && (own.of == of || [own.of, of].contains(&"all"))) {
            return Err(wrong(key, format!("the attribute `{}` is declared twice", shortened(name))));
        }
        for kind in KNOWN.map(|(kind, _)| kind).into_iter().filter(|&kind| of == kind || of == "all") {
            match default {
                Some(default) if is_known(kind, name) => self.defaults.entry(kind).or_default().push((name, default)),
                Some(_) => self.unknown_defaults.push((kind, name)),
                None => {}
            }
        }
        match self.keys.insert(id, Key { name, of, default }) {
            Some(_) => Err(wrong(key, format!("the key `{}` is declared twice", shortened(id)))),
            None => Ok(()),
        }
    }

    /// Returns the values of an element of a kind, whose tag has the attributes `own`.
    pub(super) fn of(
        &mut self,
        element: &Element<'a, '_>,
        kind: &'static str,
        own: &[&str],
    ) -> Result<Values<'a>, LocatedError> {
        let (mut values, mut given) = (Values::new(), BTreeSet::new());
        check_text(element)?;
        *self.elements.entry(kind).or_default() += 1;
        for child in element.children().filter(Element::is_element) {
            match (child.tag_name().name(), kind) {
                ("data", _) => {
                    let id = child.attribute("key").ok_or_else(|| wrong(&child, "`data` has no `key`"))?;
                    let key = self.keys.get(id).filter(|key| key.of == kind || key.of == "all");
                    let key =
                        key.ok_or_else(|| wrong(&child, format!("there is no key `{}` for `{kind}`", shortened(id))))?;
                    if !given.insert(key.name) {
                        return Err(wrong(&child, format!("the {kind} has two values of `{}`", shortened(key.name))));
                    }
                    if is_known(kind, key.name) {
                        values.insert(key.name, value_of(&child));
                    } else if key.default.is_none() {
                        *self.unknown.entry((kind, format!("attribute `{}`", shortened(key.name)))).or_default() += 1;
                    }
                    let has_inner = child.children().any(|inner| inner.is_element());
                    if has_inner && is_known(kind, key.name) {
                        return Err(wrong(&child, format!("`{}` has elements in place of a value", key.name)));
                    }
                }
                ("desc", _) => *self.unknown.entry((kind, "element `desc`".to_owned())).or_default() += 1,
                (_, "graph") => {}
                (other, _) => {
                    return Err(wrong(&child, format!("`{}` in a {kind} is not read", shortened(other))));
                }
            }
        }
        for (name, default) in self.defaults.get(kind).into_iter().flatten() {
            values.entry(name).or_insert(default);
        }
        self.note_unknown(element, kind, own);
        Ok(values)
    }

    /// Counts the attributes of a tag that are not its `own`.
    fn note_unknown(&mut self, element: &Element<'_, '_>, kind: &'static str, own: &[&str]) {
        // Writers count the elements to come in attributes such as `parse.nodes`.
        let is_own = |name: &str| own.contains(&name) || name.starts_with("parse.");
        for name in element.attributes().map(|attribute| attribute.name()).filter(|name| !is_own(name)) {
            *self.unknown.entry((kind, format!("attribute `{}`", shortened(name)))).or_default() += 1;
        }
    }

    /// Adds notes about what has no effect.
    pub(super) fn describe(mut self, notes: &mut Notes) {
        for (kind, name) in self.unknown_defaults {
            let count = self.elements.get(kind).copied().unwrap_or(0);
            if count > 0 {
                *self.unknown.entry((kind, format!("attribute `{}`", shortened(name)))).or_default() += count;
            }
        }
        for ((kind, what), &count) in self.unknown.iter().take(MOST_UNKNOWN) {
            let [one, several] = match *kind {
                "node" => ["vertex", "vertices"],
                "edge" => ["edge", "edges"],
                _ => ["part of the graph", "parts of the graph"],
            };
            let things = [format!("{one} with the unknown {what}"), format!("{several} with the unknown {what}")];
            notes.count(count, [&things[0], &things[1]], ["is", "are"], "read without it");
        }
        let more = self.unknown.len().saturating_sub(MOST_UNKNOWN) as u64;
        notes.count(more, ["further unknown attribute", "further unknown attributes"], ["is", "are"], "left out");
    }
}

/// Returns whether an attribute has an effect.
fn is_known(kind: &str, name: &str) -> bool {
    let is_coordinate = || kind == "node" && dimension(name).is_some();
    KNOWN.iter().any(|(of, names)| *of == kind && names.contains(&name)) || is_coordinate()
}

/// Returns the number of the dimension of a coordinate such as `dim0`.
pub(super) fn dimension(name: &str) -> Option<usize> {
    name.strip_prefix("dim")?.parse().ok().filter(|&dim: &usize| dim < 64 && name == format!("dim{dim}"))
}

/// Refuses text between the elements of an element.
fn check_text(element: &Element<'_, '_>) -> Result<(), LocatedError> {
    let stray = element.children().filter(Element::is_text).filter_map(|text| text.text());
    match stray.map(str::trim).find(|text| !text.is_empty()) {
        Some(text) => Err(wrong(element, format!("`{}` stands between elements", shortened(text)))),
        None => Ok(()),
    }
}

/// Returns the text of an element.
fn value_of<'a>(element: &Element<'a, '_>) -> &'a str {
    element.text().unwrap_or("").trim()
}
