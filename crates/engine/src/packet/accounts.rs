//! What becomes of packets: counted as they are lost, and checked at the end to add up.

use eastwest_transport::{Flags, Kind, Sender};

use super::event::Event;
use super::outcome::{PacketOutcome, Totals};
use super::pool::Place;
use super::port::{LOSS_WHOLE, Waiting};
use super::run::Simulation;
use super::transport::Transport;
use crate::{Error, Picoseconds, Result};

impl<T: Transport> Simulation<'_, T> {
    /// Checks that packets add up, and gives what became of them.
    ///
    /// # Errors
    /// [`Error::Internal`] where they do not.
    pub(super) fn finish(mut self) -> Result<PacketOutcome> {
        let end = self.end();
        let series = self.end_series(end);
        // Those under way when time was up.
        for (sender, fate) in self.senders.iter().zip(&mut self.fates) {
            if let Some(sender) = sender {
                fate.retransmits = sender.retransmits();
                self.totals.retransmits += fate.retransmits;
            }
        }
        // Ports that nobody let go.
        self.totals.paused += self.paused_since.values().map(|&since| end.saturating_sub(since)).sum::<Picoseconds>();
        let ports = self.port_outcomes(end);
        self.totals.deepest = ports.iter().map(|port| port.deepest).max().unwrap_or(0).into();
        let (mut classes, paused) = self.classes.as_mut().map(|table| table.close(end)).unwrap_or_default();
        self.count_waits(&mut classes, end);
        self.totals.paused += paused;
        self.totals.paused += self.credits.as_ref().map_or(0, |credits| credits.waiting(end));
        self.close()?;
        self.close_credits()?;
        let capture = self.capture.map(|capture| *capture);
        let (flows, totals) = (self.fates, self.totals);
        Ok(PacketOutcome { flows, ports, totals, end, events: self.events, series, capture, classes })
    }

    /// When the last flow ended; where some have not, the time of the last event.
    fn end(&self) -> Picoseconds {
        let ended = self.fates.iter().map(|fate| fate.end).max().flatten().filter(|_| self.left == 0);
        ended.unwrap_or(self.latest.max(self.now))
    }

    /// A packet is gone, that a port had or that came by it.
    pub(super) fn lose(&mut self, index: u32, place: Place) {
        if let Some(recorder) = &mut self.recorder {
            recorder.lost(index);
        }
        let packet = self.pool.take(place);
        let is_whole = packet.kind == Kind::Data && !packet.flags.has(Flags::TRIMMED);
        *(if is_whole { &mut self.totals.drops } else { &mut self.totals.urgent_drops }) += 1;
        if let Some(table) = &mut self.classes {
            let class = usize::from(self.routes[packet.flow as usize].class);
            table.outcome.totals[class].drops += u64::from(is_whole);
        }
    }

    /// A packet is gone on a cable: it was down or led to a switch without routes, or bits were wrong.
    #[cold]
    pub(super) fn lose_on_cable(&mut self, index: u32, place: Place) {
        let port = &self.ports[index as usize];
        if port.is_down || u64::from(port.loss) == LOSS_WHOLE {
            self.lose_arriving(index, index, place);
            return;
        }
        let packet = self.pool[place];
        self.give_back(index, self.lane_of(&packet), packet.size, 0);
        let is_whole = Waiting::of(place, &self.pool.take(place)).is_whole;
        *(if is_whole { &mut self.totals.bit_errors } else { &mut self.totals.urgent_bit_errors }) += 1;
    }

    /// Packets on cables, each with its link.
    pub(super) fn landing(&self) -> impl Iterator<Item = (u32, Place)> {
        self.wheel.iter().filter_map(|due| match Event::of(due.event()) {
            (Event::Arrive, link) => Some((link, due.place())),
            _ => None,
        })
    }

    /// Checks that packets add up: each that was sent has arrived, lost its payload, was dropped, or is still somewhere.
    fn close(&mut self) -> Result<()> {
        let is_managed = self.credits.is_none(); // credits are counted by cable
        if is_managed && self.classes.as_ref().is_some_and(|table| !table.adds_up(&self.ports)) {
            return Err(Error::Internal("packets and the memory that they take in switches do not add up".into()));
        }
        let is_whole = |place: &Place| Waiting::of(*place, &self.pool[*place]).is_whole;
        let waiting = self.ports.iter().flat_map(|port| &port.data).map(|waiting| waiting.place);
        let landing = self.landing().map(|(_, place)| place);
        self.totals.unfinished = waiting.chain(landing).filter(is_whole).count() as u64;
        let by_class = self.classes.iter().flat_map(|table| table.waiting());
        self.totals.unfinished += by_class.filter(|waiting| waiting.is_whole).count() as u64;
        let early = self.cut_through.iter().flat_map(|cut| cut.waiting());
        self.totals.unfinished += early.filter(is_whole).count() as u64;
        let Totals { packets, delivered, drops, bit_errors, trims, unfinished, .. } = self.totals;
        if packets == delivered + drops + bit_errors + trims + unfinished {
            return Ok(());
        }
        Err(Error::Internal(format!(
            "of {packets} packets {delivered} arrived, {drops} were dropped, {bit_errors} corrupted, {trims} trimmed \
             and {unfinished} left over"
        )))
    }
}
