"""Before Start: specs -> about how long the runs will take, and how much energy, in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import fmean, median

import psutil
import streamlit as st

from ecv_core import dataset as datasets
from ecv_core import models
from ecv_core.dataset import DatasetEntry
from ecv_core.energy.savings import (
    Expected,
    KnownCosts,
    expected_costs,
    processor_costs,
    sum_of_expected,
)
from ecv_core.figures.words import (
    algorithm_title,
    counted,
    dataset_title,
    duration,
    in_catalogue_order,
    watt_hours_range,
)
from ecv_core.records.errors import EcvError
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import folds_planned
from ecv_core.store.recorded import recorded_runs
from pages.shared.live.state import run_list

_BUSY_LOAD_PER_CORE = 0.5
"""Programs that compute, for each processor: above that it is said."""


def show_expected_cost(specs: Sequence[RunSpec], *, as_contenders: bool = False) -> None:
    """One line; nothing where there is nothing to start.

    Args:
        specs: The specs of the runs.
        as_contenders: Whether they are contenders, of which each may be done after one fold.
    """
    if specs:
        load_of_last_minute, *_ = psutil.getloadavg()
        load_per_core = load_of_last_minute / (psutil.cpu_count() or 1)
        evidence = evidence_of(specs)
        st.caption(
            expectation_words(
                specs,
                evidence.costs,
                evidence.source,
                as_contenders=as_contenders,
                load_per_core=load_per_core,
            )
        )


def expectation_words(
    specs: Sequence[RunSpec],
    costs: Sequence[KnownCosts],
    source: str = "",
    *,
    as_contenders: bool = False,
    load_per_core: float = 0.0,
) -> str:
    """How long and how much, as ranges, or what is not known yet.

    Args:
        specs: The specs of the runs.
        costs: The costs of runs of their dataset and algorithms.
        source: What the costs are of, where they are not of runs on this machine.
        as_contenders: As of `show_expected_cost`.
        load_per_core: Programs that would compute now, for each core; a fold shares it with them.
    """
    expected_runs = []
    unknown_algorithms = []
    for spec in specs:
        fewest_and_most_folds = folds_planned(spec)
        if as_contenders:
            # A selection drops a contender that cannot win, after its first fold at the earliest.
            fewest_and_most_folds = (1, spec.k)
        expected_run = expected_costs(spec, costs, fewest_and_most_folds)
        if expected_run is None:
            unknown_algorithms.append(spec.algorithm)
        else:
            expected_runs.append(expected_run)
    if not expected_runs:
        seconds = _rough_seconds(specs)
        if seconds:
            return f"By a rough estimate, each fold will take {duration(seconds)} on one core."
        return "Time and energy are not known yet for this dataset and algorithm."
    sentence = _time_and_energy_sentence(sum_of_expected(expected_runs), source, load_per_core)
    if not unknown_algorithms:
        return sentence
    titles = ", ".join(map(algorithm_title, in_catalogue_order(unknown_algorithms)))
    return f"{sentence} This does not include {titles}, whose cost is not known yet."


def _rough_seconds(specs: Sequence[RunSpec]) -> float:
    """Of the longest fit, on a dataset whose size is known; 0 where no model tells."""
    longest = 0.0
    for spec in specs:
        algorithm = models.algorithm(spec.algorithm)
        rows = datasets.entry(spec.dataset).rows(spec.task)
        if rows is not None:
            longest = max(longest, algorithm.rough_seconds(dict(spec.params), rows))
    return longest


def _time_and_energy_sentence(total: Expected, source: str, load_per_core: float) -> str:
    """What all runs together are expected to take, and by what it is known."""
    fewest, most = total.folds
    folds = counted(most, "fold")
    if fewest < most:
        folds = f"{fewest} to {folds}"
    words_on_load = ""
    shortest, longest = total.seconds
    if load_per_core > _BUSY_LOAD_PER_CORE:
        # Programs on one core get equal shares of it: beside one other, a fold takes twice as long.
        longest *= 1 + load_per_core
        words_on_load = (
            f" The longer time allows for a busy machine ({load_per_core:.1f} programs per core)."
        )
    time = duration(shortest)
    if duration(longest) != time:
        time = f"{time} to {duration(longest)}"
    energy = ""
    if total.joules:
        energy = f" and {watt_hours_range(*total.joules)}"
    if not source:
        source = f"{counted(total.runs, 'earlier run')} of this dataset and algorithm"
        if not total.same_parameters:
            source += ", some with other parameters"
    return f"{folds} will take about {time}{energy}, judging by {source}.{words_on_load}"


@dataclass(frozen=True)
class Evidence:
    """Costs by which others are expected."""

    costs: Sequence[KnownCosts] = ()
    source: str = ""
    """What they are of, where not all are of own runs."""


def evidence_of(specs: Sequence[RunSpec]) -> Evidence:
    """Costs of own runs of each dataset and algorithm, where there are none of recorded ones."""
    try:
        own = _own_costs()
        recorded = _recorded_costs()
    except EcvError:
        # The list of runs shows this error. Here it only means that no cost is known.
        return Evidence()
    machine = "another machine"
    slowdown = _slowdown(own, recorded)
    if slowdown != 1:
        recorded = [_slowed_down(costs, slowdown) for costs in recorded]
        machine = "another machine, scaled to the speed of your runs"
    # The cost of a fold depends mostly on its dataset and algorithm. Where there are own runs of
    # both, recorded runs of these do not count.
    pairs = {_dataset_and_algorithm(spec) for spec in specs}
    own_costs = _costs_of(pairs, own)
    pairs_without_own_runs = pairs - {_dataset_and_algorithm(costs.spec) for costs in own_costs}
    recorded_costs = _costs_of(pairs_without_own_runs, recorded)
    if recorded_costs:
        return Evidence([*own_costs, *recorded_costs], f"recorded runs on {machine}")
    if own_costs:
        return Evidence(own_costs)
    return _evidence_of_nearest_dataset(specs, recorded, machine)


def _slowed_down(costs: KnownCosts, slowdown: float) -> KnownCosts:
    """The costs of a run whose folds take so many times as long."""
    return replace(costs, seconds=tuple(slowdown * seconds for seconds in costs.seconds))


def _dataset_and_algorithm(spec: RunSpec) -> tuple[str, str]:
    return spec.dataset, spec.algorithm


def _costs_of(
    pairs: Collection[tuple[str, str]], costs_of_runs: Iterable[KnownCosts]
) -> list[KnownCosts]:
    return [costs for costs in costs_of_runs if _dataset_and_algorithm(costs.spec) in pairs]


def _recorded_costs() -> list[KnownCosts]:
    """Of recorded runs that rank: those that predict ratings shared their machine."""
    costs_of_runs = []
    for run in recorded_runs():
        if run.spec.task.ranks:
            processor_seconds = sum(processor_costs(run.folds))
            costs_of_runs.append(_costs_on_idle_cores(KnownCosts.of(run), processor_seconds))
    return costs_of_runs


def _own_costs() -> list[KnownCosts]:
    costs_of_runs = []
    for row in run_list().rows():
        if not row.fold_seconds or row.imported:
            continue
        costs = KnownCosts(spec=row.spec, seconds=row.fold_seconds, joules=row.fold_joules)
        # Folds that had to wait for other programs took longer than the next ones may need.
        if row.other_work:
            costs = _costs_on_idle_cores(costs, row.processor_seconds)
        costs_of_runs.append(costs)
    return costs_of_runs


def _costs_on_idle_cores(costs: KnownCosts, processor_seconds: float | None) -> KnownCosts:
    """What a run takes on one or two idle cores, by its processor seconds where those are known."""
    if not processor_seconds:
        return costs
    # The seconds that the folds took are not used, since they may have waited for other programs. A
    # fold will use one idle core or two. Which is not known, so the costs are a range from one to
    # the other.
    folds = len(costs.seconds)
    seconds_on_one_core = processor_seconds / folds
    seconds_on_two_cores = seconds_on_one_core / 2
    # `expected_costs` makes its range from the shortest and the longest fold after the first, with
    # a margin that depends on the number of folds. So the second fold gets the seconds on two cores
    # and all others those on one core: as many as ran, but at least one after the second.
    seconds = [seconds_on_one_core, seconds_on_two_cores]
    seconds += [seconds_on_one_core] * max(1, folds - 2)
    return replace(costs, seconds=tuple(seconds))


def _slowdown(own: Sequence[KnownCosts], recorded: Sequence[KnownCosts]) -> float:
    """How many times as long a fold takes here as where it was recorded; 1 while none has run."""
    recorded_seconds = {_work_of_fold(costs.spec): fmean(costs.seconds) for costs in recorded}
    ratios = []
    for costs in own:
        seconds = recorded_seconds.get(_work_of_fold(costs.spec))
        if seconds:
            ratios.append(fmean(costs.seconds) / seconds)
    if not ratios:
        return 1.0
    return median(ratios)


def _work_of_fold(spec: RunSpec) -> tuple[object, ...]:
    """What decides how long a fold takes."""
    return spec.dataset, spec.algorithm, spec.params, spec.split, spec.k


def _evidence_of_nearest_dataset(
    specs: Sequence[RunSpec], recorded: Sequence[KnownCosts], machine: str
) -> Evidence:
    """Costs on the recorded dataset with the most alike numbers of items and interactions.

    Args:
        specs: Of the runs whose costs are expected; all on one dataset.
        recorded: The costs of recorded runs.
        machine: Where they were recorded, and whether they are scaled, in words.
    """
    entries = datasets.catalogue()
    entry = entries[specs[0].dataset]
    algorithms = {spec.algorithm for spec in specs}
    usable = [costs for costs in recorded if costs.spec.algorithm in algorithms]
    if not entry.interactions or not entry.items or not usable:
        return Evidence()

    def distance(dataset: str) -> float:
        return _distance_in_size(entry, entries[dataset])

    nearest = min({costs.spec.dataset for costs in usable}, key=distance)
    stand_ins = []
    for costs in usable:
        if costs.spec.dataset == nearest:
            stand_ins.append(replace(costs, spec=replace(costs.spec, dataset=entry.id)))
    return Evidence(
        stand_ins,
        f"runs on {dataset_title(nearest)}, the dataset nearest in size, recorded on {machine}",
    )


def _distance_in_size(first: DatasetEntry, second: DatasetEntry) -> float:
    """On a logarithmic scale, of interactions and items together; an unknown number counts as 1."""
    interactions = (first.interactions or 1) / (second.interactions or 1)
    items = (first.items or 1) / (second.items or 1)
    return abs(log(interactions)) + abs(log(items))
