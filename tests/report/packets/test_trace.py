"""A simulation's Perfetto trace, read back by perfetto's own protobufs."""

from typing import Any

import numpy as np
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from eastwest.report.packets.trace import trace
from eastwest.simulation import SimulationResult


def read(result: SimulationResult) -> Any:
    found = Trace()
    found.ParseFromString(trace(result, "traced"))
    return found


def tracks(found: Any) -> dict[int, Any]:
    return {
        packet.track_descriptor.uuid: packet.track_descriptor
        for packet in found.packet
        if packet.HasField("track_descriptor")
    }


def events(found: Any) -> list[tuple[int, Any]]:
    return [(packet.timestamp, packet.track_event) for packet in found.packet if packet.HasField("track_event")]


def test_each_flow_is_a_slice_of_its_sender_as_long_as_it_took(incast: SimulationResult) -> None:
    found = read(incast)
    named = tracks(found)
    began: dict[int, tuple[int, str]] = {}
    took: dict[str, int] = {}
    for time_ns, event in events(found):
        if event.type == event.TYPE_SLICE_BEGIN:
            began[event.track_uuid] = (time_ns, event.name)
        elif event.type == event.TYPE_SLICE_END:
            start, name = began[event.track_uuid]
            parent = named[event.track_uuid].parent_uuid
            took[f"{named[parent].name if parent else ''}: {name}"] = time_ns - start
    run = incast.run
    for flow in range(7):
        size = "400 kB" if incast.flows.size_bytes[flow] == 400_000 else "100 kB"
        expected = (run.end_s[flow] - run.start_s[flow]) * 1e9
        assert took[f"host-{flow + 1}: {flow} > host-0, {size}"] == pytest.approx(expected, abs=1)


def test_the_deepest_queue_is_a_counter_that_reaches_its_depth(incast: SimulationResult) -> None:
    found = read(incast)
    named = tracks(found)
    queues = next(uuid for uuid, track in named.items() if track.name.startswith("queues"))
    counter = next(uuid for uuid, track in named.items() if track.parent_uuid == queues)
    assert (named[counter].name, named[counter].counter.unit_name) == ("switch-0 > host-0", "B")
    values = [event.double_counter_value for _, event in events(found) if event.track_uuid == counter]
    assert max(values) == incast.run.deepest_queue_bytes
    assert values[-1] == 0


def test_throughput_is_in_gigabits_and_no_more_than_the_rate(incast: SimulationResult) -> None:
    found = read(incast)
    named = tracks(found)
    throughput = next(uuid for uuid, track in named.items() if track.name.startswith("throughput"))
    of_ports = {uuid for uuid, track in named.items() if track.parent_uuid == throughput}
    values = [event.double_counter_value for _, event in events(found) if event.track_uuid in of_ports]
    assert np.max(values) == pytest.approx(400, rel=0.01)


def test_what_goes_wrong_has_a_track_of_its_own(failure: SimulationResult) -> None:
    begins = {event.name: time_ns for time_ns, event in events(read(failure)) if event.type == event.TYPE_SLICE_BEGIN}
    assert begins["spine-2 down"] == 30_000
    assert begins["spine-2 up"] == 70_000
