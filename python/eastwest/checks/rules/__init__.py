"""The rules, one idea a file. A rule says nothing where the files leave open what it would judge.

Their order here, in which findings are told, is that in which a packet meets what they judge.
"""

from eastwest.checks.rules import (
    addressing,
    balancing,
    bgp,
    buffers,
    ecn,
    files,
    host_nccl,
    host_nic,
    links,
    marking,
    serving,
)
from eastwest.checks.rules.rule import WRITTEN, Rule

_ORDER = (host_nccl, host_nic, marking, buffers, ecn, serving, links, addressing, bgp, balancing, files)

RULES: dict[str, Rule] = {
    name: each for module in _ORDER for name, each in WRITTEN.items() if each.judge.__module__ == module.__name__
}
"""Every rule by name."""

__all__ = ["RULES", "Rule"]
