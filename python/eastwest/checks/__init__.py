"""`eastwest check config`: follows a RoCE packet from NIC to switch to switch through configuration files.

`read` turns files from anywhere into switches and hosts, `links` pairs their ports, `chain` says what a switch does
with a packet, `rules` what is wrong with it. Nothing here touches a device or the network.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from eastwest.checks.chain import Hop, hops
from eastwest.checks.finding import Finding, Severity
from eastwest.checks.read import Evidence, read
from eastwest.checks.rules import RULES, Rule
from eastwest.checks.scene import Scene

__all__ = ["RULES", "Evidence", "Finding", "Hop", "Report", "Rule", "Severity", "check"]

_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


@dataclass(frozen=True)
class Report:
    """What a check found.

    Attributes:
        findings: errors first; within a severity in the order of the rules.
        hops: what each switch does with RoCE data, and, where hosts are given, with its congestion notifications.
        files: every file that was read.
        switches: how many switches, `hosts` servers and `links` cables between them were told.
    """

    findings: tuple[Finding, ...]
    hops: tuple[Hop, ...]
    files: tuple[str, ...]
    switches: int
    hosts: int
    links: int

    @property
    def passes(self) -> bool:
        """Whether there is no error."""
        return all(each.severity is not Severity.ERROR for each in self.findings)


def check(paths: Iterable[Path]) -> Report:
    """Reads files and folders, and tries every rule on them.

    Raises:
        InputError: a path is missing, or holds nothing that can be read.
    """
    evidence = read(paths)
    scene = Scene(evidence)
    found = [finding for rule in RULES.values() for finding in rule.findings(scene)]
    found.sort(key=lambda finding: _RANK[finding.severity])
    rows = [
        hop
        for device in scene.devices
        for packet, dscps in (("data", scene.followed(device)), ("cnp", scene.cnp_marked))
        for hop in hops(device, packet, dscps)
    ]
    return Report(
        tuple(found), tuple(rows), tuple(evidence.files), len(scene.devices), len(scene.hosts), len(scene.links)
    )
