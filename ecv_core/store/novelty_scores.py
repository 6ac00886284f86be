"""What the two novelty metrics of a user nearly are, given the hits: only the rest is written.

EPC is the gain of the hits times the mean share of the users who do not have them; EFD the same
gain times the mean bits that choosing them tells, close to those of the mean share. What is
written is how many float32 numbers lie between a score and this guess. Guesses are made of sums,
products and quotients alone, which every machine rounds alike, and must never change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ecv_core.store.hit_patterns import Bits, Floats, gains

_RAREST, _MOST = 2.0**-24, 1e30
"""A share below the one is told from none by no float32; no novelty is above the other."""
Constants = tuple[float, float]
"""The share of the users who do not have an item, and the bits of an item that everybody has."""


def places_of(metrics: Sequence[str], n: int) -> list[int]:
    """Where EPC and EFD at n are in UserScores.metrics; nowhere if one of them is missing."""
    named = (f"epc@{n}", f"efd@{n}")
    return [metrics.index(one) for one in named] if {*named} <= {*metrics} else []


def constants_of(hits: Bits, n: int, epc: Bits, efd: Bits) -> Constants:
    """Those that suit these users; any finite numbers would do, others only take more room.

    Args:
        hits: of each user, as `hit_patterns.patterns_of` has them; shape (users,).
        n: length of the list.
        epc, efd: bits of the float32 scores, shape (users,).
    """
    gain, some = gains(hits, n), hits > 0
    share, bits = np.zeros(len(hits)), np.zeros(len(hits))
    with np.errstate(all="ignore"):
        np.divide(_floats(epc), gain, out=share, where=some)
        np.divide(_floats(efd), gain, out=bits, where=some)
        bits += _log2(_shares(1 - share))
    single = some & (hits & (hits - 1) == 0)  # one hit: exact but for rounding
    return _middle(share[some]), _middle(bits[single if single.any() else some])


def rest_of(hits: Bits, n: int, epc: Bits, efd: Bits, constants: Constants) -> tuple[Bits, Bits]:
    """What the guesses leave of the scores; shape (users,) each. Arguments as above."""
    gain = gains(hits, n)
    first, second = _guessed_epc(gain, constants), _guessed_efd(gain, epc, constants)
    return _folded(epc - first), _folded(efd - second)


def scores_of(
    hits: Bits, n: int, epc_rest: Bits, efd_rest: Bits, constants: Constants
) -> tuple[Bits, Bits]:
    """The bits of EPC and EFD that `rest_of` had."""
    gain = gains(hits, n)
    epc = _unfolded(epc_rest) + _guessed_epc(gain, constants)
    return epc, _unfolded(efd_rest) + _guessed_efd(gain, epc, constants)


def _guessed_epc(gain: Floats, constants: Constants) -> Bits:
    return _bits(gain * constants[0])


def _guessed_efd(gain: Floats, epc: Bits, constants: Constants) -> Bits:
    with np.errstate(all="ignore"):
        share = _floats(epc) / np.where(gain > 0, gain, 1.0)
        seen = 1 - share
    return _bits(gain * (constants[1] - _log2(_shares(seen))))


def _shares(values: Floats) -> Floats:
    """Whatever they are, as shares that have a logarithm."""
    return np.minimum(np.where(values > _RAREST, values, _RAREST), 1.0)


def _log2(values: Floats) -> Floats:
    """For numbers above 0; to about 1e-9, by arithmetic that is the same on every machine."""
    part, power = np.frexp(values)  # in [0.5, 1)
    ratio = (part - 0.75) / (part + 0.75)  # in [-0.2, 0.143)
    square = ratio * ratio
    total = np.zeros_like(ratio)
    for odd in range(13, 0, -2):
        total = total * square + 1 / odd
    return power + _LOG2_OF_THREE_QUARTERS + ratio * total * _TWO_BY_LN2


_LOG2_OF_THREE_QUARTERS = -0.4150374992788438
_TWO_BY_LN2 = 2.8853900817779268


def _bits(values: Floats) -> Bits:
    possible = (values > 0) & (values < _MOST)  # no NaN either
    return np.where(possible, values, 0.0).astype("<f4").view("<u4")


def _floats(bits: Bits) -> Floats:
    return np.ascontiguousarray(bits).view("<f4").astype(np.float64)


def _folded(steps: Bits) -> Bits:
    """Steps up and down as small numbers: 0, -1, 1, -2 ... become 0, 1, 2, 3 ..."""
    one, last = np.uint32(1), np.uint32(31)
    return (steps << one) ^ -(steps >> last)


def _unfolded(numbers: Bits) -> Bits:
    one = np.uint32(1)
    return (numbers >> one) ^ -(numbers & one)


def _middle(values: Floats) -> float:
    """The median as a float32, 0 where there is none; JSON gives it back to the last bit."""
    finite = values[np.isfinite(values)]
    with np.errstate(all="ignore"):
        middle = float(np.float32(np.median(finite))) if len(finite) else 0.0
    return middle if math.isfinite(middle) else 0.0
