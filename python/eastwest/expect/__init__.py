"""What nccl-tests should show on a fabric, and what it means where it shows something else."""

from eastwest.expect.comparison import TOLERANCE, Band, Comparison, Pair, compare
from eastwest.expect.diagnosis import across, diagnosed
from eastwest.expect.faults import Fault
from eastwest.expect.finding import Cause, Finding
from eastwest.expect.prediction import Expected, Scene, scene
from eastwest.expect.programs import BYTES_OF, PROGRAMS, Program, program, sizes
from eastwest.expect.table import lines

__all__ = [
    "BYTES_OF",
    "PROGRAMS",
    "TOLERANCE",
    "Band",
    "Cause",
    "Comparison",
    "Expected",
    "Fault",
    "Finding",
    "Pair",
    "Program",
    "Scene",
    "across",
    "compare",
    "diagnosed",
    "lines",
    "program",
    "scene",
    "sizes",
]
