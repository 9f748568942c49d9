//! Arithmetic of finite fields, for families whose routers are points over a field.

use std::ops::RangeInclusive;

use units::KeyError;

/// Finite field of q elements, numbered from 0. Element `c_0 + c_1 p + c_2 p^2 + ...` is the polynomial with these
/// coefficients, modulo the first monic polynomial of its degree of which x is a primitive root. In a prime field the
/// elements are the integers modulo p.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    p: u32,
    /// Powers of the primitive element: q - 1 elements, twice.
    powers: Vec<u32>,
    /// Exponent of each element but 0, which has no meaning.
    exponents: Vec<u32>,
}

impl Field {
    /// Returns the field of `q` elements; `None` if `q` is not a power of a prime. Requires `q` below 2^16.
    pub(crate) fn new(q: u32) -> Option<Self> {
        let (p, degree) = prime_power(q)?;
        // A primitive polynomial exists for every degree.
        (0..q).find_map(|polynomial| Self::modulo(p, degree, polynomial))
    }

    /// Returns the field of the size that a key gives. Fails unless that is a power of a prime in a range.
    pub(crate) fn checked(key: &'static str, size: u64, range: RangeInclusive<u64>) -> Result<Self, KeyError> {
        let field = u32::try_from(size).ok().filter(|_| range.contains(&size)).and_then(Self::new);
        field.ok_or_else(|| {
            let is_power = |&q: &u64| prime_power(q as u32).is_some();
            let below = range.clone().rev().filter(|&q| q < size).find(is_power);
            let above = range.clone().filter(|&q| q > size).find(is_power);
            let nearest: Vec<String> = below.into_iter().chain(above).map(|q| q.to_string()).collect();
            let (least, most) = (range.start(), range.end());
            let nearest = nearest.join(" and ");
            let message =
                format!("`{key}` is {size}; a power of a prime from {least} to {most} is allowed, such as {nearest}");
            KeyError::new(key, message)
        })
    }

    /// Returns the field modulo `x^degree - polynomial`; `None` unless the powers of x are all elements but 0.
    fn modulo(p: u32, degree: u32, polynomial: u32) -> Option<Self> {
        let q = p.pow(degree);
        let (mut powers, mut exponents) = (Vec::with_capacity(2 * q as usize), vec![u32::MAX; q as usize]);
        let mut power = 1;
        for exponent in 0..q - 1 {
            if power == 0 || exponents[power as usize] != u32::MAX {
                return None;
            }
            exponents[power as usize] = exponent;
            powers.push(power);
            // x times the power: each unit of its highest coefficient adds the polynomial.
            let (high, low) = (power / (q / p), power % (q / p));
            power = low * p;
            for _ in 0..high {
                power = add(p, power, polynomial);
            }
        }
        powers.extend_from_within(..);
        Some(Self { p, powers, exponents })
    }

    /// Returns the number of elements.
    pub(crate) fn size(&self) -> u32 {
        self.exponents.len() as u32
    }

    /// Returns a sum.
    pub(crate) fn sum(&self, one: u32, other: u32) -> u32 {
        add(self.p, one, other)
    }

    /// Returns a product.
    pub(crate) fn product(&self, one: u32, other: u32) -> u32 {
        if one == 0 || other == 0 {
            return 0;
        }
        self.powers[(self.exponents[one as usize] + self.exponents[other as usize]) as usize]
    }

    /// Returns a power of the primitive element. Requires an exponent below 2q - 2.
    pub(crate) fn power(&self, exponent: u32) -> u32 {
        self.powers[exponent as usize]
    }
}

/// Adds polynomials, coefficient by coefficient.
fn add(p: u32, mut one: u32, mut other: u32) -> u32 {
    let (mut sum, mut place) = (0, 1);
    while one > 0 || other > 0 {
        sum += (one % p + other % p) % p * place;
        (one, other, place) = (one / p, other / p, place * p);
    }
    sum
}

/// Returns the prime and the exponent of a power of a prime.
fn prime_power(q: u32) -> Option<(u32, u32)> {
    let p = (2..=q).find(|divisor| q.is_multiple_of(*divisor))?;
    let (mut rest, mut exponent) = (q, 0);
    while rest.is_multiple_of(p) {
        (rest, exponent) = (rest / p, exponent + 1);
    }
    (rest == 1).then_some((p, exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_primes_and_no_others_have_a_field() {
        let expected = [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32, 37, 41, 43, 47, 49];
        let found: Vec<u32> = (0..50).filter(|&q| Field::new(q).is_some()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_axioms_hold() {
        // Would catch a polynomial that is no field's, and powers or sums of another field.
        for q in [2, 3, 4, 5, 8, 9, 16, 25, 27, 32] {
            let Some(field) = Field::new(q) else { panic!("a field of {q}") };
            for a in 0..q {
                assert_eq!((field.sum(a, 0), field.product(a, 1), field.product(a, 0)), (a, a, 0));
                let (negatives, inverses) = (0..q).fold((0, 0), |(n, i), b| {
                    (n + u32::from(field.sum(a, b) == 0), i + u32::from(field.product(a, b) == 1))
                });
                assert_eq!((negatives, inverses), (1, u32::from(a > 0)));
                for b in 0..q {
                    assert_eq!(field.product(a, b), field.product(b, a));
                    for c in (0..q).step_by(3) {
                        assert_eq!(field.sum(field.sum(a, b), c), field.sum(a, field.sum(b, c)));
                        assert_eq!(field.product(field.product(a, b), c), field.product(a, field.product(b, c)));
                        let both = field.sum(field.product(a, c), field.product(b, c));
                        assert_eq!(field.product(field.sum(a, b), c), both, "({a} + {b}) {c} of {q}");
                    }
                }
            }
        }
    }
}
