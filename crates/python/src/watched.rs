//! Execution of long work that Python's signals can interrupt.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors::Cancelled;

/// Interval between two checks for signals.
const POLL: Duration = Duration::from_millis(50);

/// Number of polls for which cancelled work is awaited.
const PATIENCE: u32 = 10;

/// Stack size of the thread in bytes, equal to that of the main thread.
const STACK: usize = 8 << 20;

/// Runs work in a separate thread with the interpreter released, while the calling thread answers signals.
///
/// An exception of a signal handler, such as Ctrl-C's, is raised here at once, and the work is cancelled. Work that is
/// cancelled by its `Progress` and does not notice is abandoned: its thread ends with the process, or when it notices.
pub fn watched<T: Send + 'static>(
    py: Python<'_>,
    progress: &sim::Progress,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, result) = channel();
    let worker = Builder::new().name("work".into()).stack_size(STACK).spawn(move || {
        // The receiver is gone if the work has been abandoned.
        let _ = done.send(work());
    })?;
    let result = Mutex::new(result);
    let mut patience = PATIENCE;
    loop {
        let found = py.detach(|| result.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(POLL));
        match found {
            Ok(found) => return Ok(found),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match py.detach(|| worker.join()) {
                Err(panic) => resume_unwind(panic),
                Ok(()) => return Err(cancelled()),
            },
        }
        if let Err(raised) = py.check_signals() {
            progress.cancel();
            return Err(raised);
        }
        patience -= u32::from(progress.is_cancelled());
        if patience == 0 {
            return Err(cancelled());
        }
    }
}

/// Runs work that reads files, with the interpreter released. A signal ends a wait for a pipe without a writer.
pub fn interruptible<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    watched(py, &sim::Progress::new(), work)
}

fn cancelled() -> PyErr {
    Cancelled::new_err(sim::RunError::Cancelled.to_string())
}
