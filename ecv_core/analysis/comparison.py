"""Runs compared: a paired test of every fair pair, their settings field by field, and names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core.analysis.significance import PairedTest, holm, over_folds, over_users
from ecv_core.evaluation import metric_of
from ecv_core.records.frames import with_columns
from ecv_core.records.run import RunRecord, UserScores, user_table
from ecv_core.records.spec import SETTINGS, Role, RunSpec
from ecv_core.records.tasks import Task
from ecv_core.stopping import RULES

# Two specs -> whether a paired test of their runs would be fair, and if not, why.


_APART = ("dataset", "metric", "n", "only_folds")
"""Told first, by the names a run knows them by; and which folds ran, which may differ."""


def fair_key(spec: RunSpec) -> Hashable:
    """Two runs with the same key have the same metric, and the same held out in every fold."""
    return tuple(_measured(spec).items())


def unfair(one: RunSpec, other: RunSpec) -> str:
    """Why a test of these two would not be fair; empty where nothing speaks against it."""
    theirs = _measured(other)
    for name, value in _measured(one).items():
        if value != theirs[name]:
            words = f"different {SETTINGS[name].differ or SETTINGS[name].words}"
            if name in ("split_params", "folds_sha256", "data_sha256"):
                return words
            return f"{words} ({_both(value, theirs[name])})"
    return ""


def _measured(spec: RunSpec) -> dict[str, object]:
    """Everything that decides what the score measures, and so must be the same."""
    values: dict[str, object] = {"dataset": spec.dataset, "metric": spec.metric_name}
    held_out = spec.part(Role.FOLDS, Role.MEASURE).items()
    values |= {name: value for name, value in held_out if name not in _APART}
    if spec.negatives is None and spec.folds_sha256 is not None:
        values["seed"] = None  # it draws neither folds nor negatives
    return values


def measures(spec: RunSpec) -> tuple[str, str]:
    """What a run is about: its dataset and its metric."""
    return spec.dataset, spec.metric_name


def _both(one: object, other: object) -> str:
    """The same text for a pair and for its reverse."""
    return " and ".join(sorted((str(one), str(other)), key=lambda text: (len(text), text)))


_UserMeans = tuple[NDArray[np.int32], NDArray[np.float64]]

SIGNIFICANCE = 0.05
"""A difference is found where the corrected p is at most this."""
K_FOLD = (*(task.usual_split for task in Task), "imported")
"""Splits of which each fold tests on 1/k and trains on the rest, as `over_folds` assumes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs on the same folds, the one with the better mean first.

    Where lower is better, differences are turned round, so that better is always above 0.
    """

    first: str
    """A run's id, or what it is called."""
    second: str
    dataset: str
    metric: str
    """As in RunSpec.metric_name, or as shown."""
    folds: tuple[int, ...]
    """The folds that both have."""
    test: PairedTest
    p_holm: float
    """Corrected for all comparisons that were made together."""

    @property
    def found(self) -> bool:
        """Whether the test finds a difference."""
        return self.p_holm <= SIGNIFICANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Untested:
    """Two runs of which no test would be fair, and why."""

    first: str
    second: str
    reason: str
    apart: bool
    """Whether it goes without saying: another dataset or another metric."""


def compare_runs(runs: Sequence[RunRecord]) -> tuple[list[Comparison], list[Untested]]:
    """Test every pair that can be tested fairly, and say of the others why not.

    Where every user's score is known for both, users are paired: each one's mean over the folds
    that both runs have. Otherwise folds are paired, with a correction for their dependence.

    Args: runs: at least two, each with an id of its own; their folds carry users' scores, as far as
        they were kept.
    Returns: the tested pairs, in the order of the runs; and the others.
    """
    untested: list[Untested] = []
    by_users: defaultdict[Hashable, list[tuple[RunRecord, RunRecord]]] = defaultdict(list)
    tests: list[tuple[RunRecord, RunRecord, tuple[int, ...], PairedTest]] = []
    means = _kept()
    for one, other in combinations(runs, 2):
        folds = tuple(sorted({f.fold for f in one.folds} & {f.fold for f in other.folds}))
        if reason := unfair(one.spec, other.spec) or _too_little(one, other, folds, means):
            apart = measures(one.spec) != measures(other.spec)
            untested.append(
                Untested(first=one.run_id, second=other.run_id, reason=reason, apart=apart)
            )
        elif _has_users(one, folds) and _has_users(other, folds):
            by_users[(fair_key(one.spec), folds)].append((one, other))
        else:
            mine, theirs = (np.mean(_fold_scores(each, folds)) for each in (one, other))
            pair = (one, other) if mine >= theirs else (other, one)
            scores = [_fold_scores(each, folds) for each in pair]
            k = one.spec.k
            tests.append((*pair, folds, over_folds(*scores, k=k)))
    for (_, folds), group in by_users.items():  # type: ignore[misc]  # the key made above
        tests += _over_users(group, folds, means)
    order = {run.run_id: at for at, run in enumerate(runs)}
    tests.sort(key=lambda found: sorted((order[found[0].run_id], order[found[1].run_id])))
    return _corrected(tests), untested


def user_means(scores: Mapping[int, UserScores], folds: Sequence[int], metric: str) -> _UserMeans:
    """Each user's, or cluster's, mean over those of the folds in which there is a score.

    A user has none where nothing is held out, or where the metric is not defined (NaN).

    Returns: users, ascending, and their means; both of shape (users seen,).
    """
    users, values = user_table([scores[f] for f in folds], metric)
    known = np.isfinite(values)
    seen = known.any(axis=0)
    sums = np.where(known, values, 0).sum(axis=0, dtype=np.float64)
    return users[seen], sums[seen] / known.sum(axis=0)[seen]


_Means = Callable[[RunRecord, tuple[int, ...]], _UserMeans]
"""`user_means` of a run over these folds."""


def _kept() -> _Means:
    """Worked out once for each run, however many pairs it is in."""
    known: dict[tuple[str, tuple[int, ...]], _UserMeans] = {}

    def means(run: RunRecord, folds: tuple[int, ...]) -> _UserMeans:
        key = run.run_id, folds
        if key not in known:
            known[key] = user_means(_users(run), folds, run.spec.metric_name)
        return known[key]

    return means


def _too_little(one: RunRecord, other: RunRecord, folds: tuple[int, ...], means: _Means) -> str:
    if not folds:
        return "no fold in common"
    if _has_users(one, folds) and _has_users(other, folds):
        mine, theirs = _users(one), _users(other)
        if not all(_same(mine[f].users, theirs[f].users) for f in folds):
            return (
                f"different {one.spec.task.unit}s held out: the dataset was not the same for both"
            )
        if len(np.intersect1d(means(one, folds)[0], means(other, folds)[0])) < 2:
            return f"fewer than two {one.spec.task.unit}s in common"
        return ""
    if len(folds) < 2:
        return f"only one fold in common, and no scores of single {one.spec.task.unit}s"
    if one.spec.split not in K_FOLD:
        return f"no scores of single {one.spec.task.unit}s, and the folds are not those of k-fold"
    return ""


def _same(one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    """Whether both hold the same users, in whatever order."""
    return np.array_equal(one, other) or np.array_equal(np.sort(one), np.sort(other))


def _has_users(run: RunRecord, folds: Sequence[int]) -> bool:
    metric = run.spec.metric_name
    users = _users(run)
    return all(f in users and metric in users[f].metrics for f in folds)


def _users(run: RunRecord) -> dict[int, UserScores]:
    return {fold.fold: fold.user_scores for fold in run.folds if fold.user_scores is not None}


def _fold_scores(run: RunRecord, folds: Sequence[int]) -> list[float]:
    """Turned round where lower is better."""
    scores = {result.fold: result.score for result in run.folds}
    return [scores[f] if _higher_is_better(run) else -scores[f] for f in folds]


def _higher_is_better(run: RunRecord) -> bool:
    return metric_of(run.spec).higher_is_better


def _over_users(
    pairs: Sequence[tuple[RunRecord, RunRecord]], folds: tuple[int, ...], means: _Means
) -> list[tuple[RunRecord, RunRecord, tuple[int, ...], PairedTest]]:
    """Pairs that have the same folds, so that all can be resampled together."""
    runs = list({run.run_id: run for pair in pairs for run in pair}.values())
    rows = {run.run_id: at for at, run in enumerate(runs)}
    known = [means(run, folds) for run in runs]
    common = known[0][0]
    for users, _ in known[1:]:
        common = np.intersect1d(common, users, assume_unique=True)
    scores = np.stack([values[np.searchsorted(users, common)] for users, values in known])
    if not _higher_is_better(runs[0]):
        scores = -scores
    level = scores.mean(axis=1)
    ordered = [
        (one, other) if level[rows[one.run_id]] >= level[rows[other.run_id]] else (other, one)
        for one, other in pairs
    ]
    places = [(rows[one.run_id], rows[other.run_id]) for one, other in ordered]
    tests = over_users(scores, places)
    if all(one.clusters is not None for run in runs for one in _users(run).values()):
        tests = [replace(test, over="clusters of users") for test in tests]
    return [(*pair, folds, test) for pair, test in zip(ordered, tests, strict=True)]


def _corrected(
    tests: Sequence[tuple[RunRecord, RunRecord, tuple[int, ...], PairedTest]],
) -> list[Comparison]:
    p = holm([test.p for *_, test in tests])
    return [
        Comparison(
            first=first.run_id,
            second=second.run_id,
            dataset=first.spec.dataset,
            metric=first.spec.metric_name,
            folds=folds,
            test=test,
            p_holm=p_one,
        )
        for (first, second, folds, test), p_one in zip(tests, p, strict=True)
    ]


# Comparisons -> a tidy frame.


FRAME_COLUMNS = {
    "dataset": "what both ran on",
    "metric": "their metric",
    "better": "the run with the better mean",
    "worse": "the run that it is compared with",
    "difference": "by how much it is better, mean over the pairs",
    "low": "lower end of the difference's interval, for this comparison alone",
    "high": "upper end",
    "p": "two-sided p of the t test, not corrected",
    "p_holm": "corrected for all comparisons of the table",
    "effect": "Cohen's d of the differences: mean / standard deviation",
    "over": "what is paired: users or folds",
    "pairs": "how many",
    "folds": "the folds that both have",
}
"""The frame's columns and what they mean."""


@with_columns(FRAME_COLUMNS)
def comparison_frame(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """One row per comparison with the FRAME_COLUMNS."""
    rows = [
        asdict(one.test)
        | {
            "dataset": one.dataset,
            "metric": one.metric,
            "better": one.first,
            "worse": one.second,
            "p_holm": one.p_holm,
            "folds": " ".join(map(str, one.folds)),
        }
        for one in comparisons
    ]
    frame = pd.DataFrame(rows, columns=list(FRAME_COLUMNS))
    return frame.astype({"effect": "float64"})


ABSENT = "-"
"""What a field shows for a run that has no such setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One setting of all runs."""

    name: str
    values: tuple[str, ...]
    """One per run, in their order."""

    @property
    def differs(self) -> bool:
        """Whether the runs that have this setting do not all have the same."""
        return len(set(self.values) - {ABSENT}) > 1

    @property
    def partial(self) -> bool:
        """Whether only some runs have it, such as a parameter of another algorithm."""
        return ABSENT in self.values and len(set(self.values)) > 1


def spec_fields(spec: RunSpec) -> dict[str, str]:
    """Every setting that means something for this run, as text, in the order of the stages."""
    known_rule = RULES.get(spec.rule)
    told = known_rule.told if known_rule else ()
    found: dict[str, str] = {}
    for name, known in SETTINGS.items():
        if name == "params":
            found |= {f"{spec.algorithm}: {one}": str(value) for one, value in spec.params}
        elif name == "split_params":
            found |= {f"{spec.split}: {one}": str(value) for one, value in spec.split_params}
        elif name == "rule_params":
            found |= _rule_fields(spec)
        elif known.row != "-" and (not known.of_rule or name in told):
            found[known.words] = _text(spec, name)
    return found


def _rule_fields(spec: RunSpec) -> dict[str, str]:
    """The parameters of a run's rule: those with an option of their own by their name alone."""
    rule = RULES.get(spec.rule)
    known = {one.name: one for one in rule.parameters} if rule else {}
    return {
        known[name].words if name in known and known[name].flag else f"{spec.rule}: {name}": (
            f"{value:g}" if isinstance(value, float) else str(value) or "none"
        )
        for name, value in spec.rule_params
    }


def _text(spec: RunSpec, name: str) -> str:
    value = getattr(spec, name)
    if name == "split" and spec.folds_sha256:
        return f"file {spec.folds_sha256[:8]}"
    if name == "metric":
        return spec.metric_name
    if name == "negatives" and value is not None:
        return f"{value}, {spec.negative_sampling}"
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "all"
    return f"{value:g}" if isinstance(value, float) else str(value)


def differences(specs: Sequence[RunSpec]) -> list[Field]:
    """Every setting of any of the specs: first those that differ, then those only some have."""
    tables = [spec_fields(spec) for spec in specs]
    names = list(dict.fromkeys(name for table in tables for name in table))
    fields = [
        Field(name=name, values=tuple(table.get(name, ABSENT) for table in tables))
        for name in names
    ]
    return sorted(fields, key=lambda field: (not field.differs, not field.partial))


def names(runs: Sequence[RunRecord], title: Callable[[str], str] = str) -> list[str]:
    """A short name per run, different from any other's on the same dataset and metric.

    What differs: the algorithm; where several runs have the same, the settings in which those
    differ; where these are the same too, the run's id. Without the algorithm where all runs on
    the dataset and metric have the same and something else tells them apart.

    Args:
        runs: any.
        title: of an algorithm's id; by default the id itself.
    """
    panels: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for at, run in enumerate(runs):
        panels[(run.spec.dataset, run.spec.metric_name)].append(at)
    found = [""] * len(runs)
    for panel in panels.values():
        of_algorithm: defaultdict[str, list[int]] = defaultdict(list)
        for at in panel:
            of_algorithm[runs[at].spec.algorithm].append(at)
        for algorithm, group in of_algorithm.items():
            told = _told_apart([runs[at].spec for at in group])
            for at, words in zip(group, told, strict=True):
                one_algorithm = len(of_algorithm) == 1 and all(told)
                found[at] = (
                    words if one_algorithm else ", ".join(filter(None, (title(algorithm), words)))
                )
                if told.count(words) > 1:
                    found[at] += f" ({runs[at].run_id[:6]})"
    return found


_OF_NO_SCORE = tuple(SETTINGS[name].words for name in ("full", "country"))
"""They tell runs apart by no score, so they are in no name."""


def _told_apart(specs: Sequence[RunSpec]) -> list[str]:
    """Per spec what tells it from the others, in a few words; empty where nothing does."""
    rules = [_rule_in_short(spec) for spec in specs]
    of_rule = {SETTINGS["rule"].words, SETTINGS["min_folds"].words}
    of_rule |= {name for spec in specs for name in _rule_fields(spec)}
    others = [
        one
        for one in differences(specs)
        if one.differs and one.name not in of_rule and one.name not in _OF_NO_SCORE
    ]
    return [
        ", ".join(
            ([rules[at]] if len(set(rules)) > 1 else [])
            + [f"{one.name.split(': ')[-1]} {one.values[at]}" for one in others]
        )
        for at in range(len(specs))
    ]


def _rule_in_short(spec: RunSpec) -> str:
    """'alpha 1e-4', 'precision 3 %', 'fixed 5', 'never'."""
    known = RULES.get(spec.rule)
    return known.words(spec, alone=True) if known else spec.rule
