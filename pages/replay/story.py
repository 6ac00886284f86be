"""A run -> what the two lanes of the race show and say after each fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10
from typing import Any

from ecv_core.energy.savings import Tally, tallies
from ecv_core.figures.words import ESTIMATED_DIGITS, half_named
from ecv_core.records.run import Moment, Run, RunState
from ecv_core.stopping import difference_percent
from pages.shared.widgets.words import duration, metric_label


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Everything that the race of one run shows."""

    run: Run
    moments: Sequence[Moment]
    tallies: Sequence[Tally]
    """From before the first fold to the k-th, those that never ran at the mean of those that did;
    only the first while no fold is finished."""
    stopped_at: int | None
    k: int

    @property
    def metered(self) -> bool:
        """Whether the energy of every fold is known."""
        return bool(self.run.folds) and all(f.energy.source != "none" for f in self.run.folds)

    @property
    def complete(self) -> bool:
        """Whether all k folds ran, so that the k-fold mean is known."""
        return self.run.complete

    @property
    def difference(self) -> float | None:
        """The paper's d between the mean at the stop and that of all folds; None if unknown."""
        at, whole = self.run.at_stop, self.run.k_fold_mean
        return difference_percent(at.mean, whole) if at and whole is not None else None


def story_of(run: Run, moments: Sequence[Moment]) -> Story:
    """The race of a run, finished or going on."""
    return Story(
        run=run,
        moments=moments,
        tallies=tallies(run.folds, run.k, run.stopped_at),
        stopped_at=run.stopped_at,
        k=run.k,
    )


def race_data(story: Story, slider: str) -> dict[str, Any]:
    """What lanes.js draws."""
    told = _padded(story.tallies, story.k)
    steps = range(story.k + 1)
    seconds = [after.seconds - before.seconds for before, after in pairwise(told)]
    return {
        "slider": slider,
        "seconds": seconds,
        "total": max(told[-1].seconds, 1e-9),
        "titles": [
            f"fold {n}: {duration(each)}" + ("" if told[n].ran else ", estimated: it never ran")
            for n, each in enumerate(seconds, start=1)
        ],
        "ran": [tally.ran for tally in told[1:]],
        "lanes": [
            {
                "name": "e-fold",
                "end": story.stopped_at,
                "says": [_e_fold_says(story, told, n) for n in steps],
            },
            {
                "name": f"{story.k}-fold",
                "end": story.k if len(story.run.folds) or not story.run.state.active else None,
                "says": [_k_fold_says(story, told, n) for n in steps],
            },
        ],
        "counters": _counters(story, told),
        "verdicts": [verdict(story, n) for n in steps],
    }


def verdict(story: Story, n: int) -> str:
    """The sentence below the lanes after n folds of the k-fold lane."""
    stop, k = story.stopped_at, story.k
    if n == 0 and story.run.state is RunState.QUEUED:
        return "On the starting line: the run is queued."
    if n == 0:
        return "Both run the same folds; only one of them may stop."
    if stop is None or n < stop:
        return "Neck and neck: both have the same folds so far, and the same score."
    if stop == k:
        return f"The rule never said stop early: e-fold used all {k} folds and saved nothing."
    at = story.moments[stop - 1].mean
    if n < k:
        return f"e-fold is done with {at:.4f}; what {k}-fold still spends is saved."
    if story.difference is None:
        return (
            f"The {k}-fold mean is not known: folds {len(story.run.folds) + 1} to {k} never ran. "
            "Their time and energy are estimated at the mean of those that did."
        )
    share = 100 * story.tallies[stop].seconds / max(story.tallies[-1].seconds, 1e-9)
    return (
        f"The score of {stop} folds differs by {story.difference:.2f} % from that of all {k}, "
        f"for {share:.0f} % of the time."
    )


def _padded(told: Sequence[Tally], k: int) -> list[Tally]:
    """Lanes of equal folds while nothing is known of any."""
    if len(told) == k + 1:
        return list(told)
    zero = told[0]
    return [
        Tally(
            n=n,
            seconds=float(n),
            joules=0.0,
            grams_co2e=0.0,
            saved_seconds=0.0,
            saved_joules=0.0,
            saved_grams=0.0,
            ran=False,
        )
        if n
        else zero
        for n in range(k + 1)
    ]


def _e_fold_says(story: Story, told: Sequence[Tally], n: int) -> str:
    stop = story.stopped_at
    if stop is not None and n >= stop:
        moment = story.moments[stop - 1]
        half = half_named(moment.interval, story.k)
        label = metric_label(story.run.spec)
        how = "stopped" if stop < story.k else "never stopped early, done"
        after = f"{how} after {stop} folds, {duration(told[stop].seconds)}"
        return f"{after}: {label} {moment.mean:.4f}{f', {half}' if half else ''}"
    return _running(story, n)


def _k_fold_says(story: Story, told: Sequence[Tally], n: int) -> str:
    if n < story.k:
        return _running(story, n)
    if not story.complete:
        return f"would be done after about {duration(told[-1].seconds)}: its mean is not known"
    label = metric_label(story.run.spec)
    return (
        f"done after all {story.k} folds, {duration(told[-1].seconds)}: "
        f"{label} {story.moments[-1].mean:.4f}"
    )


def _running(story: Story, n: int) -> str:
    if n >= len(story.moments) and story.run.state.active:
        return f"running fold {min(n + 1, story.k)} of {story.k}"
    mean = f", mean {story.moments[n - 1].mean:.4f}" if 0 < n <= len(story.moments) else ""
    return f"{n} of {story.k} folds{mean}"


def _counters(story: Story, told: Sequence[Tally]) -> list[dict[str, Any]]:
    found = []
    if story.metered:
        found.append(_counter("Energy saved", "Wh", [t.saved_joules / 3600 for t in told]))
        found.append(_counter("Emissions saved", "g", [t.saved_grams for t in told], " CO2e"))
    found.append(_time_counter([t.saved_seconds for t in told]))
    return found


def _counter(label: str, unit: str, values: list[float], of: str = "") -> dict[str, Any]:
    """One unit for the whole race, so that the number can run without jumping."""
    if 0 < values[-1] < 0.1:
        unit, values = f"m{unit}", [1000 * value for value in values]
    return {
        "label": label,
        "unit": unit + of,
        "values": values,
        "decimals": _decimals(values[-1], ESTIMATED_DIGITS),
    }


def _time_counter(values: list[float]) -> dict[str, Any]:
    unit, per = ("min", 60.0) if values[-1] >= 60 else ("s", 1.0)
    return _counter_of("Time saved", unit, [value / per for value in values])


def _counter_of(label: str, unit: str, values: list[float]) -> dict[str, Any]:
    return {"label": label, "unit": unit, "values": values, "decimals": _decimals(values[-1])}


def _decimals(most: float, significant: int = 3) -> int:
    """So many significant digits of the last value."""
    return min(max(significant - 1 - floor(log10(most)), 0), 6) if most > 0 else 1
