"""Whose NIC it is: the makers whose tools differ, and what NCCL has to know of each.

Not here: the commands themselves (`templates/hosts/nic-*.sh.j2`), nor those that read back what they set (`verify-*`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """NICs that are set up alike: by whose commands (nvidia, ...), None where a host has nothing to set.

    `gid_index` is the entry of the GID table that is RoCE v2 over IPv4 where link-local IPv6 comes first: a NIC that
    offers RoCE v1 too has two entries for each address.
    """

    commands: str | None
    gid_index: int


_NVIDIA = Family("nvidia", gid_index=3)
_BROADCOM = Family("broadcom", gid_index=3)
"""Juniper's validated design for AI clusters with AMD GPUs sets 3 for Thor2."""
_AMD = Family("amd", gid_index=1)
"""AMD's guide to Pollara 400 (RCCL over AINIC) sets 1: it knows no RoCE v1."""
_CLOUD = Family(None, gid_index=0)
"""A cloud's NIC, which the cloud sets up: hosts reach it through a plug-in of NCCL."""
_GENERIC = Family("generic", gid_index=3)

_FAMILIES: tuple[tuple[str, Family], ...] = (
    ("connectx-", _NVIDIA),
    ("bluefield-", _NVIDIA),
    ("thor-", _BROADCOM),
    ("pollara-", _AMD),
    ("efa-", _CLOUD),
    ("gvnic-", _CLOUD),
)


def family(device: str) -> Family:
    """The family of a catalogue's NIC; one of a catalogue of one's own is set up with the kernel's tools alone."""
    return next((found for prefix, found in _FAMILIES if device.startswith(prefix)), _GENERIC)
