//! Work that may take minutes, and has to end when Python has a signal to answer.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors::Cancelled;

/// From one look at signals to the next.
const POLL: Duration = Duration::from_millis(50);

/// Polls that work which is cancelled is waited for.
const PATIENCE: u32 = 10;

/// As much as the main thread has.
const STACK: usize = 8 << 20;

/// Does some work in a thread of its own, with the interpreter free, while this one answers signals.
///
/// What a handler raises, such as Ctrl-C's, is raised here at once, and the work is cancelled. So is work that is
/// cancelled by its `Progress` and does not notice: its thread ends with the process, or when it notices.
pub fn watched<T: Send + 'static>(
    py: Python<'_>,
    progress: &sim::Progress,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, result) = channel();
    let worker = Builder::new().name("work".into()).stack_size(STACK).spawn(move || {
        // Nobody waits any more for what has been given up.
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

/// Does some work that reads files, with the interpreter free: a signal ends a wait for a pipe that nobody writes to.
pub fn interruptible<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    watched(py, &sim::Progress::new(), work)
}

fn cancelled() -> PyErr {
    Cancelled::new_err(sim::RunError::Cancelled.to_string())
}
