//! NumPy's `.npy` files (format 1.0 to 3.0): a square matrix whose row i, column j holds the bytes from rank i to rank
//! j. The diagonal must be 0. Entries may be integers and floating-point numbers of every size, in both byte orders and
//! both axis orders.
//!
//! Implemented here because a header is a single line, and the libraries for it depend on a Python parser and a C
//! compiler.

use super::text::{from_real, loops, tasks};
use units::{LocatedError, counted};

use crate::{ArcList, TaskGraph};

/// Content of the header.
struct Header<'a> {
    /// Type of an entry: byte order, kind and size, as in `<f8`.
    descr: &'a str,
    by_columns: bool,
    shape: Vec<u64>,
}

/// Reads a graph.
pub(super) fn parse(bytes: &[u8]) -> Result<TaskGraph, LocatedError> {
    let (header, data) = split(bytes)?;
    let header = header_of(header)?;
    let [height, width] = header.shape[..] else {
        return Err(LocatedError::new(format!(
            "the array has {}; a matrix has 2",
            counted(header.shape.len() as u64, ["dimension", "dimensions"])
        )));
    };
    if height != width {
        return Err(LocatedError::new(format!(
            "the matrix has {} and {}; it must be square",
            counted(height, ["row", "rows"]),
            counted(width, ["column", "columns"])
        )));
    }
    let count = tasks(height, 0).map_err(|error| LocatedError::new(error.message))?;
    let (size, read) = reader(header.descr)?;
    if (data.len() / size) as u64 != height * width || data.len() % size != 0 {
        let expected = height * width;
        return Err(LocatedError::new(format!("there are {} bytes, not {expected} numbers of {size}", data.len())));
    }
    let mut arcs = ArcList::new(count);
    for (number, entry) in (0_u64..).zip(data.chunks_exact(size)) {
        let (row, column) = match header.by_columns {
            true => (number % width, number / width),
            false => (number / width, number % width),
        };
        let Some(amount) = from_real(read(entry)) else {
            let place = format!("row {row}, column {column}: {}", read(entry));
            return Err(LocatedError::new(format!("{place} is no number of bytes from 0 to 10^18")));
        };
        if amount > 0 && row == column {
            return Err(LocatedError::new(loops(row, 0).message));
        }
        if amount > 0 {
            arcs.add(row as u32, column as u32, amount, 1);
        }
    }
    Ok(TaskGraph::new("matrix", arcs.build()))
}

/// Splits a file into the text of the header and the data.
fn split(bytes: &[u8]) -> Result<(&str, &[u8]), LocatedError> {
    let wrong = || LocatedError::new("it is no NumPy array: the file does not begin as one");
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or_else(wrong)?;
    let (&major, rest) = rest.split_first().ok_or_else(wrong)?;
    let (_minor, rest) = rest.split_first().ok_or_else(wrong)?;
    let digits = if major == 1 { 2 } else { 4 };
    let (length, rest) = rest.split_at_checked(digits).ok_or_else(wrong)?;
    let length = length.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
    let (header, data) = rest.split_at_checked(length).ok_or_else(wrong)?;
    Ok((std::str::from_utf8(header).map_err(|_| wrong())?, data))
}

/// Parses the header, which is a Python dictionary with three keys.
fn header_of(text: &str) -> Result<Header<'_>, LocatedError> {
    let wrong =
        |key: &str| LocatedError::new(format!("the header of the NumPy array has no `{key}` that is understood"));
    let value = |key: &str| {
        let (_, behind) = text.split_once(&format!("'{key}':")).ok_or_else(|| wrong(key))?;
        Ok::<&str, LocatedError>(behind.trim_start())
    };
    let descr = value("descr")?.strip_prefix('\'').and_then(|rest| rest.split_once('\'')).map(|(descr, _)| descr);
    let shape = value("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(shape, _)| shape);
    let shape = shape.ok_or_else(|| wrong("shape"))?;
    let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty()).map(str::parse);
    Ok(Header {
        descr: descr.ok_or_else(|| wrong("descr"))?,
        by_columns: match value("fortran_order")? {
            own if own.starts_with("True") => true,
            own if own.starts_with("False") => false,
            _ => return Err(wrong("fortran_order")),
        },
        shape: sizes.collect::<Result<_, _>>().map_err(|_| wrong("shape"))?,
    })
}

/// Function that reads an entry.
type Read = fn(&[u8]) -> f64;

/// Returns the size in bytes of an entry of a type, and the function that reads it.
fn reader(descr: &str) -> Result<(usize, Read), LocatedError> {
    macro_rules! of {
        ($kind:ty, $from:ident) => {
            (size_of::<$kind>(), |bytes| {
                let mut own = [0; size_of::<$kind>()];
                own.copy_from_slice(bytes);
                <$kind>::$from(own) as f64
            })
        };
    }
    Ok(match descr {
        "<f8" => of!(f64, from_le_bytes),
        ">f8" => of!(f64, from_be_bytes),
        "<f4" => of!(f32, from_le_bytes),
        ">f4" => of!(f32, from_be_bytes),
        "<i8" => of!(i64, from_le_bytes),
        ">i8" => of!(i64, from_be_bytes),
        "<i4" => of!(i32, from_le_bytes),
        ">i4" => of!(i32, from_be_bytes),
        "<i2" => of!(i16, from_le_bytes),
        ">i2" => of!(i16, from_be_bytes),
        "|i1" => of!(i8, from_le_bytes),
        "<u8" => of!(u64, from_le_bytes),
        ">u8" => of!(u64, from_be_bytes),
        "<u4" => of!(u32, from_le_bytes),
        ">u4" => of!(u32, from_be_bytes),
        "<u2" => of!(u16, from_le_bytes),
        ">u2" => of!(u16, from_be_bytes),
        "|u1" | "|b1" => of!(u8, from_le_bytes),
        other => {
            let message = format!("its numbers are of type `{other}`; whole and floating-point numbers are understood");
            return Err(LocatedError::new(message));
        }
    })
}
