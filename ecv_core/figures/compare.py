"""Several runs side by side -> one row each: mean, interval, k-fold mean, stop, energy saved."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

from ecv_core import stopping
from ecv_core.energy.savings import energy_of
from ecv_core.figures.words import dataset_title, metric_label
from ecv_core.records.frames import with_columns
from ecv_core.records.run import FoldResult, IntervalKind, Run
from ecv_core.records.spec import RunSpec
from ecv_core.stopping.base import OwnInterval
from ecv_core.stopping.interval import difference_percent

COLUMNS = {
    "name": "the run's name among these: its algorithm, unless more is needed",
    "best": "whether paired tests find it better than every other run on this dataset and metric",
    "dataset": "its dataset",
    "algorithm": "its algorithm",
    "metric": "what the score is, such as nDCG@10",
    "state": "where it is in its life",
    "mean": "mean score at the stop, or so far",
    "low": "lower end of the confidence interval of that mean",
    "high": "upper end",
    "interval": "how it is made, such as '95 %, t over folds'; empty where there is none",
    "folds_used": "folds that this mean is of",
    "k": "folds that were planned",
    "stop": "the fold after which the rule stopped; missing where it never did, or not yet",
    "folds_saved": "folds never needed: k - e, 0 while there is no stop",
    "k_fold_mean": "mean of all k folds, where all have run",
    "difference_percent": "the paper's d between the mean at the stop and that of all k folds",
    "joules": "energy of the folds used; missing where none was measured",
    "grams_co2e": "their emissions",
    "seconds": "their computing time",
    "saved_joules": "energy of the folds that were not needed, at the mean of those that ran "
    "but the first where they did not run; missing while there is no stop",
    "saved_percent": "in percent of all k folds",
    "source": "how the energy is known, as in Energy",
    "run_id": "the run",
}
"""The frame's columns and what they mean."""

_TEXTS = ("name", "interval", "dataset", "algorithm", "metric", "state", "source", "run_id")
_COUNTS = ("folds_used", "k", "folds_saved")


NamedRun = tuple[str, Run]
"""What a run is called among others on its dataset and metric, and the run."""


@with_columns(COLUMNS)
def compare_frame(runs: Sequence[NamedRun], best: Collection[str] = ()) -> pd.DataFrame:
    """One row per run, in the given order, with the COLUMNS; missing where there is no fold yet.

    Args:
        runs: with their names.
        best: ids of the runs that tests find the best; a better mean alone may be chance.
    """
    frame = pd.DataFrame([_row(name, run) for name, run in runs], columns=list(COLUMNS))
    reals = [name for name in COLUMNS if name not in (*_TEXTS, *_COUNTS, "best")]
    frame = frame.astype(dict.fromkeys(reals, "float64") | dict.fromkeys(_COUNTS, "int64"))
    return frame.assign(best=frame["run_id"].isin(list(best)))


def compare_alt_text(frame: pd.DataFrame) -> str:
    """A few sentences with the numbers, for those who do not see the figure."""
    parts = []
    for (dataset, metric), rows in frame.groupby(["dataset", "metric"], sort=False):
        said = [
            f"{name} {mean:.4f} after {used} fold{'s' * (used > 1)}"
            if used
            else f"{name} has no fold yet"
            for name, mean, used in zip(rows["name"], rows["mean"], rows["folds_used"], strict=True)
        ]
        runs = "1 run" if len(rows) == 1 else f"{len(rows)} runs"
        on = dataset_title(str(dataset))
        parts.append(f"{metric} of {runs} on {on}: " + "; ".join(said) + ".")
    return " ".join(parts)


def interval_words(spec: RunSpec) -> str:
    """How a run's intervals are made: two that differ in this are not to be compared."""
    level = f"{100 * spec.confidence:g} %"
    if stopping.rule(spec.rule).interval is IntervalKind.K_FOLD_MEAN:
        return f"{level}, k-fold mean"
    if isinstance(stopping.rule_for(spec), OwnInterval):
        return f"{level}, {stopping.rule(spec.rule).title.lower()} rule"
    return f"{level}, t over folds"


def _row(name: str, run: Run) -> dict[str, object]:
    at, whole = run.at_stop, run.k_fold_mean
    facts = energy_of(run)
    metered = facts.source != "none"
    return {
        "name": name,
        "best": False,
        "dataset": run.spec.dataset,
        "algorithm": run.spec.algorithm,
        "metric": metric_label(run.spec),
        "state": run.state.value,
        "mean": at.mean if at else None,
        "low": at.interval.low if at and at.interval else None,
        "high": at.interval.high if at and at.interval else None,
        "interval": interval_words(run.spec) if at and at.interval else "",
        "folds_used": run.folds_used,
        "k": run.k,
        "stop": run.stopped_at if run.stopped_early else None,
        "folds_saved": run.k - run.stopped_at if run.stopped_at else 0,
        "k_fold_mean": whole,
        "difference_percent": (
            difference_percent(at.mean, whole) if at and whole is not None else None
        ),
        "saved_joules": facts.saved_joules if metered else None,
        "saved_percent": facts.saved_percent if metered else None,
        "source": facts.source,
        "run_id": run.run_id,
    } | _spent(run.folds[: run.folds_used], metered)


def _spent(folds: Sequence[FoldResult], metered: bool) -> dict[str, object]:
    return {
        "joules": sum(fold.energy.joules for fold in folds) if metered else None,
        "grams_co2e": sum(fold.energy.grams_co2e for fold in folds) if metered else None,
        "seconds": sum(fold.total_seconds for fold in folds) if folds else None,
    }
