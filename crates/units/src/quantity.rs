//! Quantities with a dimension, and their text form.
//!
//! The grammar is `NUMBER UNIT`, blanks between them optional: `"20 ns"`, `"10 Gb/s"`, `"4 KiB"`, `"1.5 us"`. Numbers
//! are decimal and are converted exactly; a value that is not a whole number of the smallest unit is an error.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::spelling::{exponent, shifted, spelled};

/// Reason why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The number has no unit.
    #[error("`{text}` has no unit; write {what} as for example \"{example}\"")]
    NoUnit {
        /// The text as written.
        text: String,
        /// The dimension, in words.
        what: &'static str,
        /// A correct value.
        example: &'static str,
    },
    /// The unit does not belong to this dimension.
    #[error("unknown unit `{unit}` for {what}; allowed: {allowed} (for example \"{example}\")")]
    UnknownUnit {
        /// The number before the unit.
        number: String,
        /// The unit as written.
        unit: String,
        /// The quantity in known units. Present if the unit is another spelling of a known one (`400 Gbps`).
        meant: Option<Box<str>>,
        /// The dimension, in words.
        what: &'static str,
        /// The known units.
        allowed: Box<str>,
        /// A correct value.
        example: &'static str,
    },
    /// The text does not begin with a number.
    #[error("`{text}` does not start with a number; write {what} as for example \"{example}\"")]
    NotANumber {
        /// The text as written.
        text: String,
        /// The dimension, in words.
        what: &'static str,
        /// A correct value.
        example: &'static str,
    },
    /// The number is below 0.
    #[error("`{text}` is negative; {what} must be positive, as for example \"{example}\"")]
    Negative {
        /// The text as written.
        text: String,
        /// The dimension, in words.
        what: &'static str,
        /// A correct value.
        example: &'static str,
    },
    /// The value is finer than the smallest unit, or too large.
    #[error("`{text}` is not a whole number of {smallest} between 0 and 2^63")]
    Unrepresentable {
        /// The text as written.
        text: String,
        /// The smallest unit, in words.
        smallest: &'static str,
    },
}

impl QuantityError {
    /// Returns the quantity that was probably meant, if known.
    pub fn meant(&self) -> Option<&str> {
        if let Self::UnknownUnit { meant, .. } = self { meant.as_deref() } else { None }
    }
}

/// Units and texts with which quantities of a dimension are read and written. Units are sorted largest first, for
/// writing.
struct Dimension {
    what: &'static str,
    example: &'static str,
    smallest: &'static str,
    /// Name and size of each unit, the size in the smallest unit; the first that divides a value is used to write it.
    units: &'static [(&'static str, u64)],
}

impl Dimension {
    fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let trimmed = text.trim();
        if is_negative(trimmed) {
            return Err(QuantityError::Negative { text: text.into(), what: self.what, example: self.example });
        }
        let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
        let (number, unit) = (trimmed[..split].replace('_', ""), trimmed[split..].trim());
        // Both micro signs of Unicode count as `u`.
        let unit = &*unit.replace(['\u{b5}', '\u{3bc}'], "u");
        if number.is_empty() || number.matches('.').count() > 1 || number == "." {
            return Err(QuantityError::NotANumber { text: text.into(), what: self.what, example: self.example });
        }
        if unit.is_empty() {
            return Err(QuantityError::NoUnit { text: text.into(), what: self.what, example: self.example });
        }
        let Some(&(_, scale)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return Err(QuantityError::UnknownUnit {
                number: number.clone(),
                unit: unit.into(),
                meant: self.meant(&number, unit).map(Into::into),
                what: self.what,
                allowed: self.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ").into(),
                example: self.example,
            });
        };
        scaled(&number, scale)
            .ok_or_else(|| QuantityError::Unrepresentable { text: text.into(), smallest: self.smallest })
    }

    /// Returns the quantity in known units if `unit` is another spelling of one. A power of ten before the unit counts.
    fn meant(&self, number: &str, unit: &str) -> Option<String> {
        let (exponent, unit) = exponent(unit);
        let name = spelled(unit, self.units)?;
        let Some(exponent) = exponent else { return Some(format!("{number} {name}")) };
        let scale = self.units.iter().find(|own| own.0 == name)?.1;
        scaled(&shifted(number, exponent)?, scale).map(|value| Written(self, value).to_string())
    }

    fn write(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, scale) = self
            .units
            .iter()
            .find(|(_, scale)| value >= *scale && value.is_multiple_of(*scale))
            .or(self.units.last())
            .copied()
            .unwrap_or(("", 1));
        write!(f, "{} {name}", value / scale)
    }
}

/// Number in a dimension's smallest unit, with the dimension, for display.
struct Written<'a>(&'a Dimension, u64);

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(self.1, f)
    }
}

/// Returns whether a text starts with a negative number, with any minus sign.
fn is_negative(text: &str) -> bool {
    let number = text.strip_prefix(['-', '\u{2212}']).map(str::trim_start);
    number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Multiplies a decimal number by a scale, exactly. Returns `None` if the product is not a whole number below 2^63.
fn scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let denominator = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let digits: u128 = format!("0{whole}{fraction}").parse().ok()?;
    let product = digits.checked_mul(u128::from(scale))?;
    if product % denominator != 0 {
        return None;
    }
    u64::try_from(product / denominator).ok().filter(|&value| value < 1 << 63)
}

/// Implements serde and JSON Schema for a type that is written as text.
macro_rules! text_format {
    ($name:ident, $dimension:ident, $parse:expr) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Text { dimension: &$dimension, parse: $parse })
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "format": $dimension.what,
                    "examples": [$dimension.example],
                })
            }
        }
    };
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $dimension:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl std::str::FromStr for $name {
            type Err = QuantityError;

            fn from_str(text: &str) -> Result<Self, QuantityError> {
                $dimension.parse(text).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $dimension.write(self.0, f)
            }
        }

        text_format!($name, $dimension, |text: &str| $dimension.parse(text).map($name));
    };
}

mod duration;

pub use duration::Duration;

/// Serde visitor that reads a quantity from a string. It refuses a bare number and names the missing unit.
struct Text<P> {
    dimension: &'static Dimension,
    parse: P,
}

impl<P> Text<P> {
    fn no_unit<E: de::Error, T>(&self, number: impl ToString) -> Result<T, E> {
        let (what, example) = (self.dimension.what, self.dimension.example);
        Err(E::custom(QuantityError::NoUnit { text: number.to_string(), what, example }))
    }
}

impl<T, P: Fn(&str) -> Result<T, QuantityError>> Visitor<'_> for Text<P> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with its unit, as a string such as \"{}\"", self.dimension.what, self.dimension.example)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.no_unit(number)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.no_unit(number)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.no_unit(number)
    }
}

static TIME: Dimension = Dimension {
    what: "a time",
    example: "20 ns",
    smallest: "picoseconds",
    units: &[("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)],
};

static SIZE: Dimension = SIZE_UNITS;

const SIZE_UNITS: Dimension = Dimension {
    what: "a size",
    example: "256 B",
    smallest: "bytes",
    units: &[
        ("GiB", 1 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("KiB", 1 << 10),
        ("kB", 1_000),
        ("B", 1),
    ],
};

static DEPTH: Dimension = Dimension { what: "a depth", example: "4 packets", ..SIZE_UNITS };

static BANDWIDTH: Dimension = Dimension {
    what: "a bandwidth",
    example: "10 Gb/s",
    smallest: "bits per second",
    units: &[
        ("Tb/s", 1_000_000_000_000),
        ("Gb/s", 1_000_000_000),
        ("Mb/s", 1_000_000),
        ("kb/s", 1_000),
        ("b/s", 1),
        ("TB/s", 8_000_000_000_000),
        ("GB/s", 8_000_000_000),
        ("MB/s", 8_000_000),
        ("kB/s", 8_000),
        ("GiB/s", 8 << 30),
        ("MiB/s", 8 << 20),
        ("KiB/s", 8 << 10),
        ("B/s", 8),
    ],
};

static LENGTH: Dimension = Dimension {
    what: "a length",
    example: "1.5 m",
    smallest: "millimetres",
    units: &[("km", 1_000_000), ("m", 1_000), ("cm", 10), ("mm", 1)],
};

static POWER: Dimension = Dimension {
    what: "a power",
    example: "12 W",
    smallest: "milliwatts",
    units: &[("MW", 1_000_000_000), ("kW", 1_000_000), ("W", 1_000), ("mW", 1)],
};

quantity! {
    /// A time or a duration, in picoseconds.
    Time, TIME
}
quantity! {
    /// A length, in millimetres.
    Length, LENGTH
}
quantity! {
    /// An electrical power, in milliwatts.
    Power, POWER
}
quantity! {
    /// A size, in bytes.
    Bytes, SIZE
}
quantity! {
    /// A bandwidth, in bits per second.
    Bandwidth, BANDWIDTH
}

/// The depth of a buffer: in bytes, or in packets of the experiment's largest size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// In packets of the experiment's largest size: `"4 packets"`.
    Packets(u32),
    /// In bytes: `"1 KiB"`.
    Bytes(Bytes),
}

impl Capacity {
    /// Returns the depth in bytes. `packet` is the size of the largest packet. `None` if the depth exceeds 32 bits.
    pub fn in_bytes(self, packet: Bytes) -> Option<u32> {
        let bytes = match self {
            Self::Packets(packets) => packet.0.checked_mul(u64::from(packets))?,
            Self::Bytes(bytes) => bytes.0,
        };
        u32::try_from(bytes).ok().filter(|&bytes| bytes < 1 << 31)
    }
}

impl std::str::FromStr for Capacity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let number = text.trim().strip_suffix("packets").or_else(|| text.trim().strip_suffix("packet"));
        match number.filter(|number| !is_negative(number.trim())) {
            Some(number) => number
                .trim()
                .parse()
                .map(Self::Packets)
                .map_err(|_| QuantityError::Unrepresentable { text: text.into(), smallest: "packets (below 2^32)" }),
            None => DEPTH.parse(text).map(|bytes| Self::Bytes(Bytes(bytes))).map_err(in_packets),
        }
    }
}

/// Suggests `packets` for other spellings of the word.
fn in_packets(mut error: QuantityError) -> QuantityError {
    if let QuantityError::UnknownUnit { number, unit, meant, .. } = &mut error
        && ["p", "pk", "pkt", "pkts", "pack", "packs", "package", "packages"].contains(&&*unit.to_ascii_lowercase())
    {
        *meant = Some(format!("{number} packets").into());
    }
    error
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

text_format!(Capacity, DEPTH, |text: &str| text.parse::<Capacity>());

impl Time {
    /// Returns the time in nanoseconds, for output and plots.
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Add for Time {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Time {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Bandwidth {
    /// Returns the time that `size` takes at this bandwidth, rounded up to a picosecond, and whether it is exact.
    ///
    /// Returns `None` if the bandwidth is 0 or the time exceeds 2^63 ps.
    pub fn serialization(self, size: Bytes) -> Option<(Time, bool)> {
        if self.0 == 0 {
            return None;
        }
        const PICOBITS: u64 = 8 * 1_000_000_000_000;
        // The product of up to 2 MB fits in 64 bits, whose division is many times as fast; a run converts packets of
        // every size.
        let (time, rest) = match size.0.checked_mul(PICOBITS) {
            Some(all) => (all / self.0, all % self.0 > 0),
            None => {
                let (all, own) = (u128::from(size.0) * u128::from(PICOBITS), u128::from(self.0));
                (u64::try_from(all / own).ok()?, !all.is_multiple_of(own))
            }
        };
        let time = time.saturating_add(u64::from(rest));
        (time < 1 << 63).then_some((Time(time), !rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_mean_what_the_field_means_by_them() {
        // Would catch `b` taken for byte, `k` taken for 1024, or a unit that is off by a power of ten.
        assert_eq!("10 Gb/s".parse(), Ok(Bandwidth(10_000_000_000)));
        assert_eq!("1 GB/s".parse(), Ok(Bandwidth(8_000_000_000)));
        assert_eq!("4 KiB".parse(), Ok(Bytes(4096)));
        assert_eq!("4kB".parse(), Ok(Bytes(4000)));
        assert_eq!("1.5 us".parse(), Ok(Time(1_500_000)));
        assert_eq!("12.8 ns".parse(), Ok(Time(12_800)));
        assert_eq!("2.4 m".parse(), Ok(Length(2_400)));
        assert_eq!("60cm".parse(), Ok(Length(600)));
        assert_eq!("1.25 kW".parse(), Ok(Power(1_250_000)));
        assert_eq!("1 MW".parse::<Power>(), "1000000000 mW".parse());
        assert_eq!("10 min".parse(), Ok(Duration(600_000)));
        for micro in ["5 \u{b5}s", "5 \u{3bc}s"] {
            assert_eq!(micro.parse(), Ok(Time(5_000_000)));
        }
    }

    #[test]
    fn serialization_is_exact_or_says_that_it_is_not() {
        // Table 1 of the hardware-collectives paper: 256 bytes at 10 Gb/s.
        assert_eq!(Bandwidth(10_000_000_000).serialization(Bytes(256)), Some((Time(204_800), true)));
        assert_eq!(Bandwidth(3_000_000_000).serialization(Bytes(64)), Some((Time(170_667), false)));
        assert_eq!(Bandwidth(0).serialization(Bytes(1)), None);
    }

    #[test]
    fn bad_text_is_refused_with_a_reason() {
        for text in ["20", "ns", "", "1.2.3 ns", "-4 ns", "0.0001 ps", "99999999999999999999 s", "5 parsecs", "4 Gbps"]
        {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
        assert!(matches!("20".parse::<Time>(), Err(QuantityError::NoUnit { .. })));
        for text in ["-400 Gb/s", "-400", "- 400 Gb/s", "\u{2212}0.5 Gb/s", "-.5 Gb/s"] {
            assert!(matches!(text.parse::<Bandwidth>(), Err(QuantityError::Negative { .. })), "{text}");
        }
        assert!(matches!("-4 packets".parse::<Capacity>(), Err(QuantityError::Negative { .. })));
        assert!(matches!("-x Gb/s".parse::<Bandwidth>(), Err(QuantityError::NotANumber { .. })));
    }

    #[test]
    fn other_spellings_of_units_are_named_in_known_ones() {
        // Would catch a usual spelling without a suggestion, bits taken for bytes, and a suggestion of another value.
        let bandwidth = |text: &str| text.parse::<Bandwidth>().unwrap_err().meant().map(str::to_owned);
        for (written, meant) in [
            ("400 Gbps", "400 Gb/s"),
            ("400 gbps", "400 Gb/s"),
            ("400GBps", "400 GB/s"),
            ("100Gbit/s", "100 Gb/s"),
            ("100 Gbits/sec", "100 Gb/s"),
            ("10 gigabits per second", "10 Gb/s"),
            ("12.5 GBytes/s", "12.5 GB/s"),
            ("1e9Bps", "8 Gb/s"),
            ("2.5e11 b/s", "250 Gb/s"),
            ("1e-1 Gb/s", "100 Mb/s"),
            ("400 G", "400 Gb/s"),
            ("400G/s", "400 Gb/s"),
            ("400 Gb", "400 Gb/s"),
            ("50 GB", "50 GB/s"),
            ("1 Kb/s", "1 kb/s"),
        ] {
            assert_eq!(bandwidth(written).as_deref(), Some(meant), "{written}");
        }
        for unknown in ["4 Gib/s", "4 GHz", "4 parsecs", "1e99 b/s", "4 /s"] {
            assert_eq!(bandwidth(unknown), None, "{unknown}");
        }
        let time = |text: &str| text.parse::<Time>().unwrap_err().meant().map(str::to_owned);
        for (written, meant) in
            [("5 usec", "5 us"), ("5 nanoseconds", "5 ns"), ("5 NS", "5 ns"), ("1e-6 s", "1 us"), ("5 sec", "5 s")]
        {
            assert_eq!(time(written).as_deref(), Some(meant), "{written}");
        }
        let size = |text: &str| text.parse::<Bytes>().unwrap_err().meant().map(str::to_owned);
        for (written, meant) in [
            ("4 KB", "4 kB"),
            ("64 bytes", "64 B"),
            ("64 b", "64 B"),
            ("4 K", "4 kB"),
            ("2 Mi", "2 MiB"),
            ("1 kib", "1 KiB"),
        ] {
            assert_eq!(size(written).as_deref(), Some(meant), "{written}");
        }
        assert_eq!(size("64 bits"), None);
        let length = |text: &str| text.parse::<Length>().unwrap_err().meant().map(str::to_owned);
        assert_eq!((length("2 metres").as_deref(), length("3 CM").as_deref()), (Some("2 m"), Some("3 cm")));
        assert_eq!((length("30 centimeters").as_deref(), length("2 miles")), (Some("30 cm"), None));
        let power = |text: &str| text.parse::<Power>().unwrap_err().meant().map(str::to_owned);
        assert_eq!((power("25 watts").as_deref(), power("2 KW").as_deref()), (Some("25 W"), Some("2 kW")));
        let depth = |text: &str| text.parse::<Capacity>().unwrap_err().meant().map(str::to_owned);
        assert_eq!(depth("4 pkts").as_deref(), Some("4 packets"));
    }

    proptest! {
        #[test]
        fn what_is_meant_is_read(number in "[0-9]{1,4}(\\.[0-9]{1,3})?", unit in "[a-zA-Z/0-9+-]{1,8}") {
            // Would catch a suggestion that would itself be refused.
            let text = format!("{number} {unit}");
            if let Err(error) = text.parse::<Bandwidth>() {
                let again = error.meant().map(|meant| meant.parse::<Bandwidth>());
                let fine = matches!(again, None | Some(Ok(_) | Err(QuantityError::Unrepresentable { .. })));
                prop_assert!(fine, "{} {:?}", text, again);
            }
        }

        #[test]
        fn serialization_is_the_quotient_rounded_up(
            bytes in prop_oneof![0_u64..5_000_000, 2_305_000..2_307_000_u64, any::<u64>()],
            bandwidth in prop_oneof![1_u64..1 << 40, any::<u64>()],
        ) {
            // Would catch a product that overflows, and a remainder that is lost, on either side of 64 bits.
            let all = u128::from(bytes) * 8_000_000_000_000;
            let want = (bandwidth > 0).then(|| all.div_ceil(u128::from(bandwidth))).filter(|&time| time < 1 << 63);
            let got = Bandwidth(bandwidth).serialization(Bytes(bytes));
            prop_assert_eq!(got.map(|(time, _)| u128::from(time.0)), want);
            prop_assert!(got.is_none_or(|(_, exact)| exact == (all % u128::from(bandwidth) == 0)));
        }

        #[test]
        fn what_is_written_reads_back(value in 0_u64..1 << 62) {
            prop_assert_eq!(Time(value).to_string().parse(), Ok(Time(value)));
            prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
            prop_assert_eq!(Bandwidth(value).to_string().parse(), Ok(Bandwidth(value)));
            prop_assert_eq!(Length(value).to_string().parse(), Ok(Length(value)));
            prop_assert_eq!(Power(value).to_string().parse(), Ok(Power(value)));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = text.parse::<Time>();
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Bandwidth>();
        }
    }
}
