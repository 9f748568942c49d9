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

/// Number of characters of a word that a message shows whole, and of its begin and end if it is longer.
const LONGEST: usize = 160;
const ENDS: [usize; 2] = [80, 40];

/// Returns a message in which words of more than 160 characters, such as names and paths, have `...` for their middle.
pub fn abridged(message: &str) -> String {
    let mut shown = String::with_capacity(message.len().min(1 << 12));
    for word in message.split_inclusive(char::is_whitespace) {
        let count = word.chars().count();
        if count <= LONGEST {
            shown.push_str(word);
            continue;
        }
        shown.extend(word.chars().take(ENDS[0]));
        shown.push_str("...");
        shown.extend(word.chars().skip(count - ENDS[1]));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_lose_their_middle_and_the_message_stays() {
        // Would catch a long name that hides what a message says behind it, and a short one that is cut.
        let message = format!("`{}` is no name,\nand `b` is", "a".repeat(10_000));
        let expected = format!("`{}...{}` is no name,\nand `b` is", "a".repeat(79), "a".repeat(38));
        assert_eq!(abridged(&message), expected);
        assert_eq!(abridged("a short one"), "a short one");
    }

    #[test]
    fn long_texts_are_cut_and_short_ones_kept() {
        // Would catch a name that fills the screen, a cut within a character, and a line feed that breaks a message.
        assert_eq!(shortened("a-name"), "a-name");
        assert_eq!(shortened("a\nb"), "a\\nb");
        assert_eq!(shortened(&"\u{e9}".repeat(40)), "\u{e9}".repeat(40));
        assert_eq!(shortened(&"\u{e9}".repeat(10_000)), format!("{}...", "\u{e9}".repeat(40)));
    }
}
