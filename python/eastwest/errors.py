"""The mistakes that a person can mend: the message says where, what was found, what fits and how to mend it."""

from __future__ import annotations


class InputError(ValueError):
    """Something in the input is wrong."""

    exit_code = 2
