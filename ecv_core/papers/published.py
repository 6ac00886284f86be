"""What papers report of rating prediction, beside our own runs of well-known methods."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean

from ecv_core import models
from ecv_core.records.places import SHIPPED
from ecv_core.records.run import Interval, RunRecord
from ecv_core.stopping import mean_interval, within
from ecv_core.store.document import command_for
from ecv_core.store.recorded import RATINGS, recorded_runs, recorded_user_scores

FOLDER = SHIPPED / "published"
NINETY_TEN = "random 90:10"
"""The protocol of our runs: of ten disjoint random parts one is held out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One result: of a paper, or of a run of ours."""

    method: str
    rmse: float
    by: str
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What is published of one dataset."""

    dataset: str
    title: str
    protocol: str
    source: str
    entries: tuple[Entry, ...]
    """Best first."""


@cache
def published(dataset: str) -> Published:
    """The published numbers of a dataset. Raises: KeyError for one of which we have none."""
    return _all()[dataset]


def published_datasets() -> list[str]:
    """Ids of the datasets with published numbers."""
    return list(_all())


@cache
def _all() -> dict[str, Published]:
    found = {}
    for path in sorted(FOLDER.glob("*.toml")):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        usual = "" if "where confirmed" in document["protocol"] else document["protocol"]
        entries = [
            Entry(
                method=one["method"],
                rmse=one["rmse"],
                by=one["by"],
                protocol=one.get("protocol", one.get("split", usual)),
                source=one.get("source", one.get("reported_in", document["source"])),
                year=one.get("year"),
            )
            for one in document["results"]
        ]
        found[document["dataset"]] = Published(
            dataset=document["dataset"],
            title=document["title"],
            protocol=document["protocol"],
            source=document["source"],
            entries=tuple(sorted(entries, key=lambda one: one.rmse)),
        )
    return found


def entry_of(run: RunRecord, *, by: str) -> Entry:
    """A run of ours as an entry of the board.

    Args:
        run: of a model that predicts ratings by RMSE, with at least one fold.
        by: 'here' or 'yours'.
    """
    algorithm = models.of(run.spec)
    scores = [fold.score for fold in run.folds]
    interval = _interval(run)
    usual = dict(algorithm.resolve({}))
    changed = {name: value for name, value in run.spec.params if usual.get(name) != value}
    words = ", ".join(f"{name} {value}" for name, value in changed.items())
    same = run.spec.split == "record-k-fold" and run.spec.k == 10
    return Entry(
        method=f"{algorithm.title}{f' ({words})' if words else ''}",
        rmse=sum(scores) / len(scores),
        by=by,
        protocol=NINETY_TEN if same else f"{run.spec.split}, k = {run.spec.k}",
        source=command_for(run.spec),
        interval=(interval.low, interval.high) if interval else None,
        folds=len(scores),
        run_id=run.run_id,
        algorithm=run.spec.algorithm,
        defaults=not changed,
    )


def _interval(run: RunRecord) -> Interval | None:
    scores = [fold.score for fold in run.folds]
    if 1 < len(scores) < run.spec.k:
        users = recorded_user_scores(run)
        if all(fold.fold in users for fold in run.folds):
            folds = [replace(fold, user_scores=users[fold.fold]) for fold in run.folds]
            return within(1.0, k=run.spec.k, metric=run.spec.metric_name).interval(folds)
    return mean_interval(scores, 0.95)


def recorded(dataset: str) -> list[RunRecord]:
    """The recorded runs of this dataset that predict ratings."""
    return [run for run in recorded_runs(RATINGS) if run.spec.dataset == dataset]


def recorded_entries(dataset: str) -> list[Entry]:
    """Those of each algorithm with the most folds, best first: of fewer the best may be by luck."""
    runs = sorted(recorded(dataset), key=lambda run: len(run.folds))
    most = {run.spec.algorithm: len(run.folds) for run in runs}  # the last of each stays
    whole = (run for run in runs if len(run.folds) == most[run.spec.algorithm])
    return sorted((entry_of(run, by="here") for run in whole), key=lambda one: one.rmse)


def passed(rmse: float, entries: Sequence[Entry]) -> list[Entry]:
    """Published methods that report a higher RMSE, the best of them first."""
    behind = [one for one in entries if one.published and one.rmse > rmse]
    return sorted(behind, key=lambda one: one.rmse)


def set_ups(dataset: str) -> list[float]:
    """The RMSE of sgd-mf with each setting of the recorded grid, after all epochs; lowest first.

    Means over the grid's folds. Settings with which the fit diverged are left out. Empty where no
    grid of this dataset is recorded.
    """
    path = RATINGS / "grids" / f"{dataset}--sgd-mf.json"
    if not path.exists():
        return []
    curves = [
        one.get("after_8_16_32_64_128")
        for one in json.loads(path.read_text(encoding="utf-8"))["configurations"]
    ]
    return sorted(fmean(curve[-1]) for curve in curves if curve)
