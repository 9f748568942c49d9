//! What is wrong with an experiment, and where: one paragraph that shows the line and says what is allowed.

use std::fmt;
use std::ops::Deref;

use super::span::Place;

/// Why an experiment cannot be used. Its text shows the file, the line, what is wrong and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExperimentError(Box<Diagnosis>);

/// The parts of an error's text, for tools that show errors in their own way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// What is wrong, as one sentence without a full stop.
    pub message: String,
    /// The path of the key at fault, such as `router.buffer`; empty if it is the file as a whole.
    pub key: String,
    /// The file's name, or the option at fault (`--set KEY=VALUE`).
    pub file: String,
    /// Line and column in the file, from 1, in characters; none for an option, or if nothing stands in the file.
    pub position: Option<Position>,
    /// What would be right, if it is one of a list.
    pub allowed: Vec<String>,
    /// What to do, as one sentence without a full stop.
    pub help: Option<String>,
}

/// A part of a line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column of the first character, from 1.
    pub column: usize,
    /// The number of characters.
    pub width: usize,
    /// The text of the whole line.
    pub text: String,
}

/// Something wrong, before it is known how its place is shown.
#[derive(Clone, Debug)]
pub(super) struct ConfigError {
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

    /// Lists what is allowed, and names the one that was probably meant.
    pub fn allowing<'a>(mut self, written: &str, allowed: impl IntoIterator<Item = &'a str>) -> Self {
        self.allowed = allowed.into_iter().map(str::to_owned).collect();
        if let Some(nearest) = nearest(written, &self.allowed) {
            self.help = Some(format!("did you mean `{nearest}`?"));
        }
        self
    }

    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A text that quotes what a user wrote, fit for a line of an error: without control characters, and of bounded length.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 400;
    let mut shown: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str(" ...");
    }
    shown
}

/// The name that is most like what was written, if any is like it at all; of several that are equally like it, the first.
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

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        let margin = match &self.position {
            Some(position) => position.show(&self.file, f)?,
            None => {
                write!(f, "\n  --> {}", self.file)?;
                2
            }
        };
        let allowed = (!self.allowed.is_empty()).then(|| format!("allowed: {}", self.allowed.join(", ")));
        match (allowed, &self.help) {
            (Some(allowed), Some(help)) => write!(f, "\n{:margin$} = {allowed}; {help}", ""),
            (Some(allowed), None) => write!(f, "\n{:margin$} = {allowed}", ""),
            (None, Some(help)) => write!(f, "\n{:margin$} = {help}", ""),
            (None, None) => Ok(()),
        }
    }
}

impl Position {
    /// How much of a long line is shown.
    const WINDOW: usize = 100;

    /// Writes where it is and the line itself; gives the width of the margin.
    fn show(&self, file: &str, f: &mut fmt::Formatter<'_>) -> Result<usize, fmt::Error> {
        let number = self.line.to_string();
        let margin = number.len();
        let (text, column, width) = self.window();
        write!(f, "\n{:margin$}--> {file}:{}:{}", "", self.line, self.column)?;
        write!(f, "\n{:margin$} |\n{number} | {text}\n{:margin$} | {:column$}{:^>width$}", "", "", "", "")?;
        Ok(margin)
    }

    /// The part of the line around what is at fault, and where in it that starts (from 0) and how long it is.
    fn window(&self) -> (String, usize, usize) {
        let start = (self.column - 1).saturating_sub(Self::WINDOW / 2);
        let shown = self.text.chars().skip(start).take(Self::WINDOW);
        let text: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
        let column = self.column - 1 - start;
        let room = text.chars().count().saturating_sub(column).max(1);
        (text.trim_end().to_owned(), column, self.width.clamp(1, room))
    }
}
