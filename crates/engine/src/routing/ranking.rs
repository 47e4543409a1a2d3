//! Shortest paths by number: what a source route names. Not which of them a sender takes.

use super::paths::Paths;

/// The shortest paths between every two attachments, numbered from 0 in the order of their links.
pub struct Ranking<'p> {
    paths: &'p Paths,
    /// Paths from each switch to each attachment, row-major; as many as can be counted.
    counts: Vec<u32>,
}

impl<'p> Ranking<'p> {
    pub(super) fn new(paths: &'p Paths) -> Self {
        let width = paths.attachments.len();
        let mut counts = vec![0u32; paths.switches.len() * width];
        let mut order = Vec::new();
        for attachment in 0..width as u32 {
            paths.nearest_first(attachment, &mut order);
            for &switch in &order {
                let at = switch as usize * width + attachment as usize;
                let beyond = |to: u32| counts[to as usize * width + attachment as usize];
                counts[at] = match paths.candidates.choice(switch, attachment).hops {
                    [] => 1,
                    hops => hops.iter().fold(0, |sum: u32, hop| sum.saturating_add(beyond(hop.to))),
                };
            }
        }
        Self { paths, counts }
    }

    /// How many paths lead from a switch to an attachment.
    pub fn count(&self, switch: u32, attachment: u32) -> u32 {
        self.counts[switch as usize * self.paths.attachments.len() + attachment as usize]
    }

    /// The link by which the path of a number, counted at `from`, leaves a switch; none where it does not cross that.
    pub fn link(&self, from: u32, attachment: u32, number: u32, leaving: u32) -> Option<u32> {
        let (mut at, mut number) = (from, number);
        loop {
            let mut hops = self.paths.candidates.choice(at, attachment).hops.iter();
            let hop = hops.find(|hop| {
                let beyond = self.count(hop.to, attachment);
                let is_here = number < beyond;
                if !is_here {
                    number -= beyond;
                }
                is_here
            })?;
            if at == leaving {
                return Some(hop.link);
            }
            at = hop.to;
        }
    }
}
