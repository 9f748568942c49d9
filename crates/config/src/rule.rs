//! Rules between keys, as annotations of the schema beside the key that they refuse.
//!
//! An annotation is a list of texts, each of the form `RELATION TERM [or TERM]... [if TERM] [: REASON]`. A relation is
//! `requires`, `excludes`, `at most`, `below` or `above`. A term is the path of a key from the root of the file (the
//! key is given), `PATH = VALUE`, or the phrase of a fact of the language. Comparisons apply where both keys have
//! values.

use std::fmt;

use serde_json::Value as Json;

/// Property of the schema for the rules of a key, or of a kind.
const RULES: &str = "x-rules";

/// Rule that a key, or a kind of a section, places on other keys.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub relation: Relation,
    /// Alternatives, of which one is required, or none is allowed.
    pub terms: Vec<Term>,
    /// Condition under which the rule applies. `None`: always.
    pub condition: Option<Term>,
    /// Reason for the rule, as the end of a sentence. Empty if there is none.
    reason: String,
}

/// Relation of a key to the terms of its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Requires,
    Excludes,
    UpTo,
    Below,
    Above,
}

/// What a rule may depend on.
#[derive(Clone, Debug)]
pub(crate) enum Term {
    /// A key is given.
    Key(String),
    /// A key has a value.
    Value(String, Json),
    /// A fact of the language holds.
    Fact(String),
}

impl Relation {
    const ALL: [Self; 5] = [Self::Requires, Self::Excludes, Self::UpTo, Self::Below, Self::Above];

    pub fn word(self) -> &'static str {
        match self {
            Self::Requires => "requires",
            Self::Excludes => "excludes",
            Self::UpTo => "at most",
            Self::Below => "below",
            Self::Above => "above",
        }
    }
}

impl Rule {
    /// Returns the rules beside a key of the schema. Tests refuse texts that are not rules.
    pub fn all_of(schema: &Json) -> Vec<Self> {
        let texts = schema.get(RULES).and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
        texts.filter_map(Self::parse).collect()
    }

    fn parse(text: &str) -> Option<Self> {
        let (text, reason) = text.split_once(": ").unwrap_or((text, ""));
        let (text, condition) = text.split_once(" if ").map_or((text, None), |(text, term)| (text, Some(term)));
        let after = |relation: Relation| Some((relation, text.strip_prefix(relation.word())?.strip_prefix(' ')?));
        let (relation, terms) = Relation::ALL.into_iter().find_map(after)?;
        let terms = terms.split(" or ").map(Term::parse).collect();
        Some(Self { relation, terms, condition: condition.map(Term::parse), reason: reason.to_owned() })
    }

    /// Returns the reason after a colon; empty if there is none.
    pub fn because(&self) -> String {
        if self.reason.is_empty() { String::new() } else { format!(": {}", self.reason) }
    }

    /// Returns the rule as a sentence of the reference.
    pub fn sentence(&self) -> String {
        let text = self.to_string();
        let mut chars = text.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).chain(['.']).collect()).unwrap_or_default()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms.iter().map(Term::to_string).collect();
        write!(f, "{} {}", self.relation.word(), terms.join(" or "))?;
        if let Some(condition) = &self.condition {
            write!(f, " if {condition}")?;
        }
        f.write_str(&self.because())
    }
}

impl Term {
    fn parse(text: &str) -> Self {
        match text.split_once(" = ") {
            Some((path, value)) => {
                Self::Value(path.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| value.into()))
            }
            None if text.contains(' ') => Self::Fact(text.to_owned()),
            None => Self::Key(text.to_owned()),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(path) => write!(f, "`{path}`"),
            Self::Value(path, value) => write!(f, "`{path} = {value}`"),
            Self::Fact(phrase) => f.write_str(phrase),
        }
    }
}
