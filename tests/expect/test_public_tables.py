"""Public tables of healthy servers, as logs: they agree with what is expected, and nothing is suggested.

The tables come with `eastwest.validation`, each with its source and what it was measured on.
"""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.expect.conftest import devices

import eastwest
from eastwest import expect, observe, spec

FOLDER = Path(eastwest.__file__).parent / "validation" / "tables" / "collectives"
HEADS = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
TABLES = (
    "h100-8-dgxc",
    "p5-1-node",
    "p5-2-nodes",
    "p4de-2-nodes",
    "a3-mega-2-nodes",
    "a3-mega-2-nodes-all-gather",
    "a3-high-2-nodes-all-gather",
    "oci-h100-2-nodes",
    "oci-a100-2-nodes-ring",
    "coreweave-h100-12-nodes",
)


def table(name: str) -> tuple[dict[str, Any], list[tuple[int, float]]]:
    """The header of a table, and sizes in bytes with times in microseconds."""
    lines = (FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    header = YAML(typ="safe").load("\n".join(line[2:] for line in lines if line.startswith("#")))
    heads, *rows = [line.split(",") for line in lines if line and not line.startswith("#")]
    cells = [dict(zip(heads, row, strict=True)) for row in rows]
    return header, [(int(cell["size"]), float(cell["time_us"])) for cell in cells]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_healthy_servers_agrees(name: str) -> None:
    header, rows = table(name)
    rail = {"shape": "single-switch", "technology": "rocev2", "link": "400 Gb/s", "switch": "sn5600"}
    study = spec.from_mapping(
        {
            "name": "healthy",
            "nccl": header.get("nccl", {}),
            "clusters": {"pod": header["cluster"]},
            "fabrics": {"f": header.get("fabric", rail)},
            "workloads": {"job": {"kind": "operations", "operations": [{"name": "forward", "compute": "1 ms"}]}},
        }
    )
    program = expect.program(header["collective"])
    scene = expect.scene(study, "f", program)
    factor = program.bus_factor(scene.ranks)
    text = f"{program.name}\n" + devices(scene.nodes, scene.per_node, "GPU") + HEADS
    for size, time_us in rows:
        algbw = size / time_us / 1e3
        text += f"{size} {size // 4} float sum -1 {time_us} {algbw:.2f} {algbw * factor:.2f} 0\n"
    (benchmark,) = observe.parse(text.encode(), f"{name}.log")
    found = expect.compare(study, "f", benchmark, algorithm=header.get("algorithm"))
    assert found.agrees, [(band.name, band.ratio) for band in found.bands]
    assert expect.diagnosed(found) == ()
