//! A watch over what a test does: ends the tests with the input that takes too long.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Processor time of a case after which it counts as hanging.
const LIMIT: Duration = Duration::from_secs(20);

/// Held by the case that runs.
static TURN: Mutex<()> = Mutex::new(());

/// Watches each case of a test from a separate thread.
pub struct Watch {
    case: Arc<Mutex<Option<Case>>>,
}

struct Case {
    text: String,
    begin: Instant,
    /// Processor time of the process as the case began.
    used: Duration,
}

fn lock(case: &Mutex<Option<Case>>) -> MutexGuard<'_, Option<Case>> {
    case.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processor time of this process; without Linux's file of it, none.
fn used() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name in brackets: user and system time in hundredths of a second are the fields 14 and 15 of all.
    let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(10 * ticks))
}

impl Watch {
    pub fn new() -> Self {
        let case: Arc<Mutex<Option<Case>>> = Arc::default();
        let watched = Arc::downgrade(&case);
        std::thread::spawn(move || {
            while let Some(case) = watched.upgrade() {
                if let Some(late) = lock(&case).as_ref().filter(|own| own.takes() > LIMIT) {
                    eprintln!("takes more than {LIMIT:?}:\n{}", late.text);
                    std::process::exit(101);
                }
                drop(case);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Self { case }
    }

    /// Watches what `work` does, and returns how long it took. Cases of all tests take turns, since the processor time
    /// is that of the process.
    pub fn over<T>(&self, text: &str, work: impl FnOnce() -> T) -> (T, Duration) {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        *lock(&self.case) =
            Some(Case { text: text.to_owned(), begin: Instant::now(), used: used().unwrap_or_default() });
        let found = work();
        let case = lock(&self.case).take();
        (found, case.map_or(Duration::ZERO, |own| own.takes()))
    }
}

impl Case {
    /// Processor time, which a busy machine does not lengthen; where it is not known, time.
    fn takes(&self) -> Duration {
        used().map_or_else(|| self.begin.elapsed(), |now| now.saturating_sub(self.used))
    }
}
