"""The main job: every fabric of a study with every workload and placement, run and compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from eastwest import spec
from eastwest.engine import Carriage, EngineError, Fidelity, Network, Run
from eastwest.fabric import place, summary
from eastwest.spec import Placement, Study
from eastwest.study import case, fabrics, notes, workloads
from eastwest.study.case import Case, Price
from eastwest.study.result import FabricFacts, Row, StudyResult
from eastwest.study.sketch import sketch
from eastwest.workload import Step

Advance = Callable[[int, int, str], None]
"""Called with (cases done, cases in all, what comes next)."""


def _silent(_done: int, _total: int, _what: str) -> None:
    """Progress that nobody watches."""


def run(study: Study, advance: Advance = _silent) -> StudyResult:
    """Runs a study and gives its result.

    Raises:
        StudyError: a fabric cannot be built, or a measured time cannot be met; names the line.
        KeyboardInterrupt: Ctrl-C was pressed; nothing is kept.
    """
    return _Join(study).run(advance)


@dataclass
class _Join:
    """A study while it runs: networks and solved sizes are kept, since many cases share them."""

    study: Study
    networks: dict[tuple[str, str], Network] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    engine_s: float = 0.0

    def run(self, advance: Advance) -> StudyResult:
        began = time.perf_counter()
        cases = list(self._cases())
        rows: list[Row] = []
        remarks: list[notes.Remark] = []
        for done, (each, placement) in enumerate(cases):
            advance(done, len(cases), f"{each.workload} on {each.fabric}")
            found, remark = self._case(each, placement)
            rows.append(found)
            remarks.append(remark)
        advance(len(cases), len(cases), "done")
        pairs = dict.fromkeys((each.fabric, each.cluster) for each, _ in cases)
        cautions = [text for name, cluster in pairs for text in fabrics.cautions(self.study, name, cluster)]
        return StudyResult(
            study=self.study.name,
            rows=tuple(rows),
            fabrics=tuple(self._facts(*pair) for pair in pairs),
            warnings=tuple(dict.fromkeys(cautions)),
            seeds=self._seeds(),
            wall_s=time.perf_counter() - began,
            engine_s=self.engine_s,
            notes=notes.sentences(self.study, rows, remarks, self.sizes),
            sources=notes.sources(self.study),
            tolerance=self.study.tolerance,
        )

    def _cases(self) -> Iterator[tuple[Case, Placement]]:
        for workload in self.study.workloads:
            for placement in self.study.placements:
                for fabric in self.study.fabrics:
                    for cluster in self.study.clusters_of(fabric):
                        yield Case(fabric, cluster, workload, str(placement), self.study.fidelity), placement

    def _case(self, each: Case, placement: Placement) -> tuple[Row, notes.Remark]:
        network, step = self._network(each.fabric, each.cluster), self._step(each.workload, each.cluster)
        gpus = place(network.fabric, placement.kind, placement.seed)
        carriage = fabrics.carriage(self.study, each.fabric)
        ideal = self._simulate(each.workload, network, step, gpus, carriage, "ideal")
        found = (
            ideal if each.fidelity == "ideal" else self._simulate(each.workload, network, step, gpus, carriage, "fluid")
        )
        money = self.study.money
        price = Price() if money is None else Price(money.gpu_hour.amount, money.gpu_hour.currency)
        return (
            case.row(each, network, step, carriage, found, ideal, price),
            notes.remark(each, network, found),
        )

    def _network(self, fabric: str, cluster: str) -> Network:
        key = (fabric, cluster)
        if key not in self.networks:
            self.networks[key] = Network(fabrics.build(self.study, fabric, cluster))
        return self.networks[key]

    def _step(self, name: str, cluster: str) -> Step:
        asked = self.study.workloads[name]
        ranks = self.study.gpus(cluster)
        if isinstance(asked, spec.Operations):
            return workloads.listed(asked, ranks)
        return workloads.measured(asked, ranks).step(self._bytes(name, asked))

    def _bytes(self, name: str, asked: spec.Measured) -> float:
        """Message size of a measured workload, solved for on the fabric where it was measured."""
        if name not in self.sizes:
            there = asked.measured_on
            cluster = there.cluster or self.study.clusters_of(there.fabric)[0]
            network, carriage = self._network(there.fabric, cluster), fabrics.carriage(self.study, there.fabric)
            gpus = place(network.fabric, there.placement.kind, there.placement.seed)
            self.sizes[name] = workloads.solved_bytes(
                self.study,
                name,
                self.study.gpus(cluster),
                lambda step: self._simulate(name, network, step, gpus, carriage, "fluid"),
            )
        return self.sizes[name]

    def _seeds(self) -> tuple[int, ...]:
        return tuple(range(self.study.seeds))

    def _simulate(
        self,
        workload: str,
        network: Network,
        step: Step,
        gpus: npt.NDArray[np.uint32],
        carriage: Carriage,
        fidelity: Fidelity,
    ) -> Run:
        # Only a hash is a draw of lots: whatever does not hash, and the bound, come out alike for every seed.
        draws = self._seeds() if carriage.balancing == "ecmp" and fidelity == "fluid" else (0,)
        began = time.perf_counter()
        try:
            return network.run(step, gpus, carriage, fidelity=fidelity, seeds=draws, tolerance=self.study.tolerance)
        except EngineError as error:
            raise self.study.error_at(("workloads", workload), f"workload {workload!r}: {error}") from None
        finally:
            self.engine_s += time.perf_counter() - began

    def _facts(self, name: str, cluster: str) -> FabricFacts:
        built = self._network(name, cluster).fabric
        return FabricFacts(name, summary(built), sketch(built), cluster)
