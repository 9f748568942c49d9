//! Arrays of whole numbers in NumPy's format (`.npy`, "NEP 1: A simple file format for NumPy arrays", versions 1 to 3).

use units::counted;

/// First bytes of every file.
const MAGIC: &[u8] = b"\x93NUMPY";
/// Largest number of dimensions of an array.
const MOST_DIMENSIONS: usize = 8;

/// Array of whole numbers, in the order of its indices (the last one fastest).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<i32>,
}

/// Reads an array, or says what is wrong with it.
pub(super) fn read(bytes: &[u8]) -> Result<Array, String> {
    let (header, data) = split(bytes).ok_or("is no NumPy array: its header is not complete")?;
    let descr = entry(header, "descr").ok_or("has a header without `descr`")?;
    let fortran = entry(header, "fortran_order").ok_or("has a header without `fortran_order`")?.starts_with("True");
    let shape = shape(entry(header, "shape").ok_or("has a header without `shape`")?)?;
    let number = Number::of(descr)?;
    let count = shape.iter().try_fold(1_usize, |product, &size| product.checked_mul(size));
    let count = count.filter(|&count| count.checked_mul(number.size).is_some_and(|size| size <= data.len()));
    let count = count
        .ok_or_else(|| format!("is cut short: {shape:?} whole numbers do not fit into its {} bytes", data.len()))?;
    let further = data.len() - count * number.size;
    if further > 0 {
        return Err(format!("has {} behind its {shape:?} whole numbers", counted(further as u64, ["byte", "bytes"])));
    }
    let values = data[..count * number.size].chunks_exact(number.size).map(|bytes| number.value(bytes));
    let values = values.collect::<Result<Vec<i32>, String>>()?;
    let values = if fortran { transposed(&values, &shape) } else { values };
    Ok(Array { shape, values })
}

/// Splits a file into the text of the header and the data.
fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (&major, rest) = rest.split_first()?;
    let (_, rest) = rest.split_first()?;
    let (length, rest) = match major {
        1 => {
            let (length, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk()?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        _ => return None,
    };
    let (header, data) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(header).ok()?, data))
}

/// Returns the text behind a key of the header, which is a Python dictionary that NumPy writes in one form.
fn entry<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}':"))?;
    Some(rest.trim_start())
}

fn shape(text: &str) -> Result<Vec<usize>, String> {
    let inner = text.strip_prefix('(').and_then(|text| text.split_once(')')).map(|(inner, _)| inner);
    let sizes = inner.ok_or("has a header whose `shape` is no tuple")?.split(',').map(str::trim);
    let sizes: Option<Vec<usize>> = sizes.filter(|size| !size.is_empty()).map(|size| size.parse().ok()).collect();
    let sizes = sizes.ok_or("has a header whose `shape` is no tuple of whole numbers")?;
    if sizes.len() > MOST_DIMENSIONS {
        return Err(format!("has {} dimensions; at most {MOST_DIMENSIONS} are read", sizes.len()));
    }
    Ok(sizes)
}

/// Encoding of the numbers of an array.
#[derive(Clone, Copy, Debug)]
struct Number {
    size: usize,
    signed: bool,
    big_endian: bool,
}

impl Number {
    /// Parses a description such as `'<i4'`.
    fn of(descr: &str) -> Result<Self, String> {
        let quoted = descr.strip_prefix('\'').and_then(|text| text.split_once('\''));
        let name = quoted.map_or("a record", |(name, _)| name);
        let refused =
            || format!("holds numbers of the type {name}; whole numbers of 1 to 8 bytes are read (int8 to uint64)");
        let mut letters = name.chars();
        let (order, kind, size) = (letters.next(), letters.next(), letters.as_str());
        let size = match size {
            "1" | "2" | "4" | "8" => usize::from(size.as_bytes()[0] - b'0'),
            _ => return Err(refused()),
        };
        match (order, kind) {
            (Some(order @ ('<' | '>' | '|' | '=')), Some(kind @ ('i' | 'u'))) => {
                Ok(Self { size, signed: kind == 'i', big_endian: order == '>' })
            }
            _ => Err(refused()),
        }
    }

    fn value(self, bytes: &[u8]) -> Result<i32, String> {
        let digit = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        let bits = if self.big_endian { bytes.iter().fold(0, digit) } else { bytes.iter().rev().fold(0, digit) };
        let unused = 64 - 8 * self.size as u32;
        let wide = if self.signed { i128::from((bits << unused) as i64 >> unused) } else { i128::from(bits) };
        i32::try_from(wide).map_err(|_| format!("holds {wide}, which is no number of a port, a class or a layer"))
    }
}

/// Transposes values whose first index is the fastest into the order of indices.
fn transposed(values: &[i32], shape: &[usize]) -> Vec<i32> {
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for &size in shape {
        strides.push(stride);
        stride *= size;
    }
    let value = |place: usize| {
        let mut rest = place;
        let at = shape.iter().zip(&strides).rev().fold(0, |at, (&size, &stride)| {
            let index = rest % size;
            rest /= size;
            at + index * stride
        });
        values[at]
    };
    (0..values.len()).map(value).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn file(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn numbers_of_every_size_and_order_are_read() {
        // Would catch a sign that is lost, bytes in the wrong order, and an array that is read along the wrong index.
        let of = |descr, data: &[u8]| read(&file(descr, "False", "(2,)", data)).unwrap().values;
        assert_eq!(of("|i1", &[0xff, 3]), [-1, 3]);
        assert_eq!(of("|u1", &[0xff, 3]), [255, 3]);
        assert_eq!(of("<i2", &[0xfe, 0xff, 1, 2]), [-2, 513]);
        assert_eq!(of(">i2", &[0xff, 0xfe, 1, 2]), [-2, 258]);
        assert_eq!(of(">u4", &[0, 0, 1, 2, 0, 0, 0, 9]), [258, 9]);
        assert_eq!(of("<i8", &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 7, 0, 0, 0, 0, 0, 0, 0]), [-1, 7]);
        let fortran = read(&file("|i1", "True", "(2, 3)", &[0, 3, 1, 4, 2, 5])).unwrap();
        assert_eq!((fortran.shape, fortran.values), (vec![2, 3], vec![0, 1, 2, 3, 4, 5]));
    }

    #[test]
    fn what_is_no_array_of_whole_numbers_is_refused() {
        let refused = |bytes: &[u8]| read(bytes).unwrap_err();
        assert!(refused(b"0 1 2\n").contains("no NumPy array"));
        assert!(refused(&file("<f8", "False", "(1,)", &[0; 8])).contains("<f8"));
        assert!(refused(&file("<i4", "False", "(2, 2)", &[0; 15])).contains("cut short"));
        assert!(
            refused(&file("<i8", "False", "(1,)", &[0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0])).contains("1099511627775")
        );
        assert!(refused(&file("<i4", "False", "(9999999999, 9999999999)", &[0; 4])).contains("cut short"));
    }
}
