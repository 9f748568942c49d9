//! Progress and end of a search: by its steps, by the allowed time, or because the user stops it.

use crate::Watch;

/// Fraction of its time in which a search counts only its steps: a pause at the start must not change its result.
const GRACE: f64 = 0.1;

/// Pace of one of a strategy's searches.
pub(crate) struct Pace<'a> {
    watch: &'a dyn Watch,
    /// Fraction of the allowed time at which the search begins. `end` is the fraction at which it has to end.
    begin: f64,
    end: f64,
}

impl<'a> Pace<'a> {
    /// Creates the pace of a search that begins now and has to end when a fraction `end` of the allowed time has
    /// passed.
    pub(crate) fn until(end: f64, watch: &'a dyn Watch) -> Self {
        Self { watch, begin: watch.time_share(), end }
    }

    /// Reports and returns the completed fraction of the search, 0 to 1: that of its steps or, if time is short, of its
    /// time. Returns `None` if the search has to end now, with its best result so far.
    pub(crate) fn share(&self, steps: f64, doing: &str) -> Option<f64> {
        let now = self.watch.time_share();
        if now >= self.end {
            // A search without steps (`end` 0) ends here before any time has passed; without a limit no time passes.
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

/// Returns whether a strategy that has no mapping before its end has to stop.
pub(crate) fn is_over(watch: &dyn Watch) -> bool {
    let late = watch.time_share() >= 1.0;
    if late {
        watch.time_decides();
    }
    late || watch.stopped()
}
