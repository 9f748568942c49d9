//! XML of machines: parsing, and errors with lines.

use roxmltree::{Document, Node, ParsingOptions};
use units::LocatedError;

/// Maximum number of quotes between two tags: two an attribute.
const MAX_QUOTES: u32 = 1024;

/// Parses a document of a format called `format`, in which the word `xmlns` may occur `namespaces` times.
///
/// # Errors
/// At the line that is no XML, or that [`check_linear`] refuses.
pub(super) fn parse<'a>(text: &'a str, format: &str, namespaces: usize) -> Result<Document<'a>, LocatedError> {
    check_linear(text, format, namespaces)?;
    let options = ParsingOptions { allow_dtd: true, nodes_limit: 4_000_000, ..ParsingOptions::default() };
    Document::parse_with_options(text, options)
        .map_err(|error| LocatedError::at(u64::from(error.pos().row), format!("it is no XML: {error}")))
}

/// Refuses constructs that the format does not need and that take a parser the square of their length: entities,
/// namespaces, and thousands of attributes in one tag.
fn check_linear(text: &str, format: &str, namespaces: usize) -> Result<(), LocatedError> {
    let line_of = |at: usize| 1 + text[..at].bytes().filter(|&byte| byte == b'\n').count() as u64;
    for (word, most) in [("<!ENTITY", 0), ("xmlns", namespaces)] {
        if let Some((at, _)) = text.match_indices(word).nth(most) {
            let message =
                format!("`{word}` is not expected{} in a file of {format}", if most > 0 { " again" } else { "" });
            return Err(LocatedError::at(line_of(at), message));
        }
    }
    let mut quotes = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => quotes = 0,
            b'"' | b'\'' => quotes += 1,
            _ => {}
        }
        if quotes > MAX_QUOTES {
            let message = format!("a tag has more than {} attributes", MAX_QUOTES / 2);
            return Err(LocatedError::at(line_of(at), message));
        }
    }
    Ok(())
}

/// Creates an error at an element.
pub(super) fn wrong(element: &Node<'_, '_>, message: impl Into<String>) -> LocatedError {
    LocatedError::at(line_at(element, element.range().start), message)
}

/// Returns the line of a position in an element's file.
pub(super) fn line_at(element: &Node<'_, '_>, start: usize) -> u64 {
    u64::from(element.document().text_pos_at(start).row)
}
