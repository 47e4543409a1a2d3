"""The bundled study's fabric as built, small studies, SONiC's models, and programs of this machine that read files."""

import os
import shutil
from functools import cache

import pytest

from eastwest import artifacts, spec
from eastwest.artifacts import File, Subject, subject

from .yang_models import models

__all__ = ["models"]


@pytest.fixture(scope="session")
def pune() -> Subject:
    return subject(spec.load("pune-1024"), "roce-400g")


def lacking(reason: str) -> None:
    """Skips a test for want of a program; fails it where CI is set."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def program():
    """The path of a program of this machine, by its name and the Debian package that has it."""

    def found(name: str, package: str) -> str:
        path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        if path is None:
            lacking(f"{name} is missing (apt-get install {package})")
        return str(path)

    return found


@cache
def _files(study: str, fabric: str, only: str) -> dict[str, File]:
    given = spec.loads(study) if "\n" in study else spec.load(study)
    return {file.path: file for file in artifacts.build(artifacts.subject(given, fabric), [only])}


@pytest.fixture
def built():
    """The files of one part of a study's fabric by path; the study is a bundled one's name or a text."""
    return _files


@pytest.fixture
def a_study():
    """The text of a study with fabric "f" over servers of the catalogue."""

    def text(fabric: str, servers: int = 4, server: str = "hgx-h100") -> str:
        return f"""
name: small
clusters: {{ c: {{ server: {server}, servers: {servers} }} }}
fabrics:
  f: {{ cluster: c, {fabric} }}
workloads:
  w: {{ kind: measured, step: 1 s, exposed: 0.1 s, collective: {{ kind: all-reduce }}, measured_on: {{ fabric: f }} }}
"""

    return text
