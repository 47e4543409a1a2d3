"""NCCL's environment variables wherever they are set: env files, shell exports, mpirun -x, Dockerfiles, Kubernetes."""

from __future__ import annotations

import re

from eastwest.checks.read.host import Host, Setting

_SET = re.compile(r"(?<![A-Za-z0-9_$\{])((?:R?NCCL|UCX)_[A-Z0-9_]+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s;&\\\"']*)")
_DOCKER = re.compile(r"\s*ENV\s+(NCCL_[A-Z0-9_]+)\s+(\S+)\s*\Z")
_NAME = re.compile(r"\s*-?\s*name:\s*[\"']?(NCCL_[A-Z0-9_]+)[\"']?\s*\Z")
_VALUE = re.compile(r"\s*-?\s*value:\s*(\"[^\"]*\"|'[^']*'|\S+)\s*\Z")
_KEYED = re.compile(r"\s*[\"']?(NCCL_[A-Z0-9_]+)[\"']?\s*:\s*(\"[^\"]*\"|'[^']*'|[^\s,]+),?\s*\Z")
_LONGEST = 4096


def read_nccl(text: str, file: str, host: Host) -> bool:
    """Adds the variables that a text sets to a host's; the last one of a name counts. Says whether there are any."""
    waiting = ""
    found = False
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw[:_LONGEST]
        if line.lstrip().startswith(("#", "//")):
            continue
        pairs = _SET.findall(line.split(" #", 1)[0])
        for form in (_DOCKER, _KEYED):
            match = form.match(line)
            if match and not pairs:
                pairs = [(match[1], match[2])]
        named, value = _NAME.match(line), _VALUE.match(line)
        if value and waiting:
            pairs.append((waiting, value[1]))
        waiting = named[1] if named else ""
        for name, worth in pairs:
            host.nccl[name] = Setting(worth.strip("\"'"), file, number)
            found = True
    return found
