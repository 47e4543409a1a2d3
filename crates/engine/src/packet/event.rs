//! What an event says: a kind, and the port, flow or host that it is about, in one word.

/// What an event is about, in the upper bits of its word; the lower ones name the port, flow or host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Event {
    Arrive = 0,
    Free = 1,
    Pause = 2,
    Resume = 3,
    Start = 4,
    Deadline = 5,
    Change = 6,
    Routes = 7,
    Watchdog = 8,
    Forget = 9,
    Completion = 10,
    Grant = 12,
    Enter = 13,
}

/// Bits that name the port, flow or host of an event.
pub(super) const NAME_BITS: u32 = 28;

impl Event {
    pub fn word(self, name: u32) -> u32 {
        (self as u32) << NAME_BITS | name
    }

    pub fn of(word: u32) -> (Self, u32) {
        let event = match word >> NAME_BITS {
            0 => Self::Arrive,
            1 => Self::Free,
            2 => Self::Pause,
            3 => Self::Resume,
            4 => Self::Start,
            5 => Self::Deadline,
            6 => Self::Change,
            7 => Self::Routes,
            8 => Self::Watchdog,
            10 => Self::Completion,
            12 => Self::Grant,
            13 => Self::Enter,
            _ => Self::Forget,
        };
        (event, word & ((1 << NAME_BITS) - 1))
    }
}
