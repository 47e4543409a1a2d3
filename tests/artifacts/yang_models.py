"""SONiC's config_db held against SONiC's own YANG models, by yanglint.

Which container and list a table and its keys belong to is read from the models themselves, as yanglint draws them as a
tree; values go to it as XML, in which all are text as in Redis. Nothing here knows a table by name.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from jinja2 import Environment

MODELS = Path(os.environ.get("SONIC_YANG_MODELS", Path(__file__).parents[3] / "shared" / "yang"))
"""SONiC's models (sonic-net/sonic-buildimage, src/sonic-yang-models), a folder beside the clone."""

MOST_S = 300
_LINE = re.compile(r"^(?P<indent>[ |]*)\+--rw (?P<name>[\w.-]+)(?P<mark>[?*!]?)(?: \[(?P<keys>[^]]*)\])?")


@dataclass
class Node:
    """A node of the models: a container, a list with its `keys`, or a leaf."""

    name: str
    namespace: str = ""
    keys: tuple[str, ...] = ()
    is_list: bool = False
    children: dict[str, Node] = field(default_factory=dict)


class Models:
    """The models in a folder of their own, templates rendered, and the tree that yanglint makes of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for path in MODELS.glob("*.yang"):
            shutil.copy(path, folder)
        for path in MODELS.glob("*.yang.j2"):
            (folder / path.stem).write_text(Environment().from_string(path.read_text()).render(yang_model_type="py"))
        self.names = sorted(path.name for path in folder.glob("*.yang"))
        self.tables = _tables(self._yanglint("-f", "tree"), folder)

    def faults(self, files: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
        """What is wrong with each of some config_dbs by name; those without fault are left out."""
        found: dict[str, list[str]] = {}
        given = self.folder / "given"
        shutil.rmtree(given, ignore_errors=True)
        given.mkdir()
        for name, config in files.items():
            told: list[str] = []
            (given / f"{name}.xml").write_text(self.as_xml(config, told))
            if told:
                found[name] = told
        paths = [str(path) for path in sorted(given.iterdir())]
        said = self._run(*paths)
        if said.returncode:
            # yanglint stops at the first wrong file and does not name it.
            for path in paths:
                alone = self._run(path)
                if alone.returncode:
                    found.setdefault(Path(path).stem, []).append(_errors(alone.stderr))
        return found

    def as_xml(self, config: dict[str, Any], told: list[str]) -> str:
        """A config_db as the models have it; tables and fields that no model knows are told."""
        parts = []
        for table, entries in config.items():
            if table not in self.tables:
                told.append(f"{table}: no model has this table")
                continue
            module, node = self.tables[table]
            inside = _entries(node, entries, f"{table}", told)
            parts.append(f'<{module.name} xmlns="{module.namespace}"><{table}>{inside}</{table}></{module.name}>')
        return "\n".join(_merged(parts))

    def _yanglint(self, *arguments: str) -> str:
        return self._run(*arguments).stdout

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["yanglint", "-ii", "-p", str(self.folder), *self.names, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=MOST_S,
        )


def _merged(parts: list[str]) -> list[str]:
    """Tables of one module under one element."""
    merged: dict[str, list[str]] = {}
    for part in parts:
        head, rest = part.split(">", 1)
        merged.setdefault(head, []).append(rest.rsplit("</", 1)[0])
    return [f"{head}>{''.join(bodies)}</{head[1:].split()[0]}>" for head, bodies in merged.items()]


def _errors(text: str) -> str:
    return " ".join(line for line in text.splitlines() if "err" in line)[:1000]


def _tables(tree: str, folder: Path) -> dict[str, tuple[Node, Node]]:
    """Each table with the node of its module."""
    found: dict[str, tuple[Node, Node]] = {}
    stack: list[Node] = []
    for line in tree.splitlines():
        if line.startswith("module:"):
            module = line.split()[1]
            text = (folder / f"{module}.yang").read_text()
            namespace = re.search(r'namespace\s+"([^"]+)"', text)
            stack = [Node(module, namespace.group(1) if namespace else "")]
        match = _LINE.match(line)
        if match is None or not stack:
            continue
        depth = (len(match["indent"]) - 2) // 3 + 1
        keys = tuple((match["keys"] or "").split())
        node = Node(match["name"], keys=keys, is_list=match["mark"] == "*")
        del stack[depth:]
        stack[-1].children[node.name] = node
        stack.append(node)
        if depth == 2:
            found[node.name] = (Node(stack[1].name, stack[0].namespace), node)
    return found


def _entries(table: Node, entries: dict[str, Any], where: str, told: list[str]) -> str:
    """The entries of a table: a container of its own each, or rows of that list which has as many keys."""
    lists = [child for child in table.children.values() if child.is_list and child.keys]
    if not isinstance(entries, dict):
        told.append(f"{where} is {entries!r}, not entries by key")
        return ""
    written = []
    for key, fields in entries.items():
        child = table.children.get(key)
        if child is not None and not child.is_list:
            body = _fields(child, fields, f"{where}|{key}", told)
            written.append(f"<{child.name}>{body}</{child.name}>")
            continue
        parts = key.split("|")
        row = next((each for each in lists if len(each.keys) == len(parts)), None)
        if row is None:
            told.append(f"{where}|{key}: no list of the model has {len(parts)} keys")
            continue
        written.append(_row(row, parts, fields, f"{where}|{key}", told))
    return "".join(written)


def _row(row: Node, keys: list[str], fields: dict[str, Any], where: str, told: list[str]) -> str:
    of_keys = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in zip(row.keys, keys, strict=True))
    return f"<{row.name}>{of_keys}{_fields(row, fields, where, told)}</{row.name}>"


def _fields(node: Node, fields: dict[str, Any], where: str, told: list[str]) -> str:
    """Fields of an entry; where its model has an inner list of one more leaf, each field is a row of that."""
    inner = [child for child in node.children.values() if child.is_list and child.keys]
    written = []
    for name, value in fields.items():
        child = node.children.get(name)
        if child is None and len(inner) == 1 and isinstance(value, str):
            (of_value,) = [each for each in inner[0].children if each not in inner[0].keys]
            written.append(_row(inner[0], [name], {of_value: value}, where, told))
        elif child is None:
            told.append(f"{where}: the model has no field {name}")
        else:
            for each in value if isinstance(value, list) else [value]:
                if not isinstance(each, str):
                    told.append(f"{where}: {name} is {each!r}, and Redis has text alone")
                written.append(f"<{name}>{escape(str(each))}</{name}>")
    return "".join(written)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    """SONiC's models; skips where they or yanglint are absent, and fails in CI."""
    lacks = None
    if not MODELS.is_dir():
        lacks = f"SONiC's YANG models are not in {MODELS} (sonic-buildimage, src/sonic-yang-models)"
    elif shutil.which("yanglint") is None:
        lacks = "yanglint is not installed: apt-get install libyang2-tools"
    if lacks:
        if os.environ.get("CI"):
            pytest.fail(lacks)
        pytest.skip(lacks)
    return Models(tmp_path_factory.mktemp("yang"))
