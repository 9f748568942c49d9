//! How far a search is and when it ends: by its steps, by the time that it is allowed, or because the user asks it to.

use crate::Watch;

/// The share of its time in which a search goes by its steps alone: a pause at the start is not to change its result.
const GRACE: f64 = 0.1;

/// The pace of one search among those of a strategy.
pub(crate) struct Pace<'a> {
    watch: &'a dyn Watch,
    /// The shares of the allowed time at which it begins and has to end.
    begin: f64,
    end: f64,
}

impl<'a> Pace<'a> {
    /// The pace of a search that begins now and has to end when a share of the allowed time has passed.
    pub(crate) fn until(end: f64, watch: &'a dyn Watch) -> Self {
        Self { watch, begin: watch.time_share(), end }
    }

    /// The completed share of the search, 0 to 1, which is reported: that of its steps or, where time is short, of its
    /// time. None if it has to end now, with what it has found.
    pub(crate) fn share(&self, steps: f64, doing: &str) -> Option<f64> {
        let now = self.watch.time_share();
        if now >= self.end {
            // A search without steps ends before any time has passed, and where time is not limited none ever does.
            if now > 0.0 {
                self.watch.time_decides();
            }
            return None;
        }
        if self.watch.stopped() {
            return None;
        }
        let time = (now - self.begin) / (self.end - self.begin);
        let decides = time > GRACE && time > steps;
        if decides {
            self.watch.time_decides();
        }
        let share = if decides { time } else { steps };
        self.watch.report(share, doing);
        Some(share)
    }
}

/// Whether a strategy that has no mapping before its end is to stop.
pub(crate) fn is_over(watch: &dyn Watch) -> bool {
    let late = watch.time_share() >= 1.0;
    if late {
        watch.time_decides();
    }
    late || watch.stopped()
}
