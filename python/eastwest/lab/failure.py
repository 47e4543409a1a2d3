"""What keeps a lab from running: mistakes of the person, and what this machine lacks."""

from __future__ import annotations

from eastwest.errors import InputError


class LabError(InputError):
    """The lab cannot do what was asked: no such lab, node or link, or a command in it failed."""


class MissingError(LabError):
    """This machine lacks something; the message names the command that brings it."""

    exit_code = 3
