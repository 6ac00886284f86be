"""Whole runs of a study -> what figures 2, 3 and 4, the headline and the table of rules say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd

from ecv_core.analysis.tradeoff.alphas import slider_alphas
from ecv_core.analysis.tradeoff.curves import Tradeoff, averaged, explorable, tradeoff
from ecv_core.analysis.tradeoff.frames import (
    cells_frame,
    headline_frame,
    ranks_frame,
    stability_frame,
)
from ecv_core.analysis.tradeoff.rankings import rankings
from ecv_core.analysis.tradeoff.recorded import WITHIN_PERCENT
from ecv_core.analysis.tradeoff.rule_curves import CurvesByRule, compared_curves
from ecv_core.analysis.tradeoff.rules_compared import rules_frame
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
from ecv_core.records.arrays import Mask
from ecv_core.records.errors import InputError
from ecv_core.records.frames import with_columns
from ecv_core.records.run import IntervalKind, RunRecord, Scores
from ecv_core.store.recorded import recorded_runs
from ecv_core.store.results import scores_of_run

SCORES_COLUMNS = {
    "dataset": "evaluated on",
    "algorithm": "what was evaluated",
    "metric": "the score's name",
    "score": "mean of the folds used: all k, or those up to the stop",
    "low": (
        "lower end of the interval of the k-fold mean at the stop of the precision rule; empty "
        "for other rules"
    ),
    "high": "upper end of that interval",
    "confidence": "of that interval",
    "rule": "the stopping rule and its setting",
    "folds": "number of folds used",
    "k": "number of folds of the whole cross-validation",
    "of_best_percent": (
        "score as a share of the best score on this dataset; for errors, the best error as a "
        "share of this one"
    ),
    "run_id": "its run",
}
"""The columns of `scores_frame` and what they mean."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a study says under the paper's rule, at some alphas."""

    fingerprint: str
    """Changes with the systems, and with nothing else."""
    tradeoff: Tradeoff
    alphas: list[float]
    """Ascending; the frames have rows for each."""
    cells: pd.DataFrame
    headline: pd.DataFrame
    ranks: pd.DataFrame
    stability: pd.DataFrame

    @property
    def alpha_texts(self) -> list[str]:
        """Each alpha as shown."""
        return [alpha_text(alpha) for alpha in self.alphas]

    @property
    def k(self) -> int:
        """Folds of every run."""
        return self.tradeoff.average.k

    def headline_of(self, system_numbers: Sequence[int]) -> pd.DataFrame:
        """The headline over some of the systems, by number: a row per alpha, as in `headline`."""
        systems = tuple(self.tradeoff.systems[number] for number in system_numbers)
        curves = tuple(self.tradeoff.curves[number] for number in system_numbers)
        tradeoff_of_systems = replace(
            self.tradeoff, systems=systems, curves=curves, average=averaged(curves)
        )
        return headline_frame(tradeoff_of_systems, self.alphas)

    def rules(self, curves: CurvesByRule) -> pd.DataFrame:
        """The paper's rule beside all others, as `rules_frame` gives it.

        Args:
            curves: Those of rules that need users' scores; may be empty.
        """
        others = compared_curves(self.tradeoff.systems, curves)
        return rules_frame(self.tradeoff, others, self.alphas)


def recorded_study(folder: Path) -> list[RunRecord]:
    """The recorded runs that a study can be made of, ordered by file name.

    Raises:
        InputError: If there is none, or for a damaged file.
    """
    runs = [run for run in recorded_runs(folder) if explorable(run)]
    if not runs:
        raise InputError(f"no complete run is recorded in {folder}; run a study first")
    return runs


def systems_of(runs: Sequence[RunRecord], *, ids: bool = False) -> list[Scores]:
    """Whole runs as systems, by the titles that people read.

    Args:
        runs: See `tradeoff.explorable`.
        ids: Whether they go by their ids instead, which are typed.
    """
    systems = []
    for run in runs:
        system = replace(scores_of_run(run), metric=metric_label(run.spec))
        if not ids:
            system = replace(
                system,
                name=run_title(run),
                dataset=dataset_title(run.spec.dataset),
                algorithm=algorithm_title(run.spec.algorithm),
            )
        systems.append(system)
    return systems


@with_columns(SCORES_COLUMNS)
def scores_frame(runs: Sequence[RunRecord], *, ids: bool = False) -> pd.DataFrame:
    """One row per run, with the SCORES_COLUMNS, in the order in which they are given.

    Args:
        runs: Whole ones, and others that ended at their stop; of one metric.
        ids: Whether datasets and algorithms go by their ids, as in `systems_of`.
    """
    frame = pd.DataFrame([_score_row(run) for run in runs], columns=list(SCORES_COLUMNS))
    if not ids:
        frame["dataset"] = frame["dataset"].map(dataset_title)
        frame["algorithm"] = frame["algorithm"].map(algorithm_title)
    higher_is_better = np.array([metric_of(run.spec).higher_is_better for run in runs], dtype=bool)
    return frame.assign(of_best_percent=percent_of_best(frame, "dataset", higher_is_better))


def percent_of_best(
    frame: pd.DataFrame, within: str, higher_is_better: pd.Series[bool] | Mask
) -> pd.Series[float]:
    """Each score in percent of the best one; of errors, the best in percent of each.

    Args:
        frame: With the column score.
        within: The column that says which scores compare.
        higher_is_better: Whether a higher score is better, for each row.
    """
    scores = frame["score"]
    comparable_scores = scores.groupby(frame[within])
    share_of_highest = scores / comparable_scores.transform("max")
    # If lower is better, the lowest score is the best.
    lowest_as_share = comparable_scores.transform("min") / scores
    return 100 * share_of_highest.where(higher_is_better, lowest_as_share)


def _score_row(run: RunRecord) -> dict[str, object]:
    """A run's row by its ids, as far as it needs no other run."""
    spec = run.spec
    rule = f"{titled(spec.rule)}, {rule_words(spec)}"
    row: dict[str, object] = {
        "dataset": spec.dataset,
        "algorithm": spec.algorithm,
        "metric": metric_label(spec),
        "score": run.k_fold_mean,
        "confidence": spec.confidence,
        "rule": rule,
        "folds": spec.k,
        "k": spec.k,
        "run_id": run.run_id,
    }
    # A whole run counts with all its folds, even where its rule would have stopped before.
    if run.whole:
        return row
    row["folds"] = run.folds_used
    row["score"] = math.nan
    if run.at_stop is not None:
        row["score"] = run.at_stop.mean
        interval = run.at_stop.interval
        # Only an interval of the k-fold mean tells how far the score is from that of all folds.
        if interval is not None and interval.kind is IntervalKind.K_FOLD_MEAN:
            row["low"] = interval.low
            row["high"] = interval.high
    return row


def summary(
    systems: Sequence[Scores], alpha: float | None = None, *, ranked: bool = True
) -> Summary:
    """Everything, worked out exactly but for ranks, which are counted over orders.

    Args:
        systems: At least one, in the order in which rows and columns are to come.
        alpha: The one that is asked for, of which the nearest below that was worked out is taken;
            by default every step of a slider.
        ranked: Whether with ranks, which take twice the time of all the rest.

    Raises:
        InputError: For scores that cannot be explored.
    """
    # An alpha that is asked for may lie between a slider's steps, so every alpha is worked out.
    explored = tradeoff(systems, within_percent=WITHIN_PERCENT, every_alpha=alpha is not None)
    alphas = slider_alphas(explored.alphas)
    if alpha is not None:
        alphas = [explored.alpha_at(alpha)]
    ranks = []
    if ranked:
        ranks = rankings(systems, alphas)
    fingerprints = "".join(system.fingerprint for system in systems)
    return Summary(
        fingerprint=sha256(fingerprints.encode()).hexdigest()[:16],
        tradeoff=explored,
        alphas=alphas,
        cells=cells_frame(explored, alphas),
        headline=headline_frame(explored, alphas),
        ranks=ranks_frame(ranks),
        stability=stability_frame(ranks),
    )
