"""A tuning with all folds -> which metric tells its settings apart, which parameter dominates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ecv_core import models
from ecv_core.analysis.significance import holm
from ecv_core.evaluation import column_title
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.frames import with_columns
from ecv_core.records.parameters import ParamValue, percent_text
from ecv_core.records.run import FoldResult
from ecv_core.records.spec import RunSpec
from ecv_core.selection.tuning.power import (
    Floats,
    PValueCurve,
    dominance,
    dominant,
    draw,
    drawn_curve,
    expected_curve,
    paired_p_values,
)
from ecv_core.store.recorded import (
    TUNINGS,
    Configurations,
    configuration_names,
    read_configurations,
)
from ecv_core.store.results import Results
from ecv_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

SIGNIFICANT = 0.05
"""Below this p a pair counts as told apart, where pairs are counted."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MetricsStudy:
    """What the scores of a tuning say of metrics and parameters."""

    scores: Configurations
    p_values: Mapping[str, Floats]
    """Metric -> shape (folds, pairs that the curve is of)."""
    curves: Mapping[str, PValueCurve]
    """Metric -> its curve, of as many pairs as were asked for."""
    metric: str
    """That dominance is worked out by."""
    dominant: Mapping[str, Mapping[str, float]]
    """Parameter -> value -> expected DP of pairs that share it; empty for a single parameter."""

    @property
    def ranked(self) -> list[str]:
        """The metrics, most discriminative first."""
        return sorted(self.curves, key=lambda name: self.curves[name].dp)

    @cached_property
    def corrected(self) -> Mapping[str, Floats]:
        """`p_values` with those of a fold corrected for the number of pairs."""
        return {name: holm(p_values) for name, p_values in self.p_values.items()}

    def told_apart(self, metric: str, *, corrected: bool = False) -> float:
        """Share of pairs, averaged over folds, with a p value below SIGNIFICANT."""
        p_values = (self.corrected if corrected else self.p_values)[metric]
        return float((p_values < SIGNIFICANT).mean())

    def dp_corrected(self, metric: str) -> float:
        """DP of the corrected p values."""
        return len(self.curves[metric].p_values) * float(self.corrected[metric].mean())

    def sentence(self) -> str:
        """The answer: which metric to tune by, which one not, and the dominant parameter."""
        best, worst = self.ranked[0], self.ranked[-1]
        text = (
            f"{column_title(best)} tells these settings apart best, in "
            f"{percent_text(self.told_apart(best))} of the pairs of a fold (p below "
            f"{SIGNIFICANT}), {column_title(worst)} worst, in "
            f"{percent_text(self.told_apart(worst))}. "
            f"Their discriminative power DP, lower is better, is {self.curves[best].dp:.2f} and "
            f"{self.curves[worst].dp:.2f}."
        )
        after = min(self.corrected, key=self.dp_corrected)
        shares = [percent_text(self.told_apart(name, corrected=True)) for name in (after, worst)]
        text += (
            f" Corrected for so many pairs (Holm), {column_title(after)} is "
            f"{'still' if after == best else 'the'} best: {shares[0]}, and {shares[1]} with "
            f"{column_title(worst)}."
        )
        parameter = dominant({name: dict(values) for name, values in self.dominant.items()})
        if parameter is not None:
            text += (
                f" With {parameter.replace('_', ' ')} set, {column_title(self.metric)} tells the "
                "other settings apart best: it is the dominant parameter."
            )
        return text


def study_metrics(
    scores: Configurations, *, pairs: str = "all", seed: int = 0, metric: str | None = None
) -> MetricsStudy:
    """Work out the curves of every metric, and dominance by one of them.

    Args:
        scores: of a tuning with all folds.
        pairs: 'all' for the exact expectation of a draw of 25, '25' for one draw as in the paper,
            the same pairs for every metric.
        seed: of the draw.
        metric: that dominance is worked out by; the run's own by default.
    Raises: UnknownName for the metric.
    """
    metric = metric or scores.spec.metric_name
    if metric not in scores.values:
        raise UnknownName("metric of this tuning", metric, scores.values)
    p_values = {name: paired_p_values(cube) for name, cube in scores.values.items()}
    dominant_by = dominance(p_values[metric], scores.configurations)
    if pairs == "all":
        curves = {name: expected_curve(found) for name, found in p_values.items()}
    else:
        drawn = draw(p_values[metric].shape[1], seed=seed)
        p_values = {name: found[:, drawn] for name, found in p_values.items()}
        curves = {name: drawn_curve(found) for name, found in p_values.items()}
    return MetricsStudy(
        scores=scores, p_values=p_values, curves=curves, metric=metric, dominant=dominant_by
    )


def find_tuning(store: Store, dataset: str, algorithm: str, *, own: bool = False) -> Configurations:
    """A tuning with all folds: the recorded one, else, or where it is asked for, one's own.

    Raises: InputError where there is none.
    """
    name = f"{dataset}--{algorithm}"
    recorded = configuration_names(TUNINGS)
    if name in recorded and not own:
        return read_configurations(TUNINGS / f"{name}.json")
    if (found := own_tuning(store, dataset, algorithm)) is not None:
        return found
    raise InputError(
        f"there is no tuning of {algorithm} on {dataset} with all folds; compute one with "
        f"'tune {dataset} {algorithm} --all-folds', or take a recorded one: "
        f"{', '.join(recorded) or 'none came with this copy'}"
    )


def power_document(study: MetricsStudy) -> dict[str, Any]:
    """What `power --json` writes."""
    shown = next(iter(study.curves.values())).p_values
    return {
        "configurations": len(study.scores.configurations),
        "folds": study.scores.spec.k,
        "pairs": len(shown),
        "metrics": {
            name: {
                "dp": curve.dp,
                "dp_plus_sd": curve.dp_plus_sd,
                "dp_corrected": study.dp_corrected(name),
                "p_values": curve.p_values.tolist(),
            }
            for name, curve in study.curves.items()
        },
        "dominant": {name: dict(values) for name, values in study.dominant.items()},
    }


@with_columns(
    {
        "rank": "Of a pair of settings by its p value, largest first",
        "metric": "With its cut-off",
        "p": "Of a paired t test over users, two-sided; mean over folds",
        "sd": "Standard deviation of p over folds",
    }
)
def curves_frame(study: MetricsStudy) -> pd.DataFrame:
    """The p-value curves, a row per metric and rank; most discriminative metric first."""
    import pandas as pd

    return pd.concat(
        [
            pd.DataFrame(
                {
                    "rank": range(1, len(study.curves[name].p_values) + 1),
                    "metric": column_title(name),
                    "p": study.curves[name].p_values,
                    "sd": study.curves[name].deviations,
                }
            )
            for name in study.ranked
        ],
        ignore_index=True,
    )


def powers_frame(study: MetricsStudy) -> pd.DataFrame:
    """DP of each metric, most discriminative first, as it is and corrected (Holm); a row each."""
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "metric": column_title(name),
                "dp": study.curves[name].dp,
                "dp_plus_sd": study.curves[name].dp_plus_sd,
                "told_apart_percent": 100 * study.told_apart(name),
                "dp_corrected": study.dp_corrected(name),
                "told_apart_corrected_percent": 100 * study.told_apart(name, corrected=True),
            }
            for name in study.ranked
        ]
    )


def dominance_frame(study: MetricsStudy) -> pd.DataFrame:
    """DP with each parameter set to each of its values: parameter, value, dp."""
    import pandas as pd

    rows = [
        {"parameter": name, "value": value, "dp": dp}
        for name, values in study.dominant.items()
        for value, dp in values.items()
    ]
    return pd.DataFrame(rows, columns=["parameter", "value", "dp"])


STUDIED = ("ndcg", "precision", "recall", "mrr", "efd", "epc")
"""The metrics of Anelli et al. (2019)."""


def own_tuning_names(store: Store) -> dict[str, int]:
    """What `own_tuning` finds something for: `<dataset>--<algorithm>` -> how many folds there are.

    Reads no scores of users, so that a metric may still be missing there.
    """
    found: dict[str, int] = {}
    for family in _families(store):
        if len(family) > 1:
            name = f"{family[0].dataset}--{family[0].algorithm}"
            found[name] = max(found.get(name, 0), family[0].k * len(family))
    return found


def own_tuning(store: Store, dataset: str, algorithm: str) -> Configurations | None:
    """The largest set of configurations with all folds; None where there is none.

    Args:
        store: where runs with all folds are, such as those of `tune --all-folds`.
        dataset: an id.
        algorithm: an id.
    """
    results = Results(store, recorded=False)
    best: dict[RunSpec, dict[int, FoldResult]] = {}
    for family in _families(store):
        if (family[0].dataset, family[0].algorithm) == (dataset, algorithm):
            folds = {spec: results.folds(spec, user_scores=True) for spec in family}
            whole = {spec: found for spec, found in folds.items() if _studied(spec, found)}
            best = max(best, whole, key=len)
    return _gathered(best) if len(best) > 1 else None


def _families(store: Store) -> list[list[RunSpec]]:
    """Specs with all folds, those together that differ in parameters only; newest first."""
    families: defaultdict[str, list[RunSpec]] = defaultdict(list)
    for spec, folds in store.specs():
        if folds == spec.k and spec.task.ranks:
            families[replace(spec, params=()).score_key].append(spec)
    return list(families.values())


def _studied(spec: RunSpec, folds: Mapping[int, FoldResult]) -> bool:
    """Whether every fold has users' scores by all metrics that are studied."""
    users = [result.user_scores for result in folds.values()]
    wanted = {f"{metric}@{spec.n}" for metric in STUDIED}
    return all(one is not None and wanted <= set(one.metrics) for one in users)


def _gathered(runs: Mapping[RunSpec, Mapping[int, FoldResult]]) -> Configurations:
    specs = list(runs)
    given = [models.of(spec).every(spec.params) for spec in specs]
    differ = [name for name in given[0] if len({one[name] for one in given}) > 1]
    order = sorted(range(len(specs)), key=lambda at: [_key(given[at][name]) for name in differ])
    results = [[runs[specs[at]][fold] for fold in range(specs[0].k)] for at in order]
    scores = [[result.user_scores for result in folds] for folds in results]
    users = np.unique(np.concatenate([s.users for folds in scores for s in folds if s]))
    shape = (len(specs), specs[0].k, len(users))
    values = {
        f"{metric}@{specs[0].n}": np.full(shape, np.nan, dtype=np.float32) for metric in STUDIED
    }
    for place, folds in enumerate(scores):
        for fold, one in enumerate(folds):
            for metric, cube in values.items():
                if one is not None:
                    cube[place, fold, np.searchsorted(users, one.users)] = one.of(metric)
    return Configurations(
        spec=specs[order[0]],
        configurations=tuple({name: given[at][name] for name in differ} for at in order),
        values=values,
        folds=np.array([[result.score for result in folds] for folds in results]),
        joules=np.array([[result.energy.joules for result in folds] for folds in results]),
    )


def _key(value: ParamValue) -> tuple[bool, float, str]:
    number = isinstance(value, int | float)
    return (not number, float(value) if number else 0.0, str(value))
