//! The packets under way, each in a place of its own, so that queues pass on places and not packets.

use eastwest_transport::Packet;

/// Where a packet is kept.
pub(super) type Place = u32;

/// Packets by place; the place given up last is taken first, since it is still in a cache.
#[derive(Debug, Default)]
pub(super) struct Pool {
    packets: Vec<Packet>,
    free: Vec<Place>,
}

impl Pool {
    /// Keeps a packet.
    #[inline]
    pub fn put(&mut self, packet: Packet) -> Place {
        if let Some(place) = self.free.pop() {
            self.packets[place as usize] = packet;
            return place;
        }
        self.packets.push(packet);
        self.packets.len() as Place - 1
    }

    /// Whether no packet is under way.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.packets.len()
    }

    /// Gives a packet up.
    #[inline]
    pub fn take(&mut self, place: Place) -> Packet {
        self.free.push(place);
        self.packets[place as usize]
    }
}

impl std::ops::Index<Place> for Pool {
    type Output = Packet;

    fn index(&self, place: Place) -> &Packet {
        &self.packets[place as usize]
    }
}

impl std::ops::IndexMut<Place> for Pool {
    fn index_mut(&mut self, place: Place) -> &mut Packet {
        &mut self.packets[place as usize]
    }
}
