//! Errors of files, in words.

use std::io::Error;

/// Why a file cannot be read or written, without the system's number for it.
pub fn reason(error: &Error) -> String {
    let text = error.to_string();
    text.find(" (os error ").map_or_else(|| text.clone(), |end| text[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_system_is_left_out() {
        // Would catch a number that nobody knows, and words that are lost with it.
        assert_eq!(reason(&Error::from_raw_os_error(2)), "No such file or directory");
        assert_eq!(reason(&Error::other("a pipe")), "a pipe");
    }
}
