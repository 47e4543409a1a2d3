"""The profiles of one job: which rank each is of, the step that all of them show, and that step for as many ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from eastwest.errors import InputError
from eastwest.units import format_time
from eastwest.workload.formats.asked import Asked, Imported
from eastwest.workload.formats.kineto.read import Profile, read_profile
from eastwest.workload.trace import RankTrace, TraceSource, joined, replicated, spread


def read_profiles(asked: Asked) -> Imported:
    """The step of one rank's profile, which then stands for all, or of those of all ranks.

    Raises:
        InputError: a profile cannot be used, or they do not fit together; says what to do.
    """
    first = read_profile(asked.paths[0], asked.step)
    as_of = asked.paths[0] if asked.step is None else None
    others = [read_profile(path, first.step, as_of) for path in asked.paths[1:]]
    profiles = sorted([first, *others], key=lambda each: each.rank)
    world = max(each.world for each in profiles)
    _check(profiles, world)
    ranks = asked.ranks or world
    sources: list[TraceSource] = [_source(each.trace) for each in profiles]
    facts = list(_facts(first))
    if len(profiles) < ranks:
        facts.append(f"the profile of {len(profiles)} of {world} ranks stands for {ranks}")
    if len(profiles) == 1:
        found = spread(sources[0], world, ranks)
    else:
        found = joined(sources if len(profiles) == ranks else replicated(sources, world, ranks))
    if found.uneven:
        facts.append(f"{found.uneven} all-to-alls are uneven: each rank sends what it has, in equal parts to all")
    if found.is_buffered:
        facts.append("sends are taken to end at once, as into a buffer: else ranks would wait for each other for ever")
    return Imported("PyTorch profile", found.step, tuple(facts), found.unused)


def _source(trace: RankTrace) -> TraceSource:
    return lambda: trace


def _check(profiles: Sequence[Profile], world: int) -> None:
    """Refuses profiles of the same rank, and of some ranks but neither one nor all."""
    ranks = [each.rank for each in profiles]
    for before, after in pairwise(profiles):
        if before.rank == after.rank:
            raise InputError(f"{after.trace.file}: {before.trace.file} is of rank {after.rank} too")
    if len(ranks) > 1 and ranks != list(range(world)):
        shown = ", ".join(map(str, ranks[:6]))
        raise InputError(
            f"{profiles[0].trace.file}: these are profiles of ranks {shown} of {world}: give one, which then stands "
            "for all, or those of all"
        )


def _facts(profile: Profile) -> Iterator[str]:
    step = "the profile" if profile.step is None else f"step {profile.step}"
    times = (profile.step_s, profile.busy_s, profile.exposed_s, profile.host_s, profile.idle_s, profile.talking_s)
    total, busy, exposed, host, idle, talking = map(format_time, times)
    yield (
        f"{step} of rank {profile.rank} took {total}: {busy} of compute, {exposed} of waiting for communication, "
        f"{host} of waiting for the host and {idle} of waiting for what the profile does not tell; both stay as "
        "they were"
    )
    yield f"its collectives ran for {talking}, hidden or not, and waiting for each other included"
    yield from profile.told
