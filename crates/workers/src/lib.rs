#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::process;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Pool with its process and its number of threads; 0 stands for the number of processors.
struct Owned {
    process: u32,
    threads: usize,
    pool: Arc<ThreadPool>,
}

/// Pools of this process. In a child they include those of its parent, which are neither used nor dropped there.
static POOLS: Mutex<Vec<Owned>> = Mutex::new(Vec::new());

thread_local! {
    /// Maximum number of threads for work of this thread; 0 stands for the number of processors.
    static LIMIT: Cell<usize> = const { Cell::new(0) };
}

/// Runs `work`, whose parallel parts use at most `threads` threads.
pub fn limited<T>(threads: usize, work: impl FnOnce() -> T) -> T {
    /// Guard that restores the limit, also after a panic.
    struct Before(usize);
    impl Drop for Before {
        fn drop(&mut self) {
            LIMIT.set(self.0);
        }
    }
    let _before = Before(LIMIT.replace(threads));
    work()
}

/// Returns this process's pool of `threads` threads; `None` if its threads cannot be started.
fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    let build = || ThreadPoolBuilder::new().num_threads(threads).build().ok().map(Arc::new);
    // A fork may leave the lock taken for ever. If the lock is taken, this call builds a pool for itself.
    let Ok(mut pools) = POOLS.try_lock() else { return build() };
    let process = process::id();
    if let Some(own) = pools.iter().find(|own| own.process == process && own.threads == threads) {
        return Some(Arc::clone(&own.pool));
    }
    let pool = build()?;
    pools.push(Owned { process, threads, pool: Arc::clone(&pool) });
    Some(pool)
}

/// Runs `work` either in parallel, on threads of a pool, or alone, in this thread.
fn share<W: Send, T: Send>(work: W, parallel: impl FnOnce(W) -> T + Send, alone: impl FnOnce(W) -> T) -> T {
    let threads = LIMIT.get();
    if threads == 1 {
        return alone(work);
    }
    if rayon::current_thread_index().is_some() {
        return parallel(work);
    }
    match pool(threads) {
        Some(pool) => pool.install(|| parallel(work)),
        None => alone(work),
    }
}

/// Applies `of` to each item. Results are in order.
pub fn map<I: Send, T: Send>(items: impl IntoItems<I>, of: impl Fn(I) -> T + Sync) -> Vec<T> {
    map_with(items, 1, || (), |(), item| of(item))
}

/// Applies `of` to each item. Results are in order. A thread takes at least `least` consecutive items, with a state
/// made by `start`.
pub fn map_with<I: Send, S, T: Send>(
    items: impl IntoItems<I>,
    least: usize,
    start: impl Fn() -> S + Sync,
    of: impl Fn(&mut S, I) -> T + Sync,
) -> Vec<T> {
    share(
        items,
        |items| items.into_par_iter().with_min_len(least).map_init(&start, &of).collect(),
        |items| {
            let mut state = start();
            items.into_iter().map(|item| of(&mut state, item)).collect()
        },
    )
}

/// Runs a fallible function on each item. A thread takes at least `least` consecutive items, with a state made by
/// `start`.
///
/// # Errors
/// The error of the first item, in order, that fails.
pub fn try_each<I: Send, S, E: Send>(
    items: impl IntoItems<I>,
    least: usize,
    start: impl Fn() -> S + Sync,
    of: impl Fn(&mut S, I) -> Result<(), E> + Sync,
) -> Result<(), E> {
    share(
        items,
        |items| {
            let results = items.into_par_iter().with_min_len(least).map_init(&start, &of);
            results.find_map_first(Result::err).map_or(Ok(()), Err)
        },
        |items| {
            let mut state = start();
            items.into_iter().try_for_each(|item| of(&mut state, item))
        },
    )
}

/// Folds items into states made by `start`, one or several for each thread, and merges the states. The result depends
/// on the threads unless `merge` is exact, associative and commutative.
///
/// # Errors
/// The error of one of the items.
pub fn try_fold<I: Send, S: Send, E: Send>(
    items: impl IntoItems<I>,
    start: impl Fn() -> S + Sync,
    add: impl Fn(S, I) -> Result<S, E> + Sync,
    merge: impl Fn(S, S) -> S + Sync,
) -> Result<S, E> {
    share(
        items,
        |items| items.into_par_iter().try_fold(&start, &add).try_reduce(&start, |one, other| Ok(merge(one, other))),
        |items| items.into_iter().try_fold(start(), &add),
    )
}

/// Items that can be taken in parallel and in order: ranges, vectors and slices.
pub trait IntoItems<I: Send>:
    IntoParallelIterator<Item = I, Iter: IndexedParallelIterator> + IntoIterator<Item = I> + Send
{
}

impl<I: Send, T> IntoItems<I> for T where
    T: IntoParallelIterator<Item = I, Iter: IndexedParallelIterator> + IntoIterator<Item = I> + Send
{
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_threads_gives_the_same_in_order() {
        // Would catch items out of order, an error of an item that is not the first to fail, and a limit that outlives
        // its work.
        for threads in [0, 1, 2, 3] {
            limited(threads, || {
                assert_eq!(map(0..100_u32, |item| item * 2), (0..100).map(|item| item * 2).collect::<Vec<_>>());
                let refused = |(): &mut (), item: u32| if item % 40 == 39 { Err(item) } else { Ok(()) };
                assert_eq!(try_each(0..100_u32, 1, || (), refused), Err(39));
                let sum = try_fold(0..100_u32, || 0, |sum, item| Ok::<_, ()>(sum + item), |one, other| one + other);
                assert_eq!(sum, Ok(4950));
                let nested = map(0..4_u32, |item| map(0..item, |inner| inner).len());
                assert_eq!(nested, [0, 1, 2, 3]);
            });
        }
        assert_eq!(LIMIT.get(), 0);
    }

    #[test]
    fn one_thread_is_the_caller() {
        // Would catch work that uses a second processor although one was allowed.
        let here = std::thread::current().id();
        limited(1, || assert!(map(0..50_u32, |_| std::thread::current().id()).iter().all(|&id| id == here)));
    }

    #[test]
    fn pools_are_kept_unless_their_lock_is_taken() {
        // Would catch a child of a fork that finds the lock taken for ever, and waits. Other tests hold the lock for
        // moments.
        let kept =
            || (0..10_000).map(|_| (pool(2).unwrap(), pool(2).unwrap())).find(|(one, other)| Arc::ptr_eq(one, other));
        let (one, _) = kept().expect("the same pool twice");
        let taken = POOLS.lock().unwrap();
        assert!(!Arc::ptr_eq(&one, &pool(2).unwrap()));
        drop(taken);
    }
}
