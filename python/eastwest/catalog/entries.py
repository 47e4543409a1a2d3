"""What a catalogue entry is, once read: frozen values in SI units (bit/s, bytes, seconds, watts).

Every figure's source stands beside it in the YAML; `Catalog.sources` returns it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Technology = Literal["rocev2", "infiniband", "ultra-ethernet", "mrc"]
SPRAYING: tuple[Technology, ...] = ("ultra-ethernet", "mrc")
"""Transports made to be sprayed: their NICs place packets out of order and send again only what was lost."""
Retransmission = Literal["go-back-n", "selective-repeat"]
Joined = Literal["switch", "mesh"]
Architecture = Literal["ampere", "hopper", "blackwell"]


@dataclass(frozen=True)
class Gpu:
    """A GPU and its two doors: NVLink (scale-up, also where its maker calls it Infinity Fabric) and PCIe.

    Rates are bits per second in one direction. `nvlink_efficiency` is the part of the line rate that collectives
    reach; `pcie_efficiency` the part of PCIe's rate that is payload. Latencies are from GPU to GPU over
    NVLink, and from GPU to NIC over PCIe. `joined` says whether scale-up links end at a switch, so that any one peer
    can have the whole rate, or each at one peer (a mesh), so that only all peers together can. `nvlink_sharp` is the
    part of the rate that collectives reach where that switch adds up and copies on the way; None where it cannot.
    `architecture` is the one by which NCCL's tuning knows it; None where NCCL does not run.
    `bf16_flops` and its kin are dense peak rates; those named sustained are the best that large matrix products reach
    for long, alone. `training_share` is what is left of that while all GPUs of a server train: clocks under the power
    limit, cold caches; `training_fp8_share` with 8 bits or fewer. `sms` counts multiprocessors. Training's arithmetic
    needs them; None: not known.
    """

    name: str
    memory_bytes: float
    memory_bps: float
    bf16_flops: float
    nvlink_bps: float
    nvlink_efficiency: float
    nvlink_latency_s: float
    pcie_bps: float
    pcie_efficiency: float
    pcie_latency_s: float
    power_w: float
    joined: Joined = "switch"
    nvlink_sharp: float | None = None
    architecture: Architecture | None = None
    fp8_flops: float | None = None
    fp4_flops: float | None = None
    bf16_sustained_flops: float | None = None
    fp8_sustained_flops: float | None = None
    fp4_sustained_flops: float | None = None
    training_share: float | None = None
    training_fp8_share: float | None = None
    sms: int | None = None


@dataclass(frozen=True)
class Nic:
    """A NIC: one scale-out port of at most `port_bps`, and a PCIe connection.

    `pcie_bps` is the rate of the NIC's own PCIe link, one direction; the hop to the GPU runs at the slower end's rate.
    Where `ethernet_port_bps` is given, an Ethernet port has at most that rate, and the NIC several of them.
    The port can be split into at most `max_planes` links, each to a switch of its own. `offloads` names what the NIC
    takes off the host beside RDMA, and `host_cores_saved` how many of its cores that frees, where known.
    """

    name: str
    technologies: tuple[Technology, ...]
    port_bps: float
    port_speeds_bps: tuple[float, ...]
    pcie_bps: float
    latency_s: float
    places_out_of_order: bool
    retransmission: Retransmission
    power_w: float
    ethernet_port_bps: float | None = None
    max_planes: int = 1
    offloads: tuple[str, ...] = ()
    host_cores_saved: int | None = None


@dataclass(frozen=True)
class Switch:
    """A switch: `cages` of at most `cage_bps`, each broken out into as many as `max_breakout` ports.

    `in_network_reduction` says whether it adds up what collectives send through it (SHARP).
    A switch with co-packaged optics has fibre ports for cages, and its power includes the optics. Of a part of a
    scheduled fabric, `cell_cages` are those that carry cells between leaves and fabric elements (all, of an element),
    and `cell_efficiency` is what cells leave of their rate for packets. A cage has `cage_lanes`, which its ports share.

    For its configuration: `buffer_bytes` is the packet memory that all ports share, given out in cells of
    `cell_bytes`; `headroom_pool` says that headroom comes from a pool of its own and is no part of what each group has
    reserved; `sonic_platform` and `sonic_hwsku` are SONiC's names of the box. None: not known.
    """

    name: str
    technologies: tuple[Technology, ...]
    cages: int
    cage_bps: float
    port_speeds_bps: tuple[float, ...]
    default_breakout: int
    max_breakout: int
    max_ports: int
    latency_s: float
    power_w: float
    cell_cages: int = 0
    cell_efficiency: float = 1.0
    in_network_reduction: bool = False
    cage_lanes: int = 8
    buffer_bytes: float | None = None
    cell_bytes: int | None = None
    headroom_pool: bool = False
    sonic_platform: str | None = None
    sonic_hwsku: str | None = None

    @property
    def packet_cages(self) -> int:
        """Cages that carry packets."""
        return self.cages - self.cell_cages


@dataclass(frozen=True)
class Server:
    """A server: GPUs that share one NVLink domain, and NICs that each belong to a rail.

    `nvlink_domain_servers` servers in a row share the domain: 1, or the compute trays of a rack (18 in an NVL72).
    """

    name: str
    gpu: Gpu
    gpus: int
    nics: int
    nic: Nic
    power_w: float
    nvlink_domain_servers: int = 1


@dataclass(frozen=True)
class LinkLayer:
    """What a scale-out technology leaves of the line rate at a given MTU, and what its cables add.

    `efficiency` is payload over bits on the wire for full packets; `fibre_s_per_m` the delay of a metre of fibre.
    """

    technology: Technology
    mtu_bytes: int
    efficiency: float
    fibre_s_per_m: float
