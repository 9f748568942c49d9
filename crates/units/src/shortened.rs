//! Texts of users in messages.

/// Number of characters of a user's text that a message shows.
const MOST: usize = 40;

/// Returns a text as a message shows it: at most 40 characters, control characters and quotes escaped, and `...` where
/// there are more.
pub fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_short_ones_kept() {
        // Would catch a name that fills the screen, a cut within a character, and a line feed that breaks a message.
        assert_eq!(shortened("a-name"), "a-name");
        assert_eq!(shortened("a\nb"), "a\\nb");
        assert_eq!(shortened(&"\u{e9}".repeat(40)), "\u{e9}".repeat(40));
        assert_eq!(shortened(&"\u{e9}".repeat(10_000)), format!("{}...", "\u{e9}".repeat(40)));
    }
}
