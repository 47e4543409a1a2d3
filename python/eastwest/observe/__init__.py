"""What a real network said, read from files: runs of nccl-tests, InfiniBand subnets and their forwarding tables.

Cables seen are compared with cables planned (`cabling`), whoever says what was planned. Not here: what it should have
said.
"""

from eastwest.observe.benchmark import Benchmark, Device, Row, Timing, Told
from eastwest.observe.nccl_tests import TESTS, parse, read

__all__ = ["TESTS", "Benchmark", "Device", "Row", "Timing", "Told", "parse", "read"]
