//! NICs that grant credit to those that send to them, where the transport has receivers do so.

use eastwest_transport::uet::{CreditSettings, Credits};
use eastwest_transport::{Packet, Sender, Transmit};

use super::event::Event;
use super::port::Waiting;
use super::run::Simulation;
use super::transport::Transport;

/// A NIC's credits, and whether it is to be asked for the next at a time.
#[derive(Debug)]
pub(super) struct Granter {
    credits: Credits,
    is_armed: bool,
}

impl Granter {
    /// One for each of so many hosts, where receivers grant credit.
    pub fn each(settings: Option<CreditSettings>, hosts: usize) -> Vec<Self> {
        let new = |settings| Self { credits: Credits::new(settings), is_armed: false };
        settings.map_or_else(Vec::new, |settings| (0..hosts).map(|_| new(settings)).collect())
    }
}

impl<T: Transport> Simulation<'_, T> {
    /// A packet has come to a NIC that grants credit.
    pub(super) fn ask(&mut self, packet: &Packet) {
        let route = &self.routes[packet.flow as usize];
        let host = route.hosts[1];
        let granter = &mut self.granters[host as usize];
        let answer = granter.credits.on_packet(self.contexts[route.context].number, packet);
        let is_armed = granter.is_armed;
        if let Some(credit) = answer {
            self.answer(host, credit);
        }
        if !is_armed {
            self.grant(host);
        }
    }

    /// Sends the credits that are due, and comes back for the next.
    pub(super) fn grant(&mut self, host: u32) {
        loop {
            let granter = &mut self.granters[host as usize];
            granter.is_armed = false;
            match granter.credits.poll(self.now) {
                Transmit::Packet(credit) => self.answer(host, credit),
                Transmit::NotBefore(time) => {
                    granter.is_armed = true;
                    self.wheel.add(time, Event::Grant.word(host));
                    return;
                }
                Transmit::Nothing | Transmit::NoRoom => return,
            }
        }
    }

    /// A context has ended at its receiver.
    pub(super) fn forget_source(&mut self, host: u32, context: u32) {
        if let Some(granter) = self.granters.get_mut(host as usize) {
            granter.credits.forget(self.contexts[context].number);
        }
    }

    /// Credit has come to a sender.
    pub(super) fn take_credit(&mut self, packet: &Packet) {
        let route = &self.routes[packet.flow as usize];
        let lasts = self.senders[packet.flow as usize].is_some();
        let context = if lasts { Some(route.context) } else { self.contexts.find(route) };
        let Some(context) = context else { return };
        T::Sender::on_credit(&mut self.contexts[context].sending, packet);
        self.wake_refused(context);
        if lasts {
            self.wake(packet.flow);
        }
    }

    /// Sends an answer ahead of data.
    pub(super) fn answer(&mut self, host: u32, answer: Packet) {
        let up = self.hosts[host as usize].ups[self.plane(answer.entropy)];
        let place = self.pool.put(answer);
        if self.classes.is_some() {
            self.answer_by_class(up, place);
        } else {
            self.ports[up as usize].push_urgent(Waiting::of(place, &answer));
        }
        self.offer(host, up);
    }
}
