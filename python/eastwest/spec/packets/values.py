"""Kinds of values that packet settings have."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Strict, Tag, WithJsonSchema

from eastwest.engine.control_planes import DELAYS_S
from eastwest.engine.events import FORMS, read_event
from eastwest.errors import InputError
from eastwest.fabric.bare import LEAST_LOSS
from eastwest.spec.values import Entry, Size, Time, TimeOrZero, refuse

LARGEST_QUEUE = 2**32 - 1
"""Bytes that the engine counts before one port."""


def _power_of_two(written: Any) -> Any:
    is_one = isinstance(written, int) and not isinstance(written, bool) and 0 < written <= 2**15
    if not is_one or written & (written - 1):
        raise refuse(f"entropy values are counted in powers of two up to {2**15:,}, not {written!r}")
    return written


def off_or_set(written: Any) -> str:
    """Tag of an entry that may also be a word: off, or on."""
    return "set" if isinstance(written, dict | Entry) else "off"


def _control_plane(written: Any) -> Any:
    """The time that a control plane takes, where one is named."""
    named = next((delay_s for name, delay_s in DELAYS_S.items() if name == written), None)
    return written if named is None else f"{named} s"


def _event(written: Any) -> Any:
    if not isinstance(written, str):
        raise refuse(f"{written!r} is no event; write one of: {'; '.join(FORMS.values())}")
    try:
        return read_event(written).text
    except InputError as error:
        raise refuse(str(error)) from None


def _counted(share: float) -> float:
    if 0.0 < share < LEAST_LOSS or share > 1.0 - LEAST_LOSS:
        raise refuse(f"bit errors are counted in steps of {LEAST_LOSS:g}: {share:g} would be {round(share)}")
    return share


PowerOfTwo = Annotated[
    int, BeforeValidator(_power_of_two), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 2**15})
]
PacketSize = Annotated[Size, Field(le=16_384)]
QueueSize = Annotated[Size, Field(le=LARGEST_QUEUE)]
Moment = Annotated[Time, Field(le=3600)]
Overhead = Annotated[TimeOrZero, Field(le=1)]
RoutesAfter = Annotated[
    Moment,
    BeforeValidator(_control_plane),
    WithJsonSchema({"type": "string", "examples": ["2 ms", *DELAYS_S]}),
]
Share = Annotated[float, Strict(), Field(ge=0.0, lt=1.0), AfterValidator(_counted)]
EventText = Annotated[
    str, BeforeValidator(_event), WithJsonSchema({"type": "string", "examples": ["down spine-3 at 50 us for 1 ms"]})
]
Off = Annotated[Literal["off"], Tag("off")]
OnOrOff = Annotated[Literal["on", "off"], Tag("off")]
Alpha = Annotated[float, Strict(), Field(ge=1 / 128, le=64)]


def in_bytes(size: float | None) -> int | None:
    """Whole bytes, as the engine counts them."""
    return None if size is None else round(size)
