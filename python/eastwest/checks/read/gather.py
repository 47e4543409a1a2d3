"""Walks paths, finds out what each file is, and puts together the files of one device."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eastwest import document
from eastwest.checks.read import config_db, foreign, wiring
from eastwest.checks.read.frr import Frr, read_frr
from eastwest.checks.read.host import Host
from eastwest.checks.read.nccl import read_nccl
from eastwest.checks.read.netplan import is_netplan, read_netplan
from eastwest.checks.read.nic_qos import is_nic_qos, read_nic_qos
from eastwest.checks.read.switch import Switch
from eastwest.checks.read.sysctl import read_sysctl
from eastwest.errors import InputError

LARGEST_BYTES = 64 << 20
MOST_FILES = 20_000
_PROSE = {".md", ".rst", ".html", ".py", ".xml", ".csv"}
"""Kinds of files that quote settings without being any; read only where they are named."""
_SKIPPED_FOLDERS = {".git", "__pycache__", "node_modules", ".venv"}
_READS = (
    "SONiC's config_db.json (or its tables apart, e.g. qos.json), FRR's frr.conf, what mlnx_qos prints or scripts that "
    "set NICs, netplan, sysctl, and NCCL's environment"
)


@dataclass
class Evidence:
    """All that was read.

    Attributes:
        switches: one for each device, or each ASIC of one.
        hosts: one for each folder that holds a server's files.
        plan: the cables, where a plan was among the files.
        files: every file that was read.
        foreign: files of other systems inside folders, and the system: said, not read.
    """

    switches: list[Switch] = field(default_factory=list)
    hosts: list[Host] = field(default_factory=list)
    plan: wiring.Plan | None = None
    files: list[str] = field(default_factory=list)
    foreign: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class _Folder:
    """The files of one folder, before it is known how many devices they are of."""

    path: Path
    sonic: list[tuple[str, Any, list[str]]] = field(default_factory=list)
    frr: list[Frr] = field(default_factory=list)
    host: Host | None = None


def read(paths: Iterable[Path]) -> Evidence:
    """Reads files and folders.

    Raises:
        InputError: a path is missing, a named file is none that can be read here, or nothing could be read.
    """
    evidence = Evidence()
    folders: dict[Path, _Folder] = {}
    given = list(paths)
    for path, named in _files(given):
        folder = folders.setdefault(path.parent, _Folder(path.parent))
        kind = _one(path, folder, evidence, named)
        if kind:
            evidence.files.append(str(path))
        elif named:
            raise InputError(f"{path}: nothing in this file says what it is. Read are {_READS}.")
    for folder in folders.values():
        _devices(folder, evidence)
    if not evidence.files:
        others = sorted({system for _, system in evidence.foreign})
        if others:
            raise InputError(f"{evidence.foreign[0][0]}: {_refusal(others[0])}")
        raise InputError(f"{', '.join(map(str, given))}: nothing here can be checked. Read are {_READS}.")
    return evidence


def _files(paths: list[Path]) -> Iterator[tuple[Path, bool]]:
    """Every file once, in order, and whether it was named itself."""
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder")
        if path.is_dir():
            found = []
            for root, inner, names in os.walk(path):
                inner[:] = sorted(name for name in inner if name not in _SKIPPED_FOLDERS)
                found += [Path(root) / name for name in sorted(names)]
                if len(found) > MOST_FILES:
                    raise InputError(f"{path}: more than {MOST_FILES} files; name the folders that hold configuration")
        else:
            found = [path]
        for each in found:
            key = each.absolute()
            if key not in seen and each.is_file():
                seen.add(key)
                yield each, not path.is_dir()


def _text(path: Path, named: bool) -> str | None:
    """A file's text; None for one inside a folder that is no text or too large."""
    raw = path.read_bytes() if path.stat().st_size <= LARGEST_BYTES else None
    if raw is not None and b"\0" not in raw[:8192]:
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            pass
    if named:
        raise InputError(f"{path}: this is no text file of at most {LARGEST_BYTES >> 20} MiB. Read are {_READS}.")
    return None


def _one(path: Path, folder: _Folder, evidence: Evidence, named: bool) -> bool:
    """Reads one file into its folder; says whether it was of use."""
    if not named and path.suffix.lower() in _PROSE:
        return False
    text = _text(path, named)
    if text is None:
        return False
    if path.suffix.lower() == ".json" or text.lstrip()[:1] in ("{", "["):
        return _json(text, path, folder, evidence, named)
    system = foreign.system(text)
    if system is not None and not is_nic_qos(text):
        if named:
            raise InputError(f"{path}: {_refusal(system)}")
        evidence.foreign.append((str(path), system))
        return False
    if foreign.is_frr(text, path.name):
        folder.frr.append(read_frr(text, str(path)))
        return True
    return _of_host(text, path, folder, named)


def _refusal(system: str) -> str:
    return (
        f"this is the configuration of {system}, which is not read here, so nothing is said about it. "
        f"Read are {_READS}. The hosts beside it can be checked alone: name their files."
    )


def _json(text: str, path: Path, folder: _Folder, evidence: Evidence, named: bool) -> bool:
    """A JSON file: of SONiC, or the address plan."""
    try:
        parsed, twice = config_db.parse(text, str(path))
    except InputError:
        if named or path.name.startswith("config_db"):
            raise
        return False
    if wiring.is_plan(parsed):
        evidence.plan = wiring.read_plan(parsed, str(path))
        return True
    if not config_db.is_sonic(parsed):
        if named and not (isinstance(parsed, dict) and "NCCL" in text):
            raise InputError(f"{path}: this JSON holds none of SONiC's tables. Read are {_READS}.")
        return named and _of_host(text, path, folder, named)
    folder.sonic.append((str(path), parsed, twice))
    return True


def _of_host(text: str, path: Path, folder: _Folder, named: bool) -> bool:
    """A text of a server's; it may be several things at once."""
    host = folder.host or Host(folder.path.absolute().name, str(path))
    found = False
    if path.suffix.lower() in (".yaml", ".yml"):
        try:
            parsed = document.parse(text, str(path))
        except InputError:
            if named:
                raise
            return False
        if is_netplan(parsed.data):
            read_netplan(parsed, host)
            found = True
    if is_nic_qos(text):
        read_nic_qos(text, str(path), host)
        found = True
    found = read_nccl(text, str(path), host) or found
    found = read_sysctl(text, str(path), host) or found
    if found:
        folder.host = host
    return found


def _devices(folder: _Folder, evidence: Evidence) -> None:
    """The switches and the host of one folder."""
    switches = _switches(folder)
    for frr in folder.frr:
        _attach(frr, switches, folder)
    evidence.switches += switches
    if folder.host is not None:
        evidence.hosts.append(folder.host)


def _switches(folder: _Folder) -> list[Switch]:
    """One switch for each file that names a device or its ports; tables apart are joined to the only one."""
    whole: list[Switch] = []
    parts: list[Switch] = []
    for file, parsed, twice in folder.sonic:
        for asic, tables in config_db.tables(parsed).items():
            hostname = tables.get("DEVICE_METADATA", {}).get("localhost", {}).get("hostname", "")
            number = Path(file).stem.removeprefix("config_db") if Path(file).stem.startswith("config_db") else ""
            asic = asic if asic.startswith("asic") else (f"asic{number}" if number.isdigit() else "")
            name = hostname or _named_by(Path(file), folder.path)
            switch = Switch(f"{name}/{asic}" if asic else name, file, tables, dict.fromkeys(tables, file))
            switch.twice = [(file, key) for key in twice]
            (whole if {"DEVICE_METADATA", "PORT"} & set(tables) else parts).append(switch)
    if len(whole) != 1 and not (not whole and len(parts) > 1):
        return whole + parts
    first = whole[0] if whole else parts.pop(0)
    for part in parts:
        for table, rows in part.tables.items():
            if table not in first.tables:
                first.tables[table], first.files[table] = rows, part.file
            else:
                first.tables[table] = {**rows, **first.tables[table]}
        first.twice += part.twice
    return [first]


def _named_by(file: Path, folder: Path) -> str:
    """A name for a device that has none: its file's, or its folder's where the file has a usual name."""
    usual = {"config_db", "qos", "buffers", "switch", "sonic", "frr", "bgpd"}
    return folder.absolute().name if file.stem in usual or file.stem.startswith("config_db") else file.stem


def _attach(frr: Frr, switches: list[Switch], folder: _Folder) -> None:
    """Gives a frr.conf to the switch it is of, or makes a switch of it alone."""
    stem = Path(frr.file).name.removesuffix(".conf").removesuffix("frr").rstrip(".-_")
    for switch in switches:
        if switch.frr is None and switch.name in (frr.hostname, stem):
            switch.frr = frr
            return
    free = [switch for switch in switches if switch.frr is None]
    if len(free) == 1 and len(folder.frr) == 1:
        free[0].frr = frr
    else:
        switches.append(Switch(frr.hostname or stem or folder.path.absolute().name, frr.file, frr=frr))
