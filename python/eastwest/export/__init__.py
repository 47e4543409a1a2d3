"""A study's fabrics and steps as files of other simulators: htsim, SimAI, ASTRA-sim, and Chakra traces.

What a format cannot say is told, or refused with the reason. Not here: the text of each format (`fabric.formats`,
`workload.formats`).
"""

from __future__ import annotations

from typing import Literal, get_args

from eastwest.errors import InputError
from eastwest.export.folder import Exported, check, write
from eastwest.export.htsim import step_flows
from eastwest.fabric import FabricError
from eastwest.fabric.formats.gpu_graph import gpu_graph
from eastwest.fabric.formats.write_astra_sim import astra_sim_network
from eastwest.fabric.formats.write_htsim import write_htsim_topology
from eastwest.fabric.formats.write_simai import ns3_topology, simai_topology
from eastwest.spec import Study
from eastwest.study import fabrics
from eastwest.study.runs import Runs
from eastwest.study.selection import Combination, one
from eastwest.workload.formats.write_chakra import chakra_traces
from eastwest.workload.formats.write_htsim import htsim_flows

__all__ = ["FORMATS", "Exported", "Format", "check", "export", "write"]

Format = Literal["chakra", "htsim", "simai", "astra-sim"]
FORMATS: tuple[Format, ...] = get_args(Format)


def export(study: Study, to: Format, fabric: str, workload: str | None = None, where: str = "") -> Exported:
    """One fabric of a study, and one of its workloads on it, in a format.

    Raises:
        InputError: there is no such fabric or workload, several combinations, or the format cannot say it.
        StudyError: the fabric cannot be built; names the line.
    """
    if workload is not None and to not in ("chakra", "htsim"):
        raise InputError(f"--to {to} takes the fabric alone: leave --workload out")
    if workload is None and to == "chakra":
        raise InputError("--to chakra writes what a workload does: name it with --workload")
    chosen, runs = one(study, fabric, workload, where), Runs()
    here = chosen.study
    names = {"fabric": here.base("fabrics", chosen.fabric), "cluster": here.base("clusters", chosen.cluster)}
    about: dict[str, str] = {"format": to, "study": study.name, **names}
    if workload is not None:
        about |= {"workload": here.base("workloads", chosen.workload), "placement": str(chosen.placement)}
    try:
        if to == "chakra":
            files, told = _chakra(chosen, runs)
        else:
            files, told = _htsim(chosen, runs, workload) if to == "htsim" else _network(chosen, runs, to)
    except FabricError as error:
        raise InputError(f"{study.file}: fabric {about['fabric']!r}: {error.message}") from None
    return Exported({name: _as_bytes(text) for name, text in files.items()}, about, told)


Files = tuple[dict[str, str | bytes], tuple[str, ...]]


def _as_bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _chakra(chosen: Combination, runs: Runs) -> Files:
    here = chosen.study
    network = runs.network(here, chosen.fabric, chosen.cluster)
    step = runs.step(here, chosen.workload, network, runs.gpus(network, chosen.placement))
    name = here.base("workloads", chosen.workload)
    try:
        traces, communicators, told = chakra_traces(step)
    except ValueError as error:
        raise InputError(f"{here.file}: workload {name!r}: {error}") from None
    files: dict[str, str | bytes] = {f"{name}.{rank}.et": trace for rank, trace in enumerate(traces)}
    return {**files, f"{name}.groups.json": communicators}, told


def _network(chosen: Combination, runs: Runs, to: Format) -> Files:
    fabric = runs.network(chosen.study, chosen.fabric, chosen.cluster).fabric
    graph, name = gpu_graph(fabric), chosen.study.base("fabrics", chosen.fabric)
    if to == "simai":
        text, told = simai_topology(fabric, graph)
        return {f"{name}.topo": text}, told
    analytical, logical, told = astra_sim_network(fabric, graph)
    physical, joined = ns3_topology(graph)
    files: dict[str, str | bytes] = {
        f"{name}.yml": analytical,
        f"{name}.logical.json": logical,
        f"{name}.ns3.txt": physical,
    }
    return files, tuple(dict.fromkeys((*told, *joined)))


def _htsim(chosen: Combination, runs: Runs, workload: str | None) -> Files:
    here = chosen.study
    network, name = runs.network(here, chosen.fabric, chosen.cluster), here.base("fabrics", chosen.fabric)
    topology = write_htsim_topology(network.fabric)
    called = network.fabric.nodes["name"].gather(topology.nic_of_host.tolist())
    hosts = ["host,nic", *(f"{host},{nic}" for host, nic in enumerate(called)), ""]
    files: dict[str, str | bytes] = {f"{name}.topo": topology.text, "hosts.csv": "\n".join(hosts)}
    if workload is None:
        return files, topology.told
    gpus, carriage = runs.gpus(network, chosen.placement), fabrics.carriage(here, chosen.fabric)
    step = runs.step(here, chosen.workload, network, gpus)
    gpus = gpus[: step.ranks]  # an imported step may leave GPUs idle
    called_so = here.base("workloads", chosen.workload)
    try:
        found, told = step_flows(step, network, gpus, carriage, topology.nic_of_host, here.tolerance)
    except InputError as error:
        raise InputError(f"{here.file}: workload {called_so!r}: {error}") from None
    files[f"{called_so}.cm"] = htsim_flows(found, len(topology.nic_of_host))
    return files, (*topology.told, *told)
