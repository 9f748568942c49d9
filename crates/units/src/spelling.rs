//! Alternative spellings of quantities, for the suggestions of errors: units as other tools and people write them, and
//! powers of ten.

/// Words for units and their parts, longer ones first, with their symbols.
const WORDS: [(&str, &str); 28] = [
    ("per second", "/s"),
    ("seconds", "s"),
    ("second", "s"),
    ("secs", "s"),
    ("sec", "s"),
    ("bytes", "B"),
    ("byte", "B"),
    ("octets", "B"),
    ("bits", "b"),
    ("bit", "b"),
    ("watts", "W"),
    ("watt", "W"),
    ("metres", "m"),
    ("meters", "m"),
    ("metre", "m"),
    ("meter", "m"),
    ("centi", "c"),
    ("nano", "n"),
    ("micro", "u"),
    ("milli", "m"),
    ("pico", "p"),
    ("kibi", "Ki"),
    ("mebi", "Mi"),
    ("gibi", "Gi"),
    ("kilo", "k"),
    ("mega", "M"),
    ("giga", "G"),
    ("tera", "T"),
];

/// Returns the unit of a dimension that another spelling stands for: `Gbps`, `Gbit/s`, `usec`, `kilobytes`, `KB`, `G`.
pub(crate) fn spelled<'a>(unit: &str, units: &[(&'a str, u64)]) -> Option<&'a str> {
    let (is_rate, has_bits) =
        (units.iter().any(|(name, _)| name.ends_with("/s")), units.iter().any(|(name, _)| name.contains('b')));
    if !has_bits && unit.to_ascii_lowercase().contains("bit") {
        return None;
    }
    let plain = symbols(unit, is_rate);
    let lower = plain.to_ascii_lowercase();
    // Bits are not taken for bytes, except in a dimension without bits.
    let same_letter = |name: &&str| !has_bits || name.contains('b') == plain.contains('b');
    let named = |text: &str| {
        let alike = |name: &&str| name.to_ascii_lowercase() == text;
        units.iter().map(|(name, _)| *name).filter(alike).collect::<Vec<_>>()
    };
    let stem = lower.strip_suffix("/s").unwrap_or(&lower);
    let bare = if is_rate { format!("{stem}b/s") } else { format!("{stem}b") };
    let whole = if is_rate { format!("{stem}/s") } else { lower.clone() };
    let exact = named(&lower).into_iter().find(|name| *name == plain);
    exact
        .or_else(|| named(&lower).into_iter().find(same_letter))
        .or_else(|| named(&whole).into_iter().find(same_letter))
        .or_else(|| named(&bare).into_iter().next().filter(|_| !stem.is_empty()))
}

/// Replaces the words of a unit by symbols. If `is_rate`, also replaces other forms of `/s`.
fn symbols(unit: &str, is_rate: bool) -> String {
    let mut plain = unit.trim().to_owned();
    for (word, symbol) in WORDS {
        if let Some(at) = plain.to_ascii_lowercase().find(word) {
            plain.replace_range(at..at + word.len(), symbol);
        }
    }
    plain.retain(|c| !c.is_whitespace());
    if !is_rate {
        return plain;
    }
    let stem = ["/S", "ps", "PS"].iter().find_map(|ending| plain.strip_suffix(ending).map(str::to_owned));
    stem.map_or(plain, |stem| format!("{stem}/s"))
}

/// Splits the text after a number into a power of ten (`e9`), if it begins with one, and a unit.
pub(crate) fn exponent(text: &str) -> (Option<i32>, &str) {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return (None, text) };
    let sign = usize::from(rest.starts_with(['+', '-']));
    let length = sign + rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
    rest[..length].parse().map_or((None, text), |exponent| (Some(exponent), rest[length..].trim_start()))
}

/// Multiplies a decimal number by a power of ten. Returns a decimal number; `None` for large powers.
pub(crate) fn shifted(number: &str, exponent: i32) -> Option<String> {
    const MOST: usize = 18;
    let places = exponent.unsigned_abs() as usize;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if places > MOST {
        return None;
    }
    let (mut whole, mut fraction) = (whole.to_owned(), fraction.to_owned());
    if exponent >= 0 {
        fraction.push_str(&"0".repeat(places.saturating_sub(fraction.len())));
        whole.push_str(&fraction[..places]);
        fraction.replace_range(..places, "");
    } else {
        whole.insert_str(0, &"0".repeat((places + 1).saturating_sub(whole.len())));
        fraction.insert_str(0, &whole.split_off(whole.len() - places));
    }
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") })
}
