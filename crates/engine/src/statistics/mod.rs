//! Statistics of a run: distributions, means with confidence intervals, and the end of the warm-up.
//!
//! All of it is arithmetic on given numbers in their order: equal input gives an equal answer, bit for bit, on every
//! platform. The module does not depend on what is measured.
//!
//! Sources: Law and Kelton, *Simulation Modeling and Analysis*, chapter 9 (batch means); White 1997, *An effective
//! truncation heuristic for bias reduction in simulation output* (warm-up); Dally and Towles, *Principles and Practices
//! of Interconnection Networks*, chapter 23 (what to measure, and when).

mod batch_means;
mod histogram;
mod normal;
mod student;
mod warm_up;

pub use batch_means::{Batch, Estimate, autocorrelation, estimate, interval};
pub use histogram::{Bucket, Histogram};
pub use normal::{bonferroni, normal_quantile};
pub use student::{student_quantile, student_tail};
pub use warm_up::{Truncation, mser5};
