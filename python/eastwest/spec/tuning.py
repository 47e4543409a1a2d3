"""What a study leaves to NCCL, and which NCCL that is. How it chooses is `eastwest.workload.nccl`'s matter."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from eastwest.document import nearest
from eastwest.spec.values import Entry, refuse
from eastwest.workload import KINDS, Algorithm, CollectiveKind, Protocol, Tuning
from eastwest.workload.nccl import METHOD_KINDS, METHOD_OF, Cpu, TransportName, Version, releases, version_of

AlgorithmWord = Literal[Algorithm, "auto"]
ProtocolWord = Literal[Protocol, "auto"]


def _version(written: Any) -> Any:
    text, words = str(written), tuple(releases())
    if isinstance(written, bool) or version_of(text) is None:
        raise refuse(f"no constants are known of NCCL {text!r}", words, nearest(text, words))
    return text


class Nccl(Entry):
    """The NCCL that chooses what collectives leave open."""

    version: Annotated[
        str,
        BeforeValidator(_version),
        WithJsonSchema({"anyOf": [{"enum": list(releases())}, {"type": ["string", "number"]}]}),
    ] = "HEAD"
    """Whose constants: of a release, as in 2.26 or 2.26.2, or of the newest that was read."""
    cpu: Cpu = "intel"
    """The servers' CPUs, by which NCCL tells how fast LL is between nodes and what posting to a NIC takes."""
    transport: TransportName | Literal["auto"] = "auto"
    """What carries NCCL between nodes: its own verbs, or a plug-in; `auto`: the one of the server or its NIC."""

    @property
    def constants(self) -> Version:
        """The version whose constants stand for the one that is named."""
        found = version_of(self.version)
        assert found is not None  # refused above
        return found

    def __str__(self) -> str:
        """Name it for people: the version, and whose constants it has where these are another's."""
        return (
            self.version if self.constants == self.version else f"{self.version}, by the constants of {self.constants}"
        )


def check(kind: CollectiveKind, algorithm: AlgorithmWord | None, protocol: ProtocolWord | None) -> None:
    """Refuses an algorithm that does not carry out the collective, and a protocol of which NCCL knows nothing."""
    if algorithm is not None and algorithm != "auto" and kind not in KINDS[algorithm]:
        fitting = (*(word for word, kinds in KINDS.items() if kind in kinds), "auto")
        raise refuse(f"{algorithm} is no algorithm for {kind}", fitting, at="algorithm")
    if protocol is None:
        return
    if kind == "all-to-all":
        raise refuse("an all-to-all is sends and receives, for which NCCL's tuning has no protocol", at="protocol")
    if algorithm is None or algorithm == "auto":
        return
    fitting = tuple(word for word, method in METHOD_OF.items() if kind in METHOD_KINDS[method])
    if algorithm not in fitting:
        raise refuse(f"NCCL has no protocols for {kind} by {algorithm}", ("auto", *fitting), at="protocol")
    if METHOD_OF[algorithm].startswith("nvls") and protocol in ("ll", "ll128"):
        raise refuse(f"{algorithm} runs by the simple protocol alone", ("simple", "auto"), at="protocol")


def tuning(
    algorithm: AlgorithmWord | None, protocol: ProtocolWord | None, channels: int | None, resolved: Algorithm
) -> Tuning | None:
    """What is left to NCCL; None where nothing is. Where a protocol is named, the algorithm is `resolved`."""
    if algorithm != "auto" and protocol is None:
        return None
    return Tuning(None if algorithm == "auto" else resolved, None if protocol == "auto" else protocol, channels)
