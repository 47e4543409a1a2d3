from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Routes = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.float64]]

class EngineError(ValueError): ...
class UnreachableError(EngineError): ...

class Network:
    def __init__(
        self,
        kind: npt.NDArray[np.uint8],
        address: npt.NDArray[np.uint32],
        src: npt.NDArray[np.uint32],
        dst: npt.NDArray[np.uint32],
        rate: npt.NDArray[np.float64],
        latency_s: npt.NDArray[np.float64],
        is_fabric: npt.NDArray[np.bool_],
        routes: Routes | None = None,
    ) -> None: ...
    def routes(self, carried: object) -> Routes: ...
    def run(
        self,
        gpu: npt.NDArray[np.uint32],
        ops: Sequence[object],
        overlap_slowdown: float,
        mix: object,
        carried: object,
        fidelity: str,
        tolerance: float,
        seeds: Sequence[int],
    ) -> dict[str, npt.NDArray[Any]]: ...
    def run_packets(
        self,
        gpu: npt.NDArray[np.uint32],
        ops: Sequence[object],
        overlap_slowdown: float,
        mix: object,
        carried: object,
        tolerance: float,
        seeds: Sequence[int],
        packets: PacketNetwork,
        settings: object,
        efficiency: npt.NDArray[np.float64],
        changes: Sequence[object],
    ) -> dict[str, Any]: ...
    def record(
        self,
        gpu: npt.NDArray[np.uint32],
        ops: Sequence[object],
        overlap_slowdown: float,
        mix: object,
        carried: object,
        fidelity: str,
        tolerance: float,
        seed: int,
        every: int,
        tiers: npt.NDArray[np.uint32],
    ) -> dict[str, Any]: ...
    def losses(
        self,
        gpu: npt.NDArray[np.uint32],
        ops: Sequence[object],
        mix: object,
        carried: object,
        down: npt.NDArray[np.bool_],
        seeds: Sequence[int],
    ) -> list[tuple[float, float, float]]: ...
    def max_min(
        self,
        from_gpu: npt.NDArray[np.uint32],
        to_gpu: npt.NDArray[np.uint32],
        carried: object,
        seed: int,
    ) -> npt.NDArray[np.float64]: ...

def headroom_bytes(rate: float, latency_s: float, full: int) -> int: ...

class PacketNetwork:
    def __init__(
        self,
        kind: npt.NDArray[np.uint8],
        src: npt.NDArray[np.uint32],
        dst: npt.NDArray[np.uint32],
        rate: npt.NDArray[np.float64],
        latency_s: npt.NDArray[np.float64],
        routes: tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.float64]]
        | None = None,
    ) -> None: ...
    def round_trips_s(
        self,
        from_node: npt.NDArray[np.uint32],
        to_node: npt.NDArray[np.uint32],
        there: int,
        back: int,
        header: int | None,
    ) -> npt.NDArray[np.float64]: ...
    def longest_round_trip_s(
        self, hosts: npt.NDArray[np.uint32], there: int, back: int, header: int | None
    ) -> float: ...
    def run(
        self,
        flows: object,
        settings: object,
        changes: Sequence[object],
        until_s: float,
        capturing: object | None,
        sampling: object | None,
    ) -> dict[str, Any]: ...

class Capture:
    missed: int
    def __len__(self) -> int: ...
    def write_pcap(self, path: str, address: npt.NDArray[np.uint32], snap: int) -> int: ...
