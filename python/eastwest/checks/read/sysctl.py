"""Kernel settings: `name = value` lines of sysctl.d files, and `sysctl -w` in scripts."""

from __future__ import annotations

import re

from eastwest.checks.read.host import Host, Setting

_FAMILIES = r"(?:net|kernel|vm|fs)[./][\w./*:-]+"
_LINE = re.compile(rf"\s*-?({_FAMILIES})\s*=\s*(\S.*?)\s*\Z")
_WRITTEN = re.compile(rf"\bsysctl\b[^;|&#]*?[\s\"']({_FAMILIES})=[\"']?([^\s\"';]+)")


def read_sysctl(text: str, file: str, host: Host) -> bool:
    """Adds the settings of a text to a host's; says whether there are any."""
    found = False
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw[:4096]
        match = None if line.lstrip().startswith(("#", ";")) else _LINE.match(line) or _WRITTEN.search(line)
        if match:
            host.sysctl[match[1].replace("/", ".")] = Setting(match[2], file, number)
            found = True
    return found
