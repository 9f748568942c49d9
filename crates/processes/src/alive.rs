//! Watch on the other processes of a node: a process that dies leaves the others waiting.

use std::fs;

/// Process of the run, as the processes of its node see it.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    rank: u32,
    pid: u32,
    host: String,
    /// Namespace of `pid`. Empty: processes of this system are not watched.
    namespace: String,
}

units::record!(Watched { rank, pid, host, namespace });

impl Watched {
    /// Returns this process.
    pub fn this(rank: usize) -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
        let namespace = fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default();
        Self { rank: rank as u32, pid: std::process::id(), host, namespace }
    }

    /// Returns whether the process runs. A process that has died and that nobody has waited for is a zombie.
    pub fn is_alive(&self) -> bool {
        let Ok(status) = fs::read_to_string(format!("/proc/{}/stat", self.pid)) else { return false };
        // The state follows the name, which may have any characters.
        let state = status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        !matches!(state, None | Some('Z' | 'X' | 'x'))
    }
}

impl std::fmt::Display for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} (pid {} on {})", self.rank, self.pid, self.host)
    }
}

/// Returns the number of cores of this node. None if the system does not say.
pub(crate) fn cores() -> Option<usize> {
    cores_of(&fs::read_to_string("/sys/devices/system/cpu/online").ok()?)
}

/// Returns the number of cores in a list of ranges, such as `0-3,8`.
fn cores_of(list: &str) -> Option<usize> {
    let of = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some((last.parse::<usize>().ok()? + 1).saturating_sub(first.parse().ok()?))
    };
    list.trim().split(',').map(of).sum()
}

/// Returns the other processes on the node of process `rank`.
pub(crate) fn of_this_node(all: Vec<Watched>, rank: usize) -> Vec<Watched> {
    let Some(own) = all.iter().find(|other| other.rank as usize == rank).cloned() else { return Vec::new() };
    let is_near =
        |other: &Watched| other.rank != own.rank && (&other.host, &other.namespace) == (&own.host, &own.namespace);
    all.into_iter().filter(|other| !own.namespace.is_empty() && is_near(other)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_counted_by_range() {
        // Would catch an end of a range that is left out, and a list that is none.
        assert_eq!(["0-1\n", "0-3,8", "7"].map(cores_of), [Some(2), Some(5), Some(1)]);
        assert_eq!(cores_of(""), None);
    }

    #[test]
    fn a_child_that_has_died_is_not_alive_although_its_number_is() {
        // Would catch a zombie that counts as alive, and a process that is watched on another node.
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let own = Watched::this(0);
        let other = Watched { rank: 1, pid: child.id(), ..own.clone() };
        let far = Watched { rank: 2, host: "elsewhere".to_owned(), ..own.clone() };
        let near = of_this_node(vec![own, other.clone(), far], 0);
        assert_eq!(near.iter().map(ToString::to_string).collect::<Vec<_>>(), [other.to_string()]);
        assert!(near[0].is_alive());
        child.kill().unwrap();
        while near[0].is_alive() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!near[0].is_alive());
    }
}
