//! Threads, locks and atomics of `windows`: those of the standard library, or loom's models of them.
//!
//! Tests with `--cfg loom` (`make test-long`) explore every order in which threads may interleave. The product is built
//! from the first list alone.

#[cfg(not(all(test, loom)))]
pub(crate) use std::{
    hint,
    sync::atomic::{AtomicBool, AtomicU32, AtomicUsize},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
};

#[cfg(all(test, loom))]
pub(crate) use {
    loom::{
        hint,
        sync::{Arc, Condvar, Mutex, MutexGuard},
        thread,
    },
    modelled::{AtomicBool, AtomicU32, AtomicUsize, without_one_order},
};

/// Loom's atomics with one total order of sequentially consistent accesses.
///
/// Loom takes `SeqCst` of an access for `AcqRel`, but models sequentially consistent fences. A fence before each load
/// and after each store, and on both sides of what does both, gives the order that the language promises (as compilers
/// do on machines with weak memory).
#[cfg(all(test, loom))]
mod modelled {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::Ordering;

    use loom::sync::atomic::{self, fence};

    std::thread_local! {
        /// Whether the fences are there. Loom runs all threads of a model in the thread of its test.
        static ONE_ORDER: Cell<bool> = const { Cell::new(true) };
    }

    /// Runs a model whose sequentially consistent accesses are no more than acquire and release: the fault that a
    /// barrier has if its author forgets why they are needed. Its panic is the result.
    pub(crate) fn without_one_order(model: impl FnOnce()) -> std::thread::Result<()> {
        ONE_ORDER.set(false);
        let result = catch_unwind(AssertUnwindSafe(model));
        ONE_ORDER.set(true);
        result
    }

    fn order(of: Ordering) {
        if of == Ordering::SeqCst && ONE_ORDER.get() {
            fence(Ordering::SeqCst);
        }
    }

    macro_rules! atomic {
        ($name:ident, $value:ty) => {
            #[derive(Debug)]
            pub(crate) struct $name(atomic::$name);

            impl $name {
                pub(crate) fn new(value: $value) -> Self {
                    Self(atomic::$name::new(value))
                }

                pub(crate) fn load(&self, of: Ordering) -> $value {
                    order(of);
                    self.0.load(of)
                }

                pub(crate) fn store(&self, value: $value, of: Ordering) {
                    self.0.store(value, of);
                    order(of);
                }
            }
        };
    }

    atomic!(AtomicBool, bool);
    atomic!(AtomicU32, u32);
    atomic!(AtomicUsize, usize);

    impl AtomicUsize {
        pub(crate) fn fetch_add(&self, value: usize, of: Ordering) -> usize {
            order(of);
            let before = self.0.fetch_add(value, of);
            order(of);
            before
        }

        pub(crate) fn fetch_sub(&self, value: usize, of: Ordering) -> usize {
            order(of);
            let before = self.0.fetch_sub(value, of);
            order(of);
            before
        }
    }
}
