"""Which driver runs a fabric of which technology."""

from __future__ import annotations

from collections.abc import Mapping

from eastwest.lab.driver import Driver
from eastwest.lab.ethernet import ETHERNET
from eastwest.lab.failure import LabError
from eastwest.lab.infiniband import INFINIBAND
from eastwest.lab.mrc import MRC

DRIVERS: Mapping[str, Driver] = {
    "rocev2": ETHERNET,
    "ultra-ethernet": ETHERNET,
    "mrc": MRC,
    "infiniband": INFINIBAND,
}
"""Drivers by the technology of the GPUs' network."""


def driver_of(technology: str) -> Driver:
    """The driver of a technology.

    Raises:
        LabError: there is no lab of it.
    """
    if technology not in DRIVERS:
        raise LabError(f"there is no lab of {technology}, only of {', '.join(DRIVERS)}")
    return DRIVERS[technology]
