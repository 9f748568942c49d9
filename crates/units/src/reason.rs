//! Texts of file errors.

use std::io::Error;

/// Returns the reason why a file cannot be read or written, without the operating system's error number.
pub fn reason(error: &Error) -> String {
    let text = error.to_string();
    text.find(" (os error ").map_or_else(|| text.clone(), |end| text[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_system_is_left_out() {
        // Would catch an error number in the text, and words that are removed along with it.
        assert_eq!(reason(&Error::from_raw_os_error(2)), "No such file or directory");
        assert_eq!(reason(&Error::other("a pipe")), "a pipe");
    }
}
