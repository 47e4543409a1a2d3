"""How long control planes take until all switches have new routes, where nobody says otherwise.

Detection dominates; what computing and spreading routes takes besides is left out. A port that loses its light is
noticed sooner: these are for failures that nobody reports, so the worst that the defaults allow.
"""

from __future__ import annotations

from typing import get_args

from eastwest.engine.packets import ControlPlane
from eastwest.units import UnitError, parse_time

DELAYS_S: dict[ControlPlane, float] = {
    "bgp-bfd": 3 * 0.3,
    "bgp": 9.0,
    "opensm": 10.0,
}
"""BGP with BFD: three missed packets of one each 300 ms (FRRouting's defaults, docs.frrouting.org, bfd). BGP alone: the
hold time of FRRouting's data centre defaults (`frr defaults datacenter`). OpenSM: its `sweep_interval`, when no trap
tells it sooner (opensm(8))."""


def routes_delay(text: str) -> float:
    """Seconds of a time, or of a control plane by its name.

    Raises:
        UnitError: it is neither.
    """
    for name, delay_s in DELAYS_S.items():
        if text == name:
            return delay_s
    try:
        return parse_time(text)
    except UnitError as error:
        names = ", ".join(get_args(ControlPlane))
        raise UnitError(
            f"{error}, or name a control plane: {names}", found=text, expected="a time", example="bgp-bfd"
        ) from None
