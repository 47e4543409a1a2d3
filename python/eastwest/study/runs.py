"""What the cases of a study share: networks, placements and sizes solved for; and how one of them is run.

Equal fabrics are built once, whatever they are called. Not here: which cases there are (`join`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from eastwest import spec
from eastwest.document import Mistake
from eastwest.engine import Carriage, EngineError, Fidelity, Network, Record, Run, UnreachableError, run_by_packet
from eastwest.fabric import place, summary
from eastwest.spec import Placement, Study, StudyError
from eastwest.study import fabrics, packets, training, tuning, workloads
from eastwest.study.remedies import remedy
from eastwest.study.sketch import sketch
from eastwest.study.timeline import Timeline, timeline
from eastwest.workload import Background, Step

Gpus = npt.NDArray[np.uint32]
Facts = tuple[dict[str, Any], dict[str, Any]]


class UnrunnableError(StudyError):
    """What a study asks of a network cannot be run there; others of its cases may.

    `reason` says why without the place, and `is_unreachable` whether it is for want of a path.
    """

    def __init__(self, mistakes: Iterable[Mistake], reason: str, *, is_unreachable: bool = False) -> None:
        super().__init__(mistakes)
        self.reason = reason
        self.is_unreachable = is_unreachable


@dataclass
class Runs:
    """A study while it runs: what was built and solved is kept, since many cases share it.

    `work` makes of each other workload's step the one that is run; training jobs, and data of any, have the batch that
    is stated, or where that is `batch_for` so many GPUs, one in proportion to theirs.
    """

    work: Callable[[Step], Step] | None = None
    batch_for: int | None = None
    engine_s: float = 0.0
    sizes: dict[tuple[str, int, float], float] = field(default_factory=dict)
    steps_s: dict[tuple[object, ...], float] = field(default_factory=dict)
    _networks: dict[tuple[str, str, bool], Network] = field(default_factory=dict)
    _by_plan: dict[str, Network] = field(default_factory=dict)
    _gpus: dict[tuple[int, Placement], Gpus] = field(default_factory=dict)
    _summaries: dict[int, dict[str, Any]] = field(default_factory=dict)
    _sketches: dict[int, dict[str, Any]] = field(default_factory=dict)

    def network(self, study: Study, fabric: str, cluster: str, *, is_whole: bool = False) -> Network:
        """The network of a fabric, joined to a cluster: as left by what has failed there, or before, where `is_whole`.

        Raises `StudyError` where it cannot be built.
        """
        failed = () if is_whole else fabrics.failures(study, fabric)
        key = (fabric, cluster, not failed)
        if key not in self._networks:
            routes = str(study.fabrics[fabric].routes)
            plan = [fabrics.plan(study, fabric, cluster).as_json(), routes, *map(str, failed)]
            text = json.dumps(plan, sort_keys=True)
            if text not in self._by_plan:
                self._by_plan[text] = fabrics.network(study, fabric, cluster, failed)
            self._networks[key] = self._by_plan[text]
        return self._networks[key]

    def gpus(self, network: Network, placement: Placement) -> Gpus:
        """The GPU node of each rank."""
        key = (id(network), placement)
        if key not in self._gpus:
            self._gpus[key] = place(network.fabric, placement.kind, placement.seed)
        return self._gpus[key]

    def summary(self, network: Network) -> dict[str, Any]:
        """What the network's fabric amounts to."""
        if id(network) not in self._summaries:
            self._summaries[id(network)] = summary(network.fabric)
        return self._summaries[id(network)]

    def sketch(self, network: Network) -> dict[str, Any]:
        """What a drawing of the network's fabric needs."""
        if id(network) not in self._sketches:
            self._sketches[id(network)] = sketch(network.fabric)
        return self._sketches[id(network)]

    def step(self, study: Study, workload: str, network: Network, gpus: Gpus) -> Step:
        """The step of a workload on GPUs of a network, with what NCCL would choose there.

        Raises `StudyError` where a time measured cannot be met, `UnrunnableError` where NCCL can choose nothing.
        """
        asked = study.workloads[workload]
        if isinstance(asked, spec.Operations):
            step = workloads.listed(asked, len(gpus))
        elif isinstance(asked, spec.Imported):
            step = workloads.imported(asked)
        elif isinstance(asked, spec.Training):
            return self._tuned(study, workload, self._trained(study, workload, network, len(gpus)), network, gpus)
        else:
            step = workloads.measured(asked, len(gpus)).step(self._bytes(study, workload, asked))
        return self._tuned(study, workload, self.work(step) if self.work else step, network, gpus)

    def job(self, study: Study, workload: str, network: Network, ranks: int) -> training.Job:
        """The training job of a workload on so many GPUs of a network; raises `StudyError` where it is none."""
        times = 1.0 if self.batch_for is None else ranks / self.batch_for
        return training.job(study, workload, network.fabric, ranks, times)

    def _trained(self, study: Study, workload: str, network: Network, ranks: int) -> Step:
        """The step of a training job; raises `UnrunnableError` where it does not fit the GPUs, or into them."""
        try:
            job = self.job(study, workload, network, ranks)
            try:
                return job.step()
            except ValueError as error:
                raise training.refused(study, workload, error) from None
        except StudyError as error:
            raise UnrunnableError(error.mistakes, error.mistakes[0].message) from None

    def _tuned(self, study: Study, workload: str, step: Step, network: Network, gpus: Gpus) -> Step:
        try:
            return tuning.tuned(study, workload, step, network.fabric, gpus)
        except StudyError as error:
            raise UnrunnableError(error.mistakes, error.mistakes[0].message) from None

    def _bytes(self, study: Study, workload: str, asked: spec.Measured) -> float:
        """Message size of a measured workload, solved for on the fabric where it was measured."""
        key = (workload, study.seeds, study.tolerance)
        if key not in self.sizes:
            fabric, cluster = study.measured_on(asked)
            network, carriage = self.network(study, fabric, cluster), fabrics.carriage(study, fabric)
            gpus = self.gpus(network, asked.measured_on.placement)
            self.sizes[key] = workloads.solved_bytes(
                study,
                workload,
                study.gpus(cluster),
                lambda step: self.simulate(
                    study,
                    workload,
                    network,
                    tuning.tuned(study, workload, step, network.fabric, gpus),
                    gpus,
                    carriage,
                    "fluid",
                ),
            )
        return self.sizes[key]

    def simulate(
        self,
        study: Study,
        workload: str,
        network: Network,
        step: Step,
        gpus: Gpus,
        carriage: Carriage,
        fidelity: Fidelity,
    ) -> Run:
        """One run of a workload; raises as `simulate_at`."""
        return self.simulate_at(study, ("workloads", workload), network, step, gpus, carriage, fidelity)

    def timeline(
        self,
        study: Study,
        name: str,
        network: Network,
        step: Step,
        gpus: Gpus,
        carriage: Carriage,
        fidelity: Fidelity,
        run: Run,
        background: Background | None = None,
        rank_name: Callable[[int], str] = "rank {}".format,
    ) -> Timeline:
        """The timeline of a run that was made with these, in its median draw."""
        began = time.perf_counter()

        def record(draw: int, every_ps: int) -> Record:
            return network.record(
                step,
                gpus,
                carriage,
                every_ps,
                fidelity=fidelity,
                seed=draw,
                tolerance=study.tolerance,
                background=background,
            )

        found = timeline(name, step, run, record, rank_name)
        self.engine_s += time.perf_counter() - began
        return found

    def simulate_at(
        self,
        study: Study,
        place: tuple[str, str],
        network: Network,
        step: Step,
        gpus: Gpus,
        carriage: Carriage,
        fidelity: Fidelity,
        background: Background | None = None,
    ) -> Run:
        """One run of what the study has at a place.

        Raises `UnrunnableError` there where the engine refuses it.
        """
        # Only a hash is a draw of lots: whatever does not hash, and the bound, come out alike for every seed.
        draws = range(study.seeds) if carriage.is_drawn and fidelity == "fluid" else (0,)
        began = time.perf_counter()
        try:
            if fidelity == "packet":
                return run_by_packet(
                    network,
                    step,
                    gpus,
                    carriage,
                    packets.wire(network, carriage),
                    seeds=range(packets.draws(study)),
                    tolerance=study.tolerance,
                )
            return network.run(
                step,
                gpus,
                carriage,
                fidelity=fidelity,
                seeds=draws,
                tolerance=study.tolerance,
                background=background,
            )
        except EngineError as error:
            what = "workload" if place[0] == "workloads" else "mix"
            reason = f"{error}{remedy(step, gpus, network.fabric, error)}"
            told = study.error_at(place, f"{what} {study.base(*place)!r}: {reason}")
            is_unreachable = isinstance(error, UnreachableError)
            raise UnrunnableError(told.mistakes, reason, is_unreachable=is_unreachable) from None
        finally:
            self.engine_s += time.perf_counter() - began
