"""The hash with which switches choose among equal links, as `crates/engine/src/routing` describes it, on numpy arrays.

Words are 64-bit and wrap around. Of one run's `seed`: every switch hashes with a seed of its own, made from its number
among the switches; every queue pair has a UDP source port, made from the GPUs that it joins and its channel.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Words = NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15
UDP, ROCE_PORT, SOURCE_PORT_MIN = 17, 4791, 0xC000


def words(values: ArrayLike) -> Words:
    return np.atleast_1d(np.asarray(values, dtype=np.uint64))  # arrays wrap silently, scalars warn


def mix(state: ArrayLike) -> Words:
    """SplitMix64's output for a state (Steele, Lea, Flood, OOPSLA 2014)."""
    z = words(state) + words(GOLDEN)
    z = (z ^ (z >> words(30))) * words(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> words(27))) * words(0x94D049BB133111EB)
    return z ^ (z >> words(31))


def pair(high: ArrayLike, low: ArrayLike) -> Words:
    """Two 32-bit numbers as one word."""
    return words(high) << words(32) | words(low)


def switch_seeds(seed: int, switches: int) -> Words:
    return mix(mix(seed) ^ np.arange(switches, dtype=np.uint64))


def flows(
    seed: int, gpus: tuple[ArrayLike, ArrayLike], addresses: tuple[ArrayLike, ArrayLike], channel: ArrayLike, qp: int
) -> Words:
    """The 5-tuple of one queue pair of each connection, folded into a word; sender first in `gpus` and `addresses`."""
    connection = mix(pair(*gpus)) ^ words(channel)
    port = words(SOURCE_PORT_MIN) | mix(mix(mix(~mix(seed)) ^ connection) + words(qp)) >> words(50)
    return mix(pair(*addresses)) ^ (port << words(24) | words(ROCE_PORT << 8 | UDP))


def choose(flow: ArrayLike, switch_seed: ArrayLike, width: ArrayLike) -> NDArray[np.int64]:
    """Which of `width` links the switch gives to a flow: floor(hash x width / 2^64), in halves of 32 bits."""
    hashed, width, half = mix(words(flow) ^ words(switch_seed)), words(width), words(32)
    low = (hashed & words(0xFFFFFFFF)) * width >> half
    return ((hashed >> half) * width + low >> half).astype(np.int64)
