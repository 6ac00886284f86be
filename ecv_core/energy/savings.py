"""What folds cost and what stopping saves: of a run, fold by fold, of the next, over a year."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean
from typing import NamedTuple

from ecv_core.records.errors import InputError
from ecv_core.records.run import FoldResult, RunRecord, source_of_sum
from ecv_core.records.spec import RunSpec


@dataclass(frozen=True, kw_only=True)
class Margin:
    """How far from those that ran a fold that never ran may be taken to cost.

    It goes from so much below the lowest of the folds that ran to so much above the highest. It is
    wider the fewer folds have run, and at least 90 % of the recorded runs are within it, also where
    it is chosen without their dataset (docs/energy.md).
    """

    share: float
    """Of the cost of a fold."""
    held_percent: int
    """At least so many of the recorded runs, stopped there, were within it: in the joules and in
    the seconds of their other folds."""
    after: str
    """How many folds have run, in words."""


_MARGINS = {
    1: Margin(share=0.5, held_percent=91, after="1 fold"),
    2: Margin(share=0.5, held_percent=97, after="2 folds"),
    3: Margin(share=0.3, held_percent=95, after="3 folds"),
}
"""By the number of folds that ran."""
_USUAL_MARGIN = Margin(share=0.15, held_percent=95, after="4 or more folds")


def margin_after(folds: int) -> Margin:
    """How far off the costs of other folds may be, once so many have run.

    Args:
        folds: The folds that ran; at least one.
    """
    return _MARGINS.get(folds, _USUAL_MARGIN)


@dataclass(frozen=True, kw_only=True)
class EnergyFacts:
    """What a run used and what stopping saved, in joules and grams CO2e."""

    joules: float
    """Of all folds that ran."""
    joules_range: tuple[float, float]
    """As `Energy.joules_range`: both are `joules` where a counter was read, or somebody told
    them."""
    has_idle_joules: bool
    """Whether the least of it is what the folds added to the idle machine, which was measured."""
    grams_co2e: float
    saved_joules: float | None
    """Against all k folds: what the folds after the stop cost, or would have cost: see
    `cost_of_next_fold`. None while there is no stop."""
    saved_range: tuple[float, float] | None
    """From the least to the most that this may be: of an estimate, and of folds that never ran."""
    has_forecast: bool
    """Whether some of what is saved is not known, because the folds never ran."""
    folds_ran: int
    """How many folds a forecast is made from."""
    is_checked: bool
    """Whether folds after the stop have run, or are going to, to check it: what it saves is spent
    all the same."""
    saved_percent: float | None
    processor_seconds: float | None
    """Of all cores and all folds that ran, see `processor_costs`; None where no fold says."""
    folds_without_processor_time: int
    """Folds that do not say it, and are taken to cost as those that do."""
    saved_processor_percent: float | None
    """As `saved_percent`; None too where no fold says."""
    gpu_seconds: float | None
    """As `Energy.gpu_seconds`, of all folds that ran; None where some fold does not say."""
    source: str
    """'none' if any fold was not metered, 'mixed' if they are known in several ways."""


def distinct_folds(runs: Iterable[RunRecord]) -> list[FoldResult]:
    """The folds of several runs, each once: its energy was spent once.

    A run can have used the folds of another one again, and both may be among these.
    """
    folds = []
    keys_of_folds = set()
    reused_folds: dict[tuple[str, int, float], FoldResult] = {}
    for run in runs:
        for fold in run.folds:
            # A fold that is used again is stored with the joules of the original.
            key = (run.spec.score_key, fold.fold, fold.energy.joules)
            if fold.reused:
                reused_folds.setdefault(key, fold)
            else:
                keys_of_folds.add(key)
                folds.append(fold)
    for key, fold in reused_folds.items():
        if key not in keys_of_folds:
            folds.append(fold)
    return folds


def cost_of_next_fold(costs: Sequence[float]) -> float:
    """What one more fold costs: the mean without the first fold, which also pays for start-up.

    Args:
        costs: The costs of the folds that ran, in their order; at least one, which then stands
            alone.
    """
    return fmean(costs[1:] or costs)


def cost_range_of_next_fold(costs: Sequence[float]) -> tuple[float, float]:
    """From the least to the most that one more fold may be taken to cost on average.

    Args:
        costs: As for `cost_of_next_fold`.
    """
    later_costs = costs[1:] or costs
    share = margin_after(len(costs)).share
    return min(later_costs) * (1 - share), max(later_costs) * (1 + share)


def energy_of(run: RunRecord) -> EnergyFacts:
    """Energy that a run used, and what its stop saved."""
    return energy_facts(run.folds, run.k, run.stopped_at, is_checked=run.checked)


def metered_runs(runs: Iterable[RunRecord]) -> list[RunRecord]:
    """Those of which some energy is known: a fold has run, and was metered."""
    metered = []
    for run in runs:
        if run.folds and energy_of(run).source != "none":
            metered.append(run)
    return metered


def energy_facts(
    folds: Sequence[FoldResult], k: int, stopped_at: int | None, *, is_checked: bool = False
) -> EnergyFacts:
    """Energy used and saved, had these folds been stopped there; of a run see `energy_of`.

    Args:
        folds: Those that ran, in their order, also those that ran to check the stop.
        k: Folds of the whole cross-validation.
        stopped_at: Folds used; None while there is no stop.
        is_checked: Whether folds after the stop check it; else they were under way at the stop,
            and what they cost is not saved.
    """
    joules = []
    least_joules = []
    most_joules = []
    gpu_seconds = []
    grams = 0.0
    for fold in folds:
        low, high = fold.energy.joules_range
        joules.append(fold.energy.joules)
        least_joules.append(low)
        most_joules.append(high)
        gpu_seconds.append(fold.energy.gpu_seconds)
        grams += fold.energy.grams_co2e
    processor = processor_costs(folds)
    processor_seconds = None
    if processor:
        processor_seconds = sum(processor)
    # Folds may run after the stop, to check it; the others up to k never run, and are a forecast.
    some_never_ran = False
    folds_not_saved = stopped_at
    if stopped_at is not None:
        folds_begun = max(len(folds), stopped_at)
        some_never_ran = k > folds_begun
        if not is_checked:
            folds_not_saved = folds_begun
    saved = _saving(joules, least_joules, most_joules, k, folds_not_saved)
    # Processor time is counted and not estimated, so that its least and its most are the same.
    saved_processor = _saving(processor, processor, processor, k, folds_not_saved)
    return EnergyFacts(
        joules=sum(joules),
        joules_range=(sum(least_joules), sum(most_joules)),
        has_idle_joules=all(fold.energy.idle_joules is not None for fold in folds),
        grams_co2e=grams,
        saved_joules=saved.amount,
        saved_range=saved.range,
        has_forecast=some_never_ran,
        folds_ran=len(folds),
        is_checked=is_checked,
        saved_percent=saved.percent_of_k_folds,
        processor_seconds=processor_seconds,
        folds_without_processor_time=sum(fold.processor_seconds is None for fold in folds),
        saved_processor_percent=saved_processor.percent_of_k_folds,
        gpu_seconds=sum_if_each_has_it(gpu_seconds),
        source=source_of_sum({fold.energy.source for fold in folds}),
    )


def total_saved_range(facts: Iterable[EnergyFacts]) -> Range:
    """What the stops of several runs saved together, from the least to the most."""
    return sum_of_ranges(of_run.saved_range for of_run in facts if of_run.saved_range is not None)


def processor_costs(folds: Sequence[FoldResult]) -> list[float]:
    """Processor seconds of each fold; of one that does not say, the mean of those that do.

    Folds of a run cost alike, so one on an idle machine tells of all, as of the recorded runs.
    Empty where none says.
    """
    measured = [fold.processor_seconds for fold in folds if fold.processor_seconds is not None]
    if not measured:
        return []
    # Folds of a run cost alike, so that one without a measurement is taken to cost as the mean.
    mean_seconds = fmean(measured)
    costs = []
    for fold in folds:
        seconds = fold.processor_seconds
        if seconds is None:
            seconds = mean_seconds
        costs.append(seconds)
    return costs


def sum_if_each_has_it(amounts: Sequence[float | None]) -> float | None:
    """The sum of an amount of each fold; None where some fold has none, or there is no fold."""
    stated = [amount for amount in amounts if amount is not None]
    if not amounts or len(stated) < len(amounts):
        return None
    return sum(stated)


class _Saving(NamedTuple):
    """What a stop saved of some cost of folds; None for all where there is no stop, or no cost."""

    amount: float | None = None
    range: Range | None = None
    """What this may be: of costs that are not known exactly, and of folds that never ran."""
    percent_of_k_folds: float | None = None
    """None where all k folds cost nothing."""


def _saving(
    costs: Sequence[float],
    least_costs: Sequence[float],
    most_costs: Sequence[float],
    k: int,
    folds_not_saved: int | None,
) -> _Saving:
    """What a stop saved of the costs of folds.

    Args:
        costs: The costs of the folds that ran, in their order; empty where they are not known.
        least_costs: The least that each of these folds may have cost.
        most_costs: The most.
        k: Folds of the whole cross-validation.
        folds_not_saved: How many of the first folds count as used; None while there is no stop.
    """
    if not costs or folds_not_saved is None:
        return _Saving()
    # Saved are the folds that never ran, and those that ran after the stop only to check it. A fold
    # that was used did run, even if its costs are not there.
    folds_not_run = k - max(len(costs), folds_not_saved)
    cost_of_folds_not_run = folds_not_run * cost_of_next_fold(costs)
    amount = sum(costs[folds_not_saved:]) + cost_of_folds_not_run
    # The least that another fold may cost follows from the least costs of those that ran, and the
    # most from their most.
    least_of_next_fold, _ = cost_range_of_next_fold(least_costs)
    _, most_of_next_fold = cost_range_of_next_fold(most_costs)
    least = sum(least_costs[folds_not_saved:]) + folds_not_run * least_of_next_fold
    most = sum(most_costs[folds_not_saved:]) + folds_not_run * most_of_next_fold
    percent = None
    cost_of_k_folds = sum(costs) + cost_of_folds_not_run
    if cost_of_k_folds:
        percent = 100 * amount / cost_of_k_folds
    return _Saving(amount=amount, range=(least, most), percent_of_k_folds=percent)


@dataclass(frozen=True, kw_only=True)
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
    the first: see `cost_of_next_fold`."""


def tallies(folds: Sequence[FoldResult], k: int) -> list[Tally]:
    """The race between stopping and going on, over the same folds.

    Args:
        folds: Those that ran, in their order.
        k: Folds of the whole cross-validation.

    Returns:
        K + 1 tallies, from n = 0; only the first where no fold has run.
    """
    if not folds:
        return [Tally(n=0)]
    processor = processor_costs(folds) or [0.0] * len(folds)
    seconds = _running_sums([fold.total_seconds for fold in folds], k)
    processor_seconds = _running_sums(processor, k)
    joules = _running_sums([fold.energy.joules for fold in folds], k)
    grams = _running_sums([fold.energy.grams_co2e for fold in folds], k)
    # The sums go on to fold k: one that never ran counts at what the next fold is expected to cost.
    after_each_fold = []
    for n in range(k + 1):
        tally = Tally(
            n=n,
            seconds=seconds[n],
            processor_seconds=processor_seconds[n],
            joules=joules[n],
            grams_co2e=grams[n],
            ran=n <= len(folds),
        )
        after_each_fold.append(tally)
    return after_each_fold


def _running_sums(costs: list[float], k: int) -> list[float]:
    """After 0, 1, ..., k folds; those that never ran cost the later mean of those that did."""
    never_ran = [cost_of_next_fold(costs)] * (k - len(costs))
    return list(accumulate([0.0, *costs, *never_ran]))


# Before a run: what it may be expected to take, by runs of its dataset and algorithm.


Range = tuple[float, float]
"""The least and the most."""


@dataclass(frozen=True, kw_only=True)
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
            seconds=tuple(fold.seconds_if_computed_alone for fold in run.folds),
            joules=tuple(fold.joules_if_computed_alone for fold in run.folds),
        )


@dataclass(frozen=True, kw_only=True)
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


def expected_costs(
    spec: RunSpec, runs: Iterable[KnownCosts], fewest_and_most_folds: tuple[int, int]
) -> Expected | None:
    """What a run takes, by runs of its dataset and algorithm; with its parameters if there are any.

    Args:
        spec: The spec of the run that is asked about.
        runs: Costs of any runs; those of others are passed over.
        fewest_and_most_folds: Folds that it may need, see `stopping.folds_planned`.

    Returns:
        From the fewest folds at the lowest cost of one to the most at the highest, see
        `savings.cost_range_of_next_fold`; None where nothing is known.
    """
    costs_of_similar_runs = _most_alike(spec, runs)
    if not costs_of_similar_runs:
        return None
    seconds = [costs.seconds for costs in costs_of_similar_runs]
    # A run with 0 joules for some fold had no meter there, and tells nothing of energy.
    metered_joules = [costs.joules for costs in costs_of_similar_runs if all(costs.joules)]
    joules = None
    if metered_joules:
        joules = _cost_range(fewest_and_most_folds, metered_joules)
    return Expected(
        folds=fewest_and_most_folds,
        seconds=_cost_range(fewest_and_most_folds, seconds),
        joules=joules,
        runs=len(costs_of_similar_runs),
        same_parameters=costs_of_similar_runs[0].spec.params == spec.params,
    )


def _most_alike(spec: RunSpec, runs: Iterable[KnownCosts]) -> list[KnownCosts]:
    """The runs of a dataset and an algorithm that have the same parameters; else all of them."""
    alike = []
    for costs in runs:
        run = costs.spec
        if costs.seconds and run.dataset == spec.dataset and run.algorithm == spec.algorithm:
            alike.append(costs)
    return [costs for costs in alike if costs.spec.params == spec.params] or alike


def _cost_range(
    fewest_and_most_folds: tuple[int, int], costs_of_runs: Sequence[Sequence[float]]
) -> Range:
    """The fewest folds at the lowest cost of a fold, to the most folds at the highest.

    Args:
        fewest_and_most_folds: Folds that a run may need.
        costs_of_runs: At least one run; of each what each of its folds cost, in seconds or joules.
    """
    fewest, most = fewest_and_most_folds
    low_costs = []
    high_costs = []
    for costs in costs_of_runs:
        low, high = cost_range_of_next_fold(costs)
        low_costs.append(low)
        high_costs.append(high)
    return fewest * min(low_costs), most * max(high_costs)


def sum_of_expected(parts: Sequence[Expected]) -> Expected:
    """Several runs, one after the other; at least one."""
    sum_so_far = parts[0]
    for part in parts[1:]:
        joules = None
        if sum_so_far.joules is not None and part.joules is not None:
            joules = sum_of_ranges([sum_so_far.joules, part.joules])
        fewest, most = sum_so_far.folds
        part_fewest, part_most = part.folds
        sum_so_far = Expected(
            folds=(fewest + part_fewest, most + part_most),
            seconds=sum_of_ranges([sum_so_far.seconds, part.seconds]),
            joules=joules,
            runs=sum_so_far.runs + part.runs,
            same_parameters=sum_so_far.same_parameters and part.same_parameters,
        )
    return sum_so_far


def sum_of_ranges(ranges: Iterable[Range]) -> Range:
    """The least and the most that several amounts may be together; 0 to 0 for none."""
    least = 0.0
    most = 0.0
    for low, high in ranges:
        least += low
        most += high
    return least, most


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


@dataclass(frozen=True, kw_only=True)
class Workload:
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


@dataclass(frozen=True, kw_only=True)
class Yearly:
    """What so many folds come to in a year of 52 weeks."""

    folds: float
    kwh: Range
    kg_co2e: Range
    hours: float


def yearly_cost(work: Workload, folds_per_run: float) -> Yearly:
    """What a year of runs with so many folds each takes.

    Args:
        work: The workload; see `Workload`.
        folds_per_run: `work.k` gives all of k-fold cross-validation, `work.folds_used` what e-fold
            takes, and `work.k - work.folds_used` what it saves.

    Raises:
        InputError: For a number that cannot be.
    """
    _check_workload(work)
    low_joules, high_joules = work.joules_per_fold
    folds = work.runs_per_week * WEEKS_PER_YEAR * folds_per_run
    low_kwh = folds * low_joules / JOULES_PER_KWH
    high_kwh = folds * high_joules / JOULES_PER_KWH
    kg_per_kwh = work.grams_per_kwh / 1000
    return Yearly(
        folds=folds,
        kwh=(low_kwh, high_kwh),
        kg_co2e=(low_kwh * kg_per_kwh, high_kwh * kg_per_kwh),
        hours=folds * work.seconds_per_fold / 3600,
    )


def _check_workload(work: Workload) -> None:
    """Raises: InputError for a number that cannot be."""
    low_joules, high_joules = work.joules_per_fold
    amounts = (
        ("runs per week", work.runs_per_week),
        ("energy per fold", low_joules),
        ("energy per fold", high_joules),
        ("time per fold", work.seconds_per_fold),
        ("carbon intensity", work.grams_per_kwh),
    )
    for name, amount in amounts:
        if not (math.isfinite(amount) and amount >= 0):
            raise InputError(f"the {name} must be zero or more, but is {amount:g}")
    if not 1 <= work.folds_used <= work.k:
        raise InputError(
            f"the folds used must be from 1 to k = {work.k}, but are {work.folds_used:g}"
        )
