//! A group split over servers (NVLink domains).

use crate::Result;

/// Gives a rank's server and the position of its GPU there.
pub(super) type Place<'a> = dyn Fn(u32) -> Result<(u32, u32)> + 'a;

/// The ranks of a group, server by server.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    /// First rank of the group: the root of a broadcast or reduce.
    pub root: u32,
    /// Ranks of each server. Servers are in order of first appearance in the group, so the root's comes first; ranks in
    /// order of their GPU's position, so that equal indices share a rail.
    pub ranks: Vec<Vec<u32>>,
}

impl Servers {
    /// Splits a group.
    pub fn of(group: &[u32], place: &Place) -> Result<Self> {
        let mut placed: Vec<(u32, usize, u32, u32)> = Vec::with_capacity(group.len());
        for (order, &rank) in group.iter().enumerate() {
            let (server, position) = place(rank)?;
            placed.push((server, order, position, rank));
        }
        placed.sort_unstable();
        let mut servers: Vec<_> = placed.chunk_by(|a, b| a.0 == b.0).map(<[_]>::to_vec).collect();
        servers.sort_unstable_by_key(|members| members[0].1);
        for members in &mut servers {
            members.sort_unstable_by_key(|&(_, order, position, _)| (position, order));
        }
        let ranks = servers.iter().map(|members| members.iter().map(|member| member.3).collect()).collect();
        Ok(Self { root: group[0], ranks })
    }

    /// Ranks in all.
    pub fn len(&self) -> usize {
        self.ranks.iter().map(Vec::len).sum()
    }
}
