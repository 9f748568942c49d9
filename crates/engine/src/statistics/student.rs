//! Quantiles and tails of Student's t distribution.

use super::normal_quantile;

/// Degrees of freedom above which the normal distribution is used; the two differ by less than 1e-7 there.
const NORMAL_FROM: f64 = 1e7;

/// Returns the value that a t variable of `freedom` degrees of freedom (at least 1, not necessarily whole) exceeds with
/// probability `tail`; NaN unless `0 < tail < 1`.
pub fn student_quantile(tail: f64, freedom: f64) -> f64 {
    if !(tail > 0.0 && tail < 1.0 && freedom >= 1.0) {
        return f64::NAN;
    }
    if tail > 0.5 {
        return -student_quantile(1.0 - tail, freedom);
    }
    if freedom >= NORMAL_FROM {
        return normal_quantile(tail);
    }
    // The t distribution has the heavier tails, so its quantile is at least the normal one.
    let mut low = normal_quantile(tail).max(0.0);
    let mut high = low + 1.0;
    while upper_tail(high, freedom) > tail {
        low = high;
        high *= 2.0;
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if upper_tail(middle, freedom) > tail { low = middle } else { high = middle }
    }
}

/// Returns the probability that a t variable of `freedom` degrees of freedom (at least 1) exceeds `t`; NaN for fewer.
pub fn student_tail(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom.is_nan() || freedom < 1.0 {
        return f64::NAN;
    }
    if t < 0.0 { 1.0 - upper_tail(-t, freedom) } else { upper_tail(t, freedom) }
}

/// Returns the probability that a t variable exceeds `t`. Requires `t >= 0`.
fn upper_tail(t: f64, freedom: f64) -> f64 {
    0.5 * incomplete_beta(0.5 * freedom, 0.5, freedom / (freedom + t * t))
}

/// Returns the regularised incomplete beta function I_x(a, b) for `0 < x <= 1` (DLMF 8.17).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x >= 1.0 {
        return 1.0;
    }
    // The continued fraction converges fast below the mean; above it the complement does.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = libm::exp(a * libm::log(x) + b * libm::log1p(-x) - log_beta) / a;
    front * beta_fraction(a, b, x)
}

/// Evaluates the continued fraction 1 / (1 + d1 / (1 + d2 / ...)) of DLMF 8.17.22 from the front (Lentz's method).
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    // A vanishing denominator is replaced by the smallest number that can be inverted.
    let nonzero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut c, mut d) = (1.0, 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for coefficient in [even, odd] {
            d = 1.0 / nonzero(1.0 + coefficient * d);
            c = nonzero(1.0 + coefficient / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() <= 1e-16 * fraction.abs() {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    #[test]
    fn the_table_of_the_textbooks() {
        // Would catch a two-sided tail instead of a one-sided one, and a wrong number of degrees of freedom. Values:
        // the usual table, for example Law and Kelton, table T.1.
        let table = [
            (0.05, 1.0, 6.314),
            (0.025, 1.0, 12.706),
            (0.025, 2.0, 4.303),
            (0.05, 4.0, 2.132),
            (0.025, 9.0, 2.262),
            (0.05, 10.0, 1.812),
            (0.005, 10.0, 3.169),
            (0.025, 19.0, 2.093),
            (0.025, 30.0, 2.042),
            (0.025, 120.0, 1.980),
            (0.025, 1e6, 1.960),
        ];
        for (tail, freedom, expected) in table {
            assert!((student_quantile(tail, freedom) - expected).abs() < 5.1e-4, "{tail} {freedom}");
        }
    }

    #[test]
    fn closed_forms() {
        // Would catch a loss of accuracy: one degree of freedom is Cauchy's distribution, cot(pi tail); two have
        // (1 - 2 tail) / sqrt(2 tail (1 - tail)).
        for tail in [0.4, 0.1, 0.025, 1e-3, 1e-6, 1e-9] {
            let one = 1.0 / libm::tan(PI * tail);
            let two = (1.0 - 2.0 * tail) / libm::sqrt(2.0 * tail * (1.0 - tail));
            assert!((student_quantile(tail, 1.0) / one - 1.0).abs() < 1e-9, "{tail}");
            assert!((student_quantile(tail, 2.0) / two - 1.0).abs() < 1e-9, "{tail}");
        }
    }

    #[test]
    fn it_is_odd_and_falls_to_the_normal_quantile() {
        // Would catch a break where the normal distribution takes over.
        assert_eq!(student_quantile(0.9, 7.0), -student_quantile(1.0 - 0.9, 7.0));
        assert!(student_quantile(0.5, 7.0).abs() < 1e-12);
        let quantiles = [1.0, 3.0, 10.0, 100.0, 1e4, 9e6].map(|freedom| student_quantile(0.025, freedom));
        assert!(quantiles.is_sorted_by(|one, other| one > other), "{quantiles:?}");
        assert!((quantiles[5] - normal_quantile(0.025)).abs() < 1e-6);
    }

    #[test]
    fn nonsense_is_no_number() {
        // Would catch an endless loop on a tail of 0.
        for (tail, freedom) in [(0.0, 3.0), (1.0, 3.0), (f64::NAN, 3.0), (0.1, 0.0), (0.1, f64::NAN)] {
            assert!(student_quantile(tail, freedom).is_nan());
        }
        assert!(student_tail(f64::NAN, 3.0).is_nan() && student_tail(1.0, 0.5).is_nan());
    }

    #[test]
    fn a_tail_undoes_its_quantile() {
        // Would catch the lower tail instead of the upper one, and two sides instead of one.
        for freedom in [1.0, 4.5, 30.0, 1e5] {
            for tail in [0.9, 0.5, 0.2, 0.025, 1e-6] {
                let found = student_tail(student_quantile(tail, freedom), freedom);
                assert!((found / tail - 1.0).abs() < 1e-9, "{tail} {freedom}: {found}");
            }
        }
        assert!(student_tail(f64::INFINITY, 5.0).abs() < 1e-300);
    }
}
