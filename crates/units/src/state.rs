//! State: the mutable fields of an object that is built again, for checkpoints of a run.
//!
//! A checkpoint holds what changes during a run. What follows from the experiment (plans, tables, constants) is built
//! again before the state is loaded. The macro [`state!`](crate::state) lists every field of a struct, so that a field
//! that is left out does not compile.

use crate::Record;

/// Object whose state can be saved, and loaded into an object that was built in the same way.
pub trait State {
    /// Appends the state.
    fn save(&self, to: &mut Vec<u8>);
    /// Loads the state, and removes it from `from`. Returns `None` if `from` is too short or does not fit the object.
    fn load(&mut self, from: &mut &[u8]) -> Option<()>;
}

impl<T: Record> State for T {
    fn save(&self, to: &mut Vec<u8>) {
        self.put(to);
    }

    fn load(&mut self, from: &mut &[u8]) -> Option<()> {
        *self = T::take(from)?;
        Some(())
    }
}

/// Reads a number of objects, and returns `None` unless it is `count`.
pub fn take_count(count: usize, from: &mut &[u8]) -> Option<()> {
    (u64::take(from)? == count as u64).then_some(())
}

/// Implements [`State`](crate::State) for a struct, given all of its fields: first saved values and objects, then lists
/// of objects (`each`), and then fields that are built again (`rebuilt`). A generic type has its parameters in front:
/// `state!(generic [T: Record] List<T> { .. })`.
#[macro_export]
macro_rules! state {
    (generic [$($params:tt)*] $type:ty { $($fields:tt)* }) => {
        $crate::state!(@impl [$($params)*] $type { $($fields)* });
    };
    ($type:ty { $($fields:tt)* }) => {
        $crate::state!(@impl [] $type { $($fields)* });
    };
    (@impl [$($params:tt)*] $type:ty {
        $($field:ident),* $(,)?
        $(; each $($each:ident),+ $(,)?)?
        $(; rebuilt $($rebuilt:ident),+ $(,)?)?
    }) => {
        impl<$($params)*> $crate::State for $type {
            fn save(&self, to: &mut Vec<u8>) {
                #[allow(unused_imports)]
                use $crate::{Record as _, State as _};
                let Self { $($field,)* $($($each,)+)? $($($rebuilt: _,)+)? } = self;
                $($field.save(to);)*
                $($(
                    ($each.iter().count() as u64).put(to);
                    $each.iter().for_each(|one| one.save(to));
                )+)?
            }

            fn load(&mut self, from: &mut &[u8]) -> Option<()> {
                #[allow(unused_imports)]
                use $crate::State as _;
                let Self { $($field,)* $($($each,)+)? $($($rebuilt: _,)+)? } = self;
                $($field.load(from)?;)*
                $($(
                    $crate::take_count($each.iter().count(), from)?;
                    for one in $each.iter_mut() {
                        one.load(from)?;
                    }
                )+)?
                Some(())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Shelf {
        books: Vec<u32>,
        width: u32,
    }

    #[derive(Debug, Default, PartialEq)]
    struct Library {
        open: bool,
        cellar: Box<Shelf>,
        shelves: Vec<Shelf>,
        annex: Option<Box<Shelf>>,
    }

    state!(Shelf { books; rebuilt width });
    state!(Library { open, cellar; each shelves, annex });

    #[test]
    fn a_state_is_loaded_into_an_object_that_was_built_alike_and_refused_by_others() {
        // Would catch a field that is lost or swapped, a constant that is overwritten, and objects of another number.
        let shelf = |books: &[u32], width| Shelf { books: books.to_vec(), width };
        let library = |first: &[u32], width| Library {
            open: !first.is_empty(),
            cellar: Box::new(shelf(first, width)),
            shelves: vec![shelf(&[7], width), shelf(first, width)],
            annex: Some(Box::new(shelf(&[9], width))),
        };
        let mut saved = Vec::new();
        library(&[1, 2], 3).save(&mut saved);
        let mut loaded = library(&[], 5);
        let mut rest = &saved[..];
        loaded.load(&mut rest).unwrap();
        assert_eq!((loaded, rest.len()), (library(&[1, 2], 5), 0));
        assert!((0..saved.len()).all(|length| library(&[], 5).load(&mut &saved[..length]).is_none()));
        assert!(Library { annex: None, ..library(&[], 5) }.load(&mut &saved[..]).is_none());
        assert!(Library { shelves: Vec::new(), ..library(&[], 5) }.load(&mut &saved[..]).is_none());
    }
}
