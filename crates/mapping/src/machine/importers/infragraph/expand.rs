//! Expansion of endpoints such as `server[0:2]` and `cx7[0].port[:]` by the slices of Python.

use std::collections::BTreeMap;
use std::fmt;

use units::shortened;

use super::MAX_EDGES;
use super::schema::{Choice, Device, Instance};

/// Component with its number, of each nested device.
type ComponentPath<'a> = Vec<(&'a str, u32)>;

/// Component of an instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Endpoint<'a> {
    /// Name of the instance.
    pub instance: &'a str,
    /// Number of the copy.
    pub index: u32,
    path: ComponentPath<'a>,
    /// Whether the last component is a port.
    pub is_port: bool,
}

impl Endpoint<'_> {
    /// Returns the name of the copy of the device.
    pub fn device(&self) -> String {
        format!("{}.{}", self.instance, self.index)
    }
}

impl fmt::Display for Endpoint<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.instance, self.index)?;
        self.path.iter().try_for_each(|(component, index)| write!(formatter, ".{component}.{index}"))
    }
}

/// Devices and instances by name.
pub(super) struct Expander<'a> {
    pub devices: BTreeMap<&'a str, &'a Device>,
    pub instances: BTreeMap<&'a str, &'a Instance>,
}

impl<'a> Expander<'a> {
    /// Returns the endpoints of an instance and a component, by instance, then by component.
    ///
    /// # Errors
    /// If a name is unknown, if a slice is invalid, and if there are no or too many endpoints.
    pub fn expand(&self, instance: &str, component: &str) -> Result<Vec<Endpoint<'a>>, String> {
        let (name, slice) = split(instance)?;
        let known = || self.instances.keys().copied().collect::<Vec<_>>().join(", ");
        let unknown = || format!("`{}` is no instance; there are {}", shortened(name), shortened(&known()));
        let instance = *self.instances.get(name).ok_or_else(unknown)?;
        let copies = indices(slice, instance.count)?;
        let (paths, is_port) = self.paths(&instance.device, component)?;
        if copies.len().saturating_mul(paths.len()) > MAX_EDGES {
            return Err(format!("more than {MAX_EDGES} endpoints"));
        }
        let endpoint =
            |index, path: &ComponentPath<'a>| Endpoint { instance: &instance.name, index, path: path.clone(), is_port };
        let all: Vec<_> =
            copies.iter().flat_map(|&index| paths.iter().map(move |path| endpoint(index, path))).collect();
        if all.is_empty() { Err("the slices select no endpoint".to_owned()) } else { Ok(all) }
    }

    /// Returns the components that a path such as `cx7[0].port[:]` selects, and whether they are ports.
    fn paths(&self, device: &str, component: &str) -> Result<(Vec<ComponentPath<'a>>, bool), String> {
        let (mut device, mut is_port) = (device, false);
        let mut paths: Vec<ComponentPath<'a>> = vec![Vec::new()];
        for part in component.split('.') {
            let (name, slice) = split(part)?;
            let own = self.devices.get(device).ok_or_else(|| format!("`{}` is no device", shortened(device)))?;
            let found = own.components.iter().find(|component| component.name == name);
            let found = found.ok_or_else(|| {
                let known: Vec<&str> = own.components.iter().map(|component| &*component.name).collect();
                format!(
                    "`{}` is no component of `{device}`, which has {}",
                    shortened(name),
                    shortened(&known.join(", "))
                )
            })?;
            let numbers = indices(slice, found.count)?;
            if paths.len().saturating_mul(numbers.len()) > MAX_EDGES {
                return Err(format!("more than {MAX_EDGES} endpoints"));
            }
            let longer = |path: &ComponentPath<'a>, number| [&path[..], &[(&*found.name, number)]].concat();
            paths = paths.iter().flat_map(|path| numbers.iter().map(move |&number| longer(path, number))).collect();
            (device, is_port) = (&found.name, found.choice == Choice::Port);
        }
        Ok((paths, is_port))
    }
}

/// Splits `name[slice]`. Without brackets, the slice is empty.
fn split(text: &str) -> Result<(&str, &str), String> {
    let Some((name, rest)) = text.split_once('[') else { return Ok((text, "")) };
    match rest.strip_suffix(']') {
        Some(slice) if !slice.contains(['[', ']']) => Ok((name, slice)),
        _ => Err(format!("`{}` is no name with a slice, such as `nic[0:2]`", shortened(text))),
    }
}

/// Returns the indices that a slice of Python selects among `count`. An empty slice selects all of them.
fn indices(slice: &str, count: u32) -> Result<Vec<u32>, String> {
    let wrong = || format!("`[{}]` is no slice, such as `3`, `0:2` or `::2`", shortened(slice));
    let parts: Vec<Option<i64>> = slice
        .split(':')
        .map(|part| if part.trim().is_empty() { Ok(None) } else { part.trim().parse().map(Some).map_err(|_| wrong()) })
        .collect::<Result<_, String>>()?;
    let count = i64::from(count);
    let clamp = |value: i64| if value < 0 { value.saturating_add(count).max(0) } else { value.min(count) };
    let (start, stop, step) = match parts[..] {
        [None] => (0, count, 1),
        [Some(index)] => {
            let place = if index < 0 { index.saturating_add(count) } else { index };
            if !(0..count).contains(&place) {
                return Err(format!("the index {index}, where there are {count}"));
            }
            (place, place + 1, 1)
        }
        [start, stop] => (clamp(start.unwrap_or(0)), clamp(stop.unwrap_or(count)), 1),
        [start, stop, step] => (clamp(start.unwrap_or(0)), clamp(stop.unwrap_or(count)), step.unwrap_or(1)),
        _ => return Err(wrong()),
    };
    let step = usize::try_from(step).ok().filter(|&step| step > 0);
    let step = step.ok_or_else(|| format!("the step of `[{}]` is not positive", shortened(slice)))?;
    if stop - start > MAX_EDGES as i64 {
        return Err(format!("more than {MAX_EDGES} endpoints"));
    }
    Ok((start..stop).step_by(step).map(|index| index as u32).collect())
}

#[cfg(test)]
mod tests {
    use super::indices;

    #[test]
    fn slices_are_those_of_python() {
        // Would catch an end that is included, a negative index that counts otherwise, and a slice beyond the end.
        for (slice, due) in [
            ("", vec![0, 1, 2, 3, 4]),
            (":", vec![0, 1, 2, 3, 4]),
            ("3", vec![3]),
            ("-1", vec![4]),
            ("1:3", vec![1, 2]),
            ("3:", vec![3, 4]),
            (":-3", vec![0, 1]),
            ("::2", vec![0, 2, 4]),
            ("1:9:3", vec![1, 4]),
            ("4:2", vec![]),
        ] {
            assert_eq!(indices(slice, 5), Ok(due), "{slice}");
        }
        for slice in ["5", "-6", "a", "1:2:3:4", "::0", "::-1"] {
            assert!(indices(slice, 5).is_err(), "{slice}");
        }
    }
}
