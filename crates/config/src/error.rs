//! Errors of experiments: one paragraph that shows the line at fault and the allowed values.

use std::fmt;
use std::ops::Deref;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use units::abridged;

use super::place::Place;

/// Reason that an experiment cannot be used. Its text shows the file, the line, the fault and the allowed values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExperimentError(Box<Diagnosis>);

/// Parts of an error's text, for tools that show errors in a different form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The fault, as one sentence without a full stop.
    pub message: String,
    /// Path of the key at fault, such as `router.buffer`. Empty if the file as a whole is at fault.
    pub key: String,
    /// Name of the file, or the option at fault (`--set KEY=VALUE`).
    pub file: String,
    /// Line and column in the file, from 1, in characters. `None` for an option, and if the file has no such place.
    pub position: Option<Position>,
    /// Allowed values, if they are a list.
    pub allowed: Vec<String>,
    /// Remedy, as one sentence without a full stop.
    pub help: Option<String>,
}

/// A part of a line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Number of the line, from 1.
    pub line: usize,
    /// Column of the first character, from 1.
    pub column: usize,
    /// Number of characters.
    pub width: usize,
    /// Text of the whole line.
    pub text: String,
}

/// An error before its place is mapped to a line.
#[derive(Clone, Debug)]
pub(crate) struct ConfigError {
    pub place: Option<Place>,
    pub key: String,
    pub message: String,
    pub allowed: Vec<String>,
    pub help: Option<String>,
}

impl ConfigError {
    pub fn new(place: impl Into<Option<Place>>, key: impl Into<String>, message: impl Into<String>) -> Self {
        let (key, message) = (shown(&key.into()), shown(&message.into()));
        Self { place: place.into(), key, message, allowed: Vec::new(), help: None }
    }

    /// Lists the allowed values, and suggests the one nearest to `written`.
    pub fn allowing<'a>(mut self, written: &str, allowed: impl IntoIterator<Item = &'a str>) -> Self {
        self.allowed = allowed.into_iter().map(str::to_owned).collect();
        if let Some(nearest) = nearest(written, &self.allowed) {
            self.help = Some(format!("did you mean `{nearest}`?"));
        }
        self
    }

    /// Adds a remedy, unless there is one already or `help` is empty.
    pub fn or_help(mut self, help: &str) -> Self {
        if self.help.is_none() && !help.is_empty() {
            self.help = Some(help.to_owned());
        }
        self
    }

    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Returns a text that quotes what a user wrote, without control characters and of bounded length.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 400;
    let text = abridged(text);
    let mut shown: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str(" ...");
    }
    shown
}

/// Returns the name most similar to `written`, if any is similar enough; the first of several equally similar names.
fn nearest<'a>(written: &str, names: &'a [String]) -> Option<&'a str> {
    const ALIKE: f64 = 0.6;
    // A long text is no misspelling, and comparing it takes time that grows with the square of its length.
    if written.len() > 64 {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let likeness = |name: &String| strsim::normalized_damerau_levenshtein(&plain(written), &plain(name));
    let best = names.iter().rev().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(best) >= ALIKE).then_some(best.as_str())
}

impl From<Diagnosis> for ExperimentError {
    fn from(diagnosis: Diagnosis) -> Self {
        Self(Box::new(diagnosis))
    }
}

impl Deref for ExperimentError {
    type Target = Diagnosis;

    fn deref(&self) -> &Diagnosis {
        &self.0
    }
}

impl Diagnosis {
    /// Number of columns of a long line of the file that are shown.
    const WIDTH: usize = 110;

    /// Returns the error as text: fault, place, allowed values and remedy. With `coloured`, it has the escapes of a
    /// terminal.
    pub fn render(&self, coloured: bool) -> String {
        let renderer = if coloured { Renderer::styled() } else { Renderer::plain() };
        let (message, file) = (abridged(&self.message), abridged(&self.file));
        let allowed: Vec<String> = self.allowed.iter().map(|name| abridged(name)).collect();
        let help = self.help.as_deref().map(abridged);
        let title = Level::ERROR.primary_title(&*message);
        let mut group = match &self.position {
            Some(position) => title.element(position.snippet(&file)),
            None if file.is_empty() => Group::with_title(title),
            None => title.element(Origin::path(&*file)),
        };
        if !allowed.is_empty() {
            group = group.element(Level::NOTE.with_name("allowed").message(allowed.join(", ")));
        }
        if let Some(help) = &help {
            group = group.element(Level::HELP.message(&**help));
        }
        renderer.term_width(Self::WIDTH).render(&[group])
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl Position {
    /// Returns the line of the file with the part at fault marked.
    fn snippet<'a>(&'a self, file: &'a str) -> Snippet<'a, Annotation<'a>> {
        let byte = |column: usize| self.text.char_indices().nth(column).map_or(self.text.len(), |(byte, _)| byte);
        let fault = byte(self.column - 1)..byte(self.column - 1 + self.width);
        Snippet::source(&*self.text).path(file).line_start(self.line).annotation(AnnotationKind::Primary.span(fault))
    }
}
