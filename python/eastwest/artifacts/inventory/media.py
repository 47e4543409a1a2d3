"""What a cable is made of, by its length and rate: the shortest reach that spans it.

Reaches are those of NVIDIA's LinkX parts for 400 and 800 Gb/s (docs.nvidia.com, Interconnect: passive copper MCP7Y00
to 3 m, active copper MCA4J80 to 5 m, multimode MMA4Z00 to 50 m, single mode MMS4X00 to 500 m and MMS4X50 to 2 km);
beyond, those of IEEE 802.3's LR (10 km) and OIF's 400ZR. Not here: what any of them costs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Medium:
    """A kind of cable: metres that it reaches, its name in parts, and NetBox's word for it."""

    reach_m: float
    name: str
    netbox: str


MEDIA = (
    Medium(3.0, "DAC", "dac-passive"),
    Medium(5.0, "ACC", "dac-active"),
    Medium(50.0, "SR", "mmf-om4"),
    Medium(500.0, "DR", "smf-os2"),
    Medium(2e3, "FR", "smf-os2"),
    Medium(10e3, "LR", "smf-os2"),
)
FARTHEST = Medium(float("inf"), "ZR", "smf-os2")


def medium(length_m: float) -> Medium:
    """What spans so many metres."""
    return next((each for each in MEDIA if length_m <= each.reach_m), FARTHEST)


def part(rate_bps: float, length_m: float) -> str:
    """What to order, in words: 400G-DAC-2m, 800G-DR-100m."""
    return f"{rate_bps / 1e9:g}G-{medium(length_m).name}-{length_m:g}m"
