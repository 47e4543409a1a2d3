"""A file of packet settings alone: what a study has under `packets` of a fabric, as the whole of a YAML file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from eastwest.document import Document, MistakesError, Place, name_of, read
from eastwest.engine import Stated
from eastwest.engine.packets import Transport
from eastwest.errors import InputError
from eastwest.spec.complaints import complaints
from eastwest.spec.packets import Packets, stated
from eastwest.spec.study import Source


@dataclass(frozen=True)
class FileSettings:
    """What a file states: settings as names and values of `PacketSettings`, what goes wrong, and what PCIe carries."""

    stated: Stated = ()
    events: tuple[str, ...] = ()
    routes_after_s: float | None = None
    pcie_bps: float | None = None
    document: Document | None = field(default=None, repr=False, compare=False)

    def error_at(self, place: Place, message: str) -> InputError:
        """The error to raise where a later step finds a value wrong."""
        return InputError(message) if self.document is None else MistakesError([self.document.mistake(place, message)])


def read_settings(path: Path, transport: Transport) -> FileSettings:
    """What a file states of packet settings.

    Raises:
        MistakesError: it cannot be read, is no mapping of settings, or the transport knows no such setting.
    """
    document = read(path)
    data = {} if document.data is None else document.data
    if not isinstance(data, dict):
        message = f"packet settings are a mapping with {', '.join(Packets.model_fields)}, not {name_of(data)}"
        raise MistakesError([document.mistake((), message)])
    try:
        asked = Packets.model_validate(data)
        return FileSettings(stated(asked, transport), asked.events, asked.routes_after, asked.nic.pcie, document)
    except ValidationError as error:
        raise MistakesError(complaints(error, Source(document), Packets, "the settings")) from None
    except PydanticCustomError as error:
        told = error.context or {}
        raise MistakesError([document.mistake(told["at"], told["message"], told["expected"])]) from None
