"""Networks of bare hosts, small enough to reckon with."""

import numpy as np

from eastwest.fabric import Fabric
from eastwest.fabric.bare import Cabling, bare

RATE_BPS = 400e9


def star(hosts: int, cables: int = 1) -> Fabric:
    """Hosts on one switch, each by so many cables of 400 Gb/s and 1 us; links of cable c are 2c, up, and 2c + 1."""
    ends = np.repeat(np.arange(hosts), cables)
    cabling = Cabling("host-switch", ends, np.full_like(ends, hosts), RATE_BPS, 1e-6)
    return bare("star", hosts, (("switch", 1),), [cabling])
