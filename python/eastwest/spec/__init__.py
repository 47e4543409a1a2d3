"""The study file: its format, and mistakes in it told by file, line, column and remedy.

`load` reads one to a `Study` of frozen values. Not here: what is computed from it (`eastwest.study`).
"""

from eastwest.spec.datapath import AroundSteps, Checkpoint, Data, Reliability, Steps
from eastwest.spec.fabrics import Cluster, Fabric
from eastwest.spec.imported import Imported
from eastwest.spec.load import bundled_studies, from_mapping, load, loads
from eastwest.spec.mixes import Mix, MixBackground, MixJob
from eastwest.spec.packets import Packets
from eastwest.spec.parameters import Parameter, parameter
from eastwest.spec.schema import json_schema
from eastwest.spec.settings_file import FileSettings, read_settings
from eastwest.spec.start import starting_file, write_starting_file
from eastwest.spec.study import Prices, Study, StudyError
from eastwest.spec.sweep import MOST_COMBINATIONS
from eastwest.spec.training import Training, place_of
from eastwest.spec.tuning import Nccl
from eastwest.spec.workloads import (
    Collective,
    CollectiveOperation,
    ComputeOperation,
    Group,
    Measured,
    MeasuredOn,
    Operations,
    Placement,
    ScheduleOperation,
    SendRecv,
    SendRecvOperation,
    Skew,
    StorageOperation,
    Workload,
    default_algorithm,
    default_channels,
)

__all__ = [
    "MOST_COMBINATIONS",
    "AroundSteps",
    "Checkpoint",
    "Cluster",
    "Collective",
    "CollectiveOperation",
    "ComputeOperation",
    "Data",
    "Fabric",
    "FileSettings",
    "Group",
    "Imported",
    "Measured",
    "MeasuredOn",
    "Mix",
    "MixBackground",
    "MixJob",
    "Nccl",
    "Operations",
    "Packets",
    "Parameter",
    "Placement",
    "Prices",
    "Reliability",
    "ScheduleOperation",
    "SendRecv",
    "SendRecvOperation",
    "Skew",
    "Steps",
    "StorageOperation",
    "Study",
    "StudyError",
    "Training",
    "Workload",
    "bundled_studies",
    "default_algorithm",
    "default_channels",
    "from_mapping",
    "json_schema",
    "load",
    "loads",
    "parameter",
    "place_of",
    "read_settings",
    "starting_file",
    "write_starting_file",
]
