//! Check for shared interfaces: an interface that is modelled by stages serves one job. Jobs of ranks may not share
//! nodes with other jobs, whose packets would bypass the stages.

use traffic::Placement;
use units::KeyError;

/// Name of a job, its placement, and whether it has ranks.
pub(crate) type Placed<'a> = (&'a str, &'a Placement, bool);

/// Refuses ranks on a node that another job uses too.
///
/// # Errors
/// If two jobs share a node and one of them has ranks. The error names the first such pair.
pub(crate) fn check<'a>(jobs: impl Iterator<Item = Placed<'a>>) -> Result<(), KeyError> {
    let jobs: Vec<Placed<'_>> = jobs.collect();
    let nodes = jobs.iter().map(|(_, placement, _)| placement.nodes()).max().unwrap_or(0);
    let mut jobs_of = vec![usize::MAX; nodes as usize];
    for (number, (name, placement, of_ranks)) in jobs.iter().enumerate() {
        for node in placement.used() {
            let first = std::mem::replace(&mut jobs_of[node.0 as usize], number);
            if let Some((other, _, other_of_ranks)) = jobs.get(first).filter(|_| first != number)
                && (*of_ranks || *other_of_ranks)
            {
                let message = format!(
                    "it has node {} together with `{other}`: an interface of kind \"loggp\", or `nic` of a network, serves one \
                     job; give ranks nodes of their own, or set `nic.kind = \"ideal\"`",
                    node.0
                );
                return Err(KeyError::new(format!("job.{name}.nodes"), message));
            }
        }
    }
    Ok(())
}
