"""The path of the data of one case: how long each stage takes, which sets the pace, and what failures leave of it.

Storage is run by the engine, beside the step where both share a network. Preparing and copying are arithmetic over the
study's and the catalogue's figures. Not here: the pipeline's and the checkpoints' formulas (`workload.loading`,
`workload.goodput`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from eastwest import spec
from eastwest.engine import Carriage, Fidelity, Network, Run
from eastwest.spec import Study
from eastwest.study import bottleneck
from eastwest.study.result import Row
from eastwest.study.runs import Runs
from eastwest.study.stages import HOURS_A_MONTH, SECONDS_A_DAY, Checkpoints, DataPath, GpuHours, Stage
from eastwest.units import format_rate
from eastwest.workload import Direction, Step, Storage
from eastwest.workload.goodput import Saving, Share, best_interval_s, shares
from eastwest.workload.loading import copying_s, pace_s, preparing_s

STORAGE, PREPARING, COPYING, STEP = "storage", "preprocessing", "copy to GPU", "step"
COMPUTE, NETWORK, PREFETCH = "compute", "network", "prefetch"
_READ, _WRITE = "data path/read", "data path/write"
"""Names that no operation of a study can have."""
_BITS = 8.0
_ROUNDING = 1e-9
_CLOSE_ENOUGH = 0.01
"""Part of a step by which what is written beside it may end before or after."""
_MOST_TRIES = 10


@dataclass(frozen=True)
class Place:
    """Where a case runs: what the engine needs of it beside the step."""

    study: Study
    workload: str
    fabric: str
    cluster: str
    network: Network
    gpus: npt.NDArray[np.uint32]
    carriage: Carriage

    @property
    def servers(self) -> int:
        """Servers that ranks run on."""
        return len(np.unique(self.network.fabric.nodes["server"].to_numpy()[self.gpus]))

    @property
    def shares_network(self) -> bool:
        """Whether storage is reached over the GPUs' network."""
        frontend = self.study.fabrics[self.fabric].frontend
        return frontend is not None and frontend.storage is not None and frontend.network == "shared"

    @property
    def pcie_bps(self) -> float:
        """Payload of a GPU's PCIe link, one way."""
        gpu = self.study.server(self.cluster).gpu
        return gpu.pcie_bps * gpu.pcie_efficiency

    @property
    def fidelity(self) -> Fidelity:
        """That in which storage is run: packets know none of it."""
        return "fluid" if self.study.fidelity == "packet" else self.study.fidelity


@dataclass(frozen=True)
class _Beside:
    """How long a step, a batch's reading and a part of a checkpoint's writing take side by side."""

    step_s: float
    read_s: float = 0.0
    write_s: float = 0.0


def path(place: Place, runs: Runs, step: Step, row: Row) -> DataPath | None:
    """What a study finds of a case's job around its steps; None where the workload says nothing of that.

    `row` has the step alone. Raises `UnrunnableError` where storage cannot be reached, `StudyError` where the study
    asks for packets on a network that storage shares.
    """
    asked = place.study.workloads[place.workload]
    if asked.data is None and asked.checkpoint is None:
        return None
    if place.study.fidelity == "packet" and place.shares_network:
        name = place.study.base("fabrics", place.fabric)
        message = f"{name!r} shares its network with storage, which packets know nothing of: run it in fluid"
        entry = "data" if asked.data is not None else "checkpoint"
        raise place.study.error_at(("workloads", place.workload, entry), message)
    # a pipeline's bubbles are no communication, though ranks wait for messages in them
    trained = row.training
    exposed_s = row.exposed_s if trained is None else sum(trained.exposed_s.values())
    bubble_s = 0.0 if trained is None else trained.bubble_s
    return _Path(place, runs, step, asked, row.step_s, exposed_s, bubble_s).found()


def paced(place: Place, runs: Runs, step: Step, step_s: float, asked: spec.AroundSteps) -> float:
    """Seconds from one step to the next, where a step alone takes `step_s`; raises `UnrunnableError` as `path`."""
    found = _Path(place, runs, step, asked, step_s)
    return found.pace_s(found.beside())


@dataclass(frozen=True)
class _Path:
    """One case, with its step alone: how long it takes, and what of that is exposed communication, or bubbles."""

    place: Place
    runs: Runs
    step: Step
    asked: spec.AroundSteps
    step_s: float
    exposed_s: float = 0.0
    bubble_s: float = 0.0

    def found(self) -> DataPath:
        """Everything that there is to tell."""
        beside = self.beside()
        stages, pace = self.stages(beside), self.pace_s(beside)
        exposed_s = max(beside.step_s - (self.step_s - self.exposed_s), 0.0)
        names = [name if name != STEP else _larger(beside.step_s, exposed_s) for name, _ in stages]
        by_time = sorted(range(len(stages)), key=lambda number: -stages[number][1])
        in_order = [(names[number], stages[number][1]) for number in by_time]
        if pace > in_order[0][1] * (1 + _ROUNDING):
            in_order.insert(0, (PREFETCH, pace))
        behind = in_order[1] if len(in_order) > 1 else ("", 0.0)
        checkpoints, share = self.checkpoints(pace)
        where, why = self.held()
        useful = self.step.ranks * HOURS_A_MONTH * share.useful / pace if pace else 0.0
        rest = self.step.ranks * HOURS_A_MONTH
        return DataPath(
            pace,
            SECONDS_A_DAY * share.useful / pace if pace else 0.0,
            in_order[0][0],
            behind[0],
            behind[1] / pace if pace else 0.0,
            tuple(Stage(name, seconds, seconds / pace if pace else 0.0) for name, seconds in stages),
            where,
            why,
            GpuHours(
                compute=useful * (beside.step_s - exposed_s - self.bubble_s),
                bubbles=useful * self.bubble_s,
                network=useful * exposed_s,
                data=useful * (pace - beside.step_s),
                checkpoints=rest * share.checkpoints,
                lost_work=rest * share.lost,
                restarts=rest * share.restarts,
            ),
            checkpoints,
        )

    def stages(self, beside: _Beside) -> list[tuple[str, float]]:
        """Each stage and its seconds for one batch, in order; the step alone where nothing is said of data."""
        data = self.asked.data
        if data is None:
            return [(STEP, beside.step_s)]
        samples, loaded = self._samples(), data.loaded or self.asked.sizes().sample_bytes
        workers = data.workers or 1
        return [
            (STORAGE, beside.read_s),
            (PREPARING, preparing_s(samples / self.place.servers, data.cpu, workers)),
            (COPYING, copying_s(samples * loaded / self.step.ranks, self.place.pcie_bps)),
            (STEP, beside.step_s),
        ]

    def pace_s(self, beside: _Beside) -> float:
        """From one step to the next."""
        *loading, (_, step_s) = self.stages(beside)
        prefetch = None if self.asked.data is None else self.asked.data.prefetch
        return pace_s([seconds for _, seconds in loading], step_s, prefetch)

    def beside(self, write_bytes: float = 0.0) -> _Beside:
        """A step beside the reading of a batch, and the writing of so many bytes by each server.

        They share nothing but a network that storage is reached by, and storage where the step itself uses it.
        """
        data, checkpoint = self.asked.data, self.asked.checkpoint
        read_rate = None if data is None else data.read_rate
        write_rate = None if checkpoint is None else checkpoint.write_rate
        reads = self._transfers("read", self._batch_bytes(), read_rate)
        writes = self._transfers("write", write_bytes, write_rate)
        if not (reads or writes) or not self._meet():
            return _Beside(
                self.step_s,
                self.alone_s("read", self._batch_bytes(), read_rate),
                self.alone_s("write", write_bytes, write_rate),
            )
        run = self.run(replace(self.step, operations=(*self.step.operations, *reads, *writes)))
        end = run.op_end_s[:, : len(self.step.operations)].max(axis=1)
        took = [float(np.median(run.op_end_s[:, n] - run.op_start_s[:, n])) for n in range(-len(reads + writes), 0)]
        return _Beside(
            float(np.median(end)),
            took[0] if reads else self.alone_s("read", self._batch_bytes(), read_rate),
            took[-1] if writes else self.alone_s("write", write_bytes, write_rate),
        )

    def alone_s(self, direction: Direction, size: float, rate_bps: float | None) -> float:
        """Seconds in which each server reads or writes `size` bytes, and nothing else goes on."""
        if rate_bps is not None or size == 0.0:
            return size * _BITS / (rate_bps or 1.0)
        return float(np.median(self.run(self._only(direction, size)).step_s))

    def held(self) -> tuple[str, str]:
        """What holds the reading of a batch back, and why."""
        data = self.asked.data
        if data is None:
            return "", ""
        if data.read_rate is not None:
            return "what a server reads", f"the study says that each server reads {format_rate(data.read_rate)}"
        step = self._only("read", self._batch_bytes())
        run, ideal = self.run(step), self.run(step, "ideal")
        found = bottleneck.name(self.place.network, run, ideal, step, self.place.carriage)
        return found.where, found.why

    def checkpoints(self, pace: float) -> tuple[Checkpoints | None, Share]:
        """Checkpoints and failures of the job, and where its time goes, steps following each other at this `pace`."""
        asked = self.asked.checkpoint
        if asked is None:
            return None, Share(1.0, 0.0, 0.0, 0.0)
        reliability = self.asked.reliability or spec.Reliability()
        whole = self.asked.sizes().checkpoint_bytes
        size = whole / self.place.servers
        copy_s = copying_s(whole / self.step.ranks, self.place.pcie_bps)
        write_s = self.alone_s("write", size, asked.write_rate)
        saving = Saving(copy_s + write_s)
        if asked.mode == "async":
            saving = replace(self._written_meanwhile(size, write_s, pace), exposed_s=copy_s)
        reload_s = copy_s + self.alone_s("read", size, asked.read_rate or asked.write_rate)
        restart_s = reliability.restart + reload_s
        failures = self.step.ranks / reliability.gpu_mtbf
        failures += self.place.servers / reliability.server_mtbf if reliability.server_mtbf else 0.0
        meanwhile_s = saving.cost_s(math.inf) - saving.exposed_s
        least_s = max(pace + meanwhile_s, saving.settling_s)  # a step, and until the last one is safe
        if isinstance(asked.every, spec.Steps):
            every_s = asked.every.count * pace + meanwhile_s
        elif isinstance(asked.every, str):  # optimal
            every_s = best_interval_s(saving, 1 / failures, restart_s, least_s)
        else:
            every_s = asked.every
        every_s = max(every_s, least_s)
        share = shares(every_s, saving, 1 / failures, restart_s)
        found = Checkpoints(
            every_s=every_s,
            steps=(every_s + saving.exposed_s - saving.cost_s(every_s)) / pace if pace else 0.0,
            bytes_per_server=size,
            write_s=saving.settling_s or write_s,
            exposed_s=saving.exposed_s,
            slowdown=saving.slowdown,
            mtbf_s=1 / failures,
            failures_a_month=failures * HOURS_A_MONTH * 3600.0,
            restart_s=restart_s,
            reload_s=reload_s,
            goodput=share.useful,
        )
        return found, share

    def _written_meanwhile(self, size: float, alone_s: float, pace: float) -> Saving:
        """A checkpoint that servers write in the background: in how long, and how many times as long steps take.

        Where both meet, a step is run beside as much of it as is written until the step ends.
        """
        asked = self.asked.checkpoint
        if asked is None or asked.write_rate is not None or not self._meet() or pace == 0.0:
            return Saving(0.0, alone_s)
        part, slower_s, settling_s = min(1.0, pace / alone_s), pace, alone_s
        for _ in range(_MOST_TRIES):
            beside = self.beside(part * size)
            slower_s = max(self.pace_s(beside), pace)
            settling_s = max(slower_s, beside.write_s) / part
            too_little = slower_s / beside.write_s
            if abs(too_little - 1) < _CLOSE_ENOUGH or (part == 1.0 and too_little > 1.0):
                break
            part = min(1.0, part * too_little)
        return Saving(0.0, settling_s, slower_s / pace)

    def run(self, step: Step, fidelity: Fidelity | None = None) -> Run:
        """A run of a step on the case's network."""
        at = self.place
        return self.runs.simulate(
            at.study, at.workload, at.network, step, at.gpus, at.carriage, fidelity or at.fidelity
        )

    def _meet(self) -> bool:
        """Whether the step and what feeds it have anything in common on their ways."""
        return self.place.shares_network or any(isinstance(each, Storage) for each in self.step.operations)

    def _batch_bytes(self) -> float:
        """What a server reads for one batch."""
        if self.asked.data is None:
            return 0.0
        return self._samples() * self.asked.sizes().sample_bytes / self.place.servers

    def _samples(self) -> float:
        """Those of a step: in proportion to the GPUs where the batch stated is for another number of them."""
        times = 1.0 if self.runs.batch_for is None else self.step.ranks / self.runs.batch_for
        return self.asked.sizes().samples * times

    def _transfers(self, direction: Direction, size: float, rate_bps: float | None) -> tuple[Storage, ...]:
        """What each server reads or writes over the network beside a step, where it does."""
        if size == 0.0 or rate_bps is not None:
            return ()
        name = _READ if direction == "read" else _WRITE
        return (Storage(name, direction, size, queue=name),)

    def _only(self, direction: Direction, size: float) -> Step:
        return Step(self.step.ranks, self._transfers(direction, size, None))


def _larger(step_s: float, exposed_s: float) -> str:
    """What of a step takes longer."""
    return NETWORK if exposed_s > step_s - exposed_s else COMPUTE
