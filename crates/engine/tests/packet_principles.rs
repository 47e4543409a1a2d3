//! The packet engine against first principles: closed forms, queueing theory, conservation.

mod trees;

use eastwest_engine::packet::{Choice, Marking, NetworkSettings};
use eastwest_transport::Random;
use eastwest_transport::dcqcn::DcqcnSettings;
use eastwest_transport::dctcp::DctcpSettings;
use eastwest_transport::roce::{Repeat, RoceSettings};
use eastwest_transport::sprayed::SprayedSettings;
use proptest::prelude::*;
use trees::*;

#[test]
fn a_lone_message_takes_its_packets_and_the_way() {
    // 100 packets, stored and forwarded at one switch: the last arrives two transmissions and two cables after its turn
    // begins; its acknowledgement takes two of 64 B and two cables.
    let outcome = run(&star(2), &[flow(0, 1, 100 * 4096, 0)], &roce(Repeat::GoBackN), lossless());
    assert_eq!(times(&outcome), [101 * PACKET + 2 * US + 2 * 1280 + 2 * US]);
    assert_eq!(outcome.totals.packets, 100);
    assert_eq!(outcome.totals.link_hops, 2 * 100 + 2 * 100);
}

#[test]
fn flows_of_one_nic_share_it_evenly() {
    let flows: Vec<_> = (1..=4).map(|to| flow(0, to, 100 * 4096, 0)).collect();
    let times = times(&run(&star(5), &flows, &roce(Repeat::GoBackN), lossless()));
    assert!(times[3] - times[0] <= 8 * PACKET, "{times:?}"); // two rounds: the first flow has a packet of lead
    assert_eq!(times[3], 401 * PACKET + 4 * US + 2 * 1280);
}

#[test]
fn a_queue_waits_as_pollaczek_and_khinchine_say() {
    // M/D/1: packets that come as a Poisson stream, from many hosts to one, wait rho / (2 (1 - rho)) services on average.
    let (hosts, packets, rho) = (400, 40_000, 0.7);
    let mut random = Random::new(5);
    let mut at = 0.0;
    let flows: Vec<_> = (0..packets)
        .map(|index| {
            let uniform = (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
            at -= (1.0 - uniform).ln() * PACKET as f64 / rho;
            flow(1 + index % (hosts - 1), 0, 4096, at as u64)
        })
        .collect();
    let settings = NetworkSettings { marking: None, ..lossy(1 << 30, false) };
    let outcome = run(&star(hosts as usize), &flows, &roce(Repeat::GoBackN), settings);
    let empty = 2 * PACKET + 4 * US + 2 * 1280;
    let waits: Vec<f64> = times(&outcome).iter().map(|&time| (time - empty) as f64 / PACKET as f64).collect();
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    let expected = rho / (2.0 * (1.0 - rho)); // 1.167; senders rarely queue at their own NICs: under 0.2 % of a service
    assert!((mean / expected - 1.0).abs() < 0.05, "{mean} services, expected {expected}");
}

#[test]
fn a_lossless_network_drops_nothing_and_pauses_travel_upstream() {
    // Seven hosts of another leaf send to one: its leaf pauses the spine, the spine the senders' leaf, that the senders.
    let flows: Vec<_> = (8..15).map(|from| flow(from, 0, 500 * 4096, 0)).collect();
    let outcome = run(&leaf_spine(2, 8, 1), &flows, &roce(Repeat::GoBackN), lossless());
    assert_eq!((outcome.totals.drops, outcome.totals.retransmits), (0, 0));
    assert!(outcome.totals.paused > 0);
    // Without pauses at the senders their leaf would come to hold most of the 3,500 packets.
    let held = outcome.totals.deepest / FULL;
    assert!(held < 7 * (15 + 60), "{held} packets before one port");
    let last = *times(&outcome).last().unwrap();
    let ideal = 3500 * PACKET;
    assert!(last >= ideal && last < ideal + 20 * US, "{last}");
}

#[test]
fn pauses_in_a_cycle_of_switches_stop_everything() {
    // Six switches in a ring, two hosts each; every flow crosses two links of the ring in the same sense, so that the
    // queue of each waits for the next one's: the cyclic buffer dependency in which PFC deadlocks.
    let cables: Vec<_> =
        (0..6).flat_map(|i| [(2 * i, 12 + i), (2 * i + 1, 12 + i), (12 + i, 12 + (i + 1) % 6)]).collect();
    let flows = |bytes| (0..12).map(|host| flow(host, (host + 4) % 12, bytes, 0)).collect::<Vec<_>>();
    let outcome = run(&graph(12, 6, &cables), &flows(2000 * 4096), &roce(Repeat::GoBackN), lossless());
    assert!(outcome.flows.iter().all(|flow| flow.end.is_none()), "no flow can end");
    assert!(outcome.totals.unfinished > 0 && outcome.totals.drops == 0);
    // Six links of the ring are paused from the first milliseconds until the run is given up, ten milliseconds later.
    assert!(outcome.totals.paused > 6 * 9_000 * US, "{}", outcome.totals.paused);
    // So few packets that nothing is paused go through.
    times(&run(&graph(12, 6, &cables), &flows(5 * 4096), &roce(Repeat::GoBackN), lossless()));
}

#[test]
fn spraying_fills_a_permutation_where_one_hashed_path_does_not() {
    // 16 leaves of 16 hosts, 16 spines; every host sends to one on the next leaf.
    let (tree, flows) = (leaf_spine(16, 16, 16), shifted(256, 16, 8_000_000));
    let alone = |packets: u64| (packets * PACKET + 8 * US + 3 * PACKET + 4 * 1280) as f64; // and the way there and back
    let rtt = 8 * US + 4 * PACKET + 4 * 1280;
    let sprayed = times(&run(&tree, &flows, &uet(rtt, true), lossy(100 * FULL, true)));
    let hashed =
        times(&run(&tree, &flows, &roce(Repeat::GoBackN), NetworkSettings { marking: None, ..lossy(1 << 24, false) }));
    let share = |times: &[u64], at: usize, packets| alone(packets) / times[at] as f64;
    let (median, slowest) = (share(&sprayed, 128, 1985), share(&sprayed, 255, 1985));
    assert!(median > 0.9 && slowest > 0.85, "sprayed by the senders: median {median}, slowest {slowest}");
    let adaptive = NetworkSettings { choice: Choice::ShortestQueue, ..lossy(100 * FULL, true) };
    let slowest = share(&times(&run(&tree, &flows, &uet(rtt, true), adaptive)), 255, 1985);
    assert!(slowest > 0.95, "sprayed by the switches: slowest {slowest}");
    let (median, slowest) = (share(&hashed, 128, 1954), share(&hashed, 255, 1954));
    // 16 flows hashed to 16 links, twice: a third of the links are empty, the fullest has four flows or so.
    assert!(median < 0.6 && slowest < 0.35, "hashed: median {median}, slowest {slowest}");
}

#[test]
fn trimming_ends_an_incast_sooner_than_timeouts() {
    let flows: Vec<_> = (1..33).map(|from| flow(from, 0, 500_000, 0)).collect();
    let rtt = 4 * US + 2 * PACKET + 2 * 1280;
    let last = |trims| {
        let outcome = run(&star(33), &flows, &uet(rtt, trims), lossy(50 * FULL, trims));
        (*times(&outcome).last().unwrap(), outcome.totals)
    };
    let ((trimmed, with), (dropped, without)) = (last(true), last(false));
    assert!(with.trims > 0 && with.drops == 0 && without.trims == 0 && without.drops > 0);
    let ideal = (32.0 * 125.0 * PACKET as f64) as u64;
    assert!(trimmed < ideal * 5 / 4, "{trimmed} of {ideal}");
    assert!(dropped > trimmed * 5 / 4, "{dropped} against {trimmed}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn packets_add_up_and_a_seed_fixes_everything(
        pairs in prop::collection::vec((0u32..32, 0u32..32, 1u64..200_000, 0..20 * US), 1..60),
        loss in prop_oneof![Just(0u32), 1_000u32..30_000_000],
        trims: bool,
        seed: u64,
    ) {
        let flows: Vec<_> =
            pairs.iter().filter(|p| p.0 != p.1).map(|&(from, to, bytes, at)| flow(from, to, bytes, at)).collect();
        let settings = NetworkSettings { loss, seed, ..lossy(20 * FULL, trims) };
        let tree = leaf_spine(4, 8, 3);
        let rtt = 8 * US + 4 * PACKET;
        // run() itself fails where packets do not add up
        let first = run(&tree, &flows, &uet(rtt, trims), settings);
        times(&first); // every flow has ended
        let again = run(&tree, &flows, &uet(rtt, trims), settings);
        prop_assert_eq!(first.flows, again.flows);
        prop_assert_eq!(first.totals, again.totals);
        for repeat in [Repeat::GoBackN, Repeat::Selective] {
            times(&run(&tree, &flows, &roce(repeat), settings));
        }
    }
}

#[test]
fn dcqcn_converges_towards_fair_shares() {
    // One flow has the port for itself for 2 ms; then another comes. Had both half each from then on, the first would have
    // sent 2 ms at full rate and the rest at half. It takes DCQCN some ten milliseconds to get there: additive increase.
    let (bytes, lead) = (1_200_000_000u64, 2_000 * US);
    let dcqcn = Some(DcqcnSettings::paper(RATE));
    // Kmin, Kmax and Pmax of the paper, times ten as the rate is
    let marking = Some(Marking { from: 50_000, to: 2_000_000, most: 10 });
    let settings = NetworkSettings { marking, ..lossy(1 << 26, false) };
    let transport = RoceSettings { dcqcn, ack_every: 8, ..roce(Repeat::GoBackN) };
    let outcome = run(&star(3), &[flow(0, 2, bytes, 0), flow(1, 2, bytes, lead)], &transport, settings);
    let ends: Vec<f64> = outcome.flows.iter().map(|flow| flow.end.unwrap() as f64).collect();
    let whole = bytes as f64 / RATE * 1e12;
    let first = lead as f64 + 2.0 * (whole - lead as f64);
    assert!(outcome.totals.cnps > 0 && outcome.totals.drops == 0);
    assert!((ends[0] / first - 1.0).abs() < 0.2, "{} expected {first}", ends[0]);
    assert!((ends[1] / (2.0 * whole) - 1.0).abs() < 0.1, "{} expected {}", ends[1], 2.0 * whole);
    // The port is kept busy and the queue far below what both flows' windows would fill.
    assert!(outcome.totals.deepest < 10_000_000, "{}", outcome.totals.deepest);
}

#[test]
fn nvidia_s_dcqcn_shares_a_port_without_loss() {
    // Four flows at once, with marks from 150 KB to 1.5 MB at 1 %, the paper's scaled. Each begins at line rate and is cut
    // until the four together fit; recovery goes halfway to line rate in each 2 MB and in each 300 us, so that a port of
    // 400 Gb/s is idle for a part of the time, and 64 MB of room suffice.
    let bytes = 50_000_000u64;
    let dcqcn = Some(DcqcnSettings::nvidia(RATE));
    let marking = Some(Marking { from: 150_000, to: 1_500_000, most: 10 });
    let settings = NetworkSettings { marking, ..lossy(1 << 26, false) };
    let transport = RoceSettings { dcqcn, ack_every: 8, ..roce(Repeat::GoBackN) };
    let flows: Vec<_> = (1..5).map(|from| flow(from, 0, bytes, 0)).collect();
    let outcome = run(&star(5), &flows, &transport, settings);
    let times = times(&outcome);
    let ideal = 4.0 * bytes as f64 / RATE * 1e12;
    assert!(outcome.totals.cnps > 0 && outcome.totals.drops == 0, "{:?}", outcome.totals);
    assert!((ideal..1.4 * ideal).contains(&(times[3] as f64)), "{times:?}, alone {ideal}");
    assert!(times[0] as f64 > 0.75 * times[3] as f64, "{times:?}");
    // a NIC tells once in 4 us, whichever of its flows is marked
    assert!(outcome.totals.cnps <= times[3] / (4 * US) + 1);
}

#[test]
fn dctcp_keeps_a_port_busy_with_a_short_queue_and_shares_it() {
    let sprayed =
        SprayedSettings { ack_every: 4096, overtaking: Some(2048), ..uet(4 * US + 2 * PACKET, false).sprayed };
    let transport = DctcpSettings { sprayed };
    let mark = 15 * FULL as u32; // over a seventh of the product of 200 KB
    let settings =
        NetworkSettings { marking: Some(Marking { from: mark, to: mark + 1, most: 1000 }), ..lossy(1 << 22, false) };
    let flows: Vec<_> = (1..5).map(|from| flow(from, 0, 20_000_000, 0)).collect();
    let outcome = run(&star(5), &flows, &transport, settings);
    let times = times(&outcome);
    let ideal = 4 * 4961 * PACKET; // 4,032 B a packet
    assert!(times[3] < ideal * 21 / 20 && times[3] > ideal, "{} of {ideal}", times[3]);
    assert!(times[0] > ideal * 3 / 4, "{times:?}");
    // Slow start overshoots once; thereafter the queue stays near the mark.
    assert_eq!(outcome.totals.drops, 0);
    assert!(outcome.totals.marks > 0);
}
