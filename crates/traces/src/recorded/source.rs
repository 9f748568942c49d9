//! Buffered input of traces.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::TraceError;

/// File that the ranks of a run share.
pub type SharedFile = Arc<Mutex<File>>;

/// Range of bytes in a shared file.
#[derive(Debug)]
pub struct FilePart {
    file: SharedFile,
    /// Offset of the next byte, and number of bytes left.
    at: u64,
    left: u64,
}

impl FilePart {
    /// Creates a range of `left` bytes from offset `at`.
    pub const fn new(file: SharedFile, (at, left): (u64, u64)) -> Self {
        Self { file, at, left }
    }
}

impl Read for FilePart {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(&mut buffer[..wanted])?;
        self.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Reader of numbers from bytes, with a window as its buffer.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    window: Vec<u8>,
    /// Index of the next byte in the window, and number of bytes in the window.
    next: usize,
    filled: usize,
    /// Bytes before the window.
    before: u64,
}

impl<R: Read> Reader<R> {
    /// Creates a reader with a window of `window` bytes.
    pub fn new(input: R, window: usize) -> Self {
        Self { input, window: vec![0; window.max(1)], next: 0, filled: 0, before: 0 }
    }

    /// Returns the number of bytes read so far.
    pub const fn position(&self) -> u64 {
        self.before + self.next as u64
    }

    /// Returns the next byte, if there is any.
    #[inline]
    pub fn byte(&mut self) -> Result<Option<u8>, TraceError> {
        if self.next == self.filled && !self.fill()? {
            return Ok(None);
        }
        self.next += 1;
        Ok(Some(self.window[self.next - 1]))
    }

    /// Refills the window. Returns whether it has any byte.
    #[cold]
    fn fill(&mut self) -> Result<bool, TraceError> {
        self.before += self.filled as u64;
        (self.next, self.filled) = (0, 0);
        loop {
            match self.input.read(&mut self.window) {
                Ok(filled) => {
                    self.filled = filled;
                    return Ok(filled > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::file(&error)),
            }
        }
    }

    /// Reads a number in base-128 encoding: seven bits per byte, lowest first. All bytes but the last have the highest
    /// bit set (LEB128).
    #[inline]
    pub fn number(&mut self) -> Result<u64, TraceError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?.ok_or(TraceError::Cut("a number"))?;
            // The tenth byte may have one bit only.
            if shift == 63 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err(TraceError::garbled("a number has more than 64 bits"))
    }

    /// Reads a number of at most `most`. `what` is its name in error messages.
    #[inline]
    pub fn number_to(&mut self, most: u64, what: &str) -> Result<u64, TraceError> {
        let number = self.number()?;
        if number <= most {
            return Ok(number);
        }
        Err(TraceError::garbled(format!("{what} is {number}; at most {most} is allowed")))
    }

    /// Reads a number of at most `most` as 32 bits. `what` is its name in error messages.
    #[inline]
    pub fn number_32(&mut self, most: u32, what: &str) -> Result<u32, TraceError> {
        Ok(self.number_to(u64::from(most), what)? as u32)
    }

    /// Reads a text of at most `most` bytes. `what` is its name in error messages.
    pub fn text(&mut self, most: u64, what: &'static str) -> Result<String, TraceError> {
        let length = self.number_to(most, what)?;
        let mut bytes = Vec::new();
        for _ in 0..length {
            bytes.push(self.byte()?.ok_or(TraceError::Cut(what))?);
        }
        let is_plain = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
        match bytes.iter().all(is_plain) {
            true => Ok(bytes.into_iter().map(char::from).collect()),
            false => Err(TraceError::garbled(format!("{what} is no text"))),
        }
    }
}

/// Writes a number in the format that [`Reader::number`] reads.
pub fn put(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Writes several numbers.
pub fn put_all<const N: usize>(numbers: [u64; N], bytes: &mut Vec<u8>) {
    numbers.into_iter().for_each(|number| put(number, bytes));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_read_as_they_are_written(numbers in proptest::collection::vec(any::<u64>(), 0..40), window in 1_usize..12) {
            // Would catch bits that are lost, and a number across two windows.
            let mut bytes = Vec::new();
            numbers.iter().for_each(|&number| put(number, &mut bytes));
            let mut reader = Reader::new(&bytes[..], window);
            for &number in &numbers {
                prop_assert_eq!(reader.number(), Ok(number));
            }
            prop_assert_eq!(reader.position(), bytes.len() as u64);
            prop_assert_eq!(reader.byte(), Ok(None));
            prop_assert_eq!(reader.number(), Err(TraceError::Cut("a number")));
        }
    }

    #[test]
    fn numbers_of_more_than_64_bits_are_refused() {
        // Would catch a number without an end, and bits that overflow.
        for bytes in [[255_u8; 11], [255, 255, 255, 255, 255, 255, 255, 255, 255, 2, 0]] {
            let error = Reader::new(&bytes[..], 4).number().unwrap_err();
            assert_eq!(error, TraceError::garbled("a number has more than 64 bits"));
        }
    }
}
