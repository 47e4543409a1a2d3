//! Every transport delivers every packet once over a link that loses, repeats and reorders.

mod wire;

use eastwest_transport::dctcp::DctcpSettings;
use eastwest_transport::mrc::MrcSettings;
use eastwest_transport::roce::{Repeat, RoceContext, RoceReceiver, RoceSender, RoceSettings};
use eastwest_transport::sprayed::{Delivery, NsccSettings, SprayedSettings};
use eastwest_transport::uet::{Control, Credits, UetReceiver, UetSettings};
use eastwest_transport::{Answers, Framing, Packet, Picoseconds, Receiver, Sender};
use proptest::prelude::*;
use wire::{Link, Story, run, run_under};

const FRAMING: Framing = Framing { payload: 4032, header: 64, first: 0, control: 64, notification: 64 };
const US: Picoseconds = 1_000_000;
const PACE: Picoseconds = 81_920; // 4096 B at 400 Gb/s
const CLEAN: Link = Link { loss: 0, repeat: 0, corruption: 0, jitter: 0, delay: 5 * US, pace: PACE };

fn sprayed(overtaking: Option<Picoseconds>) -> SprayedSettings {
    let nscc = NsccSettings::new(4096, 4032, 10 * US + 2 * PACE, 50e9, true);
    SprayedSettings {
        framing: FRAMING,
        nscc,
        delivery: Delivery::Rud,
        ack_every: 16384,
        timeout: 90 * US,
        overtaking,
        planes: 4,
        loss_is_congestion: overtaking.is_none(),
        keeps: 1000 * US,
    }
}

fn roce(repeat: Repeat) -> RoceSettings {
    RoceSettings { framing: FRAMING, repeat, window: u32::MAX, ack_every: 1, timeout: 90 * US, dcqcn: None }
}

fn over_uet(bytes: u64, link: Link, seed: u64) -> (Story, u32) {
    let uet = UetSettings { sprayed: sprayed(None), entropies: 64, control: Control::Sender };
    let (mut sender, mut receiver) = (uet.sender(0, bytes), uet.receiver(bytes));
    let story = run(&mut sender, &mut uet.context(seed), &mut receiver, link, seed);
    (story, receiver.received())
}

/// Over Ultra Ethernet in some mode; whatever is kept of ordered delivery comes in order.
fn over_mode(delivery: Delivery, control: Control, bytes: u64, link: Link, seed: u64) -> (Story, u32) {
    let uet = UetSettings { sprayed: SprayedSettings { delivery, ..sprayed(None) }, entropies: 64, control };
    let mut sender = uet.sender(0, bytes);
    let mut receiver = Keeping { receiver: uet.receiver(bytes), is_ordered: delivery == Delivery::Rod };
    let credits = uet.credits().map(Credits::new);
    let story = run_under(credits, &mut sender, &mut uet.context(seed), &mut receiver, link, seed);
    (story, receiver.received())
}

/// Looks at what a receiver keeps.
struct Keeping {
    receiver: UetReceiver,
    is_ordered: bool,
}

impl Receiver for Keeping {
    type Context = ();

    fn on_packet(&mut self, context: &mut (), now: Picoseconds, packet: &Packet) -> Answers {
        let before = self.received();
        let answers = self.receiver.on_packet(context, now, packet);
        assert!(!self.is_ordered || self.received() == before || packet.seq == before, "{} out of order", packet.seq);
        answers
    }

    fn received(&self) -> u32 {
        self.receiver.received()
    }

    fn is_done(&self) -> bool {
        self.receiver.is_done()
    }
}

fn over_mrc(bytes: u64, link: Link, seed: u64) -> (Story, u32) {
    let mrc = MrcSettings { sprayed: sprayed(Some(10 * US)), entropies: 128, probe_every: 50 * US };
    let (mut sender, mut receiver) = (mrc.sender(0, bytes), mrc.receiver(bytes));
    let story = run(&mut sender, &mut mrc.context(seed), &mut receiver, link, seed);
    (story, receiver.received())
}

fn over_dctcp(bytes: u64, link: Link, seed: u64) -> (Story, u32) {
    // a packet is lost only where it is overtaken by more than the link's jitter
    let sprayed = SprayedSettings { ack_every: 4096, loss_is_congestion: true, ..sprayed(Some(link.jitter + 2048)) };
    let dctcp = DctcpSettings { sprayed };
    let (mut sender, mut receiver) = (dctcp.sender(0, bytes), dctcp.receiver(bytes));
    let story = run(&mut sender, &mut dctcp.context(seed), &mut receiver, link, seed);
    (story, receiver.received())
}

fn over_roce(bytes: u64, repeat: Repeat, link: Link, seed: u64) -> (Story, u32, u64) {
    let settings = roce(repeat);
    let (mut sender, mut receiver) = (RoceSender::new(settings, 0, bytes), RoceReceiver::new(settings, bytes));
    let story = run(&mut sender, &mut RoceContext::new(&settings, seed), &mut receiver, link, seed);
    (story, receiver.received(), sender.retransmits())
}

/// Packets at the link's pace, then the way there and back.
fn unhindered(packets: u64) -> Picoseconds {
    packets * PACE + 2 * CLEAN.delay
}

/// Delivery and congestion control of Ultra Ethernet besides the default.
const MODES: [(Delivery, Control); 5] = [
    (Delivery::Rud, Control::Receiver),
    (Delivery::Rud, Control::Both),
    (Delivery::Rod, Control::Sender),
    (Delivery::Rod, Control::Receiver),
    (Delivery::Rod, Control::Both),
];

#[test]
fn every_mode_carries_a_message_at_the_link_s_pace_or_its_credit_s() {
    for (delivery, control) in MODES {
        let (story, _) = over_mode(delivery, control, 400 * 4032, CLEAN, 1);
        assert_eq!(story.sent, 400);
        // credit is granted at 99 % of the link's rate, four packets at a time
        let slower = if control == Control::Sender { 0 } else { 400 * PACE / 99 + 4 * PACE };
        assert!(
            (unhindered(400)..=unhindered(400) + slower).contains(&story.end),
            "{delivery:?}, {control:?}: {story:?}"
        );
    }
}

#[test]
fn ordered_delivery_sends_a_round_trip_again_for_each_loss() {
    let lossy = Link { loss: 10, ..CLEAN };
    let bytes = 4000 * 4032;
    let (unordered, _) = over_mode(Delivery::Rud, Control::Sender, bytes, lossy, 3);
    let (ordered, _) = over_mode(Delivery::Rod, Control::Sender, bytes, lossy, 3);
    // some forty packets are lost; each makes the sender repeat what was under way, up to 120 packets
    assert!(unordered.sent < 4100, "{unordered:?}");
    assert!(ordered.sent > 4000 + 40 * 10, "{ordered:?}");
}

#[test]
fn a_clean_link_carries_a_message_at_its_pace() {
    let bytes = 400 * 4032;
    assert_eq!(over_uet(bytes, CLEAN, 1).0, Story { end: unhindered(400), sent: 400 });
    assert_eq!(over_mrc(bytes, CLEAN, 1).0, Story { end: unhindered(400), sent: 400 });
    assert_eq!(over_roce(bytes, Repeat::GoBackN, CLEAN, 1).0, Story { end: unhindered(400), sent: 400 });
}

#[test]
fn at_one_percent_of_loss_going_back_collapses_and_selective_repeat_does_not() {
    let lossy = Link { loss: 10, ..CLEAN };
    let bytes = 4000 * 4032;
    let (back, _, resent) = over_roce(bytes, Repeat::GoBackN, lossy, 3);
    let (selective, _, repeated) = over_roce(bytes, Repeat::Selective, lossy, 3);
    let ideal = unhindered(4000) as f64;
    // Going back repeats all that was under way, a round trip's worth of some 120 packets, for each of some 40 losses.
    assert!(resent > 3000, "{resent} sent again");
    assert!(back.end as f64 > 1.8 * ideal, "{} of {ideal}", back.end);
    assert!(repeated < 100, "{repeated} sent again");
    assert!((selective.end as f64) < 1.2 * ideal, "{} of {ideal}", selective.end);
}

#[test]
fn selective_repeat_sends_again_what_is_lost_and_finds_lost_repeats_without_a_timeout() {
    let lossy = Link { loss: 50, ..CLEAN };
    let (packets, share) = (4000.0_f64, 0.05);
    let timeout = 100_000 * US;
    let settings = RoceSettings { timeout, ..roce(Repeat::Selective) };
    let mut timely = 0;
    for seed in 0..16 {
        let bytes = packets as u64 * 4032;
        let (mut sender, mut receiver) = (RoceSender::new(settings, 0, bytes), RoceReceiver::new(settings, bytes));
        let story = run(&mut sender, &mut RoceContext::new(&settings, seed), &mut receiver, lossy, seed);
        // Each packet is sent until it arrives: 1 / (1 - p) times on average, with a variance of p / (1 - p)^2.
        let sent = packets / (1.0 - share);
        let spread = (packets * share).sqrt() / (1.0 - share);
        assert!((story.sent as f64 - sent).abs() < 5.0 * spread, "{} sent, expected {sent}", story.sent);
        timely += u32::from(story.end < timeout);
    }
    // A timeout is needed where the last packet, or the last answer, is lost: in a tenth of the runs, in theory. Ten packets
    // of each are lost twice.
    assert!(timely >= 10, "{timely} of 16 without a timeout");
}

#[test]
fn a_message_that_came_in_any_order_ends_without_a_timeout() {
    let settings = RoceSettings { ack_every: 4, ..roce(Repeat::AnyOrder) };
    let shuffling = Link { jitter: 5 * US, ..CLEAN };
    for seed in 0..8 {
        let (mut sender, mut receiver) =
            (RoceSender::new(settings, 0, 50 * 4032), RoceReceiver::new(settings, 50 * 4032));
        let story = run(&mut sender, &mut RoceContext::new(&settings, seed), &mut receiver, shuffling, seed);
        assert_eq!(story.sent, 50);
        assert!(story.end < unhindered(50) + 2 * shuffling.jitter, "ended after {} ps", story.end);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_the_link_does_every_packet_arrives_once(
        packets in 1u64..400,
        loss in 0u64..200,
        repeat in 0u64..200,
        corruption in 0u64..50,
        jitter in 0..20 * US,
        seed: u64,
    ) {
        let link = Link { loss, repeat, corruption, jitter, ..CLEAN };
        let bytes = packets * 4032 - 100;
        prop_assert_eq!(u64::from(over_uet(bytes, link, seed).1), packets);
        prop_assert_eq!(u64::from(over_mrc(bytes, link, seed).1), packets);
        prop_assert_eq!(u64::from(over_dctcp(bytes, link, seed).1), packets);
        for (delivery, control) in MODES {
            prop_assert_eq!(u64::from(over_mode(delivery, control, bytes, link, seed).1), packets);
        }
        for repeat in [Repeat::GoBackN, Repeat::Selective] {
            prop_assert_eq!(u64::from(over_roce(bytes, repeat, link, seed).1), packets);
        }
    }
}
