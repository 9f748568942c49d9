//! Quantiles of the normal distribution.

use std::f64::consts::{PI, SQRT_2};

/// Smallest tail probability: below it the distribution function leaves the range of normal doubles.
const SMALLEST_TAIL: f64 = 1e-300;

/// Returns the value that a standard normal variable exceeds with probability `tail`; NaN unless `0 <= tail <= 1`. A
/// tail below 1e-300 counts as 1e-300.
///
/// Newton's method on the logarithm of the tail, which is concave: from a bound above the answer it descends without
/// overshooting, and ends within a few units of the last place.
pub fn normal_quantile(tail: f64) -> f64 {
    if !(0.0..=1.0).contains(&tail) {
        return f64::NAN;
    }
    if tail > 0.5 {
        return -normal_quantile(1.0 - tail);
    }
    let wanted = tail.max(SMALLEST_TAIL);
    // The tail beyond x is at most exp(-x^2 / 2) / 2.
    let mut x = libm::sqrt(-2.0 * libm::log(2.0 * wanted));
    for _ in 0..100 {
        let upper = 0.5 * libm::erfc(x / SQRT_2);
        let density = libm::exp(-0.5 * x * x) / libm::sqrt(2.0 * PI);
        let step = (libm::log(upper) - libm::log(wanted)) * upper / density;
        x += step;
        if step.abs() <= 1e-15 * x.abs() {
            break;
        }
    }
    x
}

/// Returns the confidence that each of `statements` statements needs so that all hold together with `confidence`
/// (Bonferroni's inequality).
pub fn bonferroni(confidence: f64, statements: u32) -> f64 {
    1.0 - (1.0 - confidence) / f64::from(statements.max(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_usual_values() {
        // Would catch a tail on the wrong side. Values: Abramowitz and Stegun, table 26.5.
        let table = [(0.5, 0.0), (0.05, 1.644_853_626_951), (0.025, 1.959_963_984_540), (0.005, 2.575_829_303_549)];
        for (tail, expected) in table {
            assert!((normal_quantile(tail) - expected).abs() < 1e-11, "{tail}");
            assert!((normal_quantile(1.0 - tail) + expected).abs() < 1e-11, "{tail}");
        }
    }

    #[test]
    fn the_ends_are_finite_and_nonsense_is_none() {
        // Would catch an endless loop or an infinite half-width for a network of many nodes.
        assert!((normal_quantile(0.0) - 37.0).abs() < 0.1);
        assert!(normal_quantile(-0.1).is_nan() && normal_quantile(f64::NAN).is_nan());
    }

    #[test]
    fn bonferroni_shares_the_error() {
        // Would catch a division of the confidence instead of the error probability.
        assert!((bonferroni(0.95, 5) - 0.99).abs() < 1e-15);
        assert_eq!((bonferroni(0.95, 1), bonferroni(0.95, 0)), (0.95, 0.95));
    }

    proptest! {
        #[test]
        fn it_inverts_the_distribution_function(exponent in -250.0..-0.31_f64) {
            // Would catch an iteration that stops early.
            let tail = libm::exp10(exponent);
            let back = 0.5 * libm::erfc(normal_quantile(tail) / SQRT_2);
            prop_assert!((back / tail - 1.0).abs() < 1e-11, "{tail} {back}");
        }
    }
}
