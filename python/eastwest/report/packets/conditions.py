"""Under what conditions a simulation's figures hold: the network, the settings in words, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass

from eastwest.engine.packets import PacketSettings
from eastwest.report.figures import count, rate
from eastwest.simulation.result import SimulationResult
from eastwest.units import format_size, format_time

BITS = 8.0
NAMES = {
    "uet": "Ultra Ethernet transport",
    "mrc": "Multipath Reliable Connection",
    "rocev2": "RoCEv2 reliable connection",
    "infiniband": "InfiniBand reliable connection",
    "dctcp": "DCTCP",
}
_CHOICES = {
    "hash": "by a hash of flow and entropy value",
    "random": "at random",
    "shortest-queue": "by the shortest queue",
}
_CONTROL = {"nscc": "a window at the sender (NSCC)", "rccc": "the receiver's credit (RCCC)"}


@dataclass(frozen=True)
class Halts:
    """What to call it where ports may not send though they could: pauses of PFC, or waits for InfiniBand's credits."""

    heads: tuple[str, str]
    many: str
    ports: str
    line: str


PAUSES = Halts(("Pauses", "Paused"), "pauses (PFC)", "ports paused", "paused by PFC")
CREDITS = Halts(
    ("Waits", "Without credits"), "waits for credits", "ports without credits", "something to send, no credits"
)


def halts(settings: PacketSettings) -> Halts:
    """The words for what holds ports back under these settings."""
    return CREDITS if settings.transport == "infiniband" else PAUSES


def conditions(result: SimulationResult) -> list[tuple[str, str]]:
    """What was simulated and how, as pairs of a name and a sentence."""
    run, settings = result.run, result.settings
    told = [
        ("Network", _network(result)),
        ("Transport", _transport(settings)),
        ("Packets", _packets(settings)),
        ("Switches", _switches(settings)),
        ("Paths", f"A switch chooses among equal ports {_CHOICES.get(settings.choice, f'by {settings.choice}')}."),
        ("Seed", f"{settings.seed}: the same inputs and seed give the same result."),
    ]
    if settings.loss:
        told.append(("Bit errors", f"{settings.loss:.3g} of the packets on each link are lost."))
    if settings.message_overhead_s or settings.completion_overhead_s:
        before, after = (format_time(each) for each in (settings.message_overhead_s, settings.completion_overhead_s))
        told.append(("Hosts", f"A message costs {before} before its NIC has it, and {after} until software knows."))
    if run.series is not None:
        every = format_time(run.series.every_s)
        told.append(("Over time", f"In intervals of {every}; joined where a run lasts longer, to about a thousand."))
    speed = run.link_hops / result.wall_s / 1e6 if result.wall_s else 0.0
    told.append(
        (
            "Run",
            f"{format_time(run.simulated_s)} simulated in {format_time(result.wall_s)}: {run.link_hops:,} packets "
            f"over links, {speed:.1f} million a second.",
        )
    )
    return told


def left_out(result: SimulationResult) -> list[str]:
    """What no simulation of packets here has, and what this one has not."""
    missing = [
        "Hosts: memory, CPUs, and PCIe unless its rate is stated.",
        "Switches take a packet in whole before they send it on (store and forward), and choose its way in no time.",
        "Alone means at the rate of a flow's NICs, on a network without limits between them.",
    ]
    if result.settings.transport in ("uet", "mrc"):
        missing.append(
            "Where a flow waited: its packets take many ways, and the worst port of all these is named, whatever part "
            "of them took it."
        )
    return missing


def _network(result: SimulationResult) -> str:
    fabric = result.network.fabric
    switches = int((fabric.nodes["kind"] == "switch").sum())
    hosts, cables = count(len(result.network.hosts), "host"), count(len(fabric.cables), "cable")
    return f"{hosts}, {count(switches, 'switch')}, {cables}."


def _transport(settings: PacketSettings) -> str:
    said = [NAMES.get(settings.transport, settings.transport)]
    if settings.transport == "uet":
        control = _CONTROL.get(settings.congestion_control, "a window at the sender and the receiver's credit")
        said.append(f"paced by {control}")
    if settings.transport in ("uet", "mrc"):
        said.append(f"sprayed over {settings.entropies} entropy values")
    if settings.transport == "rocev2":
        said.append(f"what is missed is repeated {settings.repeat}")
        said.append("DCQCN as in its paper" if settings.dcqcn != "off" else "without DCQCN, at line rate")
    if settings.transport == "infiniband":
        said.append(f"what is missed is repeated {settings.repeat}")
        said.append("with FECN and BECN" if settings.fecn_threshold else "without congestion control")
    said.append(f"longest round trip of the empty network {format_time(settings.base_rtt_s)}")
    said.append("flows to one peer share what is learnt" if settings.shares_contexts else "each flow begins anew")
    return f"{', '.join(said)}."


def _packets(settings: PacketSettings) -> str:
    return (
        f"{settings.payload:,} B of payload and {settings.header} B around it; answers of {settings.control} B; "
        f"hosts at {rate(settings.rate * BITS)}."
    )


def _switches(settings: PacketSettings) -> str:
    if settings.transport == "infiniband":
        kept = f" of {format_size(settings.vl_buffer)}" if settings.vl_buffer else ""
        room = f"Nothing is dropped: a port sends what it has credits for, a buffer{kept} at the end of each cable"
    elif settings.pause_above:
        room = (
            f"Nothing is dropped: a switch that holds {format_size(settings.pause_above)} of what came by one cable "
            f"pauses its other end, until it holds {format_size(settings.pause_at)}"
        )
    else:
        beyond = f"is trimmed to {settings.trim} B" if settings.trim else "is dropped"
        room = f"Room of {format_size(settings.room)} before each port, what comes beyond {beyond}"
    marks = (
        f"marks from {format_size(settings.mark_from)} on, certain above {format_size(settings.mark_to)}"
        if settings.mark_to
        else "no marks"
    )
    return f"{room}; {marks}."
