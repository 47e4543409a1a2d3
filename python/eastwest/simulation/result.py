"""A simulation as a person and a script read it."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eastwest.engine.packets import Capturing, LinkChange, PacketNetwork, PacketRun, PacketSettings
from eastwest.workload.flows import Flows


@dataclass(frozen=True)
class SimulationResult:
    """A run of flows with its settings; `wall_s` is that of the engine alone, `peak_rss_bytes` of the whole process.

    `engine_rss_bytes` is how far the process grew beyond what it had held before the run.
    """

    flows: Flows
    settings: PacketSettings
    run: PacketRun
    wall_s: float
    peak_rss_bytes: int
    engine_rss_bytes: int

    @property
    def fct_s(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Completion times of the flows that ended: from the start until the sender knew, seconds, ascending."""
        times = self.run.end_s - self.run.start_s
        ascending: np.ndarray[tuple[int], np.dtype[np.float64]] = np.sort(times[~np.isnan(times)])
        return ascending

    @property
    def unfinished(self) -> int:
        """Flows that never ended."""
        return int(np.isnan(self.run.end_s).sum())

    def to_json(self) -> dict[str, Any]:
        """The result as JSON values; completion times are null where no flow ended."""
        times, run = self.fct_s, self.run
        marks = {"min": 0.0, "median": 50.0, "p99": 99.0, "max": 100.0}
        fct = {name: float(np.percentile(times, at)) if len(times) else None for name, at in marks.items()}
        return {
            "flows": len(self.flows),
            "unfinished": self.unfinished,
            "fct_s": fct,
            "link_hops": run.link_hops,
            "packets": run.packets,
            "drops": run.drops,
            "trims": run.trims,
            "marks": run.marks,
            "retransmits": run.retransmits,
            "cnps": run.cnps,
            "storms": run.storms,
            "pauses": run.pauses,
            "paused_s": run.paused_s,
            "deepest_queue_bytes": run.deepest_queue_bytes,
            "captured": len(run.capture) if run.capture else 0,
            "not_captured": run.capture.missed if run.capture else 0,
            "simulated_s": run.simulated_s,
            "wall_s": self.wall_s,
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
) -> SimulationResult:
    """Runs flows on a network, through changes of its links; records what leaves by some of them.

    Raises:
        EngineError: a flow's ends are no hosts, no path joins them, or there is no link such as is to be recorded.
        KeyboardInterrupt: Ctrl-C was pressed; nothing is kept.
    """
    before = _peak_bytes()
    began = time.perf_counter()
    run = network.run(flows, settings, until_s, changes, capturing)
    wall_s = time.perf_counter() - began
    peak = _peak_bytes()
    return SimulationResult(flows, settings, run, wall_s, peak, peak - before)


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
