"""Findings that stand in the log itself: wrong results, ranks alone, sockets, NICs left out, no GPUDirect, settings."""

from __future__ import annotations

from collections.abc import Iterator

from eastwest.expect.comparison import Comparison
from eastwest.expect.faults import Fault
from eastwest.expect.finding import Cause, Finding
from eastwest.expect.rules.fitting import explained
from eastwest.study import tuning

_NET = "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET"
_SLOWING = {
    "NCCL_P2P_DISABLE": ("1", "GPUs of a server do not use NVLink"),
    "NCCL_IB_DISABLE": ("1", "NCCL uses sockets in place of RDMA"),
    "NCCL_NVLS_ENABLE": ("0", "the NVLink switch does not add up"),
    "NCCL_SHM_DISABLE": ("1", "ranks without peer access talk over the network"),
    "NCCL_NET_GDR_LEVEL": ("LOC", "GPUDirect RDMA is off"),
    "NCCL_CUMEM_ENABLE": ("0", "NVLS needs it"),
}
_CAPS = ("NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_BUFFSIZE", "NCCL_NTHREADS", "NCCL_IB_HCA", "NCCL_PXN_DISABLE")
_TRANSPORTS = (
    ("libfabric", ("efa-v2", "efa-v1", "efa-v3")),
    ("ofi", ("efa-v2", "efa-v1", "efa-v3")),
    ("fastrak", ("tcpxo",)),
    ("tcpx", ("tcpx",)),
    ("ib", ("verbs",)),
)
"""How names end that NCCL has for networks, and the transports of a study that they are."""


def corrupted(comparison: Comparison) -> Finding | None:
    """Elements came out wrong: nothing else matters until that is mended."""
    if not comparison.wrong:
        return None
    rows = [row.size_bytes for row in comparison.benchmark.rows if any(half.wrong for half in row.halves)]
    return Finding(
        "wrong-results",
        "Data is corrupted: elements came out wrong. Stop using these servers until it is found",
        (f"#wrong is above 0 at {len(rows)} sizes, first at {min(rows):,} bytes",),
        (
            Cause("a GPU or NVLink that fails", "dcgmi diag -r 3 on each server"),
            Cause("a path that corrupts: PCIe, IOMMU or driver", "dmesg | grep -iE 'xid|aer|iommu' on each server"),
        ),
        is_certain=True,
    )


def broken_off(comparison: Comparison) -> Finding | None:
    """The run ended with an error: of larger sizes nothing is known."""
    if comparison.benchmark.failure is None:
        return None
    return Finding(
        "broken-off",
        f"The run ended with an error behind {max(row.size_bytes for row in comparison.benchmark.rows):,} bytes",
        (f"the log has: {comparison.benchmark.failure}",),
        (Cause("a GPU, a link or a process that failed", "run it again with NCCL_DEBUG=WARN; dmesg | grep -i xid"),),
        is_certain=True,
    )


def other_gpu(comparison: Comparison) -> Finding | None:
    """The log is of other GPUs than the study's."""
    if not comparison.other_gpu:
        return None
    planned = comparison.scene.server["gpu"]["name"]
    return Finding(
        "other-gpu",
        f"The log is of {comparison.other_gpu}, the study's servers have {planned}: these are not to be compared",
        ("the log lists its devices",),
        (Cause("the study is of another cluster", "name a server like those measured; eastwest catalog lists them"),),
        is_certain=True,
    )


def sockets(comparison: Comparison) -> Finding | None:
    """Channels between servers go over TCP."""
    told = comparison.benchmark.told
    if comparison.scene.nodes < 2 or not any(each.lower() == "socket" for each in told.networks):
        return None
    return Finding(
        "sockets",
        "Servers talk over TCP sockets, not over RDMA",
        ("the log has channels via NET/Socket",),
        (
            Cause("RDMA devices are not seen by the process (container, driver, limits)", "ibv_devinfo; ulimit -l"),
            Cause("NCCL_IB_DISABLE or NCCL_NET is set", "env | grep -E 'NCCL_(IB_DISABLE|NET)'"),
        ),
        is_certain=True,
    )


def other_transport(comparison: Comparison) -> Finding | None:
    """Another plug-in carries NCCL between servers than the study reckons with."""
    scene = comparison.scene
    if scene.nodes < 2 or scene.server["gpu"].get("architecture") is None:
        return None
    planned = tuning.machine_of(scene.study, scene.bench.network.fabric).transport.name
    for network in comparison.benchmark.told.networks:
        seen = next((names for word, names in _TRANSPORTS if network.lower().endswith(word)), (planned,))
        if planned not in seen:
            return Finding(
                "other-transport",
                f"The study reckons with {planned} between servers, and the log has NET/{network}",
                ("channels between servers go through it",),
                (Cause("the study leaves it out, or names another", f"nccl: {{ transport: {seen[0]} }} in the study"),),
                is_certain=True,
            )
    return None


def idle_nics(comparison: Comparison) -> Finding | None:
    """Channels use fewer NICs than a server has. Where not all of its GPUs speak in the log, nothing is known."""
    told, scene = comparison.benchmark.told, comparison.scene
    used, there = len(told.nics), scene.nics
    if scene.nodes < 2 or not 0 < used < there or told.speakers < scene.per_node or "Socket" in told.networks:
        return None
    fault = Fault(nics=used / there)
    numbers = ", ".join(map(str, comparison.benchmark.told.nics))
    return Finding(
        "idle-nics",
        f"{used} of {there} NICs carry channels",
        (f"all channels between servers are via NET numbers {numbers}",),
        (
            Cause("NCCL_IB_HCA or a topology file leaves NICs out", "env | grep -E 'NCCL_(IB_HCA|TOPO_FILE)'"),
            Cause("other ports are down or of another subnet", "ibstat | grep -E 'CA |State|Rate'"),
            Cause("the version's search finds no more channels", f"{_NET},GRAPH, and grep 'nChannels' in the output"),
        ),
        explained(comparison, fault),
        is_certain=True,
        model=fault,
    )


def staged(comparison: Comparison) -> Finding | None:
    """Messages between servers go through host memory."""
    told = comparison.benchmark.told
    if comparison.scene.nodes < 2 or told.with_gdr or not told.without_gdr or "Socket" in told.networks:
        return None
    return Finding(
        "no-gpudirect",
        "Messages between servers go through host memory: no GPUDirect RDMA",
        (f"{told.without_gdr} channels are via NET without GDRDMA, none with it",),
        (
            Cause("nvidia-peermem (or DMA-BUF support) is missing", "lsmod | grep -E 'nvidia_peermem|nv_peer_mem'"),
            Cause("GPU and NIC are too far apart for NCCL's default", "nvidia-smi topo -m; try NCCL_NET_GDR_LEVEL=PHB"),
        ),
        is_certain=True,
    )


def no_peer_access(comparison: Comparison) -> Finding | None:
    """GPUs of a server talk through shared host memory."""
    inside = comparison.benchmark.told.transports
    if not inside.get("SHM") or inside.get("P2P"):
        return None
    return Finding(
        "no-peer-access",
        "GPUs of a server talk through host memory, not to each other",
        (f"{inside['SHM']} channels are via SHM, none via P2P",),
        (
            Cause("ACS or an IOMMU keeps PCIe peers apart", "sudo lspci -vvv | grep ACSCtl (SrcValid+ is on)"),
            Cause("NVLink is down", "nvidia-smi nvlink -s"),
        ),
        is_certain=True,
    )


def settings(comparison: Comparison) -> Finding | None:
    """Variables in the environment that slow NCCL, or cap it."""
    environment = comparison.benchmark.told.environment

    def slowing() -> Iterator[tuple[str, str]]:
        for name, (value, why) in _SLOWING.items():
            if environment.get(name, "").upper() == value:
                yield f"{name}={value}", why
        for name in _CAPS:
            if name in environment:
                yield f"{name}={environment[name]}", "may cap what NCCL uses"

    found = list(slowing())
    if not found:
        return None
    return Finding(
        "settings",
        "The environment holds NCCL back: " + "; ".join(f"{setting}, {why}" for setting, why in found),
        ("the log says so",),
        (
            Cause(
                "set on purpose, or left over", f"unset {' '.join(each.split('=')[0] for each, _ in found)} and rerun"
            ),
        ),
        is_certain=True,
    )
