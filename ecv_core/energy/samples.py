"""Samples of a meter -> joules of a fold, with what the time without a sample may have taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

MISSED = 1.5
"""Times the rate: where two samples are further apart, one between them is missing."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a meter said, and when."""

    at: float
    """Seconds of `time.perf_counter`, like the ends of the fold: the middle of the request."""
    value: float
    unit: str
    """'W', the power now, or 'J', the energy counted so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Integral:
    """The energy of a span of time."""

    joules: float
    low: float
    """Had the gaps taken the least power that was seen; `high` the most."""
    high: float
    gap_seconds: float


@dataclass(frozen=True, slots=True)
class _Piece:
    begin: float
    end: float
    watts: float
    """On average."""
    gap: float
    """Seconds of it."""


def integral(samples: Sequence[Sample], begin: float, end: float, every: float) -> Integral | None:
    """The energy from begin to end, by the trapezoid rule, or by the differences of a counter.

    A gap is time in which samples of a power are missing, or a counter began anew. It takes what
    lies between its neighbours, or the mean power of the counter; its bounds are the least and the
    most power seen.

    Args:
        samples: in the order of their times, all of one unit; those outside of the span count too.
        begin, end: of the span, in seconds, on the clock of the samples.
        every: seconds between two samples, as it was intended.
    Returns: None where the samples do not tell: there is none, or a counter has not moved.
    """
    if not samples:
        return None
    first, last = samples[0], samples[-1]
    step = 0.0
    if first.unit == "J":
        pieces, step = _differences(samples)
        seen = [one.watts for one in pieces if not one.gap]
        if not any(seen):
            return None
        known = [(one.watts, one.end - one.begin) for one in pieces if not one.gap]
        mean = sum(watts * long for watts, long in known) / sum(long for _, long in known)
        pieces = [replace(one, watts=mean) if one.gap else one for one in pieces]
        outside = mean, mean
    else:
        pieces = [
            _Piece(one.at, two.at, (one.value + two.value) / 2, _missing(two.at - one.at, every))
            for one, two in pairwise(samples)
        ]
        seen = [one.value for one in samples]
        outside = first.value, last.value
    for start, stop, watts in ((begin, first.at, outside[0]), (last.at, end, outside[1])):
        pieces.append(_Piece(start, stop, watts, _missing(stop - start, every)))
    joules = low = high = gap = 0.0
    for one in pieces:
        if (inside := min(one.end, end) - max(one.begin, begin)) <= 0:
            continue
        missing = one.gap * inside / (one.end - one.begin)
        joules += inside * one.watts
        low += (inside - missing) * one.watts + missing * min(seen)
        high += (inside - missing) * one.watts + missing * max(seen)
        gap += missing
    low, high = max(low - step, 0.0), high + step
    return Integral(joules=joules, low=min(low, joules), high=max(high, joules), gap_seconds=gap)


def _missing(seconds: float, every: float) -> float:
    """Of the time between two samples: each stands for its turn."""
    return seconds - every if seconds > MISSED * every else 0.0


def _differences(samples: Sequence[Sample]) -> tuple[list[_Piece], float]:
    """The pieces, and how much a counter that moves in steps leaves unknown at its ends."""
    pairs = [(one, two) for one, two in pairwise(samples) if two.at > one.at]
    steps = [two.value - one.value for one, two in pairs]
    pieces = [
        _Piece(one.at, two.at, step / (two.at - one.at), two.at - one.at if step < 0 else 0.0)
        for (one, two), step in zip(pairs, steps, strict=True)
    ]
    return pieces, max(steps) if 0.0 in steps else 0.0
