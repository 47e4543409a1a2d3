"""What servers and storage servers are set up with: addresses and routes, NICs, NCCL, and whether it all works.

Not here: switches, and how a NIC that is sprayed by SRv6 finds its paths (`artifacts.mrc`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eastwest.artifacts.file import File
from eastwest.artifacts.hosts import acceptance
from eastwest.artifacts.hosts.nccl_topology import addresses, nccl_topology
from eastwest.artifacts.hosts.netplan import netplan
from eastwest.artifacts.hosts.settings import nccl_conf, nic_script, sysctl
from eastwest.artifacts.plan import Host, NicPort, Plan
from eastwest.artifacts.subject import Subject
from eastwest.artifacts.texts import text

__all__ = ["files"]


def files(subject: Subject) -> Iterator[File]:
    """Every host's files, and the acceptance script of the servers.

    Raises:
        InputError, StudyError: what the servers should show cannot be predicted.
    """
    plan = subject.plan
    rails = {host.name: _rails(host) for host in plan.hosts if _rails(host)}
    alike: dict[bool, tuple[File, ...]] = {}
    for host in plan.hosts:
        ethernet = [port for port in host.ports if _is_ethernet(plan, port)]
        if ethernet:
            yield netplan(plan, host, ethernet)
            yield File(f"hosts/{host.name}/sysctl.conf", sysctl(host, ethernet))
            names = [port.name for port in ethernet]
            yield File(f"hosts/{host.name}/lldpd.conf", text("hosts/lldpd.conf.j2", server=host.name, names=names))
        if host.name not in rails:
            continue
        has_frontend = len(host.ports) > len(rails[host.name])
        if has_frontend not in alike:
            alike[has_frontend] = tuple(_of_all_servers(subject, rails[host.name], has_frontend))
        for file in alike[has_frontend]:
            yield File(f"hosts/{host.name}/{file.path}", file.text, file.is_executable)
        script = nic_script(subject, host, rails[host.name])
        if script is not None:
            yield File(f"hosts/{host.name}/nic.sh", script, is_executable=True)
    if rails:
        yield from acceptance.files(subject, rails)


def _rails(host: Host) -> tuple[NicPort, ...]:
    """The ports of the NICs of a server's GPUs."""
    return tuple(port for port in host.ports if port.tier == "server")


def _is_ethernet(plan: Plan, port: NicPort) -> bool:
    layer = plan.fabric.plan["link_layer"] if port.tier == "server" else plan.fabric.plan["frontend"]["link_layer"]
    return bool(layer["technology"] != "infiniband")


def _of_all_servers(subject: Subject, ports: Sequence[NicPort], has_frontend: bool) -> Iterator[File]:
    """What all servers have alike, by its path within a server's folder."""
    asked = subject.plan.fabric.plan
    yield File("nccl.conf", nccl_conf(subject, ports, has_frontend))
    is_infiniband = subject.plan.technology == "infiniband"
    yield File("nccl-topology.xml", nccl_topology(asked["server"], asked["nic"], subject.study.nccl.cpu, is_infiniband))
    gpus, nics = addresses(asked["server"])
    named = [(port.name, nics[port.nic]) for port in ports if port.port == 0]
    yield File("topology.sh", text("hosts/topology.sh.j2", gpus=gpus, nics=named), is_executable=True)
