"""Built files, written anew for each test."""

from pathlib import Path

import pytest

from .site import Site


@pytest.fixture(scope="session")
def study_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study")


@pytest.fixture
def at(tmp_path: Path, study_folder: Path) -> Site:
    return Site(tmp_path, study_folder)
