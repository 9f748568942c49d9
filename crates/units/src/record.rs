//! Records: values as little-endian bytes, for messages between the processes of a run and for its checkpoints. One
//! build writes and reads them, so that the format needs neither versions nor names.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// Value that can be sent to another process, or kept in a checkpoint.
pub trait Record: Sized {
    /// Appends the value to a message.
    fn put(&self, to: &mut Vec<u8>);
    /// Reads the next value of a message, and removes it. `None`: the message is too short, or is no such value.
    fn take(from: &mut &[u8]) -> Option<Self>;
}

/// Implements [`Record`] for a struct, given the names of its fields (numbers for a tuple); for an enum without fields,
/// given its variants; or for any enum (`match`), given a number for each variant and a name for each of its fields:
/// `record!(match Shape { 0 => Point {}, 1 => Circle { 0: radius } })`. A `;` at the end of a list keeps rustfmt from
/// writing a line for each field.
#[macro_export]
macro_rules! record {
    (generic [$($params:tt)*] $type:ty { $($field:tt),+ $(,)? $(;)? }) => {
        $crate::record!(@impl [$($params)*] $type { $($field),+ });
    };
    ($type:ty { $($field:tt),+ $(,)? $(;)? }) => {
        $crate::record!(@impl [] $type { $($field),+ });
    };
    (@impl [$($params:tt)*] $type:ty { $($field:tt),+ }) => {
        impl<$($params)*> $crate::Record for $type {
            fn put(&self, to: &mut Vec<u8>) {
                $($crate::Record::put(&self.$field, to);)+
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: $crate::Record::take(from)?),+ })
            }
        }
    };
    (enum $type:ty { $($variant:ident),+ $(,)? }) => {
        impl $crate::Record for $type {
            fn put(&self, to: &mut Vec<u8>) {
                // Does not compile if a variant is left out, which no process could read.
                match self {
                    $(Self::$variant)|+ => to.push(*self as u8),
                }
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                let number = <u8 as $crate::Record>::take(from)?;
                [$(Self::$variant),+].into_iter().find(|&variant| variant as u8 == number)
            }
        }
    };
    (match $type:ty { $($number:literal => $variant:ident { $($field:tt: $name:ident),* }),+ $(,)? }) => {
        impl $crate::Record for $type {
            fn put(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field: $name),* } => {
                        to.push($number);
                        $($crate::Record::put($name, to);)*
                    })+
                }
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                match <u8 as $crate::Record>::take(from)? {
                    $($number => Some(Self::$variant { $($field: $crate::Record::take(from)?),* }),)+
                    _ => None,
                }
            }
        }
    };
}

macro_rules! integers {
    ($($int:ty),+) => {
        $(impl Record for $int {
            #[inline]
            fn put(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn take(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        })+
    };
}

integers!(u8, u16, u32, u64, u128, i32, i64);

impl Record for usize {
    fn put(&self, to: &mut Vec<u8>) {
        (*self as u64).put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        u64::take(from)?.try_into().ok()
    }
}

impl Record for f64 {
    fn put(&self, to: &mut Vec<u8>) {
        self.to_bits().put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        u64::take(from).map(Self::from_bits)
    }
}

impl Record for bool {
    fn put(&self, to: &mut Vec<u8>) {
        u8::from(*self).put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(u8::take(from)? != 0)
    }
}

macro_rules! tuples {
    ($(($($name:ident),+)),+) => {
        $(impl<$($name: Record),+> Record for ($($name,)+) {
            fn put(&self, to: &mut Vec<u8>) {
                #[allow(non_snake_case)]
                let ($($name,)+) = self;
                $($name.put(to);)+
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(($($name::take(from)?,)+))
            }
        })+
    };
}

tuples!((A, B), (A, B, C), (A, B, C, D));

impl<T: Record> Record for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.is_some().put(to);
        self.iter().for_each(|value| value.put(to));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        if bool::take(from)? { Some(Some(T::take(from)?)) } else { Some(None) }
    }
}

impl<T: Record + Copy + Default, const N: usize> Record for [T; N] {
    fn put(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|value| value.put(to));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let mut all = [T::default(); N];
        for value in &mut all {
            *value = T::take(from)?;
        }
        Some(all)
    }
}

impl<T: Record> Record for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        (self.len() as u64).put(to);
        self.iter().for_each(|value| value.put(to));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let mut all = Self::new();
        take_all(from, &mut all)?;
        Some(all)
    }
}

/// Reads a list of values, and appends them to `to`. Returns `None` if the message is too short.
pub fn take_all<T: Record>(from: &mut &[u8], to: &mut Vec<T>) -> Option<()> {
    let count = usize::try_from(u64::take(from)?).ok()?;
    // A value has one byte at least.
    to.reserve(count.min(from.len()));
    for _ in 0..count {
        to.push(T::take(from)?);
    }
    Some(())
}

/// Implements [`Record`] for collections that are made from the list of their items.
macro_rules! collections {
    ($([$($param:ident: $bound:path),+] $list:ty, $item:ty;)+) => {
        $(impl<$($param: $bound + Record),+> Record for $list {
            fn put(&self, to: &mut Vec<u8>) {
                (self.iter().count() as u64).put(to);
                for item in self.iter() {
                    item.put(to);
                }
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(Vec::<$item>::take(from)?.into_iter().collect())
            }
        })+
    };
}

collections! {
    [T: Sized] VecDeque<T>, T;
    [T: Sized] Arc<[T]>, T;
    [T: Sized] Box<[T]>, T;
    [T: Ord] BinaryHeap<T>, T;
}

impl<K: Record + Ord, V: Record> Record for BTreeMap<K, V> {
    fn put(&self, to: &mut Vec<u8>) {
        (self.len() as u64).put(to);
        for (key, value) in self {
            key.put(to);
            value.put(to);
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(Vec::take(from)?.into_iter().collect())
    }
}

impl<T: Record> Record for Box<T> {
    fn put(&self, to: &mut Vec<u8>) {
        T::put(self, to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        T::take(from).map(Self::new)
    }
}

impl<T: Record> Record for Reverse<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        T::take(from).map(Self)
    }
}

impl<T: Record> Record for Range<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.start.put(to);
        self.end.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(T::take(from)?..T::take(from)?)
    }
}

impl Record for String {
    fn put(&self, to: &mut Vec<u8>) {
        self.as_bytes().to_vec().put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Self::from_utf8(Vec::take(from)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NodeId, PlaneId};

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Direction {
        In,
        Out,
    }

    #[derive(Debug, PartialEq)]
    struct Parcel {
        to: NodeId,
        by: (PlaneId, Direction),
        sizes: Vec<u64>,
        note: Option<String>,
        digits: [u16; 3],
    }

    record!(
        enum Direction {
            In,
            Out,
        }
    );
    record!(Parcel { to, by, sizes, note, digits });

    #[test]
    fn a_message_has_the_values_that_were_put_and_is_refused_if_it_is_cut() {
        // Would catch a field that is lost or swapped, a length that is trusted, and a variant that does not exist.
        let parcel = |note: Option<&str>, direction| Parcel {
            to: NodeId(77_000),
            by: (PlaneId(3), direction),
            sizes: vec![1, u64::MAX],
            note: note.map(str::to_owned),
            digits: [1, 2, 3],
        };
        let all = [parcel(Some("fragile"), Direction::Out), parcel(None, Direction::In)];
        let mut message = Vec::new();
        all.iter().for_each(|parcel| parcel.put(&mut message));
        let mut rest = &message[..];
        assert_eq!([Parcel::take(&mut rest), Parcel::take(&mut rest)].map(Option::unwrap), all);
        assert!(rest.is_empty());
        let first = 4 + 2 + 8 + 16 + 1 + 8 + 7 + 6;
        assert!((0..first).all(|length| Parcel::take(&mut &message[..length]).is_none()));
        assert_eq!(Direction::take(&mut &[2][..]), None);
        assert_eq!(Vec::<u64>::take(&mut &u64::MAX.to_le_bytes()[..]), None);
    }
}
