"""What a device does with a packet: DSCP, class, queue and priority group, pause, buffer, marking, scheduler, watchdog.

Computed from the tables alone, with None for what they leave open. Not here: what would be right (`checks/rules`).
"""

from eastwest.checks.chain.buffers import Group, Marking
from eastwest.checks.chain.classes import Path
from eastwest.checks.chain.device import Device
from eastwest.checks.chain.hop import Hop, hops

__all__ = ["Device", "Group", "Hop", "Marking", "Path", "hops"]
