"""A tuning with all folds -> which metric tells its settings apart, which parameter dominates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecv_core import models
from ecv_core.analysis.significance import holm
from ecv_core.evaluation import column_title
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.frames import with_columns
from ecv_core.records.parameters import ParamValue, percent_text
from ecv_core.records.run import FoldResult, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.selection.contenders import differing_parameters
from ecv_core.selection.tuning.power import (
    PValueCurve,
    dominance,
    dominant_parameter,
    draw_pairs,
    expected_curve,
    paired_p_values,
)
from ecv_core.store.configurations import (
    TUNINGS,
    Configurations,
    PairedTests,
    configuration_names,
    recorded_tuning,
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

    tests: PairedTests
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
        p_values = self.p_values[metric]
        if corrected:
            p_values = self.corrected[metric]
        return float((p_values < SIGNIFICANT).mean())

    def dp_corrected(self, metric: str) -> float:
        """DP of the corrected p values."""
        # DP is the sum of the p values of the pairs that are drawn. Any pair may be drawn, so that
        # it is expected to be the mean of all p values, times the number of pairs drawn.
        return len(self.curves[metric].p_values) * float(self.corrected[metric].mean())

    def sentence(self) -> str:
        """The answer: which metric to tune by, which one not, and the dominant parameter."""
        best = self.ranked[0]
        worst = self.ranked[-1]
        best_share = percent_text(self.told_apart(best))
        worst_share = percent_text(self.told_apart(worst))
        sentence = (
            f"{column_title(best)} tells these settings apart best: in a fold, it finds a "
            f"difference (p below {SIGNIFICANT}) for {best_share} of the pairs. "
            f"{column_title(worst)} does worst, with {worst_share}. Their discriminative power "
            f"DP (lower is better) is {self.curves[best].dp:.2f} and "
            f"{self.curves[worst].dp:.2f}. {self._corrected_sentence(best, worst)}"
        )
        parameter = dominant_parameter(self.dominant)
        if parameter is not None:
            sentence += (
                f" The dominant parameter is {parameter.replace('_', ' ')}: once it is fixed, "
                f"{column_title(self.metric)} tells the other settings apart best."
            )
        return sentence

    def _corrected_sentence(self, best: str, worst: str) -> str:
        """Which metric is best once p values are corrected for the number of pairs."""
        best_corrected = min(self.corrected, key=self.dp_corrected)
        rank = "the best"
        if best_corrected == best:
            rank = "still best"
        best_share = self.told_apart(best_corrected, corrected=True)
        worst_share = self.told_apart(worst, corrected=True)
        return (
            f"Corrected for this number of pairs (Holm), {column_title(best_corrected)} is "
            f"{rank}: {percent_text(best_share)}, and {percent_text(worst_share)} with "
            f"{column_title(worst)}."
        )


def paired_tests(scores: Configurations) -> PairedTests:
    """The tests of every two configurations, by every metric.

    Raises:
        InputError: As of `paired_p_values`.
    """
    p_values = {}
    means = {}
    # A cube has the scores of every user, with the shape (configurations, folds, users).
    for metric, cube in scores.user_scores.items():
        p_values[metric] = paired_p_values(cube)
        # Over users; shape (folds, configurations).
        means[metric] = np.asarray(np.nanmean(cube, axis=2, dtype=np.float64)).T
    return PairedTests(
        spec=scores.spec, configurations=scores.configurations, p_values=p_values, means=means
    )


def study_metrics(
    tests: PairedTests, *, pairs: str = "all", seed: int = 0, metric: str | None = None
) -> MetricsStudy:
    """Work out the curves of every metric, and dominance by one of them.

    Args:
        tests: The tests of a tuning with all folds.
        pairs: 'all' for the exact expectation of a draw of 25, '25' for one draw as in the paper,
            the same pairs for every metric.
        seed: The seed of the draw.
        metric: The metric that dominance is worked out by; the run's own by default.

    Raises:
        UnknownName for the metric.
    """
    if metric is None:
        metric = tests.spec.metric_name
    if metric not in tests.p_values:
        raise UnknownName("metric of this tuning", metric, tests.p_values)
    p_values = tests.p_values
    draws_pairs = pairs != "all"
    if draws_pairs:
        # A table of p values has a column for each pair of configurations.
        pair_count = p_values[metric].shape[1]
        drawn_pairs = draw_pairs(pair_count, seed=seed)
        p_values = {name: table[:, drawn_pairs] for name, table in p_values.items()}
    # Drawn pairs no longer tell which configurations they are of, so dominance is worked out from
    # all pairs.
    curves = {name: expected_curve(table) for name, table in p_values.items()}
    return MetricsStudy(
        tests=tests,
        p_values=p_values,
        curves=curves,
        metric=metric,
        dominant=dominance(tests.p_values[metric], tests.configurations),
    )


def find_tuning(store: Store, dataset: str, algorithm: str, *, own: bool) -> PairedTests:
    """A tuning with all folds: the recorded one, else, or where it is asked for, one's own.

    Raises:
        InputError: Where there is none.
    """
    name = f"{dataset}--{algorithm}"
    recorded = configuration_names(TUNINGS)
    if name in recorded and not own:
        return recorded_tuning(name)
    scores = own_tuning(store, dataset, algorithm)
    if scores is not None:
        return paired_tests(scores)
    raise InputError(
        f"no tuning of {algorithm} on {dataset} has all folds; compute one with 'tune {dataset} "
        f"{algorithm} --all-folds', or take a recorded one: "
        f"{', '.join(recorded) or 'none came with this copy'}"
    )


def power_document(study: MetricsStudy) -> dict[str, Any]:
    """What `power --json` writes."""
    metrics = {}
    for name, curve in study.curves.items():
        metrics[name] = {
            "dp": curve.dp,
            "dp_plus_sd": curve.dp_plus_sd,
            "dp_corrected": study.dp_corrected(name),
            "p_values": curve.p_values.tolist(),
        }
    return {
        "configurations": len(study.tests.configurations),
        "folds": study.tests.spec.k,
        "pairs": len(study.curves[study.metric].p_values),
        "metrics": metrics,
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

    frames = []
    for name in study.ranked:
        curve = study.curves[name]
        columns = {
            "rank": range(1, len(curve.p_values) + 1),
            "metric": column_title(name),
            "p": curve.p_values,
            "sd": curve.deviations,
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def powers_frame(study: MetricsStudy) -> pd.DataFrame:
    """DP of each metric, most discriminative first, as it is and corrected (Holm); a row each."""
    import pandas as pd

    rows = []
    for name in study.ranked:
        row = {
            "metric": column_title(name),
            "dp": study.curves[name].dp,
            "dp_plus_sd": study.curves[name].dp_plus_sd,
            "told_apart_percent": 100 * study.told_apart(name),
            "dp_corrected": study.dp_corrected(name),
            "told_apart_corrected_percent": 100 * study.told_apart(name, corrected=True),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def dominance_frame(study: MetricsStudy) -> pd.DataFrame:
    """DP with each parameter set to each of its values: parameter, value, dp."""
    import pandas as pd

    rows = []
    for name, values in study.dominant.items():
        for value, dp in values.items():
            rows.append({"parameter": name, "value": value, "dp": dp})
    return pd.DataFrame(rows, columns=["parameter", "value", "dp"])


STUDIED = ("ndcg", "precision", "recall", "mrr", "efd", "epc")
"""The metrics of Anelli et al. (2019)."""


def folds_of_own_tunings(store: Store) -> dict[str, int]:
    """What `own_tuning` finds something for: `<dataset>--<algorithm>` -> how many folds there are.

    Reads no scores of users, so that a metric may still be missing there.
    """
    folds: dict[str, int] = {}
    for specs in _specs_by_protocol(store):
        if len(specs) > 1:
            first = specs[0]
            name = f"{first.dataset}--{first.algorithm}"
            folds[name] = max(folds.get(name, 0), first.k * len(specs))
    return folds


def own_tuning(store: Store, dataset: str, algorithm: str) -> Configurations | None:
    """The largest set of configurations with all folds; None where there is none.

    Args:
        store: Where runs with all folds are, such as those of `tune --all-folds`.
        dataset: An id.
        algorithm: An id.
    """
    results = Results(store, with_recorded=False)
    largest: dict[RunSpec, list[FoldResult]] = {}
    for specs in _specs_by_protocol(store):
        if specs[0].dataset != dataset or specs[0].algorithm != algorithm:
            continue
        runs = {}
        for spec in specs:
            folds = results.folds_with_users(spec)
            if all(_has_metrics(spec, fold) for fold in folds.values()):
                # These specs have all folds (`_specs_by_protocol`).
                runs[spec] = [folds[index] for index in range(spec.k)]
        # If several protocols have this dataset and algorithm, the one with most runs is shown.
        largest = max(largest, runs, key=len)
    if len(largest) < 2:
        return None
    return _configurations(largest)


def _specs_by_protocol(store: Store) -> list[list[RunSpec]]:
    """Specs with all folds, those together that differ in parameters only; newest first."""
    specs: defaultdict[str, list[RunSpec]] = defaultdict(list)
    for spec, fold_count in store.specs():
        if fold_count == spec.k and spec.task.ranks:
            specs[replace(spec, params=()).score_key].append(spec)
    return list(specs.values())


def _studied_columns(spec: RunSpec) -> list[str]:
    """The metrics that are studied, at the cut-off of a run: 'ndcg@10'."""
    return [f"{metric}@{spec.n}" for metric in STUDIED]


def _has_metrics(spec: RunSpec, fold: FoldResult) -> bool:
    """Whether a fold has users' scores by all metrics that are studied."""
    if fold.user_scores is None:
        return False
    return set(_studied_columns(spec)) <= set(fold.user_scores.metrics)


def _configurations(runs: Mapping[RunSpec, Sequence[FoldResult]]) -> Configurations:
    """Runs that differ in their parameters, in the order of these, with the scores of all users.

    Args:
        runs: At least two; all folds of each, with users' scores by all metrics that are studied.
    """
    parameters = differing_parameters([models.of(spec).with_defaults(spec.params) for spec in runs])
    by_parameters = sorted(zip(parameters, runs, strict=True), key=_sort_key)
    specs = [spec for _, spec in by_parameters]
    folds = [runs[spec] for spec in specs]
    scores = []
    joules = []
    for folds_of_run in folds:
        scores.append([fold.score for fold in folds_of_run])
        joules.append([fold.energy.joules for fold in folds_of_run])
    return Configurations(
        spec=specs[0],
        configurations=tuple(configuration for configuration, _ in by_parameters),
        user_scores=_score_cubes(folds, _studied_columns(specs[0])),
        fold_scores=np.array(scores),
        joules=np.array(joules),
    )


def _score_cubes(
    folds: Sequence[Sequence[FoldResult]], metrics: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    """Metric -> shape (runs, folds, users); NaN where a user has no score in a fold.

    Args:
        folds: The folds of each run; every fold has users' scores by these metrics.
        metrics: 'ndcg@10'.
    """
    user_scores: dict[tuple[int, int], UserScores] = {}
    for run, folds_of_run in enumerate(folds):
        for index, fold in enumerate(folds_of_run):
            assert fold.user_scores is not None  # runs without them are left out before
            user_scores[run, index] = fold.user_scores
    users = np.unique(np.concatenate([scores.users for scores in user_scores.values()]))
    shape = (len(folds), len(folds[0]), len(users))
    cubes = {metric: np.full(shape, np.nan, dtype=np.float32) for metric in metrics}
    for (run, index), scores in user_scores.items():
        columns = np.searchsorted(users, scores.users)
        for metric, cube in cubes.items():
            cube[run, index, columns] = scores.of(metric)
    return cubes


def _sort_key(
    configuration_and_spec: tuple[Mapping[str, ParamValue], RunSpec],
) -> list[tuple[bool, float, str]]:
    """Sorts runs by the values of their parameters, one after the other: numbers, then texts."""
    configuration, _ = configuration_and_spec
    key = []
    for value in configuration.values():
        number = 0.0
        is_text = not isinstance(value, int | float)
        if not is_text:
            number = float(value)
        key.append((is_text, number, str(value)))
    return key
