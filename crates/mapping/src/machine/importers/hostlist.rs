//! Lists of hosts as Slurm writes them: `login,node[001-003,7],rack[0-1]n[0-3]`.

use units::{LocatedError, shortened};

/// Maximum number of hosts of a list, and of all lists of a file; also the maximum number of ports of a machine from a
/// file.
pub(crate) const MAX_HOSTS: usize = 1 << 20;

/// Expands a list to its hosts, in its order. Leading zeros are kept.
///
/// # Errors
/// If brackets do not match, a range is invalid, or there are more than `MAX_HOSTS` hosts.
pub(crate) fn expand(list: &str) -> Result<Vec<String>, LocatedError> {
    let mut hosts = Vec::new();
    for item in split(list)? {
        let item = item.trim();
        if item.is_empty() {
            return Err(wrong(list, "has an empty name"));
        }
        hosts.extend(expand_one(item, list)?);
        if hosts.len() > MAX_HOSTS {
            return Err(wrong(list, "names more than 1,048,576 hosts"));
        }
    }
    Ok(hosts)
}

/// Expands a list to its hosts, and checks their names.
///
/// # Errors
/// If [`expand`] fails, or if a name has another character than letters, digits, `-`, `_` and `.`.
pub(crate) fn hosts(list: &str) -> Result<Vec<String>, LocatedError> {
    let hosts = expand(list)?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let Some(host) = hosts.iter().find(|host| !host.bytes().all(allowed)) else { return Ok(hosts) };
    // Quotes are shown unchanged: they are the fault.
    let shown = host.replace(char::is_control, "\u{fffd}");
    Err(LocatedError::new(format!("`{shown}` is no name of a host, which has letters, digits, `-`, `_` and `.` only")))
}

fn wrong(list: &str, what: &str) -> LocatedError {
    let start = shortened(list);
    LocatedError::new(format!("the list of hosts `{start}` {what}; it is written like `node[001-016,20],login1`"))
}

/// Splits a list into its items. Commas within brackets do not count.
fn split(list: &str) -> Result<Vec<&str>, LocatedError> {
    let (mut items, mut begin, mut inside) = (Vec::new(), 0, false);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' if inside => return Err(wrong(list, "has a bracket within brackets")),
            '[' => inside = true,
            ']' if !inside => return Err(wrong(list, "closes a bracket that is not open")),
            ']' => inside = false,
            ',' if !inside => {
                items.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(wrong(list, "does not close a bracket"));
    }
    items.push(&list[begin..]);
    Ok(items)
}

/// Returns all names of an item: the product of its brackets, the last one fastest.
fn expand_one(item: &str, list: &str) -> Result<Vec<String>, LocatedError> {
    let mut names = vec![String::new()];
    let mut rest = item;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((inside, behind)) = after.split_once(']') else { return Err(wrong(list, "does not close a bracket")) };
        let numbers = numbers(inside, list)?;
        if names.len().saturating_mul(numbers.len()) > MAX_HOSTS {
            return Err(wrong(list, "names more than 1,048,576 hosts"));
        }
        names =
            names.iter().flat_map(|name| numbers.iter().map(move |number| format!("{name}{before}{number}"))).collect();
        rest = behind;
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// Returns the numbers of `001-003,7` as they are written.
fn numbers(inside: &str, list: &str) -> Result<Vec<String>, LocatedError> {
    let mut found = Vec::new();
    for range in inside.split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (from.trim(), to.trim());
        let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        let (Some(first), Some(last)) = (number(from), number(to)) else {
            return Err(wrong(list, "has a range that is not of whole numbers"));
        };
        if last < first {
            return Err(wrong(list, "has a range that ends before it begins"));
        }
        if last - first >= MAX_HOSTS as u64 || found.len() > MAX_HOSTS {
            return Err(wrong(list, "names more than 1,048,576 hosts"));
        }
        let width = from.len();
        found.extend((first..=last).map(|number| format!("{number:0width$}")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::expand;

    #[test]
    fn ranges_zeros_and_products_are_kept() {
        // Would catch lost zeros, a range that is one short, brackets in the wrong order.
        let hosts = expand("login,node[08-10,3],r[0-1]n[5-6]x").unwrap_or_default();
        assert_eq!(hosts, ["login", "node08", "node09", "node10", "node3", "r0n5x", "r0n6x", "r1n5x", "r1n6x"]);
    }

    #[test]
    fn bad_lists_are_errors_and_huge_ones_are_refused() {
        // Would catch a range that is read backwards, and a typo that allocates much memory.
        for list in ["a[1-", "a]1[", "a[2-1]", "a[x]", "a,,b", "a[[1]]", "a[0-99999999999]", "a[0-9999]b[0-9999]", ""] {
            assert!(expand(list).is_err(), "{list}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(list in "[a-z0-9\\[\\],\\-]{0,24}") {
            // Would catch a panic on any text.
            let _ = expand(&list);
        }
    }
}
