"""A NIC's classes: what `mlnx_qos -i` printed, and the scripts that set them.

Scripts: mlnx_qos, cma_roce_tos, writes to mlx5's, bnxt_re's and rdma_cm's files, the kernel's `dcb`, Broadcom's
bnxt_setupcc.sh, AMD's nicctl. A name behind `$` is looked up in the loops and assignments before it; what cannot be
resolved stands for every NIC (`*`).
"""

from __future__ import annotations

import re
import shlex

from eastwest.checks.read import spelling
from eastwest.checks.read.host import Host, NicQos, Setting

_WRITE = re.compile(
    r"echo\s+(?:-n\s+)?[\"']?([\w${}]+)[\"']?\s*(?:>|\|\s*(?:sudo\s+)?tee)\s*[\"']?(\S+?)[\"']?(?:[\s;]|\Z)"
)
_NIC_OF = re.compile(r"/(?:net|infiniband|rdma_cm|bnxt_re)/([^/\s]+)/")
_LOOP = re.compile(r"for\s+(\w+)\s+in\s+([^;]+)")
_ASSIGNED = re.compile(
    r"(?:export\s+|local\s+|readonly\s+)?([A-Za-z_]\w*)="
    r"(?:\(([^()]*)\)|[\"']?([^\"'\s;$()]*)[\"']?)\s*(?:\Z|;|#)"
)
_MARKS = re.compile(
    r"mlnx_qos|cma_roce_tos|roce_[nr]p/|/traffic_class|default_roce_tos|Priority trust state|PFC configuration:|"
    r"\bdcb (?:pfc|app)|bnxt_setupcc|\bnicctl\b"
)
_PROMPT = re.compile(r"mlnx_qos\s+(?:-i|--interface)[\s=](\S+)\s*\Z")
_LONGEST = 4096
EVERY = "*"


def is_nic_qos(text: str) -> bool:
    """Whether a text shows or sets a NIC's classes."""
    return bool(_MARKS.search(text))


def read_nic_qos(text: str, file: str, host: Host) -> None:
    """Adds what a text, printed by a tool or a script, shows or sets to a host's NICs."""
    shown = EVERY
    variables: dict[str, list[str]] = {}
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()[:_LONGEST]
        at = Setting(line, file, number)
        prompt = _PROMPT.search(line)
        if prompt:
            shown = _resolved(prompt[1], variables)[0]
        elif not line.startswith("#"):
            _remember(line, variables)
            if not _printed(line, host, shown, at):
                _command(line, host, variables, at)


def _remember(line: str, variables: dict[str, list[str]]) -> None:
    """Keeps what a loop runs over and what is assigned."""
    if loop := _LOOP.match(line):
        words = [word.strip("\"'") for word in loop[2].split()]
        variables[loop[1]] = [each for word in words for each in _resolved(word, variables)]
    elif assigned := _ASSIGNED.match(line):
        variables[assigned[1]] = assigned[2].split() if assigned[2] is not None else [assigned[3]]


def _resolved(word: str, variables: dict[str, list[str]]) -> list[str]:
    """What a word stands for: itself, the values of a variable, or every NIC."""
    bare = word.strip("\"'")
    if "$" not in bare:
        return [bare]
    name = re.fullmatch(r"\$\{?(\w+)[^}]*\}?", bare)
    return variables.get(name[1], [EVERY]) if name else [EVERY]


def _value(word: str, variables: dict[str, list[str]]) -> int | None:
    """A number that is written out or in a variable."""
    return spelling.number(_resolved(word, variables)[0])


def _printed(line: str, host: Host, shown: str, at: Setting) -> bool:
    """One line of what `mlnx_qos -i` prints; says whether it was one."""
    if trust := re.match(r"Priority trust state:\s*(\w+)", line):
        host.nic(shown).trust = Setting(trust[1].lower(), at.file, at.line)
    elif mapped := re.match(r"prio:([0-7])\s+dscp:([\d,\s]+)", line):
        for dscp in spelling.numbers(mapped[2].replace(" ", "")):
            _map(host.nic(shown), dscp, int(mapped[1]), at)
    elif enabled := re.match(r"enabled((?:\s+[01]){8})\s*\Z", line):
        host.nic(shown).pfc = (_switched_on(enabled[1].split()), at)
    else:
        return False
    return True


def _map(nic: NicQos, dscp: int, priority: int, at: Setting) -> None:
    nic.priority_of[dscp], nic.priority_at[dscp] = priority, at


def _switched_on(bits: list[str]) -> frozenset[int]:
    """Priorities whose place in a list of eight holds a 1."""
    return frozenset(place for place, bit in enumerate(bits[:8]) if bit.strip() == "1")


def _command(line: str, host: Host, variables: dict[str, list[str]], at: Setting) -> None:
    """One command of a script."""
    if written := _WRITE.search(line):
        _written(written[1], written[2], host, variables, at)
        return
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return
    if any(word.startswith("adaptive_routing_forced_en=") and word.endswith(("=1", "0x1")) for word in words):
        host.places_out_of_order = at
    for position, word in enumerate(words):
        tool = word.rsplit("/", 1)[-1]
        if tool in _TOOLS:
            _TOOLS[tool](words[position + 1 :], host, variables, at)
            return


def _written(word: str, path: str, host: Host, variables: dict[str, list[str]], at: Setting) -> None:
    """A write to one of the drivers' files."""
    value = _value(word, variables)
    if value is None:
        return
    of = _NIC_OF.search(path)
    said = Setting(str(value), at.file, at.line)
    for name in _resolved(of[1], variables) if of else [EVERY]:
        if path.endswith(("/traffic_class", "/default_roce_tos")):
            host.nic(name).traffic_class = said
        elif path.endswith("/cnp_dscp"):
            host.nic(name).cnp_dscp = said
        elif value == 0 and (off := re.search(r"/roce_[nr]p/enable/([0-7])\Z", path)):
            host.nic(name).ecn_off[int(off[1])] = at


def _options(words: list[str]) -> dict[str, str]:
    """Options of a command: `-f v`, `--pfc v`, `--pfc=v`."""
    out: dict[str, str] = {}
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if word.startswith("-"):
            out[name] = value if equals else (words[position + 1] if position + 1 < len(words) else "")
    return out


def _mlnx_qos(words: list[str], host: Host, variables: dict[str, list[str]], at: Setting) -> None:
    given = _options(words)
    for name in _resolved(given.get("-i") or given.get("--interface") or EVERY, variables):
        nic = host.nic(name)
        if trust := given.get("--trust"):
            nic.trust = Setting(trust.lower(), at.file, at.line)
        pfc = _resolved(given.get("-f") or given.get("--pfc") or "", variables)[0].split(",")
        if len(pfc) == 8:
            nic.pfc = (_switched_on(pfc), at)
        how = given.get("--dscp2prio", "").split(",")
        if len(how) == 3 and how[0] == "set":
            dscp, priority = _value(how[1], variables), _value(how[2], variables)
            if dscp is not None and priority is not None:
                _map(nic, dscp, priority, at)


def _cma_roce_tos(words: list[str], host: Host, variables: dict[str, list[str]], at: Setting) -> None:
    given = _options(words)
    value = _value(given.get("-t", ""), variables)
    if value is not None:
        for name in _resolved(given.get("-d", EVERY), variables):
            host.nic(name).traffic_class = Setting(str(value), at.file, at.line)


def _dcb(words: list[str], host: Host, variables: dict[str, list[str]], at: Setting) -> None:
    if "dev" not in words[:-1]:
        return
    for name in _resolved(words[words.index("dev") + 1], variables):
        nic = host.nic(name)
        if words[0] == "pfc" and "prio-pfc" in words:
            states = dict(word.split(":", 1) for word in words[words.index("prio-pfc") + 1 :] if word.count(":") == 1)
            on = {priority for priority in range(8) if states.get(str(priority), states.get("all")) == "on"}
            nic.pfc = (frozenset(on), at)
        elif words[0] == "app" and "dscp-prio" in words:
            for word in words[words.index("dscp-prio") + 1 :]:
                dscp, _, priority = word.partition(":")
                if spelling.number(dscp) is not None and spelling.number(priority) is not None:
                    _map(nic, int(dscp), int(priority), at)
                    nic.trust = Setting("dscp", at.file, at.line)


def _bnxt_setupcc(words: list[str], host: Host, variables: dict[str, list[str]], at: Setting) -> None:
    """Broadcom's script: -i interface, -m mode (1 PFC, 2 congestion control, 3 both), -s and -r of RoCE, -p of CNPs."""
    given = _options(words)
    for name in _resolved(given.get("-i", EVERY), variables):
        nic = host.nic(name)
        mode, dscp, priority = (_value(given.get(option, ""), variables) for option in ("-m", "-s", "-r"))
        cnp = _value(given.get("-p", ""), variables)
        nic.trust = Setting("dscp", at.file, at.line)
        if dscp is not None and priority is not None:
            _map(nic, dscp, priority, at)
            nic.traffic_class = Setting(str(4 * dscp), at.file, at.line)
            nic.pfc = (frozenset({priority} if mode in (1, 3) else set()), at)
        if cnp is not None:
            nic.cnp_dscp = Setting(str(cnp), at.file, at.line)


def _nicctl(words: list[str], host: Host, variables: dict[str, list[str]], at: Setting) -> None:
    """AMD's tool: `update qos` for classes of all its NICs, `update dcqcn` for CNPs."""
    host.has_nicctl = True
    given, nic = _options(words), host.nic(EVERY)
    priority = _value(given.get("--priority", ""), variables)
    if given.get("--classification-type"):
        nic.trust = Setting(given["--classification-type"].lower(), at.file, at.line)
    elif words[1:3] == ["qos", "dscp-to-priority"] and priority is not None:
        for dscp in spelling.numbers(given.get("--dscp", "")):
            _map(nic, dscp, priority, at)
    elif words[1:3] == ["qos", "pfc"] and priority is not None:
        before = nic.pfc[0] if nic.pfc else frozenset()
        nic.pfc = (before | {priority} if given.get("--no-drop") == "enable" else before - {priority}, at)
    elif words[1:2] == ["dcqcn"] and given.get("--cnp-dscp"):
        nic.cnp_dscp = Setting(given["--cnp-dscp"], at.file, at.line)


_TOOLS = {
    "mlnx_qos": _mlnx_qos,
    "cma_roce_tos": _cma_roce_tos,
    "dcb": _dcb,
    "nicctl": _nicctl,
    "bnxt_setupcc.sh": _bnxt_setupcc,
}
