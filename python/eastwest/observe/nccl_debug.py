"""What NCCL says with `NCCL_DEBUG=INFO` that explains a bandwidth: networks, NICs, GPUDirect, NVLS, channels.

Only lines of known forms are used, whatever stands around them. Not here: what it means (`expect.rules`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from types import MappingProxyType

from eastwest.observe.benchmark import Told

SAID = re.compile(
    r"(?<!\S)\S{1,256}:\d{1,9}:\d{1,9} \[([^\]\s]{1,8})\] (?:[\w/.]{1,64}:\d{1,6} )?NCCL (INFO|WARN|TRACE|VERSION) ?"
)
"""The head of such a line: host, process, thread, device."""

_VERSION = re.compile(r"[NR]CCL version (\d{1,3}\.\d{1,3}(?:\.\d{1,3})?\S{0,40})")
_CHANNEL = re.compile(r"(?:Channel|Ring) \d{1,3}(?:/\d{1,3})? : .{0,60}? via (\S{1,24}(?: Libfabric)?\S{0,40})")
_NETWORK = re.compile(r"NET/(\w{1,24}(?: Libfabric)?)/(\d{1,4})(?:\(\d{1,6}\))?(/\S{1,24})?")
_NICS = re.compile(r"NET/(\w{1,24}) ?: Using (.{1,2000})")
_NIC = re.compile(r"\[\d{1,4}\]([\w.:-]{1,40}?)(?=[:/<])")
_NETWORK_NAME = re.compile(r"Using network ([\w ]{1,24})")
_GDR = re.compile(r"GPU Direct RDMA (Enabled|Disabled)")
_NVLS = re.compile(r"NVLS multicast support is (not )?available")
_CHANNELS = re.compile(r"(\d{1,4}) coll channels")
_COMM = re.compile(r"nranks (\d{1,7})|nRanks (\d{1,7})(?: nNodes (\d{1,6}))?")
_SET = re.compile(r"(NCCL_[A-Z0-9_]{1,48}) set (?:by environment )?to (\S{1,80}?)\.?$")
_MOST_WARNINGS = 20


def told(lines: Iterable[str]) -> Told:
    """What NCCL said, of all lines that it wrote: each from its head on or without."""
    count, version, nvls = 0, None, None
    speakers: set[str] = set()
    channels = ranks = nodes = None
    networks: dict[str, None] = {}
    listed: dict[str, None] = {}
    nics: set[int] = set()
    gdr: Counter[bool] = Counter()
    inside: Counter[str] = Counter()
    environment: dict[str, str] = {}
    warnings: dict[str, None] = {}
    for line in lines:
        count += 1
        if head := SAID.match(line):
            speakers.add(head[1])
        if found := _CHANNEL.search(line):
            if way := _NETWORK.match(found[1]):
                networks[way[1]] = None
                nics.add(int(way[2]))
                gdr["GDRDMA" in (way[3] or "")] += 1
            elif not found[1].startswith("NET"):
                inside[found[1].split("/")[0]] += 1
        elif found := _NICS.search(line):
            listed |= dict.fromkeys(_NIC.findall(found[2]))
        elif found := _NETWORK_NAME.search(line):
            networks[found[1].strip()] = None
        elif found := _NVLS.search(line):
            nvls = found[1] is None
        elif found := _CHANNELS.search(line):
            channels = int(found[1])
        elif found := _SET.search(line):
            environment[found[1]] = found[2]
        elif found := _VERSION.search(line):
            version = found[1]
        elif "NCCL WARN" in line and len(warnings) < _MOST_WARNINGS:
            warnings[line.partition("NCCL WARN")[2].strip()[:200]] = None
        if found := _GDR.search(line):
            gdr[found[1] == "Enabled"] += 0
        if found := _COMM.search(line):
            ranks = int(found[1] or found[2])
            nodes = int(found[3]) if found[3] else nodes
    return Told(
        lines=count,
        version=version,
        networks=tuple(networks),
        listed_nics=tuple(listed),
        nics=tuple(sorted(nics)),
        with_gdr=gdr[True],
        without_gdr=gdr[False],
        transports=MappingProxyType(dict(inside)),
        nvls=nvls,
        channels=channels,
        ranks=ranks,
        nodes=nodes,
        speakers=len(speakers),
        environment=MappingProxyType(environment),
        warnings=tuple(warnings),
    )
