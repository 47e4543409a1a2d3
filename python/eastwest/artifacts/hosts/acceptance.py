"""The acceptance script of a fabric's servers, and the lists that it reads: servers, links and figures.

Not here: where the figures come from (`hosts.expected`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eastwest import expect
from eastwest.artifacts.file import File
from eastwest.artifacts.headroom import PORT_MTU
from eastwest.artifacts.hosts import expected
from eastwest.artifacts.hosts.nics import family
from eastwest.artifacts.marking import TRAFFIC_CLASS
from eastwest.artifacts.plan import Host, NicPort
from eastwest.artifacts.subject import Subject
from eastwest.artifacts.texts import text

FOLDER = "acceptance"
_ORDER: tuple[expected.Test, ...] = ("links", "rails", "servers", "pairs", "all")


def files(subject: Subject, rails: Mapping[str, Sequence[NicPort]]) -> Iterator[File]:
    """The files; `rails` has the ports of each server's GPUs' NICs.

    Raises:
        InputError, StudyError: as `expected.lines`.
    """
    plan = subject.plan
    servers = [host for host in plan.hosts if host.name in rails]
    lines = expected.lines(subject.study, plan.fabric, subject.fabric, f"cluster={subject.cluster}")
    is_infiniband, ports = plan.technology == "infiniband", rails[servers[0].name]
    has = {"links", *(line.test for line in lines)}
    most = expected.most_servers(plan.fabric)
    gid = "" if is_infiniband else f" -x {family(ports[0].device).gid_index} --tclass {TRAFFIC_CLASS}"
    script = text(
        "acceptance/acceptance.sh.j2",
        fabric=subject.fabric,
        study=subject.study.name,
        infiniband=is_infiniband,
        tests=[test for test in _ORDER if test in has],
        most=most,
        whole=most == len(servers),
        rail_part=round(100 * (1 - expected.RAIL_TOLERANCE)),
        nccl_part=round(100 * (1 - expect.TOLERANCE)),
        interfaces=[port.name for port in ports],
        queue_pairs=max(4, subject.asked.qps),
        perftest=gid,
        factor=expected.FACTOR,
    )
    yield File(f"{FOLDER}/acceptance.sh", script, is_executable=True)
    yield File(f"{FOLDER}/probe.sh", text("acceptance/probe.sh.j2", infiniband=is_infiniband), is_executable=True)
    yield File(f"{FOLDER}/servers.txt", "".join(f"{server.name}\n" for server in servers))
    yield File(f"{FOLDER}/expected.csv", "".join(f"{line}\n" for line in (expected.HEADER, *lines)))
    yield File(f"{FOLDER}/links.csv", _links(servers, rails, is_infiniband))


def _links(servers: Sequence[Host], rails: Mapping[str, Sequence[NicPort]], is_infiniband: bool) -> str:
    """What each server should say of each interface, as the probe prints it."""
    rows = ["server,interface,neighbour,gateway,state"]
    for server in servers:
        for port in rails[server.name]:
            if port.cable is None:
                continue
            gbps = round(port.rate_bps / 1e9)
            state = f"ACTIVE {gbps}" if is_infiniband else f"up {gbps * 1000} {PORT_MTU} yes"
            rows.append(f"{server.name},{port.name},{port.peer} {port.peer_interface},{port.gateway},{state}")
    return "\n".join((*rows, ""))
