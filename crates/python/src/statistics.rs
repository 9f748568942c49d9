//! Student's t distribution, for confidence bands over seeds and for comparisons.

use pyo3::prelude::*;

/// Returns the value that a t variable exceeds with probability `tail`; NaN unless `0 < tail < 1` and `freedom >= 1`.
#[pyfunction]
pub fn student_quantile(tail: f64, freedom: f64) -> f64 {
    sim::student_quantile(tail, freedom)
}

/// Returns the probability that a t variable exceeds `t`; NaN unless `freedom >= 1`.
#[pyfunction]
pub fn student_tail(t: f64, freedom: f64) -> f64 {
    sim::student_tail(t, freedom)
}
