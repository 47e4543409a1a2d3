"""What the acceptance script holds servers against: rates that the study predicts, and the least that passes.

The study's own predictions (`eastwest.expect`) of nccl-tests in one server, between two as far apart as the list of
servers allows, and over all; and the payload that headers leave of a link's rate, for perftest. Not here: running
anything (`templates/acceptance`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from eastwest import expect
from eastwest.fabric import Fabric
from eastwest.spec import Study

Test = Literal["links", "rails", "servers", "pairs", "all"]

FACTOR = 8
SIZES = (1 << 30, FACTOR << 30)
"""Bytes at which nccl-tests run: large enough for rates to be the network's, and small enough for any GPU's memory."""
MOST_RANKS = 1024
"""GPUs of the test over all servers at most: what it shares shows with so many, and more take long to predict."""
RAIL_TOLERANCE = 0.06
"""Part of a link's payload that perftest may miss: it leaves 46 of a 400 Gb/s NIC's 49 GB/s, the low end of what NCCL's
maintainers call usual (46 to 48), while a lane or a cable at fault costs half or more."""


@dataclass(frozen=True)
class Line:
    """One figure: the least that passes beside what is expected, in Gb/s (`rails`) or GB/s of bus bandwidth."""

    test: Test
    program: str
    servers: int
    gpus: int
    size_bytes: int
    expected: float
    least: float

    def __str__(self) -> str:
        where = f"{self.test},{self.program},{self.servers},{self.gpus},{self.size_bytes}"
        return f"{where},{self.expected:.2f},{self.least:.2f}"


HEADER = "test,program,servers,gpus_per_server,bytes,expected,least"


def most_servers(fabric: Fabric) -> int:
    """Servers of the test over all."""
    servers, gpus = int(fabric.plan["servers"]), int(fabric.plan["server"]["gpus"])
    return min(servers, max(2, MOST_RANKS // gpus))


def lines(study: Study, fabric: Fabric, name: str, where: str = "") -> tuple[Line, ...]:
    """The figures of fabric `name` of a study; a test that the cluster is too small for has none.

    Raises:
        InputError, StudyError: as `eastwest.expect.scene`.
    """
    asked = study.fabrics[name].model_copy(update={"failures": ()})  # what is built is whole, whatever a study asks
    healthy = study.model_copy(update={"fabrics": {**study.fabrics, name: asked}})
    return (*_rails(fabric), *_nccl(healthy, fabric, name, where))


def _rails(fabric: Fabric) -> Iterator[Line]:
    if int(fabric.plan["servers"]) < 2 or fabric.plan["link_layer"]["technology"] == "mrc":
        return  # perftest speaks no MRC
    plan, gpu = fabric.plan, fabric.plan["server"]["gpu"]
    is_rail = pl.col("tiers") == "server-leaf"
    rail_bps = fabric.cables.filter(is_rail)["rate_bps"].to_numpy().min(initial=plan["link_bps"])
    above = fabric.cables.filter(~is_rail & ~pl.col("tiers").str.contains("frontend|storage|access"))
    if above["rate_bps"].to_numpy().min(initial=rail_bps) < rail_bps:
        return  # a queue pair may outrun an uplink, and where it is hashed to is luck
    pcie_bps = plan["nic"]["pcie_bps"] * gpu["pcie_efficiency"] / int(plan["planes"])
    gbps = min(rail_bps * plan["link_layer"]["efficiency"], pcie_bps) / 1e9
    yield Line("rails", "ib_write_bw", 2, 0, 1 << 20, gbps, gbps * (1 - RAIL_TOLERANCE))


def _nccl(study: Study, fabric: Fabric, name: str, where: str) -> Iterator[Line]:
    servers, gpus = int(fabric.plan["servers"]), int(fabric.plan["server"]["gpus"])
    if servers * gpus < 2:
        return
    most, far = most_servers(fabric), (servers + 1) // 2
    tests: dict[Test, tuple[int, ...]] = {}
    if gpus > 1:
        tests["servers"] = (0,)
    if servers > 1:
        tests |= {"pairs": (0, far), "all": tuple(range(most))}
    for word in ("all_reduce", "alltoall"):
        program = expect.program(word)
        whole = expect.scene(study, name, program, where=where)
        for test, among in tests.items():
            if test == "all" and word == "alltoall":
                continue  # every pair of GPUs at once: long to run, and to predict
            scene = whole.among([(server, gpu) for server in among for gpu in range(gpus)])
            for row in scene.rows(SIZES):
                busbw = row.busbw / 1e9
                least = busbw * (1 - expect.TOLERANCE)
                yield Line(test, program.name, len(among), gpus, row.size_bytes, busbw, least)
