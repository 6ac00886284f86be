"""What papers report of rating prediction, beside our own runs of well-known methods."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from statistics import fmean
from typing import Any

from ecv_core import models
from ecv_core.records.parameters import changed
from ecv_core.records.places import SHIPPED
from ecv_core.records.run import RunRecord
from ecv_core.stopping import mean_interval, within
from ecv_core.store.document import command_for
from ecv_core.store.recorded import RATINGS, recorded_runs, recorded_user_scores

FOLDER = SHIPPED / "published"
NINETY_TEN = "random 90:10"
"""The protocol of our runs: of ten disjoint random parts one is held out."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One result: of a paper, or of a run of ours."""

    method: str
    rmse: float
    runner: str
    """'inventors', 'others' (as a baseline, or with their own code), 'rerun' (by Rendle et al.),
    'here' (recorded with this project) or 'yours'."""
    protocol: str
    """As the source says; '' where it could not be confirmed."""
    source: str
    """Where the number is found; for a run the command that repeats it."""
    year: int | None = None
    algorithm: str = ""
    """The id of a run's algorithm."""
    interval: tuple[float, float] | None = None
    """95 %: of the mean of all folds, Student's t; of recorded runs of some folds, where the mean
    of all is, as the precision rule has it; None for one fold, or a number alone."""
    folds: int = 1
    run_id: str = ""
    defaults: bool = False
    """A run with every parameter at its default: nobody has looked whether others suit better."""

    @property
    def published(self) -> bool:
        """Whether a paper or its code reports it."""
        return not self.run_id


@dataclass(frozen=True, kw_only=True)
class Published:
    """What is published of one dataset."""

    title: str
    protocol: str
    source: str
    entries: tuple[Entry, ...]
    """Best first."""


def published(dataset: str) -> Published:
    """The published numbers of a dataset. Raises: KeyError for one of which we have none."""
    return _published_by_dataset()[dataset]


def published_datasets() -> list[str]:
    """Ids of the datasets with published numbers."""
    return list(_published_by_dataset())


@cache
def _published_by_dataset() -> dict[str, Published]:
    """Every file of published results, by dataset."""
    by_dataset = {}
    for path in sorted(FOLDER.glob("*.toml")):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        entries = [_published_entry(result, document) for result in document["results"]]
        by_dataset[document["dataset"]] = Published(
            title=document["title"],
            protocol=document["protocol"],
            source=document["source"],
            entries=tuple(sorted(entries, key=attrgetter("rmse"))),
        )
    return by_dataset


def _published_entry(result: Mapping[str, Any], document: Mapping[str, Any]) -> Entry:
    """One result; what it does not say itself is what its document says."""
    usual_protocol = document["protocol"]
    if "where confirmed" in usual_protocol:
        # Such a protocol holds only for results that state a protocol of their own.
        usual_protocol = ""
    return Entry(
        method=result["method"],
        rmse=result["rmse"],
        runner=result["by"],
        protocol=result.get("protocol", result.get("split", usual_protocol)),
        source=result.get("source", result.get("reported_in", document["source"])),
        year=result.get("year"),
    )


def entry_of(run: RunRecord, *, runner: str) -> Entry:
    """A run of ours as an entry of the board.

    Args:
        run: The run of a model that predicts ratings by RMSE, with at least one fold.
        runner: 'here' or 'yours'.
    """
    algorithm = models.of(run.spec)
    scores = [fold.score for fold in run.folds]
    changed_parameters = changed(run.spec.params, dict(algorithm.resolve({})))
    method = algorithm.title
    if changed_parameters:
        settings = [f"{name} {value}" for name, value in changed_parameters.items()]
        method += f" ({', '.join(settings)})"
    protocol = f"{run.spec.split}, k = {run.spec.k}"
    # Each of ten such folds holds out a tenth of the ratings at random, which papers call 90:10.
    if run.spec.split == "record-k-fold" and run.spec.k == 10:
        protocol = NINETY_TEN
    return Entry(
        method=method,
        rmse=fmean(scores),
        runner=runner,
        protocol=protocol,
        source=command_for(run.spec),
        interval=_interval(run),
        folds=len(scores),
        run_id=run.run_id,
        algorithm=run.spec.algorithm,
        defaults=not changed_parameters,
    )


def _interval(run: RunRecord) -> tuple[float, float] | None:
    """As of `Entry.interval`."""
    users = recorded_user_scores(run)
    has_users = all(fold.fold in users for fold in run.folds)
    some_folds_are_missing = 1 < len(run.folds) < run.spec.k
    if some_folds_are_missing and has_users:
        folds = [replace(fold, user_scores=users[fold.fold]) for fold in run.folds]
        # The precision rule's interval says where the mean of all folds is. The tolerance of 1 %
        # has no effect on it: it only decides when the rule would stop.
        rule = within(1.0, k=run.spec.k, metric=run.spec.metric_name)
        interval = rule.interval(folds)
    else:
        interval = mean_interval([fold.score for fold in run.folds], 0.95)
    if interval is None:
        return None
    return interval.low, interval.high


def recorded(dataset: str) -> list[RunRecord]:
    """The recorded runs of this dataset that predict ratings."""
    return [run for run in recorded_runs(RATINGS) if run.spec.dataset == dataset]


def recorded_entries(dataset: str) -> list[Entry]:
    """Those of each algorithm with the most folds, best first."""
    runs = recorded(dataset)
    # For each algorithm, this is the most folds that a run of it has.
    most_folds: dict[str, int] = {}
    for run in runs:
        algorithm = run.spec.algorithm
        most_folds[algorithm] = max(most_folds.get(algorithm, 0), len(run.folds))
    entries = []
    for run in runs:
        # Runs with fewer folds are left out, because a lower error of theirs may be luck.
        if len(run.folds) == most_folds[run.spec.algorithm]:
            entries.append(entry_of(run, runner="here"))
    return sorted(entries, key=attrgetter("rmse"))


def rmse_of_set_ups(dataset: str) -> list[float]:
    """The RMSE of sgd-mf with each setting of the recorded grid, after all epochs; lowest first.

    Means over the grid's folds. Settings with which the fit diverged are left out. Empty where no
    grid of this dataset is recorded.
    """
    path = RATINGS / "grids.json"
    if not path.exists():
        return []
    grid = json.loads(path.read_text(encoding="utf-8")).get(dataset, {"configurations": []})
    means = []
    for configuration in grid["configurations"]:
        # The entry has a list for each of these numbers of epochs, with the RMSE of every fold. It
        # is missing where the fit diverged.
        rmse_of_folds = configuration.get("after_8_16_32_64_128")
        if rmse_of_folds:
            means.append(fmean(rmse_of_folds[-1]))
    return sorted(means)
