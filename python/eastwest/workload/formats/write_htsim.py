"""Writes flows as a connection matrix of htsim (`.cm`): what `read_htsim_flows` reads back, with starts in picoseconds.

htsim counts a flow's bytes in 31 bits; a longer flow is written as several that start together.
"""

from __future__ import annotations

import numpy as np

from eastwest.workload.flows import Flows

MOST_FLOW_BYTES = 2**31 - 1
"""What htsim's parser (`stoi`) takes."""


def htsim_flows(flows: Flows, hosts: int) -> str:
    """The text for flows between hosts 0 to `hosts` - 1.

    Raises:
        ValueError: a flow of more bytes than htsim takes pulls a trigger.
    """
    parts = np.maximum(-(-flows.size_bytes.astype(np.int64) // MOST_FLOW_BYTES), 1)
    pulls = (flows.sent_trigger >= 0) | (flows.received_trigger >= 0)
    if (parts[pulls] > 1).any():
        raise ValueError(f"a flow that pulls a trigger has more than {MOST_FLOW_BYTES} bytes, htsim's most")
    heads = [f"Nodes {hosts}", f"Connections {int(parts.sum())}"]
    if flows.triggers:
        heads.append(f"Triggers {len(flows.triggers)}")
    rows: list[str] = []
    priority = np.zeros(len(flows), np.uint64) if flows.priority is None else flows.priority
    for at, pieces in enumerate(parts.tolist()):
        size, left = divmod(int(flows.size_bytes[at]), pieces)
        trigger = int(flows.start_trigger[at])
        start = f"start {round(float(flows.start_s[at]) * 1e12)}" if trigger < 0 else f"trigger {trigger + 1}"
        for piece in range(pieces):
            row = f"{flows.source[at]}->{flows.destination[at]} id {len(rows) + 1} {start} size {size + (piece < left)}"
            for word, number in (("send_done", flows.sent_trigger[at]), ("recv_done", flows.received_trigger[at])):
                if number >= 0:
                    row += f" {word}_trigger {number + 1}"
            rows.append(row + (f" prio {priority[at]}" if priority[at] else ""))
    pulled = [
        f"trigger id {number} {trigger.kind}" + (f" count {trigger.pulls}" if trigger.kind == "barrier" else "")
        for number, trigger in enumerate(flows.triggers, start=1)
    ]
    return "\n".join([*heads, *rows, *pulled, ""])
