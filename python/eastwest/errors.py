"""The mistakes that a person can mend: what went wrong, where, and the exit code that says of what kind it was."""

from __future__ import annotations


class InputError(ValueError):
    """Something in the input is wrong; the message says where, what was found, what fits and how to mend it."""

    exit_code = 2


class EnvironmentLacks(InputError):
    """The machine lacks something; the message names the command that installs it."""

    exit_code = 3
