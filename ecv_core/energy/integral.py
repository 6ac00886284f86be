"""Samples of a meter -> joules of a fold, with what the time without a sample may have taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ecv_core.records.arrays import Floats

MISSED = 1.5
"""Times the rate: where two samples are further apart, one between them is missing."""


@dataclass(frozen=True)
class Sample:
    """What a meter said, and when."""

    at: float
    """Seconds of `time.perf_counter`, like the ends of the fold: the middle of the request."""
    value: float
    unit: str
    """'W', the power now, or of what is counted so far: 'J', energy, 's', time of GPUs."""


@dataclass(frozen=True, kw_only=True)
class Integral:
    """The energy of a span of time."""

    joules: float
    low: float
    """Had the gaps taken the least power that was seen; `high` the most."""
    high: float
    gap_seconds: float


@dataclass(frozen=True, kw_only=True)
class _Power:
    """The power in each stretch of time: before the first sample, between samples, after the last.

    Arrays have shape (samples + 1,).
    """

    watts: Floats
    """The mean power in each."""
    gaps: Floats
    """Seconds of each of which no sample tells."""
    least_watts: float
    """The least power that was seen; `most_watts` the most."""
    most_watts: float
    counter_step: float = 0.0
    """Joules that are not known at either end, of a counter that moves in steps."""


def integral(
    samples: Sequence[Sample], begin: float, end: float, sampling_seconds: float
) -> Integral:
    """The energy from begin to end, by the trapezoid rule, or by the differences of a counter.

    A gap is time in which samples of a power are missing, or a counter began anew. Its energy is
    estimated, by the power before and after the gap, or by the mean power of the counter. With the
    least and the most power seen in its place, the whole energy is `low` and `high`. For a counter
    that moves in steps, one step more or less is possible, too.

    Args:
        samples: In the order of their times, all of one unit; those outside of the span count too.
        begin: When the span begins, in seconds, on the clock of the samples.
        end: When it ends, likewise.
        sampling_seconds: Between two samples, as it was intended.

    Returns:
        No joules, and the whole span as a gap, where there is no sample, or a counter has not
        moved.
    """
    nothing_known = Integral(joules=0.0, low=0.0, high=0.0, gap_seconds=end - begin)
    if not samples:
        return nothing_known
    times = np.array([sample.at for sample in samples])
    values = np.array([sample.value for sample in samples])
    # The arrays below have an entry for each stretch of time: up to the first sample, from each
    # sample to the next one, and from the last one on.
    begins = np.concatenate([[begin], times])
    ends = np.concatenate([times, [end]])
    seconds = ends - begins
    power: _Power | None
    if samples[0].unit == "W":
        power = _power_of_watts(values, seconds, sampling_seconds)
    else:
        power = _power_of_counter(values, seconds, sampling_seconds)
    if power is None:
        return nothing_known
    # Only the part of each stretch counts that lies between begin and end.
    seconds_inside = np.maximum(np.minimum(ends, end) - np.maximum(begins, begin), 0.0)
    # A stretch of 4 s with a gap of 2 s, of which only 1 s is inside, has a gap of 0.5 s inside. A
    # stretch outside has none: 1 takes the place of its length, so that nothing is divided by 0.
    lengths = np.where(seconds_inside > 0, seconds, 1.0)
    missing_seconds = power.gaps * seconds_inside / lengths
    return _energy_of_power(power, seconds_inside, missing_seconds)


def _energy_of_power(power: _Power, seconds_inside: Floats, missing_seconds: Floats) -> Integral:
    """The energy of the stretches' parts inside a span, with its bounds.

    Args:
        power: The power in each stretch.
        seconds_inside: How much of each stretch is inside the span; shape (samples + 1,).
        missing_seconds: Seconds of that part of which no sample tells; shape (samples + 1,).
    """
    joules = float(seconds_inside @ power.watts)
    # In the gaps the power may have been the least that was seen, or the most.
    sampled_joules = float((seconds_inside - missing_seconds) @ power.watts)
    gap_seconds = float(missing_seconds.sum())
    low = sampled_joules + gap_seconds * power.least_watts - power.counter_step
    high = sampled_joules + gap_seconds * power.most_watts + power.counter_step
    return Integral(
        joules=joules,
        low=min(max(low, 0.0), joules),
        high=max(high, joules),
        gap_seconds=gap_seconds,
    )


def _power_of_watts(watts: Floats, seconds: Floats, sampling_seconds: float) -> _Power:
    """By the trapezoid rule between samples; before the first and after the last, what these say.

    Args:
        watts: The watts that the samples say; shape (samples,).
        seconds: The length of each stretch; shape (samples + 1,).
        sampling_seconds: Between two samples, as it was intended.
    """
    watts_between = (watts[:-1] + watts[1:]) / 2
    return _Power(
        watts=np.concatenate([watts[:1], watts_between, watts[-1:]]),
        gaps=_missing_seconds(seconds, sampling_seconds),
        least_watts=float(watts.min()),
        most_watts=float(watts.max()),
    )


def _power_of_counter(counts: Floats, seconds: Floats, sampling_seconds: float) -> _Power | None:
    """By samples of a counter: its differences, and their mean where it tells nothing.

    Args:
        counts: The counts that the samples say, in joules so far; shape (samples,).
        seconds: The length of each stretch; shape (samples + 1,).
        sampling_seconds: Between two samples, as it was intended.

    Returns:
        None where the counter has not moved.
    """
    rises = np.diff(counts)
    # All stretches but the one before the first sample and the one after the last.
    seconds_between = seconds[1:-1]
    # A counter that falls has begun at 0 again, and tells nothing of the time between.
    has_begun_anew = rises < 0
    # Two samples at one time have nothing between them.
    is_counted = ~has_begun_anew & (seconds_between > 0)
    counted_joules = rises[is_counted]
    counted_seconds = seconds_between[is_counted]
    if not counted_joules.any():
        return None
    counted_watts = counted_joules / counted_seconds
    watts = np.full(len(seconds), counted_joules.sum() / counted_seconds.sum())
    watts[1:-1][is_counted] = counted_watts
    gaps = _missing_seconds(seconds, sampling_seconds)
    gaps[1:-1] = np.where(has_begun_anew, seconds_between, 0.0)
    # A counter that stands still between two samples moves in steps, the largest of which may be
    # missing before the first sample, or may have been used before the fold began.
    counter_step = 0.0
    if (counted_joules == 0).any():
        counter_step = float(counted_joules.max())
    return _Power(
        watts=watts,
        gaps=gaps,
        least_watts=float(counted_watts.min()),
        most_watts=float(counted_watts.max()),
        counter_step=counter_step,
    )


def _missing_seconds(seconds: Floats, sampling_seconds: float) -> Floats:
    """Of the time between two samples: each stands for its turn."""
    is_sample_missing = seconds > MISSED * sampling_seconds
    return np.where(is_sample_missing, seconds - sampling_seconds, 0.0)
