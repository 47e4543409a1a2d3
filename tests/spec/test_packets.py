"""Packet settings: what is stated reaches the engine's settings, the rest keeps its default, and misuse is told."""

import dataclasses

import pytest

from eastwest import spec
from eastwest.document import MistakesError
from eastwest.engine.packets import PacketSettings
from eastwest.spec.packets import Packets, stated


def settings(transport, /, **asked):
    return dict(stated(Packets.model_validate(asked), transport))


@pytest.fixture
def told(tmp_path):
    """What is said of a file of settings, with its line."""

    def read(text, transport="rocev2"):
        path = tmp_path / "settings.yaml"
        path.write_text(text)
        with pytest.raises(MistakesError) as caught:
            spec.read_settings(path, transport)
        return [str(each).removeprefix(f"{tmp_path}/") for each in caught.value.mistakes]

    return read


def test_what_is_not_stated_is_left_to_the_transport():
    assert settings("uet") == settings("rocev2") == {}


def test_units_are_read():
    found = settings(
        "uet",
        transport={"payload": "8 KiB", "header": "100 B", "answer": "80 B", "ack_every": "32 KiB", "timeout": "1 ms"},
        switch={"room": "2 MB"},
        patience="10 ms",
        loss=1e-5,
    )
    assert found == {
        "payload": 8192,
        "header": 100,
        "control": 80,
        "ack_every": 32768,
        "timeout_s": 1e-3,
        "room": 2_000_000,
        "patience_s": 0.01,
        "loss": 1e-5,
    }


def test_ultra_ethernet_s_congestion_control_is_chosen():
    found = settings("uet", transport={"congestion_control": "nscc+rccc"})
    assert found == {"congestion_control": "nscc+rccc"}


def test_rocev2_s_packets_have_true_sizes_or_even_ones():
    exact = settings("rocev2", transport={"headers": "exact", "window": "1 MiB"})
    assert exact == {"first": 16, "control": 86, "notification": 98, "window": 1 << 20}
    even = settings("rocev2", transport={"headers": "even", "answer": "90 B"})
    assert even == {"first": 0, "control": 90, "notification": 0}


def test_ultra_ethernet_delivers_in_order_or_not():
    assert settings("uet", transport={"delivery": "rod"}) == {"delivery": "rod"}


def test_contexts_are_shared_or_not_and_kept_for_a_time():
    found = settings("mrc", transport={"contexts": "shared", "keep": "2 ms"})
    assert found == {"shares_contexts": True, "keeps_s": 0.002}
    assert settings("rocev2", transport={"contexts": "per-flow"}) == {"shares_contexts": False}


def test_switches_mark_pause_and_break_storms():
    found = settings(
        "rocev2",
        switch={
            "marks": {"from": "100 kB", "to": "400 kB", "most": 0.2},
            "pauses": {"above": "60 kB", "at": "50 kB"},
            "watchdog": {"detect": "200 ms", "restore": "400 ms"},
        },
    )
    assert (found["mark_from"], found["mark_to"]) == (100_000, 400_000)
    assert found["mark_most"] == 0.2
    assert (found["pause_above"], found["pause_at"]) == (60_000, 50_000)
    assert (found["watchdog_detect_s"], found["watchdog_restore_s"]) == (0.2, 0.4)


def test_what_messages_cost_is_the_host_s_or_the_dpu_s():
    host = {"message_overhead": "600 ns", "completion_overhead": "0 s"}
    assert settings("uet", nic=host) == {"message_overhead_s": 6e-7, "completion_overhead_s": 0.0}
    dpu = settings("uet", nic={**host, "dpu_overhead": "1 us"})
    assert dpu == {"message_overhead_s": 1e-6, "completion_overhead_s": 1e-6}


def test_a_control_plane_s_name_stands_for_its_delay():
    named = [Packets.model_validate({"routes_after": name}).routes_after for name in ("bgp-bfd", "opensm", "2 ms")]
    assert named == pytest.approx([0.9, 10.0, 2e-3])


def test_a_study_s_servers_have_a_pcie_of_their_own(mistakes):
    (message,) = mistakes({("fabrics", "one", "packets"): {"nic": {"pcie": "200 Gb/s"}}})
    assert message.startswith("servers have a PCIe of their own, which limits packets too")


def test_classes_are_as_stated_and_numbered_by_place():
    found = settings(
        "rocev2",
        switch={"buffer": {"size": "64 MB", "alpha": 0.5}, "forwarding": "cut-through"},
        classes=[
            {"name": "training", "weight": 3, "marks": "off"},
            {"name": "storage", "lossless": False, "room": "1 MB", "answers": "training"},
        ],
    )
    training, storage = found["classes"]
    assert (training.number, training.weight, training.mark_to) == (0, 3, 0)
    assert (storage.number, storage.is_lossless, storage.room, storage.answers) == (1, False, 1_000_000, "training")
    assert (found["buffer"].size, found["buffer"].alpha) == (64_000_000, 0.5)
    assert found["cut_through"] == 64


def test_infiniband_s_classes_are_virtual_lanes(told):
    lanes = [{"name": "a", "weight": 3}, {"name": "b", "priority": 1}]
    assert [each.weight for each in settings("infiniband", classes=lanes)["classes"]] == [3, 1]
    (message,) = told("classes: [{name: a, lossless: true}]", "infiniband")
    assert (
        "lossless is nothing for InfiniBand, of which classes are virtual lanes with name, number, priority" in message
    )
    (message,) = told("switch: {buffer: {size: 64 MB}}", "infiniband")
    assert "buffer is a setting of uet and mrc and rocev2 and dctcp" in message


def test_switches_choose_ports_as_is_said():
    found = settings("uet", switch={"adaptive": "least-congested", "telemetry": "2 us", "flowlet_gap": "30 us"})
    assert found == {"choice": "least-congested", "telemetry_s": 2e-6, "flowlet_gap_s": 3e-5}


def test_a_way_to_be_adaptive_needs_adaptive_switches(mistakes):
    (message,) = mistakes(
        {
            ("fabrics", "one", "packets"): {"switch": {"adaptive": "shorter-of-two"}},
            ("fabrics", "one", "balancing"): "ecmp",
        }
    )
    assert message.startswith("shorter-of-two is a way to be adaptive, and balancing is ecmp")


def test_what_is_off_is_off():
    assert settings("uet", switch={"marks": "off", "trimming": "off"}) == {"mark_from": 0, "mark_to": 0, "trim": 0}
    assert settings("rocev2", switch={"pauses": "off"}) == {"pause_above": 0, "pause_at": 0}
    assert settings("rocev2", switch={"watchdog": "off"}) == {"watchdog_detect_s": 0.0}


def test_a_sprayed_transport_on_switches_that_pause_is_not_trimmed():
    found = settings("uet", switch={"pauses": {"above": "60 kB", "at": "50 kB"}})
    assert (found["room"], found["trim"]) == (0, 0)


def test_every_name_is_one_of_the_engine_s_settings():
    known = {field.name for field in dataclasses.fields(PacketSettings)}
    asked = {"transport": {"probe_every": "1 us", "entropies": 8}, "switch": {"room": "1 MB", "trimming": "on"}}
    assert set(settings("mrc", **asked)) <= known
    marked = {"marks": {"from": "100 kB", "to": "400 kB"}}
    assert set(settings("rocev2", transport={"dcqcn": "paper", "repeat": "selective"}, switch=marked)) <= known


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "transport:\n  paylod: 4 KiB",
            "settings.yaml:2:3: unknown entry 'paylod' in transport; did you mean 'payload'?",
        ),
        ("trasport: {}", "settings.yaml:1:1: unknown entry 'trasport' in the settings; did you mean 'transport'?"),
        ("transport: {payload: 4096}", "settings.yaml:1:22: 4096 has no unit"),
        ("transport: {payload: 4 GiB}", "payload of transport must be at most 16384, not '4 GiB'"),
        ("transport: {dcqcn: vendor}", "'vendor' does not fit dcqcn of transport"),
        ("transport:\n  dcqcn: paper", "settings.yaml:2:10: DCQCN slows down by marks, and there are none: add switch"),
        ("transport: {dcqcn: nvidia}\nswitch: {marks: off}", "DCQCN slows down by marks, and there are none"),
        ("transport: {entropies: 64}", "settings.yaml:1:24: entropies is a setting of uet and mrc"),
        (
            "transport: {congestion_control: rccc}",
            "congestion_control is a setting of uet, and the",
        ),
        ("transport: {congestion_control: dcqcn}", "'dcqcn' does not fit congestion_control of transport"),
        ("transport: {delivery: rod}", "delivery is a setting of uet, and the transport is rocev2"),
        ("transport: {delivery: ruod}", "'ruod' does not fit delivery of transport"),
        ("transport: {headers: true}", "true or false does not fit headers of transport"),
        ("transport: {window: 64}", "64 has no unit"),
        ("transport: {keep: 1 ms}", "keep is a setting of uet and mrc and dctcp, and the transport is rocev2"),
        ("transport: {contexts: none}", "'none' does not fit contexts of transport"),
        ("switch: {trimming: on}", "trimming is a setting of uet and mrc, and the transport is rocev2"),
        ("switch:\n  room: 1 MB", "settings.yaml:2:9: nothing goes without room where switches pause senders"),
        (
            "switch: {pauses: off, watchdog: {detect: 1 ms, restore: 1 ms}}",
            "a watchdog breaks pauses, and there are none",
        ),
        ("switch: {marks: {from: 2 MB, to: 1 MB}}", "settings.yaml:1:34: marks are certain before they begin"),
        ("switch: {marks: {from: 2 MB}}", "marks of switch lacks 'to'"),
        ("switch: {marks: 1 MB}", "'1 MB' does not fit marks of switch"),
        ("switch: {pauses: {above: 1 kB, at: 2 kB}}", "a switch lets go at less than it pauses above"),
        ("switch: {adaptive: longest}", "'longest' does not fit adaptive of switch"),
        ("switch: {telemetry: 0.1 ns}", "telemetry of switch must be at least"),
        ("routes_after: ospf", "'ospf'"),
        ("nic: {message_overhead: 2 s}", "message_overhead of nic must be at most 1"),
        ("nic: {pcie: 200 GB}", "a rate"),
        ("classes: [{name: a, weight: 0}]", "weight of an item of classes must be at least 1"),
        ("classes: [{weight: 3}]", "lacks 'name'"),
        ("classes:\n  - {name: a}\n  - {name: a}", "settings.yaml:3:12: two classes are called 'a'"),
        ("classes: [{name: urgent}]", "settings.yaml:1:18: urgent is what goes ahead of all classes"),
        ("classes: [{name: a, number: 1}, {name: b}]", "number 1 is that of 'a' already"),
        (
            "classes: [{name: a, answers: c}, {name: b}]",
            "settings.yaml:1:30: there is no class 'c' for answers to travel in",
        ),
        ("classes: [{name: a, room: 1 MB}]", "room is nothing for a class that is lossless, as 'a' is"),
        ("classes: [{name: a, lossless: false, pauses: {above: 2 kB, at: 1 kB}}]", "or say lossless: true"),
        ("classes: [{name: a, lossless: false, trimming: on}]", "rocev2 does not know packets that were trimmed"),
        ("classes: [{name: a, alpha: 1.0}]", "alpha is a share of a buffer, and switches have none"),
        (
            "switch: {buffer: {size: 1 MB}}\nclasses: [{name: a, alpha: 1.0, pauses: {above: 2 kB, at: 1 kB}}]",
            "pauses and alpha are two thresholds of one class",
        ),
        ("classes:\n" + "".join(f"  - {{name: c{place}}}\n" for place in range(9)), "classes has more than 8 items"),
        ("switch: {buffer: {alpha: 1.0}}", "buffer of switch lacks 'size'"),
        ("switch: {buffer: {size: 1 MB, alpha: 100.0}}", "alpha of buffer of switch must be at most 64"),
        (
            "switch: {buffer: {size: 1 MB}, pauses: {above: 2 kB, at: 1 kB}}",
            "pauses is a fixed threshold, and a buffer has those that follow its fill",
        ),
        (
            "switch: {watchdog: {detect: 1 ms, restore: 1 ms}}\nclasses: [{name: a, lossless: false}]",
            "a watchdog breaks pauses, and there are none",
        ),
        ("switch: {forwarding: cut}", "'cut' does not fit forwarding of switch"),
        ("loss: 1.0e-12", "bit errors are counted in steps of 1e-09: 1e-12 would be 0"),
        ("loss: 1", "loss must be below 1.0, not 1"),
        ("patience: 2 h", "patience must be at most 3600, not '2 h'"),
        ("events: [down spine-0 at noon]", "settings.yaml:1:10: 'down spine-0 at noon': "),
        ("events: [down spine-0 at 2 h]", "packets are simulated for an hour at most"),
        ("events: [break spine-0]", "'break spine-0' is no event; write one of: down NODE [NODE] at TIME"),
        ("events: [7]", "7 is no event; write one of: down NODE"),
        ("events: down spine-0 at 1 us", "events must be a list, not 'down spine-0 at 1 us'"),
        ("[1, 2]", "packet settings are a mapping with transport, switch, "),
        ("transport: [", "is not YAML"),
    ],
)
def test_misuse_is_told_with_line_and_remedy(told, text, said):
    (message,) = told(text)
    assert said in message


def test_entropy_values_are_a_power_of_two(told):
    (message,) = told("transport: {entropies: 48}", "uet")
    assert "settings.yaml:1:24: entropy values are counted in powers of two up to 32,768, not 48" in message


def test_infiniband_has_lanes_retries_and_congestion_control():
    assert settings("infiniband", infiniband={"vl_buffer": "64 KiB", "retries": 3}) == {
        "vl_buffer": 65_536,
        "retries": 3,
    }
    found = settings("infiniband", infiniband={"congestion_control": "on"})
    assert (found["fecn_threshold"], found["fecn_between"], found["fecn_least"]) == (15, 10, 512)
    assert (found["ccti_increase"], found["ccti_timer_s"], found["ccti_min"]) == (1, 150 * 1.024e-6, 0)
    found = settings("infiniband", infiniband={"congestion_control": {"threshold": 8, "ccti_timer": "10 us"}})
    assert (found["fecn_threshold"], found["fecn_between"], found["ccti_timer_s"]) == (8, 10, 1e-5)
    assert settings("infiniband", infiniband={"congestion_control": "off"}) == {"fecn_threshold": 0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("switch: {room: 1 MB}", "settings.yaml:1:16: room is a setting of uet and mrc and rocev2 and dctcp"),
        ("switch: {pauses: off}", "pauses is a setting of uet and mrc and rocev2 and dctcp"),
        ("transport: {dcqcn: paper}", "dcqcn is a setting of rocev2, and the transport is infiniband"),
        ("infiniband: {vl_buffer: 4 KiB}", "vl_buffer of infiniband must be at least 32768, not '4 KiB'"),
        ("infiniband: {retries: 8}", "retries of infiniband must be at most 7, not 8"),
        ("infiniband: {congestion_control: yes}", "'yes' does not fit congestion_control of infiniband"),
        ("infiniband: {congestion_control: {threshold: 16}}", "must be at most 15, not 16"),
        ("infiniband: {credits: 5}", "unknown entry 'credits' in infiniband"),
    ],
)
def test_misuse_of_infiniband_s_settings_is_told(told, text, said):
    (message,) = told(text, "infiniband")
    assert said in message


def test_credits_are_infiniband_s_alone(told):
    (message,) = told("infiniband:\n  vl_buffer: 64 KiB")
    assert "settings.yaml:2:14: vl_buffer is a setting of infiniband, and the transport is rocev2" in message


def test_an_empty_file_states_nothing(tmp_path):
    (tmp_path / "empty.yaml").write_text("# as it is\n")
    assert spec.read_settings(tmp_path / "empty.yaml", "uet") == spec.FileSettings()


def test_a_study_s_fabric_tells_misuse_where_it_stands(mistakes):
    (message,) = mistakes({("fabrics", "one", "packets"): {"transport": {"entropies": 64}}})
    assert message.startswith("entropies is a setting of uet and mrc, and the transport is rocev2")
    (message,) = mistakes({("fabrics", "one", "packets"): {"transport": {"paylod": "4 KiB"}}})
    assert "unknown entry 'paylod' in transport of packets of fabric 'one'; did you mean 'payload'?" in message


def test_a_fabric_like_another_with_another_transport_is_told_at_the_line_of_the_setting(mistakes):
    sprayed = {"like": "one", "technology": "ultra-ethernet", "switch": "tomahawk5-64x800g"}
    (message,) = mistakes(
        {("fabrics", "one", "packets"): {"transport": {"headers": "even"}}, ("fabrics", "other"): sprayed}
    )
    assert "headers is a setting of rocev2, and the transport is uet" in message


def test_settings_are_swept_as_any_other_value(changed):
    marks = ["off", {"from": "1 MB", "to": "2 MB"}]
    study = changed({("fabrics", "other"): {"like": "one", "packets": {"switch": {"marks": marks}}}})
    found = [study.fabrics[name].packets.switch.marks for name in study.variants("fabrics", "other")]
    assert found[0] == "off"
    assert (found[1].start, found[1].to) == (1e6, 2e6)
