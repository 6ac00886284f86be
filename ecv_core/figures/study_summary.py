"""Whole runs of a study -> what figures 2, 3 and 4, the headline and the table of rules say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import pandas as pd

from ecv_core.analysis.tradeoff.curves import (
    Tradeoff,
    averaged,
    explorable,
    rankings,
    slider_alphas,
    tradeoff,
)
from ecv_core.analysis.tradeoff.frames import (
    cells_frame,
    headline_frame,
    ranks_frame,
    stability_frame,
)
from ecv_core.analysis.tradeoff.recorded import WITHIN_PERCENT
from ecv_core.analysis.tradeoff.rules import Known, compared_curves, rules_frame
from ecv_core.evaluation import metric_of
from ecv_core.figures.words import (
    algorithm_title,
    alpha_text,
    dataset_title,
    metric_label,
    rule_words,
    run_title,
    titled,
)
from ecv_core.records.errors import InputError
from ecv_core.records.frames import with_columns
from ecv_core.records.run import IntervalKind, RunRecord, Scores
from ecv_core.store.recorded import recorded_runs
from ecv_core.store.results import scores_of_run

SCORES_COLUMNS = {
    "dataset": "evaluated on",
    "algorithm": "what was evaluated",
    "metric": "the score's name",
    "score": "mean of the folds that were used: all k, or those up to the stop",
    "low": "where the k-fold mean is, by the precision rule at its stop; empty elsewhere",
    "high": "the other end",
    "confidence": "of that interval",
    "rule": "what stops the run, and its setting",
    "folds": "how many were used",
    "k": "how many the whole has",
    "of_best_percent": "the score, of the best on this dataset; the other way round for errors",
    "run_id": "its run",
}
"""The columns of `scores_frame` and what they mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a study says under the paper's rule, at some alphas."""

    version: str
    """Changes with the systems, and with nothing else."""
    tradeoff: Tradeoff
    alphas: list[float]
    """Ascending; the frames have rows for each."""
    cells: pd.DataFrame
    headline: pd.DataFrame
    ranks: pd.DataFrame
    stability: pd.DataFrame

    @property
    def texts(self) -> list[str]:
        """Each alpha as shown."""
        return [alpha_text(alpha) for alpha in self.alphas]

    @property
    def k(self) -> int:
        """Folds of every run."""
        return self.tradeoff.average.k

    def headline_of(self, numbers: Sequence[int]) -> pd.DataFrame:
        """The headline over some of the systems, by number: a row per alpha, as in `headline`."""
        explored = self.tradeoff
        curves = tuple(explored.curves[number] for number in numbers)
        some = Tradeoff(
            systems=tuple(explored.systems[number] for number in numbers),
            curves=curves,
            average=averaged(curves),
            within_percent=explored.within_percent,
        )
        return headline_frame(some, self.alphas)

    def rules(self, known: Known) -> pd.DataFrame:
        """The paper's rule beside all others, as `rules_frame` gives it.

        Args: known: the curves of rules that need users' scores; may be empty.
        """
        others = compared_curves(self.tradeoff.systems, known)
        return rules_frame(self.tradeoff, others, self.alphas)


def recorded_study(folder: Path) -> list[RunRecord]:
    """The recorded runs that a study can be made of, ordered by file name.

    Raises: InputError if there is none, or for a damaged file.
    """
    runs = [run for run in recorded_runs(folder) if explorable(run)]
    if not runs:
        raise InputError(f"no complete run is recorded in {folder}; run a study first")
    return runs


def systems_of(runs: Sequence[RunRecord], *, ids: bool = False) -> list[Scores]:
    """Whole runs as systems, by the titles that people read.

    Args:
        runs: see `tradeoff.explorable`.
        ids: whether they go by their ids instead, which are typed.
    """
    if ids:
        return [replace(scores_of_run(run), metric=metric_label(run.spec)) for run in runs]
    return [
        replace(
            replace(scores_of_run(run), metric=metric_label(run.spec)),
            name=run_title(run),
            dataset=dataset_title(run.spec.dataset),
            algorithm=algorithm_title(run.spec.algorithm),
        )
        for run in runs
    ]


@with_columns(SCORES_COLUMNS)
def scores_frame(runs: Sequence[RunRecord], *, ids: bool = False) -> pd.DataFrame:
    """One row per run, with the SCORES_COLUMNS, in the order in which they are given.

    Args:
        runs: whole ones, and others that ended at their stop; of one metric.
        ids: whether datasets and algorithms go by their ids, as in `systems_of`.
    """
    rows = []
    for run in runs:
        at = run.at_stop
        interval = None if run.whole or at is None else at.interval
        if interval is not None and interval.kind is not IntervalKind.K_FOLD_MEAN:
            interval = None
        rows.append(
            {
                "dataset": run.spec.dataset if ids else dataset_title(run.spec.dataset),
                "algorithm": (run.spec.algorithm if ids else algorithm_title(run.spec.algorithm)),
                "metric": metric_label(run.spec),
                "score": run.k_fold_mean if run.whole else at.mean if at else math.nan,
                "low": interval.low if interval else math.nan,
                "high": interval.high if interval else math.nan,
                "confidence": run.spec.confidence,
                "rule": f"{titled(run.spec.rule)}, {rule_words(run.spec)}",
                "folds": run.spec.k if run.whole else run.folds_used,
                "k": run.spec.k,
                "run_id": run.run_id,
            }
        )
    frame = pd.DataFrame(rows, columns=[one for one in SCORES_COLUMNS if one != "of_best_percent"])
    per_dataset = frame.groupby("dataset")["score"]
    if runs and not metric_of(runs[0].spec).higher_is_better:
        frame["of_best_percent"] = 100 * (per_dataset.transform("min") / frame["score"])
    else:
        frame["of_best_percent"] = 100 * (frame["score"] / per_dataset.transform("max"))
    return frame[list(SCORES_COLUMNS)]


def summary(
    systems: Sequence[Scores], alpha: float | None = None, *, ranked: bool = True
) -> Summary:
    """Everything, worked out exactly but for ranks, which are counted over orders.

    Args:
        systems: at least one, in the order in which rows and columns are to come.
        alpha: the one that is asked for, of which the nearest below that was worked out is taken;
            by default every step of a slider.
        ranked: whether with ranks, which take twice the time of all the rest.
    Raises: InputError for scores that cannot be explored.
    """
    found = tradeoff(systems, within_percent=WITHIN_PERCENT, fine=alpha is not None)
    alphas = slider_alphas(found.alphas) if alpha is None else [found.alpha_at(alpha)]
    ranks = rankings(systems, alphas) if ranked else []
    return Summary(
        version=sha256("".join(one.content for one in systems).encode()).hexdigest()[:16],
        tradeoff=found,
        alphas=alphas,
        cells=cells_frame(found, alphas),
        headline=headline_frame(found, alphas),
        ranks=ranks_frame(ranks),
        stability=stability_frame(ranks),
    )
