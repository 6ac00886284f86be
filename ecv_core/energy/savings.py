"""What folds cost and what stopping saves: of a run, fold by fold, of the next, over a year."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

from ecv_core.records.errors import InputError
from ecv_core.records.run import FoldResult, RunRecord, one_source
from ecv_core.records.spec import RunSpec

MARGIN = 0.15
"""A fold that never ran is taken to cost from so much less than the lowest of those that ran to so
much more than the highest. In the recorded runs, stopped after 3 to 9 of 10 folds, the other folds
together cost something in this range in 96 % (`python -m benchmarks.energy`)."""
_ONE_FOLD = (0.5, 1.35)
"""The same, as factors, where one fold alone has run; all recorded runs are in this range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyFacts:
    """What a run used and what stopping saved, in joules and grams CO2e."""

    joules: float
    """Of all folds that ran."""
    joules_range: tuple[float, float]
    """As of `Energy.range`: both are `joules` where a counter was read, or somebody told them."""
    above_idle: bool
    """Whether the least of it is what the folds added to the idle machine, which was measured."""
    grams_co2e: float
    saved_joules: float | None
    """Against all k folds: what the folds after the stop cost, or would have cost: see
    `later_mean`. None while there is no stop."""
    saved_range: tuple[float, float] | None
    """From the least to the most that this may be: of an estimate, and of folds that never ran."""
    forecast: bool
    """Whether some of what is saved is not known, because the folds never ran."""
    saved_percent: float | None
    processor_seconds: float | None
    """Of all cores and all folds that ran, see `processor_costs`; None where no fold says."""
    processor_assumed: int
    """Folds that do not say it, and are taken to cost as those that do."""
    saved_processor_percent: float | None
    """As `saved_percent`; None too where no fold says."""
    gpu_seconds: float | None
    """As `Energy.gpu_seconds`, of all folds that ran; None where some fold does not say."""
    source: str
    """'none' if any fold was not metered, 'mixed' if they are known in several ways."""


def later_mean(costs: Sequence[float]) -> float:
    """What one more fold costs: the mean without the first fold, which also pays for start-up.

    Args: costs: of the folds that ran, in their order; at least one, which then stands alone.
    """
    return fmean(costs[1:] or costs)


def later_range(costs: Sequence[float]) -> tuple[float, float]:
    """From the least to the most that one more fold may be taken to cost on average.

    Args: as for `later_mean`.
    """
    if len(costs) == 1:
        return costs[0] * _ONE_FOLD[0], costs[0] * _ONE_FOLD[1]
    return min(costs[1:]) * (1 - MARGIN), max(costs[1:]) * (1 + MARGIN)


def energy_of(run: RunRecord) -> EnergyFacts:
    """Energy that a run used, and what its stop saved."""
    return energy_facts(run.folds, run.k, run.stopped_at)


def energy_facts(folds: Sequence[FoldResult], k: int, stopped_at: int | None) -> EnergyFacts:
    """Energy used and saved, had these folds been stopped there; of a run see `energy_of`.

    Args:
        folds: those that ran, in their order, also those that ran to check the stop.
        k: folds of the whole cross-validation.
        stopped_at: folds used; None while there is no stop.
    """
    joules = [fold.energy.joules for fold in folds]
    processor = processor_costs(folds)
    gpu = [one.energy.gpu_seconds for one in folds if one.energy.gpu_seconds is not None]
    lows, highs = ([fold.energy.range[end] for fold in folds] for end in (0, 1))
    saved, _, percent = _saved(joules, k, stopped_at)
    _, least, _ = _saved(lows, k, stopped_at)
    _, most, _ = _saved(highs, k, stopped_at)
    _, _, processor_percent = _saved(processor, k, stopped_at)
    sources = {fold.energy.source for fold in folds}
    return EnergyFacts(
        joules=sum(joules),
        joules_range=(sum(lows), sum(highs)),
        above_idle=all(fold.energy.idle_joules is not None for fold in folds),
        grams_co2e=sum(fold.energy.grams_co2e for fold in folds),
        saved_joules=saved,
        saved_range=(least[0], most[1]) if least and most else None,
        forecast=stopped_at is not None and k > max(len(folds), stopped_at),
        saved_percent=percent,
        processor_seconds=sum(processor) if processor else None,
        processor_assumed=sum(fold.processor_seconds is None for fold in folds),
        saved_processor_percent=processor_percent,
        gpu_seconds=sum(gpu) if len(gpu) == len(folds) > 0 else None,
        source=one_source(sources),
    )


def processor_costs(folds: Sequence[FoldResult]) -> list[float]:
    """Processor seconds of each fold; of one that does not say, the mean of those that do.

    Folds of a run cost alike, so one on an idle machine tells of all, as of the recorded runs.
    Empty where none says.
    """
    known = [fold.processor_seconds for fold in folds if fold.processor_seconds is not None]
    if not known:
        return []
    usual = fmean(known)
    told = (fold.processor_seconds for fold in folds)
    return [usual if seconds is None else seconds for seconds in told]


def _saved(
    costs: Sequence[float], k: int, stopped_at: int | None
) -> tuple[float | None, tuple[float, float] | None, float | None]:
    """What a stop saved of these costs of folds, its range, and in percent of all k folds."""
    if not costs or stopped_at is None:
        return None, None, None
    checked = sum(costs[stopped_at:])
    missing = k - max(len(costs), stopped_at)
    never_ran = missing * later_mean(costs)
    low, high = later_range(costs)
    saved = checked + never_ran
    whole = sum(costs) + never_ran
    ends = (checked + missing * low, checked + missing * high)
    return saved, ends, 100 * saved / whole if whole else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Where k-fold cross-validation stands after n folds."""

    n: int
    """Folds so far, 0 .. k."""
    seconds: float = 0.0
    processor_seconds: float = 0.0
    """0 throughout where no fold says; see `processor_costs`."""
    joules: float = 0.0
    grams_co2e: float = 0.0
    ran: bool = True
    """False where the n-th fold never ran: it is counted at the mean of those that did, without
    the first: see `later_mean`."""


def tallies(folds: Sequence[FoldResult], k: int) -> list[Tally]:
    """The race between stopping and going on, over the same folds.

    Args:
        folds: those that ran, in their order.
        k: folds of the whole cross-validation.
    Returns: k + 1 tallies, from n = 0; only the first where no fold has run.
    """
    columns = (
        [fold.total_seconds for fold in folds],
        processor_costs(folds) or [0.0] * len(folds),
        [fold.energy.joules for fold in folds],
        [fold.energy.grams_co2e for fold in folds],
    )
    if not folds:
        return [Tally(n=0)]
    sums = [accumulate([0.0, *one] + [later_mean(one)] * (k - len(one))) for one in columns]
    return [
        Tally(
            n=n,
            seconds=seconds,
            processor_seconds=processor,
            joules=joules,
            grams_co2e=grams,
            ran=n <= len(folds),
        )
        for n, (seconds, processor, joules, grams) in enumerate(zip(*sums, strict=True))
    ]


# Before a run: what it may be expected to take, by runs of its dataset and algorithm.


Range = tuple[float, float]
"""The least and the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCosts:
    """What the folds of a run cost."""

    spec: RunSpec
    seconds: tuple[float, ...]
    """Of each fold that ran, in the order in which they ran."""
    joules: tuple[float, ...]
    """Likewise; 0 where there was no meter."""

    @classmethod
    def of(cls, run: RunRecord) -> KnownCosts:
        """Those of a run."""
        return cls(
            spec=run.spec,
            seconds=tuple(fold.seconds_alone for fold in run.folds),
            joules=tuple(fold.joules_alone for fold in run.folds),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a run may be expected to take."""

    folds: tuple[int, int]
    """From the first at which its rule can stop to the last."""
    seconds: Range
    joules: Range | None
    """None where no run that is known was metered."""
    runs: int
    """How many runs say so."""
    same_parameters: bool
    """Whether they had the same parameters of the model."""


def expected(spec: RunSpec, known: Iterable[KnownCosts], folds: tuple[int, int]) -> Expected | None:
    """What a run takes, by runs of its dataset and algorithm; with its parameters if there are any.

    Args:
        known: of any runs; those of others are passed over.
        folds: the fewest and the most that it may need, see `stopping.folds_planned`.
    Returns: from the fewest folds at the lowest cost of one to the most at the highest, see
        `savings.later_range`; None where nothing is known.
    """
    alike = [
        one
        for one in known
        if (one.spec.dataset, one.spec.algorithm) == (spec.dataset, spec.algorithm) and one.seconds
    ]
    same = [one for one in alike if one.spec.params == spec.params]
    told = same or alike
    if not told:
        return None
    metered = [one.joules for one in told if all(one.joules)]
    return Expected(
        folds=folds,
        seconds=_times(folds, [one.seconds for one in told]),
        joules=_times(folds, metered) if metered else None,
        runs=len(told),
        same_parameters=bool(same),
    )


def together(parts: Sequence[Expected]) -> Expected:
    """Several runs, one after the other; at least one."""
    metered = [one.joules for one in parts if one.joules is not None]
    return Expected(
        folds=(sum(one.folds[0] for one in parts), sum(one.folds[1] for one in parts)),
        seconds=_sum([one.seconds for one in parts]),
        joules=_sum(metered) if len(metered) == len(parts) else None,
        runs=sum(one.runs for one in parts),
        same_parameters=all(one.same_parameters for one in parts),
    )


def _times(folds: tuple[int, int], costs: Sequence[Sequence[float]]) -> Range:
    ranges = [later_range(one) for one in costs]
    return folds[0] * min(low for low, _ in ranges), folds[1] * max(high for _, high in ranges)


def _sum(ranges: Sequence[Range]) -> Range:
    return sum(low for low, _ in ranges), sum(high for _, high in ranges)


# After it: one saving, many times a year.


WEEKS_PER_YEAR = 52
JOULES_PER_KWH = 3.6e6
PAPER_KG: Range = (2909.0, 3297.0)
"""kg CO2e of the experiments of one paper with deep learning, measured at a plug: Wegmeth, Vente,
Said and Beel (2025), and the same authors before (2024)."""
PAPER_SOURCES = (
    ("Wegmeth et al. 2025", "https://arxiv.org/abs/2509.13001"),
    ("Vente et al. 2024", "https://arxiv.org/abs/2408.08203"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AtScale:
    """How much is evaluated, and what one fold takes."""

    runs_per_week: float
    k: int
    """Folds of a whole cross-validation."""
    folds_used: float
    """Folds used on average where the rule may stop; from 1 to k."""
    joules_per_fold: Range
    seconds_per_fold: float
    """Of processors where that is known, else of the clock; likewise the hours of a year."""
    grams_per_kwh: float
    """Carbon intensity of the electricity, grams CO2e per kWh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yearly:
    """What so many folds come to in a year of 52 weeks."""

    folds: float
    kwh: Range
    kg_co2e: Range
    hours: float


def at_scale(work: AtScale, folds_per_run: float) -> Yearly:
    """What a year of runs with so many folds each takes.

    Args:
        work: the workload; see `AtScale`.
        folds_per_run: `work.k` gives all of k-fold cross-validation, `work.folds_used` what e-fold
            takes, and `work.k - work.folds_used` what it saves.
    Raises: InputError for a number that cannot be.
    """
    low, high = work.joules_per_fold
    for name, value in (
        ("runs per week", work.runs_per_week),
        ("energy per fold", low),
        ("energy per fold", high),
        ("time per fold", work.seconds_per_fold),
        ("carbon intensity", work.grams_per_kwh),
    ):
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"the {name} must be zero or more, but is {value:g}")
    if not 1 <= work.folds_used <= work.k:
        raise InputError(
            f"the folds used must be from 1 to k = {work.k}, but are {work.folds_used:g}"
        )
    folds = work.runs_per_week * WEEKS_PER_YEAR * folds_per_run
    kwh = (folds * low / JOULES_PER_KWH, folds * high / JOULES_PER_KWH)
    kg_per_kwh = work.grams_per_kwh / 1000
    return Yearly(
        folds=folds,
        kwh=kwh,
        kg_co2e=(kwh[0] * kg_per_kwh, kwh[1] * kg_per_kwh),
        hours=folds * work.seconds_per_fold / 3600,
    )
