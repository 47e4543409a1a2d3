"""Transports by the names of a study, and the settings that only some of them know."""

from __future__ import annotations

from eastwest.engine.packets import Transport

TRANSPORTS: dict[str, Transport] = {
    "rocev2": "rocev2",
    "infiniband": "infiniband",
    "ultra-ethernet": "uet",
    "mrc": "mrc",
}
"""Of a fabric's technology."""

BY_DROPS_OR_PAUSES: tuple[Transport, ...] = ("uet", "mrc", "rocev2", "dctcp")
"""Those that InfiniBand's credits are not for."""

OF_LANES = ("name", "number", "priority", "weight")
"""What classes have where they are virtual lanes."""

KNOWN_TO: dict[tuple[str, str], tuple[Transport, ...]] = {
    ("transport", "entropies"): ("uet", "mrc"),
    ("transport", "probe_every"): ("mrc",),
    ("transport", "congestion_control"): ("uet",),
    ("transport", "delivery"): ("uet",),
    ("transport", "window"): ("rocev2", "infiniband"),
    ("transport", "headers"): ("rocev2",),
    ("transport", "repeat"): ("rocev2", "infiniband"),
    ("transport", "keep"): ("uet", "mrc", "dctcp"),
    ("transport", "dcqcn"): ("rocev2",),
    ("switch", "trimming"): ("uet", "mrc"),
    ("switch", "forwarding"): BY_DROPS_OR_PAUSES,
    ("switch", "buffer"): BY_DROPS_OR_PAUSES,
    ("switch", "room"): BY_DROPS_OR_PAUSES,
    ("switch", "marks"): BY_DROPS_OR_PAUSES,
    ("switch", "pauses"): BY_DROPS_OR_PAUSES,
    ("switch", "watchdog"): BY_DROPS_OR_PAUSES,
    ("infiniband", "vl_buffer"): ("infiniband",),
    ("infiniband", "retries"): ("infiniband",),
    ("infiniband", "congestion_control"): ("infiniband",),
}
"""Settings that only some transports know."""
