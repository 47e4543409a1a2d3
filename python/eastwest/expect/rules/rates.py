"""Findings by simulation: links of less than their rate, or another algorithm, that would be as slow as measured."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import replace

from eastwest.expect.comparison import Comparison
from eastwest.expect.faults import Fault
from eastwest.expect.finding import Cause, Finding
from eastwest.expect.rules.fitting import explained, fitted, percent

_CLOSE = 0.14
"""Logarithm of how far a fitted part may be from what a cause would leave."""
_STAGED = (0.3, 0.75)
"""Parts of a NIC's rate that people report without GPUDirect RDMA: about half (NVIDIA/nccl-tests issue 29)."""
_LEAST_OF_PCIE = 0.3
_RUN = "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH"
_PCIE_PAYLOAD = 0.9
"""About what headers leave of it (catalogue: 0.914 of Gen5)."""
_PCIE_BPS = (
    ("Gen4 x16 or Gen5 x8", 16 * 16e9 * 128 / 130),
    ("Gen3 x16 or Gen4 x8", 16 * 8e9 * 128 / 130),
    ("Gen3 x8", 8 * 8e9 * 128 / 130),
)
"""Line rates of PCIe by generation and lanes, after its coding: PCI-SIG."""


def is_short(comparison: Comparison) -> bool:
    """Whether large messages fall short."""
    return comparison.falls_short("plateau")


def slow_nics(comparison: Comparison) -> Finding | None:
    """The NICs of each server carry a part of their rate."""
    if comparison.scene.nodes < 2 or not is_short(comparison):
        return None
    part = fitted(comparison, lambda each: Fault(nics=each))
    if part is None:
        return None
    fault = Fault(nics=part)
    evidence = [_of_plateau(comparison)]
    if comparison.falls_short("small"):
        small = comparison.of("small")
        lost = [each.measured_s - comparison.scene.ran(each.size_bytes, fault)[0] for each in small]
        fault = replace(fault, wait_s=max(statistics.median(lost), 0.0))
        evidence.append(f"and {1e6 * fault.wait_s:.0f} us are lost on each small message")
    explains = explained(comparison, fault)
    return Finding(
        "slow-nics",
        f"As if the NICs of each server carried {percent(part)} of their rate",
        (
            *evidence,
            f"simulated so, {percent(explains)} of the difference goes away",
            "one server alone would not show it; rates alone do not tell these causes apart",
        ),
        tuple(_nic_causes(comparison, fault)),
        explains,
        model=fault,
    )


def _nic_causes(comparison: Comparison, fault: Fault) -> Iterator[Cause]:
    scene, told, part = comparison.scene, comparison.benchmark.told, fault.nics
    staged = Cause("no GPUDirect RDMA: messages go through host memory", f"{_RUN}, and grep GDRDMA in the output")
    may_be_staged = not told.with_gdr and _STAGED[0] < part < _STAGED[1]
    if may_be_staged and fault.wait_s:
        yield staged
    nics, plan = scene.nics, scene.bench.network.fabric.plan
    for used in range(1, nics):
        if len(told.nics) < nics and _is_close(part, used / nics):
            what = "one NIC is used by all" if used == 1 else f"{used} of {nics} rails are used"
            yield Cause(what, f"{_RUN}, and count the numbers after 'via NET/' in the output; unset NCCL_IB_HCA")
    if _is_close(part, 0.5):
        yield Cause(
            "PCIe ACS sends traffic between GPU and NIC through the CPU",
            "sudo lspci -vvv | grep ACSCtl (SrcValid+ is on: turn it off in the BIOS or with setpci)",
        )
    link_bps = plan["link_bps"]
    for name, rate_bps in _PCIE_BPS:
        if rate_bps < plan["nic"]["pcie_bps"] and _is_close(part, rate_bps * _PCIE_PAYLOAD / link_bps):
            yield Cause(f"the NICs' PCIe links run at {name}", "sudo lspci -vv | grep -E 'Mellanox|LnkSta:'")
    for divisor in (2, 4, 8):
        if _is_close(part, 1 / divisor):
            slower = f"{link_bps / divisor / 1e9:.0f} Gb/s"
            yield Cause(
                f"ports came up at {slower}, or one of several", "ibstat | grep Rate; ethtool DEVICE | grep Speed"
            )
    if may_be_staged and not fault.wait_s:
        yield staged
    if part < 0.3 and not told.networks:
        yield Cause("TCP sockets in place of RDMA", f"{_RUN}, and grep 'NET/Socket' in the output")
    yield Cause(
        "GPUs reach NICs over another socket or host bridge", "nvidia-smi topo -m (PIX or PXB is near, SYS far)"
    )


def slow_switches(comparison: Comparison) -> Finding | None:
    """Links between switches carry a part of their rate, or flows collide there more than is expected."""
    if comparison.scene.nodes < 2 or not is_short(comparison):
        return None
    part = fitted(comparison, lambda each: Fault(switches=each))
    if part is None:
        return None
    fault = Fault(switches=part)
    explains = explained(comparison, fault)
    is_hashed = comparison.scene.bench.carriage.is_drawn
    causes = [Cause("links between switches are down or slow", "count the links that are up on each leaf")]
    if is_hashed:
        told = "compare transmitted bytes of a leaf's uplinks; try NCCL_IB_QPS_PER_CONNECTION=4, or spraying"
        causes.insert(0, Cause("ECMP puts several flows on one link", told))
    return Finding(
        "slow-switches",
        f"As if the links between switches carried {percent(part)} of their rate",
        (
            _of_plateau(comparison),
            f"simulated so, {percent(explains)} of the difference goes away",
            "servers behind the same leaves would not show it",
        ),
        tuple(causes),
        explains,
        model=fault,
    )


def slow_nvlink(comparison: Comparison) -> Finding | None:
    """NVLink carries a part of its rate, or is not used at all."""
    scene = comparison.scene
    if scene.per_node < 2 or not is_short(comparison):
        return None
    part = fitted(comparison, lambda each: Fault(nvlink=each))
    if part is None:
        return None
    gpu = scene.server["gpu"]
    rate_bps = part * gpu["nvlink_bps"] * gpu["nvlink_efficiency"]
    if rate_bps < _LEAST_OF_PCIE * gpu["pcie_bps"]:  # even host memory between them would carry more
        return None
    fault = Fault(nvlink=part)
    explains = explained(comparison, fault)
    causes = [
        Cause("NVLinks are down or slow", "nvidia-smi nvlink -s"),
        Cause("GPUs are throttled", "nvidia-smi -q -d PERFORMANCE,CLOCK"),
        Cause("fewer channels than NCCL would take", "env | grep -E 'NCCL_M(AX|IN)_(NCHANNELS|CTAS)'"),
    ]
    if rate_bps < 1.3 * gpu["pcie_bps"]:
        told = "nvidia-smi topo -p2p r; NCCL_DEBUG=INFO, and grep 'via SHM' in the output"
        causes.insert(0, Cause("GPUs talk over PCIe or host memory in place of NVLink", told))
    return Finding(
        "slow-nvlink",
        f"As if NVLink carried {percent(part)} of its rate",
        (
            _of_plateau(comparison),
            f"simulated so, {percent(explains)} of the difference goes away",
            "one server alone would show it too",
        ),
        tuple(causes),
        explains,
        model=fault,
    )


def other_algorithm(comparison: Comparison) -> Finding | None:
    """Another algorithm than NCCL's choice would be as slow as measured."""
    scene = comparison.scene
    if scene.program.collective != "all-reduce" or scene.algorithm != "auto":
        return None
    hows = [each.expected.how.split()[0] for each in comparison.judged]
    over = [Fault(algorithm=each) for each in ("rail-ring", "tree") if set(hows) != {each}]
    explains, fault = max(((explained(comparison, each), each) for each in over), key=lambda each: each[0])
    expected = next(each for each in reversed(hows) if each != fault.algorithm)
    ran = {"rail-ring": "Ring", "tree": "Tree"}[str(fault.algorithm)]
    causes = [
        Cause("a tuner plug-in, or NCCL_ALGO, chose so", "env | grep -E 'NCCL_(ALGO|PROTO|TUNER)'"),
        Cause(
            "another version of NCCL chooses so", f"nccl: version in the study; the log is of {_version(comparison)}"
        ),
    ]
    says = f"As if NCCL had run {ran} at every size, also where {expected} is expected"
    if expected.startswith("nvls"):
        says = f"As if the NVLink switch did not add up (no NVLS): {ran} at every size"
        told = "NCCL_DEBUG=INFO, and grep NVLS in the output; systemctl status nvidia-fabricmanager"
        causes.insert(0, Cause("NVLS is not available or off", told))
    evidence = [f"simulated so at every size, {percent(explains)} of the difference goes away"]
    if comparison.benchmark.told.nvls is False and expected.startswith("nvls"):
        evidence.append("the log says that NVLS multicast is not available")
    return Finding(
        "no-nvls" if expected.startswith("nvls") else "other-algorithm",
        says,
        tuple(evidence),
        tuple(causes),
        explains,
        is_certain=len(evidence) > 1,
        model=fault,
    )


def without_pxn(comparison: Comparison) -> Finding | None:
    """An all-to-all whose ranks send through their own NICs alone, not over NVLink to the receiver's rail first."""
    if comparison.scene.program.collective != "all-to-all" or not is_short(comparison):
        return None
    if not any(each.expected.how == "pxn" for each in comparison.judged):
        return None
    fault = Fault(algorithm="direct")
    explains = explained(comparison, fault)
    return Finding(
        "no-pxn",
        "As if each GPU sent through its own NIC alone (no PXN), and so between rails",
        (f"simulated so, {percent(explains)} of the difference goes away",),
        (
            Cause(
                "PXN is off or not available",
                "env | grep NCCL_PXN_DISABLE; NCCL_DEBUG=INFO, and grep PXN in the output",
            ),
            Cause("the plug-in of the network does not know it", f"{_RUN}, and grep 'NET/Plugin' in the output"),
        ),
        explains,
        model=fault,
    )


def unlucky_hash(comparison: Comparison) -> Finding | None:
    """The expectation is a median over hash seeds; another seed would be as slow as measured."""
    if not comparison.scene.bench.carriage.is_drawn or comparison.scene.nodes < 2 or not is_short(comparison):
        return None
    fault = Fault(is_unlucky=True)
    return Finding(
        "unlucky-hash",
        "As if ECMP drew badly: the slowest of the study's hash seeds is about as slow",
        (f"taking it, {percent(explained(comparison, fault))} of the difference goes away",),
        (Cause("two or more flows share an uplink", "rerun on other servers, or with NCCL_IB_QPS_PER_CONNECTION=4"),),
        explained(comparison, fault),
        model=fault,
    )


def _of_plateau(comparison: Comparison) -> str:
    found = comparison.band("plateau") or comparison.band("middle")
    assert found is not None
    of = comparison.of(found.name)
    best = max(of, key=lambda each: each.busbw)
    return (
        f"{percent(found.ratio)} of the expected rate from {of[0].size_bytes:,} bytes on: at most "
        f"{best.busbw / 1e9:.1f} GB/s, where {max(each.expected.busbw for each in of) / 1e9:.1f} are expected"
    )


def _is_close(part: float, other: float) -> bool:
    return abs(math.log(part / other)) < _CLOSE


def _version(comparison: Comparison) -> str:
    return comparison.benchmark.version or "an unknown one"
