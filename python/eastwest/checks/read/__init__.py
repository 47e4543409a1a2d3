"""Reads configuration from anywhere to switches and hosts: which files belong together, and what each one is.

Files of one folder belong to one device, unless several of them name a host. What a file is, its content says, not its
name. Not here: what is right or wrong.
"""

from eastwest.checks.read.gather import Evidence, read
from eastwest.checks.read.host import Host, HostPort, NicQos, Setting
from eastwest.checks.read.switch import Switch

__all__ = ["Evidence", "Host", "HostPort", "NicQos", "Setting", "Switch", "read"]
