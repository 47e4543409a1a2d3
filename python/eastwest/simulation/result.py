"""A simulation as a person and a script read it."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eastwest.engine.classes import places_of
from eastwest.engine.links import port_names
from eastwest.engine.network import Floats
from eastwest.engine.packets import Capturing, LinkChange, PacketNetwork, PacketRun, PacketSettings
from eastwest.engine.series import Sampling
from eastwest.workload.flows import Flows

WORST = 5
"""Ports that are told of by name: those with the deepest queues, and those that were paused longest."""


@dataclass(frozen=True)
class SimulationResult:
    """A run of flows on a network, with its settings and what became of links meanwhile.

    `wall_s` is that of the engine alone, `cpu_s` the processor time that it took, `peak_rss_bytes` of the whole
    process, and `engine_rss_bytes` how far the process grew beyond what it had held before the run.
    """

    network: PacketNetwork
    flows: Flows
    settings: PacketSettings
    changes: tuple[LinkChange, ...]
    run: PacketRun
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    engine_rss_bytes: int
    given: int
    """Flows that were given: those of bursts come after them."""

    @property
    def fct_s(self) -> Floats:
        """Completion times of the given flows that ended: from start until the sender knew, seconds, ascending."""
        return self._ascending(slice(None, self.given))

    @property
    def burst_fct_s(self) -> Floats:
        """Those of the bursts' flows."""
        return self._ascending(slice(self.given, None))

    def _ascending(self, which: slice) -> Floats:
        times = (self.run.end_s - self.run.start_s)[which]
        ascending: Floats = np.sort(times[~np.isnan(times)])
        return ascending

    @property
    def unfinished(self) -> int:
        """Flows that never ended."""
        return int(np.isnan(self.run.end_s).sum())

    def worst_ports(self) -> dict[str, list[dict[str, Any]]]:
        """The ports before which most data waited (`by_queue`), and those that were paused longest (`by_pause`)."""
        names, ports = port_names(self.network.fabric), self.run.ports
        return {
            "by_queue": [
                {"port": names[link], "deepest_queue_bytes": int(ports.deepest_bytes[link])}
                for link in _largest(ports.deepest_bytes)
            ],
            "by_pause": [
                {"port": names[link], "paused_s": float(ports.paused_s[link]), "pauses": int(ports.pauses[link])}
                for link in _largest(ports.paused_s)
            ],
        }

    def by_class(self) -> list[dict[str, Any]]:
        """Flows, completion times and counts of each traffic class; empty where there are none."""
        places = places_of(self.flows.priority, len(self.flows), self.settings.classes)
        times = self.run.end_s - self.run.start_s
        found = []
        for place, counts in enumerate(self.run.class_counts):
            told = asdict(counts)
            name, own = told.pop("name"), times[places == place]
            found.append({"name": name, "flows": len(own), "fct_s": _marks(own[~np.isnan(own)]), **told})
        return found

    def to_json(self) -> dict[str, Any]:
        """The result as JSON values; completion times are null where no flow ended."""
        run, bursts = self.run, len(self.flows) - self.given
        return {
            "flows": self.given,
            "unfinished": self.unfinished,
            "lost_flows": run.lost_flows,
            "fct_s": _marks(self.fct_s),
            **({"burst_flows": bursts, "burst_fct_s": _marks(self.burst_fct_s)} if bursts else {}),
            "link_hops": run.link_hops,
            "packets": run.packets,
            "drops": run.drops,
            "bit_errors": run.bit_errors,
            "trims": run.trims,
            "marks": run.marks,
            "retransmits": run.retransmits,
            "cnps": run.cnps,
            "storms": run.storms,
            "failed": run.failed,
            "pauses": run.pauses,
            "paused_s": run.paused_s,
            "deepest_queue_bytes": run.deepest_queue_bytes,
            "ports": self.worst_ports(),
            "classes": self.by_class(),
            "captured": len(run.capture) if run.capture else 0,
            "not_captured": run.capture.missed if run.capture else 0,
            "simulated_s": run.simulated_s,
            "wall_s": self.wall_s,
            "cpu_s": self.cpu_s,
            "peak_rss_bytes": self.peak_rss_bytes,
            "engine_rss_bytes": self.engine_rss_bytes,
            "transport": self.settings.transport,
            "choice": self.settings.choice,
            "seed": self.settings.seed,
        }


def simulate(
    network: PacketNetwork,
    flows: Flows,
    settings: PacketSettings,
    until_s: float = np.inf,
    changes: Sequence[LinkChange] = (),
    capturing: Capturing | None = None,
    sampling: Sampling | None = None,
    given: int | None = None,
) -> SimulationResult:
    """Runs flows on a network, through changes of its links; records what leaves by some, and the run over time.

    The first `given` flows are reported as such, all where that is None, the others as those of bursts.

    Raises:
        EngineError: a flow's ends are no hosts, no path joins them, or there is no link such as is to be recorded.
        KeyboardInterrupt: Ctrl-C was pressed; nothing is kept.
    """
    before = _peak_bytes()
    began, cpu_began_s = time.perf_counter(), time.process_time()
    run = network.run(flows, settings, until_s, changes, capturing, sampling)
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began_s
    peak = _peak_bytes()
    count = len(flows) if given is None else given
    return SimulationResult(network, flows, settings, tuple(changes), run, wall_s, cpu_s, peak, peak - before, count)


def _marks(times: Floats) -> dict[str, float | None]:
    """Least, median, 99th percentile and largest; None where there are none."""
    marks = {"min": 0.0, "median": 50.0, "p99": 99.0, "max": 100.0}
    return {name: float(np.percentile(times, at)) if len(times) else None for name, at in marks.items()}


def _largest(values: NDArray[np.generic]) -> list[int]:
    """Places of the largest values, largest first; only of those above zero."""
    order = np.argsort(-values.astype(np.float64), kind="stable")[:WORST]
    return [int(place) for place in order if values[place] > 0]


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
