"""What a file is that is no log of nccl-tests, so that a person is told what they gave."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eastwest.errors import InputError

_LOOKS = (
    (
        r"(?:RDMA_Write|RDMA_Read|Send) (?:BW|Bidirectional BW|Latency) Test",
        "the output of perftest (ib_write_bw)",
    ),
    (r"#bytes\s+#iterations", "the output of perftest (ib_write_bw)"),
    (r"# OSU ", "the output of the OSU micro-benchmarks"),
    (r"Connecting to host .*port|\[ ID\] Interval", "the output of iperf"),
    (r"#\s*t_min\[usec\]|#bytes #repetitions", "the output of Intel's MPI benchmarks"),
    (r"bandwidthTest|unidirectional CPU<->GPU|memcpy (?:CE|SM)", "the output of a test of copies (nvbandwidth)"),
    (r"^name: |^clusters:|^fabrics:", "a study file"),
    (r"<system|<graph", "a topology or graph of NCCL"),
)
_WANTED = (
    "expected is what all_reduce_perf and the other programs of nccl-tests or rccl-tests print, with its table "
    "of sizes, or the file that they write with -J"
)


def refusal(data: bytes, text: str, file: str, warnings: Sequence[str] = (), failure: str | None = None) -> InputError:
    """The mistake that such a file is; `warnings` are what NCCL said in it, `failure` how the run ended."""
    if not data.strip():
        return InputError(f"{file}: the file is empty; {_WANTED}")
    if b"\0" in data[:65536] or text[:65536].count("�") > 64:
        return InputError(f"{file}: this is no text; {_WANTED}")
    if failure or re.search(r"#\s*nThread \d|Using devices|NCCL INFO|nccl-tests version", text):
        why = f" It says: {failure}." if failure else ""
        why += f" NCCL said: {warnings[0]}." if warnings else ""
        return InputError(f"{file}: a run of nccl-tests that ended before the first row of its table.{why}")
    for pattern, what in _LOOKS:
        if re.search(pattern, text[: 1 << 20], re.MULTILINE):
            return InputError(f"{file}: this looks like {what}; {_WANTED}")
    return InputError(f"{file}: no table of nccl-tests in it; {_WANTED}")
