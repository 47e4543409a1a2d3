"""The bundled study's fabric as built, once for all tests; SONiC's models."""

import pytest

from eastwest import spec
from eastwest.artifacts import Subject, subject

from .yang_models import models

__all__ = ["models"]


@pytest.fixture(scope="session")
def pune() -> Subject:
    return subject(spec.load("pune-1024"), "roce-400g")
