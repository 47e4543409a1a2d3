"""From the study file's fabrics to built ones, with mistakes told at the line that caused them."""

from __future__ import annotations

from collections.abc import Sequence

from eastwest import fabric as fabrics
from eastwest.catalog import Nic
from eastwest.document import MistakesError, Place
from eastwest.engine import Carriage, EngineError, Network
from eastwest.errors import InputError
from eastwest.fabric import Fabric, FabricError, FabricPlan, Failure, FailureError, Frontend, Routes, Sites, Storage
from eastwest.spec import Study, StudyError
from eastwest.spec.packets import TRANSPORTS, stated
from eastwest.units import format_rate


def plan(study: Study, name: str, cluster: str) -> FabricPlan:
    """What `eastwest.fabric` is asked to build for one fabric of the study, joined to one of its clusters.

    Raises:
        StudyError: its network file cannot be read, with every mistake in it.
    """
    asked, catalog = study.fabrics[name], study.catalog_entries()
    sites = asked.sites
    try:
        network = None if asked.network is None else fabrics.read_network(asked.network, catalog)
    except MistakesError as error:
        raise StudyError(error.mistakes) from None
    return FabricPlan(
        name=study.base("fabrics", name),
        shape=asked.shape,
        servers=study.clusters[cluster].servers,
        server=study.server(cluster),
        nic=study.nic(name, cluster),
        link_layer=catalog.link_layer(asked.technology),
        link_bps=asked.link,
        switches={tier: catalog.switch(switch) for tier, switch in asked.switch.items()},
        uplink_bps=asked.uplink,
        planes=asked.planes,
        breakout={tier: asked.breakout[tier] for tier in asked.breakout},
        servers_per_unit=asked.servers_per_unit,
        servers_per_pod=asked.servers_per_pod,
        tiers=asked.tiers,
        oversubscription={tier: asked.oversubscription[tier] for tier in asked.oversubscription},
        groups=asked.groups,
        dims=asked.dims,
        links_per_pair=asked.links_per_pair,
        network=network,
        frontend=_frontend(study, name),
        sites=None if sites is None else Sites(sites.count, sites.distance, sites.links, sites.rate),
        cable_lengths_m=asked.cables,
    )


def _frontend(study: Study, name: str) -> Frontend | None:
    """The front-end network of a fabric; where it is shared, with the rate and technology of the GPUs'."""
    fabric, asked, catalog = study.fabrics[name], study.fabrics[name].frontend, study.catalog_entries()
    if asked is None:
        return None
    storage = asked.storage
    return Frontend(
        network=asked.network,
        nics=asked.nics,
        nic=catalog.nic(asked.nic),
        link_layer=catalog.link_layer(study.frontend_technology(name)),
        link_bps=fabric.link if asked.link is None else asked.link,
        switches={tier: catalog.switch(switch) for tier, switch in asked.switch.items()},
        uplink_bps=asked.uplink,
        breakout=asked.breakout,
        oversubscription=asked.oversubscription,
        storage=None if storage is None else Storage(storage.servers, storage.nics, storage.read, storage.write),
    )


def failures(study: Study, name: str) -> tuple[Failure, ...]:
    """What has failed in a fabric of the study."""
    return tuple(failure.for_fabric() for failure in study.fabrics[name].failures)


def build(study: Study, name: str, cluster: str, failed: Sequence[Failure]) -> Fabric:
    """One fabric of the study, joined to one of its clusters, without what has failed.

    Raises:
        StudyError: it cannot be built, or what has failed is not there; names the line at fault.
    """
    called = study.base("fabrics", name)
    try:
        return fabrics.fail(fabrics.build(plan(study, name, cluster)), failed)
    except FailureError as error:
        at: Place = ("fabrics", name, "failures", error.number)
        raise study.error_at(at, f"fabric {called!r}: {error.message}") from None
    except FabricError as error:
        at = ("clusters", cluster) if error.field in ("servers", "server") else ("fabrics", name)
        raise study.error_at((*at, error.field), f"fabric {called!r} cannot be built: {error.message}") from None
    except MistakesError as error:
        raise StudyError(error.mistakes) from None


def network(study: Study, name: str, cluster: str, failed: Sequence[Failure]) -> Network:
    """The same, ready to be run on: with its own routes, or those of its file.

    Raises:
        StudyError: as `build`, or where its routes lead nowhere or go round; names the line at fault.
    """
    built, file = build(study, name, cluster, failed), study.fabrics[name].routes
    if file is None:
        return Network(built)
    try:
        return Network(built, fabrics.read_routes(file, built))
    except (FabricError, EngineError) as error:
        message = error.message if isinstance(error, FabricError) else f"{file}: {error}"
        told = f"fabric {study.base('fabrics', name)!r}: {message}"
        raise study.error_at(("fabrics", name, "routes"), told) from None


def build_fabric(study: Study, name: str, cluster: str | None = None) -> Fabric:
    """One fabric of the study by name.

    Raises:
        InputError: there is no such fabric or cluster, or the fabric joins several clusters and none is named.
        StudyError: it cannot be built; names the line at fault.
    """
    name, cluster = named(study, name, cluster)
    return build(study, name, cluster, failures(study, name))


def with_tables(study: Study, name: str, cluster: str | None = None) -> tuple[Fabric, Routes | None]:
    """One fabric of the study by name, and its forwarding tables where a file gives them.

    Raises:
        InputError: as `build_fabric`.
        StudyError: as `network`.
    """
    name, cluster = named(study, name, cluster)
    failed = failures(study, name)
    if study.fabrics[name].routes is None:
        return build(study, name, cluster, failed), None
    ready = network(study, name, cluster, failed)
    return ready.fabric, ready.tables


def routes(study: Study, name: str, cluster: str | None = None) -> tuple[Fabric, Routes]:
    """One fabric of the study by name, and the forwarding tables that its balancing comes to.

    Raises:
        InputError: as `build_fabric`, or where no table can say what its balancing does.
        StudyError: it cannot be built; names the line at fault.
    """
    name, cluster = named(study, name, cluster)
    built = network(study, name, cluster, failures(study, name))
    try:
        return built.fabric, built.routes(carriage(study, name))
    except EngineError as error:
        raise study.error_at(("fabrics", name, "balancing"), f"fabric {name!r}: {error}") from None


def named(study: Study, name: str, cluster: str | None) -> tuple[str, str]:
    """The fabric and the cluster that are meant."""
    from eastwest.document import nearest

    variants = study.variants("fabrics", name)
    if len(variants) > 1:
        raise InputError(f"{study.file}: fabric {name!r} is swept: name one of {', '.join(variants)}")
    name = variants[0]
    if name not in study.fabrics:
        guess = nearest(name, tuple(study.fabrics))
        meant = f"; did you mean {guess!r}?" if guess else ""
        raise InputError(f"{study.file}: no fabric {name!r}{meant} (it has: {', '.join(study.fabrics)})")
    clusters = study.clusters_of(name)
    if cluster is None and len(clusters) > 1:
        raise InputError(f"{study.file}: fabric {name!r} joins {', '.join(clusters)}: name one with --cluster")
    if cluster is not None and cluster not in clusters:
        raise InputError(f"{study.file}: fabric {name!r} joins {', '.join(clusters)}, not {cluster!r}")
    return name, cluster or clusters[0]


def carriage(study: Study, name: str) -> Carriage:
    """How connections cross a fabric of the study."""
    asked = study.fabrics[name]
    return Carriage(
        asked.balancing,
        asked.qps,
        asked.qp_use,
        asked.message,
        asked.hash_seeds,
        asked.flowlets,
        asked.paths,
        stated(asked.packets, TRANSPORTS[asked.technology]),
        asked.packets.events,
        asked.packets.routes_after,
    )


def cautions(study: Study, name: str, cluster: str) -> list[str]:
    """What to warn of: parts that cannot do what the figures take them to do."""
    return [
        *_unheeded(study, name),
        *_reordering(study, name, cluster),
        *_joined_ports(study, name, cluster),
        *_meshed(study, cluster),
    ]


def _unheeded(study: Study, name: str) -> list[str]:
    """Entries that a fabric states for a balancing that neither it nor another of its variants has."""
    base = study.base("fabrics", name)
    used = {study.fabrics[each].balancing for each in study.variants("fabrics", base)}
    return [
        f"fabric {base}: {entry} is for balancing: {balancing}; {study.fabrics[name].balancing} takes no notice of it"
        for entry, balancing in (("paths", "source"), ("flowlets", "flowlet"))
        if entry in study.written["fabrics"][base] and balancing not in used
    ]


def _reordering(study: Study, name: str, cluster: str) -> list[str]:
    """NICs that cannot take packets out of order where the fabric reorders them."""
    asked, nics = study.fabrics[name], [study.nic(name, cluster)]
    if asked.frontend is not None:
        nics.append(study.catalog_entries().nic(asked.frontend.nic))
    # A scheduled fabric puts cells together again, in order, before the NIC.
    is_in_order = asked.shape == "scheduled" or asked.balancing not in ("spray", "adaptive", "source")
    if is_in_order:
        return []
    called, unable = study.base("fabrics", name), [nic for nic in nics if not nic.places_out_of_order]
    return [
        f"fabric {called}: {asked.balancing} delivers packets out of order, and {nic.name} cannot place them so "
        f"({nic.retransmission}: it {_at_a_gap(nic)}); the figures assume a NIC that can"
        for nic in unable
    ]


def _at_a_gap(nic: Nic) -> str:
    """What a NIC does where a packet is missing."""
    is_strict = nic.retransmission == "go-back-n"
    return "takes every gap for a loss and sends again from there" if is_strict else "reorders"


def _joined_ports(study: Study, name: str, cluster: str) -> list[str]:
    """An Ethernet link faster than any one Ethernet port of the NIC."""
    asked, nic = study.fabrics[name], study.nic(name, cluster)
    most = nic.ethernet_port_bps
    rate = asked.link / asked.planes
    if asked.technology == "infiniband" or most is None or rate <= most:
        return []
    return [
        f"fabric {study.base('fabrics', name)}: {nic.name} has Ethernet ports of {format_rate(most)}; the figures take "
        f"{rate / most:.2g} of them for one of {format_rate(rate)}"
    ]


def _meshed(study: Study, cluster: str) -> list[str]:
    """GPUs that no switch joins: a pair has one link, where the figures give it the rate of all."""
    server = study.server(cluster)
    if server.gpu.joined == "switch" or server.gpus <= 2:
        return []
    link_gbytes = server.gpu.nvlink_bps / 8e9 / (server.gpus - 1)
    return [
        f"cluster {cluster}: a link of {link_gbytes:g} GB/s joins each pair of GPUs in {server.name}; the figures let "
        f"any pair have the rate of all {server.gpus - 1}: right where all {server.gpus} exchange alike, too fast for "
        f"fewer"
    ]
